"""The speakers of a namespace, counted over its columns and kept up as turns come and go."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from salience.language.analysis_types import Speakers
from salience.language.speakers import count_greetings, nicknames, speakers_by_word, speakers_of
from salience.stores.index.columns import CodedColumn

Ordinals = NDArray[np.int64]
Greetings = dict[str, Counter[str | None]]


class SpeakerCounts:
    """The turns of each speaker, and how often each name was said to whom."""

    def __init__(
        self,
        speakers: CodedColumn,
        greets: CodedColumn,
        sessions: CodedColumn,
        alive: NDArray[np.bool_],
    ) -> None:
        """Counts the memories alive; the columns may grow."""
        self._speakers, self._greets, self._sessions = speakers, greets, sessions
        self._turns = Counter(speakers.codes[alive].tolist())
        greeting = np.flatnonzero(alive & self._is_greeting(slice(None)))
        self._greeting_sessions = set(sessions.codes[greeting].tolist())  # or were once
        in_these = alive & np.isin(sessions.codes, [*self._greeting_sessions])
        self._greetings = self._greetings_among(np.flatnonzero(in_these))
        self._by_word: dict[str, set[str]] = {}
        self._names: set[str] = set()  # in `_by_word`
        self._counted: Speakers | None = None

    def change(self, first: int, removed: Ordinals, alive: NDArray[np.bool_]) -> None:
        """Count the new ordinals from `first` on, and no longer those removed."""
        self._counted = None
        codes, sessions = self._speakers.codes, self._sessions.codes
        self._turns.update(codes[first:].tolist())
        self._turns.subtract(codes[removed].tolist())
        affected = {*sessions[removed].tolist(), *sessions[first:].tolist()}
        self._greeting_sessions.update(sessions[first:][self._is_greeting(slice(first, None))])
        for session in affected & self._greeting_sessions:
            members = np.flatnonzero(sessions == session)
            is_new, is_alive = members >= first, alive[members]
            was_alive = ~is_new & (is_alive | np.isin(members, removed))
            self._add_greetings(members[was_alive], -1)
            self._add_greetings(members[is_alive], +1)

    @property
    def speakers(self) -> Speakers:
        """The speakers, with their turns and nicknames."""
        if self._counted is None:
            names = self._speakers.distinct
            turns = {names[code]: n for code, n in sorted(self._turns.items()) if n and names[code]}
            if turns.keys() != self._names:
                self._by_word, self._names = speakers_by_word(turns.keys()), set(turns)
            self._counted = speakers_of(turns, nicknames(self._greetings), self._by_word)
        return self._counted

    def _is_greeting(self, ordinals: slice | Ordinals) -> NDArray[np.bool_]:
        codes: NDArray[np.int32] = self._greets.codes[ordinals]
        return codes != self._greets.code(None)

    def _add_greetings(self, ordinals: Ordinals, sign: int) -> None:
        """Add the greetings among all turns of a session, or take them away."""
        for name, counts in self._greetings_among(ordinals).items():
            total = self._greetings.setdefault(name, Counter())
            for speaker, count in counts.items():
                total[speaker] += sign * count
                if not total[speaker]:
                    del total[speaker]
            if not total:
                del self._greetings[name]

    def _greetings_among(self, turns: Ordinals) -> Greetings:
        """Count how often each name was said to whom in whole sessions (see `count_greetings`)."""
        greeting = turns[self._is_greeting(turns)]
        if not len(greeting):
            return {}
        sessions, at = self._sessions.codes, self._speakers.at
        return count_greetings(
            zip(self._greets.at(greeting), sessions[greeting].tolist(), at(greeting), strict=True),
            zip(sessions[turns].tolist(), at(turns), strict=True),
        )

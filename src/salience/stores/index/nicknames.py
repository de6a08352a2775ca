"""Names that people go by besides their own: what others call them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from salience.stores.index.columns import CodedColumn

_OFTEN = 3  # times a name has to be said, and times more often than to all others together


def nicknames(
    greets: CodedColumn,
    speakers: CodedColumn,
    sessions: CodedColumn,
    alive: NDArray[np.bool_],
) -> dict[str, str]:
    """Who goes by which name: "Hey Kate" names the other one of the two who talk in a session."""
    greeting = np.flatnonzero(alive & (greets.codes != greets.code(None)))
    if not len(greeting):
        return {}
    inside = np.flatnonzero(np.isin(sessions.codes, sessions.codes[greeting]) & alive)
    pairs = zip(sessions.codes[inside].tolist(), speakers.codes[inside].tolist(), strict=True)
    voices: dict[int, list[int]] = defaultdict(list)
    for session, speaker in sorted(set(pairs)):
        voices[session].append(speaker)
    said: dict[str, Counter[int]] = defaultdict(Counter)
    for ordinal in greeting.tolist():
        both = voices[int(sessions.codes[ordinal])]
        if len(both) == 2:
            other = sum(both) - int(speakers.codes[ordinal])
            said[greets.distinct[greets.codes[ordinal]]][other] += 1
    return called(
        {
            name: {speakers.distinct[who]: count for who, count in times.items()}
            for name, times in said.items()
        }
    )


def called(said: Mapping[str, Mapping[str | None, int]]) -> dict[str, str]:
    """Who goes by which name, given how often each name was said to whom."""
    found = {}
    for name, times in sorted(said.items()):
        who, count = max(times.items(), key=lambda item: item[1])
        rest = sum(times.values()) - count
        if who and count >= _OFTEN and count > _OFTEN * rest:
            found[name] = who
    return found

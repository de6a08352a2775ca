"""The order of turns in a session.

The turns of a session are its memories ordered by (created_at, sequence). A turn has a position
(from 0), a turn before it and a turn after it. A session in which one known speaker talks alone has
no turns before and after: what one voice says next does not answer what it said before.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.snapshot import Part

_SINGLE_UPDATE_MAX_SESSIONS = 64  # changed sessions up to which each is linked by itself
_SINGLE_UPDATE_MAX_TURNS = 64  # new turns up to which each is appended by itself


class Turns(NamedTuple):
    """The columns that the order depends on, by ordinal: sessions and speakers as codes.

    `none` is the code of no session, `nobody` that of no speaker.
    """

    sessions: NDArray[np.int32]
    none: int
    created_at: NDArray[np.float64]
    sequence: NDArray[np.float64]
    speakers: NDArray[np.int32]
    nobody: int
    alive: NDArray[np.bool_]

    def place(self, turn: int) -> tuple[float, float]:
        """The place of a turn among those of its session."""
        return self.created_at[turn], self.sequence[turn]


class SessionOrder(Part):
    """The order of turns over the arrays of a namespace, by ordinal; -1 where there is none."""

    SAVED = ("_previous", "_next", "_position", "_neighbors", "_last")

    def __init__(self) -> None:
        self._previous = GrowableArray(np.int32)
        self._next = GrowableArray(np.int32)
        self._position = GrowableArray(np.int32)
        self._neighbors = (
            GrowableArray(np.int32),
            GrowableArray(np.int32),
        )  # the turns before and after, also in a session of one voice
        self._last = GrowableArray(np.int32)  # the last turn of a session, by its code

    def update(self, turns: Turns, changed: Collection[int]) -> None:
        """Add new ordinals, and order the sessions that they are in or that have changed.

        The arrays of `turns` may be longer than the last time. A session, given by its code, has
        changed if it has lost a turn.
        """
        first, codes = len(self._previous), turns.sessions
        new = codes[first:].tolist()
        for column in (self._previous, self._next, self._position, *self._neighbors):
            column.fill(-1, len(new))
        self._last.fill(-1, max(0, max(new, default=-1) + 1 - len(self._last)))
        changed = set(changed)
        if len(new) > _SINGLE_UPDATE_MAX_TURNS:
            changed.update(new)
        else:
            for turn, code in enumerate(new, first):
                if code not in changed and code != turns.none and not self._append(turns, turn):
                    changed.add(code)
        changed.discard(turns.none)
        if len(changed) > _SINGLE_UPDATE_MAX_SESSIONS:
            self._last.view[:] = -1
            self._set(turns, np.flatnonzero(turns.alive & (codes != turns.none)))
            return
        for code in changed:
            members = np.flatnonzero(codes == code)
            self._last.view[code] = -1
            self._set(turns, members[turns.alive[members]])

    def _append(self, turns: Turns, turn: int) -> bool:
        """Add a turn behind the last one of its session, if this leaves the others unchanged.

        It does not if the turn belongs before the last one, or is a second voice beside one that
        has had several turns: then all of these get neighbors.
        """
        session = turns.sessions[turn]
        last = int(self._last.view[session])
        if last >= 0:
            if turns.place(turn) < turns.place(last):
                return False
            before, after = self._neighbors
            has_one_turn = before.view[last] < 0
            alone = (
                turns.speakers[last] != turns.nobody
                if has_one_turn
                else self._previous.view[last] < 0
            )
            stays_alone = alone and turns.speakers[turn] == turns.speakers[last]
            if alone and not stays_alone and not has_one_turn:
                return False
            after.view[last], before.view[turn] = turn, last
            if not stays_alone:
                self._next.view[last], self._previous.view[turn] = turn, last
        self._position.view[turn] = self._position.view[last] + 1 if last >= 0 else 0
        self._last.view[session] = turn
        return True

    def _set(self, turns: Turns, members: NDArray[np.intp]) -> None:
        """Set the places of the turns of whole sessions."""
        if not len(members):
            return
        keys = (turns.sequence, turns.created_at, turns.sessions)
        ordered = members[np.lexsort([key[members] for key in keys])]
        code = turns.sessions[ordered]
        is_first = np.ones(len(ordered), dtype=bool)
        np.not_equal(code[1:], code[:-1], out=is_first[1:])
        starts = np.flatnonzero(is_first)
        lengths = np.diff(np.append(starts, len(ordered)))
        self._last.view[code[starts]] = ordered[starts + lengths - 1]
        speaker = turns.speakers[ordered]
        is_other = speaker != np.repeat(speaker[starts], lengths)
        has_speaker = speaker[starts] != turns.nobody  # without, turns may be anybody's
        alone = np.repeat(has_speaker & ~np.logical_or.reduceat(is_other, starts), lengths)
        before = np.where(is_first, -1, np.roll(ordered, 1))
        after = np.where(np.append(is_first[1:], True), -1, np.roll(ordered, -1))
        for column, neighbors in zip(self._neighbors, (before, after), strict=True):
            column.view[ordered] = neighbors
        self._previous.view[ordered] = np.where(alone, -1, before)
        self._next.view[ordered] = np.where(alone, -1, after)
        self._position.view[ordered] = np.arange(len(ordered)) - np.repeat(starts, lengths)

    @property
    def previous(self) -> NDArray[np.int32]:
        """The ordinal of the turn right before, by ordinal."""
        return self._previous.view

    @property
    def next(self) -> NDArray[np.int32]:
        """The ordinal of the turn right after, by ordinal."""
        return self._next.view

    @property
    def position(self) -> NDArray[np.int32]:
        """The number of turns before in the session, by ordinal."""
        return self._position.view

    def neighbors(self, ordinal: int, kinds: NDArray[np.int32]) -> tuple[int, int]:
        """The ordinals right before and after one in its session, of its kind; -1 for none.

        Unlike `previous` and `next`, a session of one voice has them, too.
        """
        before, after = (_next_of_kind(column.view, ordinal, kinds) for column in self._neighbors)
        return before, after

    @property
    def nbytes(self) -> int:
        columns = (self._previous, self._next, self._position, *self._neighbors, self._last)
        return sum(column.nbytes for column in columns)


def _next_of_kind(chain: NDArray[np.int32], ordinal: int, kinds: NDArray[np.int32]) -> int:
    """The next ordinal of the same kind along a chain of neighbors, -1 for none."""
    other = int(chain[ordinal])
    while other >= 0 and kinds[other] != kinds[ordinal]:
        other = int(chain[other])
    return other

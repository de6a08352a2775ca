"""Sessions: which turn came right before and after each memory, and its place among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from salience.stores.index.growable_array import GrowableArray

_SINGLE_UPDATE_MAX_SESSIONS = 64  # changed sessions up to which each is linked by itself


class SessionOrder:
    """Order of the memories of each session by (created_at, sequence); -1 where there is none.

    A session in which one known speaker talks alone has no turns before and after: what one voice
    says next is no answer to what it said before.
    """

    def __init__(self) -> None:
        self._previous = GrowableArray(np.int32)
        self._next = GrowableArray(np.int32)
        self._position = GrowableArray(np.int32)
        self._beside = (
            GrowableArray(np.int32),
            GrowableArray(np.int32),
        )  # before and after, whoever speaks

    def update(
        self,
        codes: NDArray[np.int32],
        none: int,
        created_at: NDArray[np.float64],
        sequence: NDArray[np.float64],
        speakers: NDArray[np.int32],
        nobody: int,
        alive: NDArray[np.bool_],
        changed: set[int],
    ) -> None:
        """Take in new ordinals and link the changed sessions (by code) anew; `none` is no session,
        `nobody` no speaker.

        The arrays are by ordinal; those beyond what was known before are new.
        """
        added = len(codes) - len(self._previous)
        for column in (self._previous, self._next, self._position, *self._beside):
            column.extend(np.full(added, -1, dtype=np.int32))
        changed = changed - {none}
        if len(changed) > _SINGLE_UPDATE_MAX_SESSIONS:
            members = np.flatnonzero(alive & (codes != none))
            order = self._in_order(members, codes, created_at, sequence)
            self._link(members[order], codes, speakers, nobody)
            return
        for code in changed:
            members = np.flatnonzero(codes == code)
            members = members[alive[members]]
            order = self._in_order(members, codes, created_at, sequence)
            self._link(members[order], codes, speakers, nobody)

    @staticmethod
    def _in_order(
        members: NDArray[np.intp],
        codes: NDArray[np.int32],
        created_at: NDArray[np.float64],
        sequence: NDArray[np.float64],
    ) -> NDArray[np.intp]:
        return np.lexsort((sequence[members], created_at[members], codes[members]))

    def _link(
        self,
        ordered: NDArray[np.intp],
        codes: NDArray[np.int32],
        speakers: NDArray[np.int32],
        nobody: int,
    ) -> None:
        if not len(ordered):
            return
        code = codes[ordered]
        begins = np.ones(len(ordered), dtype=bool)
        np.not_equal(code[1:], code[:-1], out=begins[1:])
        starts = np.flatnonzero(begins)
        lengths = np.diff(np.append(starts, len(ordered)))
        voice = speakers[ordered]
        other = voice != np.repeat(voice[starts], lengths)
        known = voice[starts] != nobody  # without speakers, neighbours may be anybody's
        alone = np.repeat(known & ~np.logical_or.reduceat(other, starts), lengths)
        before = np.where(begins, -1, np.roll(ordered, 1))
        after = np.where(np.append(begins[1:], True), -1, np.roll(ordered, -1))
        for column, beside in zip(self._beside, (before, after), strict=True):
            column.view[ordered] = beside
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
        """How many turns came before in the session, by ordinal."""
        return self._position.view

    def beside(self, ordinal: int, kinds: NDArray[np.int32]) -> tuple[int, int]:
        """The ordinals right before and after one in its session, of its kind; -1 for none.

        Unlike `previous` and `next` these are there in a session of one voice, too.
        """
        before, after = (self._along(column.view, ordinal, kinds) for column in self._beside)
        return before, after

    @staticmethod
    def _along(chain: NDArray[np.int32], ordinal: int, kinds: NDArray[np.int32]) -> int:
        at = int(chain[ordinal])
        while at >= 0 and kinds[at] != kinds[ordinal]:
            at = int(chain[at])
        return at

    @property
    def nbytes(self) -> int:
        columns = (self._previous, self._next, self._position, *self._beside)
        return sum(column.nbytes for column in columns)

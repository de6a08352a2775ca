"""The order of turns in a session: the definition, over arrays and as SQL.

The turns of a session are its memories ordered by (created_at, sequence). A turn has a position
(from 0), a turn before it and a turn after it. A session in which one known speaker talks alone has
no turns before and after: what one voice says next does not answer what it said before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from salience.stores.index.growable_array import GrowableArray

_SINGLE_UPDATE_MAX_SESSIONS = 64  # changed sessions up to which each is linked by itself

SESSION_ORDER_SQL = """
SELECT "row", (place - 1)::integer AS position,
    CASE WHEN alone THEN 0 ELSE coalesce(before, 0) END AS previous,
    CASE WHEN alone THEN 0 ELSE coalesce(behind, 0) END AS following
FROM (
    SELECT "row", row_number() OVER ordered AS place,
        lag("row") OVER ordered AS before, lead("row") OVER ordered AS behind,
        count(speaker) OVER whole = count(*) OVER whole
            AND min(speaker) OVER whole = max(speaker) OVER whole AS alone
    FROM memories WHERE namespace = %s AND session_id = ANY(%s::text[])
    WINDOW whole AS (PARTITION BY session_id),
        ordered AS (PARTITION BY session_id ORDER BY created_at, sequence)
) AS turns
"""
"""The same order for PostgreSQL: the rows of some sessions with their position, and the rows before
and after them, 0 for none. Its parameters are a namespace and the sessions."""


class SessionOrder:
    """The order of turns over the arrays of a namespace, by ordinal; -1 where there is none."""

    def __init__(self) -> None:
        self._previous = GrowableArray(np.int32)
        self._next = GrowableArray(np.int32)
        self._position = GrowableArray(np.int32)
        self._neighbors = (
            GrowableArray(np.int32),
            GrowableArray(np.int32),
        )  # the turns before and after, also in a session of one voice

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
        """Add new ordinals, and order the changed sessions (by code) anew.

        The arrays are by ordinal, and may be longer than the last time. `none` is the code of no
        session, `nobody` that of no speaker.
        """
        added = len(codes) - len(self._previous)
        for column in (self._previous, self._next, self._position, *self._neighbors):
            column.extend(np.full(added, -1, dtype=np.int32))
        changed = changed - {none}
        if len(changed) > _SINGLE_UPDATE_MAX_SESSIONS:
            members = np.flatnonzero(alive & (codes != none))
            self._set(_ordered(members, codes, created_at, sequence), codes, speakers, nobody)
            return
        for code in changed:
            members = np.flatnonzero(codes == code)
            members = members[alive[members]]
            self._set(_ordered(members, codes, created_at, sequence), codes, speakers, nobody)

    def _set(
        self,
        ordered: NDArray[np.intp],
        codes: NDArray[np.int32],
        speakers: NDArray[np.int32],
        nobody: int,
    ) -> None:
        """Set the places of turns in order, session by session."""
        if not len(ordered):
            return
        code = codes[ordered]
        is_first = np.ones(len(ordered), dtype=bool)
        np.not_equal(code[1:], code[:-1], out=is_first[1:])
        starts = np.flatnonzero(is_first)
        lengths = np.diff(np.append(starts, len(ordered)))
        speaker = speakers[ordered]
        is_other = speaker != np.repeat(speaker[starts], lengths)
        has_speaker = speaker[starts] != nobody  # without, turns may be anybody's
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
        columns = (self._previous, self._next, self._position, *self._neighbors)
        return sum(column.nbytes for column in columns)


def _ordered(
    members: NDArray[np.intp],
    codes: NDArray[np.int32],
    created_at: NDArray[np.float64],
    sequence: NDArray[np.float64],
) -> NDArray[np.intp]:
    """The ordinals `members` by session, then in the order of turns."""
    return members[np.lexsort((sequence[members], created_at[members], codes[members]))]


def _next_of_kind(chain: NDArray[np.int32], ordinal: int, kinds: NDArray[np.int32]) -> int:
    """The next ordinal along a chain of neighbors that is of the same kind, -1 for none."""
    other = int(chain[ordinal])
    while other >= 0 and kinds[other] != kinds[ordinal]:
        other = int(chain[other])
    return other

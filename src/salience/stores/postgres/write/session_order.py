"""The order of turns in the sessions that a write changes.

A session that begins with a write is put in order here, before it is written, as the embedded
stores do it. One that is there already stays on the server, however long it has become, and is put
in order by a statement of the same meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salience.stores.index.session_order import SESSION_ORDER_SQL, SessionOrder, Turns
from salience.stores.postgres.wire.commands import Command, Statement

_RELINK_SESSIONS = f"""
UPDATE places AS p SET previous = now.previous, following = now.following,
    position = now.position, version = %s
FROM ({SESSION_ORDER_SQL}) AS now
WHERE p.namespace = %s AND p."row" = now."row" AND (p.previous, p.following, p.position)
    IS DISTINCT FROM (now.previous, now.following, now.position)
"""


class Turn(NamedTuple):
    """A memory with a session, and the values that its place there depends on."""

    session: str
    row: int
    created_at: float
    sequence: int
    speaker: str | None


Place = tuple[int, int, int]
"""The row of the turn before, of the turn after (0 for none), and the number of turns before."""

NOWHERE: Place = (0, 0, -1)


def select_begun_sessions(namespace: str, sessions: Sequence[str]) -> Statement:
    """Read the sessions among these that have turns already."""
    return Statement(
        "SELECT wanted.id FROM unnest(%s::text[]) AS wanted(id) CROSS JOIN LATERAL (SELECT FROM "
        "memories WHERE namespace = %s AND session_id = wanted.id LIMIT 1) AS turn",
        (sessions, namespace),
    )


def session_places(turns: Sequence[Turn]) -> dict[int, Place]:
    """The place of each turn, by row; all turns of each session have to be there."""
    if not turns:
        return {}
    sessions, rows, created_at, sequence, speakers = zip(*turns, strict=True)
    session, _ = _factorize(sessions)
    speaker, speakers_known = _factorize(speakers)
    order = SessionOrder()
    order.update(
        Turns(
            session,
            -1,
            np.array(created_at, dtype=np.float64),
            np.array(sequence, dtype=np.float64),
            speaker,
            speakers_known.get(None, -1),
            np.ones(len(rows), dtype=bool),
        ),
        (),
    )
    row = np.array([*rows, 0])  # -1, for none, is the last of these
    columns = (row[order.previous], row[order.next], order.position)
    return dict(zip(rows, zip(*(each.tolist() for each in columns), strict=True), strict=True))


def _factorize(values: Iterable[str | None]) -> tuple[NDArray[np.int32], dict[str | None, int]]:
    code_of: dict[str | None, int] = {}
    codes = [code_of.setdefault(value, len(code_of)) for value in values]
    return np.array(codes, dtype=np.int32), code_of


def relink_sessions(namespace: str, version: int, sessions: Sequence[str]) -> list[Command]:
    """Put the turns of these sessions in order."""
    return (
        [Statement(_RELINK_SESSIONS, (version, namespace, sessions, namespace))] if sessions else []
    )

"""Which memories a search may find: its filter, cut so that most of it costs nothing.

Nearly every search leaves out what is not active or has expired, and nearly no memory is. So this
part of a filter is asked the other way round: which memories does it leave out?
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.filters import Both, Compare, Either, Filter, Not, fields_of, holds
from recollect.stores.postgres.commands import Statement
from recollect.stores.postgres.where import Condition, compiled

_SPECIAL = "(m.status <> 'active' OR m.expires_at IS NOT NULL)"
_USUAL = {"status": "active", "expires_at": None}


def divided(where: Filter | None) -> tuple[Filter | None, Filter | None]:
    """A filter as what the usual memory (active, without an end) passes, and the rest."""
    if where is None:
        return None, None
    parts = where.parts if isinstance(where, Both) else (where,)
    usual = tuple(part for part in parts if fields_of(part) <= _USUAL.keys() and _passes(part))
    rest = tuple(part for part in parts if part not in usual)
    return (Both(usual) if usual else None), (Both(rest) if rest else None)


def _passes(where: Filter) -> bool:
    if isinstance(where, Compare):
        return holds(where.operator, _USUAL[where.field], where.value)
    if isinstance(where, Not):
        return not _passes(where.part)
    if isinstance(where, Both):
        return all(map(_passes, where.parts))
    assert isinstance(where, Either)
    return any(map(_passes, where.parts))


def passing(where: Filter | None, owner: str) -> Condition:
    """A filter as a condition on the `"row"` of a table whose alias is `owner`.

    Memories that the usual part leaves out are few and have an index of their own.
    """
    usual, rest = divided(where)
    sql, parameters = "", ()
    memory = (
        f'SELECT FROM memories m WHERE m.namespace = {owner}.namespace AND m."row" = {owner}."row"'
    )
    if usual is not None:
        left_out = compiled(usual, "m")
        sql += f" AND NOT EXISTS ({memory} AND {_SPECIAL} AND ({left_out.sql}) IS NOT TRUE)"
        parameters += left_out.parameters
    if rest is not None:
        kept = compiled(rest, "m")
        sql += f" AND EXISTS ({memory} AND {kept.sql})"
        parameters += kept.parameters
    return Condition(sql, parameters)


def masks(namespace: str, where: Filter | None) -> list[Statement]:
    """Two statements: the rows that a filter leaves out of the usual, and those it keeps."""
    usual, rest = divided(where)
    found = []
    for part, special in ((usual, True), (rest, False)):
        if part is None:
            continue
        condition = compiled(part, "m")
        clause = f"{_SPECIAL} AND ({condition.sql}) IS NOT TRUE" if special else condition.sql
        found.append(
            Statement(
                f'SELECT array_agg(m."row") FROM memories m WHERE m.namespace = %s AND {clause}',
                (namespace, *condition.parameters),
            )
        )
    return found


def mask(where: Filter | None, answers: Sequence[Any], size: int) -> NDArray[np.bool_] | None:
    """Which ordinals pass a filter, from the answers to `masks`; None when all do."""
    usual, rest = divided(where)
    given = iter(answers)
    found = np.ones(size, dtype=bool)
    if usual is not None:
        [[rows]] = next(given)
        if rows is not None:
            found[rows[rows <= size] - 1] = False
    if rest is not None:
        [[rows]] = next(given)
        kept = np.zeros(size, dtype=bool)
        if rows is not None:
            kept[rows[rows <= size] - 1] = True
        found &= kept
    return None if found.all() else found

"""Reading and writing access keys."""

from __future__ import annotations

from typing import Any

from salience.records.access_key import AccessKey
from salience.retrieval import operations
from salience.stores.access_keys import PUT_KEY, SELECT_KEYS, USE_KEY, keys_of, row_of, use_of
from salience.stores.postgres.wire.commands import Send, Statement


def read_keys(op: operations.ReadKeys, send: Send) -> list[AccessKey]:
    """Access keys, all or of some ids, oldest first."""
    clause, parameters = "", tuple[Any, ...]()
    if op.ids is not None:
        clause, parameters = " WHERE id = ANY(%s::text[])", (list(op.ids),)
    [rows] = send(Statement(SELECT_KEYS + clause, parameters))
    return keys_of(rows)


def put_key(op: operations.PutKey, send: Send) -> bool:
    """Write a new access key or the next version of one; True if it was written."""
    [written] = send(Statement(_marked(PUT_KEY), row_of(op.key)))
    return bool(written)


def use_key(op: operations.UseKey, send: Send) -> None:
    """Note the last use of an access key."""
    send(Statement(_marked(USE_KEY), use_of(op.id, op.at)))


def _marked(sql: str) -> str:
    """A statement with the marks for parameters that PostgreSQL's driver knows."""
    return sql.replace("?", "%s")

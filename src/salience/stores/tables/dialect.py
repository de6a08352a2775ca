"""Commands for everything that differs between the tables of the stores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from salience.records.fields import FIELDS
from salience.records.filters import Filter
from salience.records.record import Embedding, MemoryRecord
from salience.records.tombstones import Tombstone
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.tables.commands import Command, Send, Statement, shared

_STORED_COLUMNS = ("row", "sequence", *FIELDS)
COLUMNS: dict[str, tuple[str, ...]] = {
    "events": ("namespace", "seq", "memory", "type", "at", "actor", "session", "payload"),
    "vectors": ("namespace", "name", "row", "vector"),
    "former_vectors": ("namespace", "memory", "event", "name", "vector"),
    "links": ("namespace", "source", "target", "type", "weight", "created_at"),
    "notes": ("namespace", "key", "value"),
    "erasures": Tombstone._fields,
    "meta": ("key", "value"),
}
"""The columns of tables, in the order of the rows written to them."""
KEYS = {"vectors": 3, "links": 4, "notes": 2, "meta": 1}
"""The tables whose rows are replaced, and how many of their columns are the key."""
SELECT_SETS = shared("SELECT key, value FROM meta WHERE key IN ('embedder', 'vectors')")


class NewRow(NamedTuple):
    """A memory to be written, and its values as `codec.encode_draft` has them, with its numbers."""

    record: MemoryRecord
    values: dict[str, Any]


class Dialect(Protocol):
    """The tables of one store; `erased` says what has become of the bytes of erased data."""

    erased: str

    def enter(self, namespace: str) -> Command:
        """Lock a namespace, a new one if it does not exist."""

    def lock(self, namespace: str) -> Command:
        """Lock a namespace, even one that is just getting its first memories."""

    def reserve(self, namespace: str, count: int) -> Command:
        """Take the next places of a log; the answer is the last, none if the namespace is gone."""

    def advance(self, namespace: str, place: int) -> list[Command]:
        """Let a log go on behind a place, if it has not reached it yet."""

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Command]:
        """Write new rows, their values in the order of the columns."""

    def insert_memories(self, namespace: str, memories: Sequence[NewRow]) -> list[Command]:
        """Write new rows of memories."""

    def number(
        self, heads: Mapping[str, Any], rows: Mapping[str, int], begun: Mapping[str, int],
        send: Send,
    ) -> dict[str, tuple[Iterator[int], Iterator[int] | None]]:  # fmt: skip
        """The numbers of new rows and, if they differ, of the memories that begin.

        They are by namespace; `heads` are the answers to `enter`.
        """

    def select_dimensions(self, namespace: str, names: Sequence[str] | None) -> Command:
        """Read the stored names and the lengths of vectors of some names or all, of either set."""

    def replace(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Command]:
        """Write rows in the place of those with their keys."""

    def renew(self, table: str, where: str, keys: Sequence[Sequence[Any]]) -> list[Command]:
        """Give rows that were changed the checksums that fit, where there are any."""

    def set_rows(self, namespace: str, changes: Mapping[int, Mapping[str, Any]]) -> list[Command]:
        """Set fields of memories by row, and let indexes know."""

    def note_linked(self, namespace: str, ids: Sequence[str]) -> list[Command]:
        """Let indexes know of memories from which links came or went."""

    def select_matching(
        self, namespace: str, where: Filter | None, after: int, limit: int
    ) -> Command:
        """Read rows behind one, ascending, each with its id or, if it fails a filter, None."""

    def select_chosen(self, namespace: str, ids: Sequence[str], where: Filter | None) -> Command:
        """Read id, row and sequence of memories of some ids that pass a filter."""

    def count_parts(self, namespace: str, rows: Sequence[int]) -> list[Statement]:
        """Count the terms and vectors of rows, each with its kind before it."""

    def erase_rows(self, namespace: str, rows: Sequence[int]) -> list[Command]:
        """Erase memories with their terms and vectors, and let indexes know."""

    def erase_name(self, namespace: str) -> list[Command]:
        """Erase a namespace that no longer has anything."""

    select_last_rows: Statement
    """Reads where the rows of each namespace end, as one value for `select_missing`."""

    def select_missing(self, stored_name: str, after: Any, limit: int) -> Statement:
        """Read namespace and id of memories behind some last rows, or any, without such a vector.

        No more than `limit`.
        """

    def lock_sets(self) -> list[Command]:
        """Keep out all who write to a namespace, to change the sets of vectors."""

    def reload(self, namespace: str | None) -> list[Command]:
        """Make the indexes of a namespace reload; for None, of all that have to."""

    def decoded(self, values: dict[str, Any]) -> dict[str, Any]:
        """Values as read, by name, as `codec` has them."""

    def vector(self, vector: Embedding) -> Any:
        """A vector as it is written."""

    def embedding(self, stored: Any) -> Embedding:
        """A vector as it was read."""


def lock(namespace: str) -> Statement:
    """Lock an existing namespace."""
    return shared("SELECT 1 FROM spaces WHERE $own $locked", (namespace,))


def parse_sets(answer: Iterable[Any]) -> tuple[str | None, VectorSets]:
    """The answer to SELECT_SETS: the embedder of the searched vectors, and the sets of vectors."""
    values = dict(answer)
    return values.get("embedder"), VectorSets.from_json(values.get("vectors"))


def _read(names: Sequence[str]) -> str:
    return ", ".join({"metadata": "$metadata", "row": "$row"}.get(n, n) for n in names)


def select_states(namespace: str, ids: Sequence[str] | None) -> Statement:
    """Read and lock the fields of memories (all for None) that events may change."""
    where = "" if ids is None else " AND id $any_text"
    return shared(
        f"SELECT id, $row, sequence, {_read(codec.EVENT_FIELDS)} FROM memories "
        f"WHERE $own{where} ORDER BY +$row $locked",
        (namespace,) if ids is None else (namespace, list(ids)),
    )


def states_by_id(rows: Iterable[Sequence[Any]], dialect: Dialect) -> dict[str, dict[str, Any]]:
    """The memories that `select_states` has read, by id."""
    states = {}
    for id, row, sequence, *values in rows:
        stored = dialect.decoded(dict(zip(codec.EVENT_FIELDS, values, strict=True)))
        states[id] = {**codec.decode_state(stored), "row": row, "sequence": sequence}
    return states


def select_stored(namespace: str, ids: Sequence[str], *, locked: bool = False) -> Statement:
    """Read all stored values of memories, and lock them if requested."""
    return shared(
        f"SELECT {_read(_STORED_COLUMNS)} FROM memories WHERE $own "
        "AND id $any_text ORDER BY +$row" + (" $locked" if locked else ""),
        (namespace, list(ids)),
    )


def stored_by_id(rows: Iterable[Sequence[Any]], dialect: Dialect) -> dict[str, dict[str, Any]]:
    """The values that `select_stored` has read, by id."""
    stored = (dialect.decoded(dict(zip(_STORED_COLUMNS, row, strict=True))) for row in rows)
    return {values["id"]: values for values in stored}


def records_by_id(
    namespace: str, rows: Iterable[Sequence[Any]], dialect: Dialect
) -> dict[str, MemoryRecord]:
    """The memories that `select_stored` has read, by id."""
    stored = stored_by_id(rows, dialect)
    return {id: codec.record_of(namespace, values) for id, values in stored.items()}


def payload_text(payload: Mapping[str, Any]) -> str | None:
    """The payload of an event as stored."""
    return json.dumps(payload, ensure_ascii=False, default=dict) if payload else None

"""Answers from the tables of both stores, in the transaction of a `send`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from salience.language.passages import is_vector_name
from salience.records.record import Embedding, Link
from salience.retrieval import operations
from salience.retrieval.candidates import Rows
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.tables import event_log
from salience.stores.tables.commands import Send, Statement, shared, worded
from salience.stores.tables.dialect import SELECT_SETS, Dialect, parse_sets
from salience.stores.tables.values import notes, read_keys

ROWS_BY_ID = worded("SELECT id, $row FROM memories WHERE $own AND id $any_text")


class RowIds(Protocol):
    """The ids by which operations name rows, across all namespaces."""

    def encode(self, namespace: str, rows: Sequence[int]) -> Rows:
        """The ids of rows of a namespace."""

    def by_namespace(self, ids: Rows) -> Iterator[tuple[str, Rows, NDArray[Any]]]:
        """Each namespace with its rows and their places among the ids."""


class TableReader:
    """Answers about stored values; one that `previews` reads as if the set beside were searched."""

    events = staticmethod(event_log.events)
    notes = staticmethod(notes)
    read_keys = staticmethod(read_keys)

    def __init__(self, row_ids: RowIds, dialect: Dialect, *, previews: bool = False) -> None:
        self._row_ids = row_ids
        self._dialect = dialect
        self.previews = previews

    def sets(self, stored: Any) -> tuple[str | None, VectorSets]:
        """The embedder and the sets of vectors as they are searched, by the answer to SELECT_SETS.

        The embedder is None if it is not known.
        """
        embedder, sets = parse_sets(stored)
        return (sets.beside or embedder, sets.previewed()) if self.previews else (embedder, sets)

    def embedder(self, send: Send) -> str | None:
        """The identity of the embedder of the searched vectors."""
        return self.sets(*send(SELECT_SETS))[0]

    def read_texts(self, op: operations.ReadTexts, send: Send) -> list[str | None]:
        """The contents of rows; reading nothing else takes a tenth of the time."""
        select = "SELECT $row, content FROM memories WHERE $of_rows"
        parts = list(self._row_ids.by_namespace(op.rows))
        answers = send(*[shared(select, (name, rows.tolist())) for name, rows, _ in parts])
        texts: list[str | None] = [None] * len(op.rows)
        for (_, rows, at), pairs in zip(parts, answers, strict=True):
            by_row = dict(pairs)
            if not all(type(text) is str for text in by_row.values()):
                raise TypeError("content of another type")
            for place, row in zip(at.tolist(), rows.tolist(), strict=True):
                texts[place] = by_row.get(row)
        return texts

    def former_vectors(
        self, op: operations.FormerVectors, send: Send
    ) -> list[tuple[int, str, Embedding]]:
        """The vectors that edits replaced."""
        return event_log.former_vectors(op, self._dialect, self.previews, send)

    def links_of(self, op: operations.LinksOf, send: Send) -> list[Link]:
        """The links of memories, by source, target and type."""
        [links] = send(select_links(op.namespace, op.ids))
        return [
            Link(op.namespace, source, target, type, weight, codec.decode("created_at", at))
            for source, target, type, at, weight in links
        ]

    def find_by_hash(self, op: operations.FindByHash, send: Send) -> dict[int, tuple[int, ...]]:
        """The rows of texts, outside of any session, or of facts about attributes, by a hash."""
        index = f"memories_by_{op.column.removesuffix('_key')}"
        select = (
            f"SELECT {op.column}, $row FROM memories ${index} WHERE $own "
            f"AND {op.column} $any_number ORDER BY 1, 2"
        )
        [pairs] = send(shared(select, (op.namespace, list(op.keys))))
        rows: dict[int, tuple[int, ...]] = {}
        ids = self._row_ids.encode(op.namespace, [row for _, row in pairs]).tolist()
        for (key, _), row in zip(pairs, ids, strict=True):
            rows[key] = (*rows.get(key, ()), row)
        return rows

    def rows_in_write_order(self, op: operations.RowsInWriteOrder, send: Send) -> Rows:
        """All rows, the one written first in front."""
        select = "SELECT $row FROM memories WHERE $own ORDER BY sequence"
        [rows] = send(shared(select, (op.namespace,)))
        return self._row_ids.encode(op.namespace, [row for (row,) in rows])

    def rows_by_id(self, op: operations.RowsById, send: Send) -> dict[str, int]:
        """The rows of ids that exist."""
        [pairs] = send(Statement(ROWS_BY_ID, (op.namespace, list(op.ids))))
        rows = self._row_ids.encode(op.namespace, [row for _, row in pairs]).tolist()
        by_id = dict(zip((id for id, _ in pairs), rows, strict=True))
        return {id: by_id[id] for id in op.ids if id in by_id}

    def unembedded(self, op: operations.Unembedded, send: Send, after: int = 0) -> Rows:
        """Rows above one that lack a vector of a name, searched or of the set beside, ascending."""
        long_only = "AND m.passages IS NOT NULL " if is_vector_name(op.name) else ""
        select = (
            f"SELECT m.$row FROM memories m WHERE m.$own AND m.$row > %s {long_only}"
            "AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.$namespace = m.$namespace "
            "AND v.name = %s AND v.$row = m.$row) ORDER BY m.$row LIMIT %s"
        )
        [stored_sets] = send(SELECT_SETS)
        stored = parse_sets(stored_sets)[1].stored_name(op.name, beside=op.beside)
        [rows] = send(shared(select, (op.namespace, after, stored, op.limit)))
        return self._row_ids.encode(op.namespace, [row for (row,) in rows])

    def dimensions(self, op: operations.Dimensions, send: Send) -> dict[str, int]:
        """The dimensions of searched vectors by name."""
        stored_sets, sizes = send(
            SELECT_SETS, self._dialect.select_dimensions(op.namespace, op.names)
        )
        return self.sets(stored_sets)[1].searched_sizes(dict(sizes))


def select_links(namespace: str, ids: Sequence[str] | None = None) -> Statement:
    """Read the links of a namespace, those from and to some memories or all, by their key.

    A row has source, target, type, created_at and weight.
    """
    select = "SELECT source, target, type, created_at, weight FROM links"
    order = "ORDER BY source, target, type"
    if ids is None:
        return shared(f"{select} WHERE $own {order}", (namespace,))
    return shared(
        f"{select} WHERE $own AND source $any_text UNION "
        f"{select} $links_by_target WHERE $own AND target $any_text {order}",
        (namespace, list(ids)) * 2,
    )

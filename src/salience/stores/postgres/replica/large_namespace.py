"""A namespace too large for an index in this process, as one search sees it.

The server's own parts find candidates: a GIN index of the terms of each memory, pgvector's HNSW
index with iterative scan, pg_trgm on titles, and B-trees. These, the turns beside them and whatever
else the search asks about are read into a small index of this search, and the code that searches
any other namespace ranks them. Figures of the whole namespace come from statistics that `salience
index` has noted, and from counts of rare terms.

This may miss a memory that none of the parts finds. Scores that depend on all memories come from
the statistics.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from salience.errors import EmbedderMismatch, InvalidInput
from salience.language.passages import is_vector_name
from salience.language.speakers import named_speakers, nicknames, speakers_of
from salience.language.tokens import term_id, term_ids_once
from salience.retrieval import operations
from salience.retrieval.candidates import Rows
from salience.retrieval.query import Query
from salience.retrieval.routes import Vector
from salience.stores.index.words.bm25 import WholeNamespace
from salience.stores.postgres.large.candidates import Parts, Search
from salience.stores.postgres.large.statistics import (
    STATISTICS,
    TERMS,
    WORD_INDEX,
    Statistics,
    select_speakers,
    term_key,
)
from salience.stores.postgres.replica import feed
from salience.stores.postgres.replica.feed import Watermark
from salience.stores.postgres.replica.replica import Pending, Replica
from salience.stores.postgres.row_ids import ROW_BITS
from salience.stores.postgres.sql.columns import spelling_key
from salience.stores.postgres.sql.vectors import inline, select_dimensions
from salience.stores.tables.commands import Send, Statement, set_local

_log = logging.getLogger(__name__)
_COUNTED = 20_000  # memories with a term up to which these are counted
_LINKED_ROWS = 1_000  # memories that are linked with those asked about
_SELECT_STATISTICS = f"SELECT value FROM notes WHERE namespace = %s AND key = '{STATISTICS}'"
_SELECT_LINKED = f"""
WITH own AS MATERIALIZED (
    SELECT id FROM memories WHERE namespace = %s AND "row" = ANY(%s::integer[])
), ends AS MATERIALIZED (
    SELECT l.target AS id FROM links l JOIN own ON own.id = l.source
    WHERE l.namespace = %s AND l.type = coalesce(%s, l.type)
    UNION SELECT l.source FROM links l JOIN own ON own.id = l.target
    WHERE l.namespace = %s AND l.type = coalesce(%s, l.type)
)
SELECT m."row" FROM ends JOIN memories m ON m.namespace = %s AND m.id = ends.id
LIMIT {_LINKED_ROWS}
"""


@lru_cache(maxsize=1024)  # said once of each
def _warn_of_missing_index(namespace: str) -> None:
    _log.warning(
        "the namespace %r has no index of its words, and a search reads all; run `salience index`",
        namespace,
    )


class LargeNamespace:
    """Answers about the whole namespace, and an index of the candidates of one search."""

    def __init__(self, namespace: str, offset: int, watermark: Watermark, pending: Pending) -> None:
        self.namespace = namespace
        self.replica = Replica(namespace, offset, (), watermark, pending)
        self._pending = pending
        self._rows: set[int] = set()  # ids of the rows that the index has
        self._is_known = False  # what follows
        self._statistics = Statistics()
        self._dimensions: dict[str, int] = {}  # of the searched vectors by name
        self._indexed: frozenset[str] = frozenset()  # the stored names of vectors, and of words
        self._frequencies: dict[int, int] = {}  # memories by term of the query

    @property
    def why(self) -> str:
        """The reason why what a search finds here is approximate."""
        return (
            f"the namespace {self.namespace!r} has {self._living:,} memories, more than this "
            "process holds; the server's indexes brought the candidates"
        )

    @property
    def _living(self) -> int:
        return self.replica.watermark.living

    # The whole namespace

    def figures(self, send: Send) -> None:
        """Read its statistics, the lengths of its vectors and its indexes, once a search."""
        if self._is_known:
            return
        name = self.namespace
        noted, sizes, indexes = send(
            Statement(_SELECT_STATISTICS, (name,)),
            select_dimensions(name, None),
            Statement("SELECT name FROM indexes WHERE namespace = %s", (name,)),
        )
        self._statistics = Statistics.of(noted[0][0] if noted else None)
        self._indexed = frozenset(indexed for (indexed,) in indexes)
        self._dimensions = self.replica.watermark.sets.searched_sizes(dict(sizes))
        self._is_known = True
        if not self._has_index:
            _warn_of_missing_index(self.namespace)

    @property
    def _has_index(self) -> bool:
        return WORD_INDEX in self._indexed

    def answer(self, op: operations.Op, send: Send) -> Any:
        """Answer an operation about namespaces, for this one."""
        self.figures(send)
        return getattr(self, op.method)(op, send)

    def find_speakers(self, op: operations.FindSpeakers, send: Send) -> operations.SpeakerMatches:
        noted = self._statistics
        [later] = send(select_speakers(self.namespace, noted.counter))
        turns = Counter(noted.speakers) + Counter(dict(later))
        speakers = speakers_of(dict(sorted(turns.items())), nicknames(noted.greetings))
        proper = sorted(set(op.words) & op.proper)
        holders = (self._holders(proper, send)) if self._has_index else []
        strange = {w for w, holder in zip(proper, holders, strict=False) if not holder.memories}
        matches = named_speakers(op.words, speakers.by_word, strange, op.ordinary, op.by_sound)
        vectors = frozenset(self._dimensions)
        return operations.SpeakerMatches.among(speakers, matches, self._living, vectors)

    def find_words(self, op: operations.FindWords, send: Send) -> operations.NearWords:
        """None are near while the words have no index."""
        if not self._has_index:
            return {}
        return operations.near_words(op, partial(self._holders, send=send))

    def _holders(self, words: Sequence[str], send: Send) -> list[operations.Holders]:
        """The memories that hold each word, in any field."""
        keys = [term_key(number) for number in term_ids_once(words).tolist()]
        [_, answer] = send(
            set_local("enable_seqscan", "off"),
            Statement(
                f'SELECT (SELECT array_agg(own."row") FROM ({self._held_by("asked.term")}) AS own) '
                "FROM unnest(%s::text[]) WITH ORDINALITY AS asked (term, place) ORDER BY place",
                (keys,),
            ),
        )
        offset = self.replica.offset
        return [
            operations.Holders.of(
                np.sort(np.asarray(() if rows is None else rows, np.int64)) + offset
            )
            for (rows,) in answer
        ]

    def _held_by(self, term: str) -> str:
        """The rows of the memories that hold a term, up to a number."""
        return (
            f'SELECT w."row" FROM words w WHERE w.namespace = {inline(self.namespace)} '
            f"AND {TERMS} && ARRAY[{term}] LIMIT {_COUNTED}"
        )

    def find_names(self, op: operations.FindNames, send: Send) -> frozenset[str]:
        name_of = {
            spelling_key(field, variant): name
            for field in op.fields
            for name, variants in op.names.items()
            for variant in variants
        }
        [keys] = send(
            Statement(
                "SELECT key FROM unnest(%s::text[]) AS key WHERE EXISTS (SELECT FROM memories m "
                "WHERE m.namespace = %s AND m.spellings @> ARRAY[key])",
                (list(name_of), self.namespace),
            )
        )
        return frozenset(name_of[key] for (key,) in keys)

    # Candidates

    def collect(self, op: operations.Collect, queries: Sequence[Query], send: Send) -> None:
        """Let the index hold what the routes may find for some queries, and the turns beside it."""
        self.figures(send)
        for route in op.routes:
            self._check(route, op.query)
        self._count(op.query, send)
        sets, words = self.replica.watermark.sets, self._statistics.words
        parts = Parts(
            self.namespace,
            {name: sets.stored_name(name) for name in self._dimensions},
            self._indexed,
            [sets.stored_name(name) for name in self._dimensions if is_vector_name(name)],
            self._frequencies,
            self._living,
            words.get("content", 0) / max(1, self._statistics.documents),
        )
        searches = [Search(route, query, op.depth) for query in queries for route in op.routes]
        *_, rows = send(*parts.settings(searches), parts.select(searches))
        asked_rows = () if op.rows is None else self.own_rows(op.rows)
        self.include([*asked_rows, *(row + self.replica.offset for (row,) in rows)], send)

    def own_rows(self, rows: Rows) -> list[int]:
        """The ids of the rows that are its memories."""
        return rows[rows >> ROW_BITS == self.replica.offset >> ROW_BITS].tolist()

    def _check(self, route: Any, query: Query) -> None:
        """Refuse a vector that cannot be compared with the stored ones."""
        if not isinstance(route, Vector) or query.vector is None:
            return
        searched = self.replica.watermark.searched_embedder
        is_known = route.vector == "content" and None not in (searched, query.embedder)
        if is_known and searched != query.embedder:
            raise EmbedderMismatch(str(searched), str(query.embedder))
        size = self._dimensions.get(route.vector, len(query.vector))
        if size != len(query.vector):
            raise InvalidInput(
                f"vectors.{route.vector}",
                f"have {size} dimensions, and the query's vector has {len(query.vector)}",
                "use the embedder that they come from",
            )

    def _count(self, query: Query, send: Send) -> None:
        """Count the memories that hold each term of a query."""
        forms = {term_id(form) for term in query.reading.terms for form in term}
        noted = self._statistics.frequencies
        for term in forms - self._frequencies.keys():
            if term_key(term) in noted:
                self._frequencies[term] = noted[term_key(term)]
        rare = sorted(forms - self._frequencies.keys())
        if rare:
            [_, answer] = send(
                set_local("enable_seqscan", "off"),
                Statement(
                    f"SELECT (SELECT count(*) FROM ({self._held_by('asked.term')}) AS own) "
                    "FROM unnest(%s::text[]) WITH ORDINALITY AS asked (term, place) ORDER BY place",
                    ([*map(term_key, rare)],),
                ),
            )
            counts = (number for (number,) in answer)
            self._frequencies.update(zip(rare, counts, strict=True))

    def include(self, ids: Iterable[int], send: Send) -> None:
        """Let the index hold some rows; any new row rebuilds it."""
        all_rows = self._rows.union(ids)
        if all_rows == self._rows and self.replica.refreshes:
            return
        before, offset = self.replica, self.replica.offset
        replica = Replica(self.namespace, offset, (), before.watermark, self._pending)
        rows, pending = sorted(all_rows), self._pending(self.namespace)
        request = replica.request(replica.index.table.loaded_columns)
        numbers = [row - offset for row in rows]
        answers = send(
            *request.of(rows),
            feed.select_vectors_of(self.namespace, numbers, before.watermark.sets),
        )
        replica.add(request, answers, pending, before.watermark.counter, before.watermark)
        replica.index.table.words.whole = WholeNamespace(
            self._living,
            self._statistics.documents,
            self._statistics.words,
            self._frequencies,
        )
        self._rows, self.replica = all_rows, replica

    def include_linked(self, ids: Iterable[int], type: str | None, send: Send) -> None:
        """Let the index hold some rows, and the memories that links of a type, or all, name."""
        numbers = [row - self.replica.offset for row in ids]
        name = self.namespace
        [linked] = send(Statement(_SELECT_LINKED, (name, numbers, name, type, name, type, name)))
        offset = self.replica.offset
        self.include([*ids, *(row + offset for (row,) in linked)], send)

    def rows(self) -> list[int]:
        """The ids of the rows that the index holds."""
        return sorted(self._rows)

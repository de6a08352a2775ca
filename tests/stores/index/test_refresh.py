"""An index that followed every write answers like one built anew: to the last bit."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience.language import speakers
from salience.language.analysis_types import QueryAnalysis
from salience.language.features import FEATURES
from salience.records.record import Draft, Edit, Link, MemoryRecord
from salience.records.tombstones import Erasing
from salience.retrieval.operations import (
    Collect,
    Delete,
    Edge,
    FetchColumns,
    Put,
    RowsById,
    SessionNeighbors,
    Touch,
)
from salience.retrieval.query import Query
from salience.retrieval.routes import ExactMatch, Lexical, Trigram, Vector
from salience.stores.index import memory_table
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index.snapshot import Saved, SnapshotFile, write
from salience.stores.index.words import postings
from salience.stores.sqlite.dialect import space_of
from salience.stores.sqlite.records import SqliteRecords
from salience.testing.conformance._case import START
from support.examples import examples

WORDS = ("apple", "pear", "plums", "went", "go", "ana")
COLUMNS = (
    *("speaker", "session_id", "importance", "tags", "position", "access_count", "created_at"),
    *("last_accessed", "strength"),
    *("in_degree", "newest_link", "is_cut_vertex", f"previous.{FEATURES[0]}"),
)
QUERY = Query(
    text="apple pear Ana",
    namespaces=("n",),
    now=START.timestamp(),
    k=5,
    vector=np.array([0.6, 0.8], dtype=np.float32),
    reading=QueryAnalysis(
        terms=(("appl",), ("pear", "plum"), ("ana",)), prefixes=("pl",), phrases=("pear went",)
    ),
    entities=frozenset({"ana"}),
)
ROUTES = (
    Lexical((("content", 1.0), ("title", 2.0), ("tags", 0.5)), before=0.5, after=0.25),
    Lexical((("content", 1.0),), operators=True),
    Lexical((("title", 1.0),), measure="ts_rank"),
    Trigram(("title", "speaker"), min_similarity=0.1),
    ExactMatch(),
    Vector(),
)

numbers = st.integers(0, 5)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
long_texts = st.permutations(["apple", "plums", *["go"] * 45]).map(" ".join)
contents = st.one_of(
    texts, long_texts, st.sampled_from(["Hey Annie, apple", "Thanks Bobby! go", "Hi Annie"])
)
memories = st.fixed_dictionaries(
    {
        "content": contents,
        "created_at": st.integers(0, 4).map(lambda minutes: START + timedelta(minutes=minutes)),
        "speaker": st.sampled_from(("Ana", "Ana", "Ana", "Bo Silva", None)),
        "session_id": st.sampled_from(("s", "s", "s", "t", None)),
    },
    optional={
        "title": st.sampled_from(["Ana", "plum pear"]),
        "importance": st.sampled_from([0.0, 0.5]),
        "tags": st.lists(st.sampled_from(WORDS), max_size=2).map(tuple),
    },
)
steps = st.one_of(
    st.tuples(st.just("put"), st.lists(st.tuples(numbers, memories), min_size=1, max_size=4)),
    st.tuples(st.just("put"), st.lists(st.tuples(numbers, memories), min_size=1, max_size=4)),
    st.tuples(st.just("erase"), st.sets(numbers, min_size=1, max_size=3)),
    st.tuples(st.just("link"), numbers, numbers, st.sampled_from(["supports", "contradicts"])),
    st.tuples(st.just("unlink"), numbers, numbers, st.just("supports")),
    st.tuples(st.just("link"), numbers, numbers, st.just("supports")),
    st.tuples(st.just("touch"), numbers),
)


def rows_by_id(records: SqliteRecords, *ids: str) -> dict[str, int]:
    return records.answer(RowsById("n", ids))


def take(records: SqliteRecords, index: NamespaceIndex, step: tuple[Any, ...]) -> None:
    kind, *arguments = step
    if kind == "put":
        drafts: dict[str, Draft] = {}
        for number, fields in arguments[0]:
            record = MemoryRecord(id=f"m{number}", namespace="n", updated_at=START, **fields)
            vector = np.array([np.cos(number), np.sin(number)], dtype=np.float32)
            kind_of_draft = Edit if rows_by_id(records, record.id) else Draft
            drafts[record.id] = kind_of_draft(record, {"content": vector} if number % 3 else {})
        assert records.put(Put(tuple(drafts.values()), at=START)) == ()
    elif kind == "erase":
        ids = tuple(f"m{number}" for number in arguments[0])
        records.delete(Delete("n", Erasing(START, None, "delete"), ids))
    elif kind in ("link", "unlink"):
        link = Link("n", f"m{arguments[0]}", f"m{arguments[1]}", arguments[2], 1.0, START)
        if {link.source, link.target} <= rows_by_id(records, link.source, link.target).keys():
            made, removed = ((link,), ()) if kind == "link" else ((), (link,))
            records.put(Put((), made, removed, at=START))
    elif kind == "touch":
        rows = list(rows_by_id(records, f"m{arguments[0]}").values())
        used = np.array(rows, dtype=np.int64)
        if records.touch(Touch(used, START)):
            index.table.touch(used, START.timestamp())  # it counts those of its own process


def answers(index: NamespaceIndex, records: SqliteRecords) -> dict[str, Any]:
    """All that a search reads of the index, by id where rows differ."""
    rows = np.array(sorted(rows_by_id(records, *(f"m{n}" for n in range(10))).values()))
    rows = rows.astype(np.int64)
    told: dict[str, Any] = {"speakers": index.table.speakers, "vectors": index.vector_names}
    for route in ROUTES:
        found, scores = index.find(route, QUERY, 4)
        told[f"search {route}"] = index.table.rows[found].tolist(), scores.tolist()
        names = (f"{route.name}.score", f"previous.{route.name}.score", f"{route.name}.matched")
        op = Collect(QUERY, (route,), None, (), frozenset(names))
        for name, column in index.collected(op, index.table.ordinals(rows)).items():
            told[f"{name} {route}"] = str(np.asarray(column).tolist())
    edges = index.edges_of_many(rows[::2], None, partial(records.edges, "n"))
    told["links"] = sorted(edges or ())
    told["neighbors"] = index.session_neighbors(SessionNeighbors(rows, QUERY), rows).tolist()
    columns = index.fetch_columns(FetchColumns(rows, COLUMNS), rows)
    return told | {name: str(np.asarray(column).tolist()) for name, column in columns.items()}


def restored(records: SqliteRecords, folder: Path, saved: Saved) -> NamespaceIndex:
    """An index made of a snapshot in a file, and of what came since."""
    with open(folder / "snapshot", "w+b") as file:
        write(file, saved, ["n"])
        file.flush()
        snapshot = SnapshotFile(file)
        assert snapshot.is_sound()
        assert snapshot.about == ["n"]
        index = NamespaceIndex(records, "n")
        with records._reading() as db:
            changes = records._all_changes(db, space_of(db, "n"), snapshot.attribute("seq"))
        index.table.restore(snapshot.read(), changes)
    return index


def stored_links(records: SqliteRecords) -> list[Edge]:
    """The links from and to every other memory, by row."""
    row_of = rows_by_id(records, *(f"m{n}" for n in range(10)))
    asked = sorted(row_of.values())[::2]
    edges = [
        Edge(row_of[source], row_of[target], weight, type)
        for source, target, weight, type in records.edges("n")
    ]
    return sorted(edge for edge in edges if edge.source in asked or edge.target in asked)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(memories, min_size=4, max_size=4),
    st.lists(steps, max_size=8),
    st.integers(0, 99),
    st.integers(0, 4),
)
def test_a_refreshed_index_answers_like_one_built_anew(
    begun: list[dict[str, Any]], taken: list[tuple[Any, ...]], recent: int, saved_at: int
) -> None:
    """So does one that is made of a snapshot of an earlier state."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as name:
        folder = Path(name)
        patch.setattr(postings, "_MAX_RECENT_WORDS", recent)
        patch.setattr(memory_table, "MANY_LINKS", -1)
        patch.setattr(memory_table, "_MAX_CHANGED_SHARE", 1.0)
        patch.setattr(speakers, "NICKNAME_MIN_GREETINGS", 1)
        records = SqliteRecords(":memory:")
        index = NamespaceIndex(records, "n")
        saved: Saved | None = None
        for number, step in enumerate((("put", list(enumerate(begun))), *taken)):
            take(records, index, step)
            index.table.refresh()
            fresh = NamespaceIndex(records, "n")
            fresh.table.refresh()
            told = answers(index, records)
            assert told == answers(fresh, records)
            mapped = restored(records, folder, saved or Saved.of(fresh.table))
            assert told == answers(mapped, records)
            left = restored(records, folder, Saved.of(index.table.compacted()))
            assert told == answers(left, records)
            if number == saved_at:
                saved = Saved.of(fresh.table)
            assert told["links"] == stored_links(records)

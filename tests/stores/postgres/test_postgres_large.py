"""Namespaces too large for an index in the process: the server brings candidates."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from salience import Memory
from salience.ranking import profiles
from salience.records.filters import all_of
from salience.retrieval import operations
from salience.stores import build_indexes
from salience.stores.postgres import PostgresStore
from salience.stores.postgres.replica import large_namespace as large
from salience.stores.postgres.replica.manager import MEMORY_VARIABLE
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import perform
from support.children import PROGRAM
from support.mcp_client import in_process, text_of
from support.served import serve_memory

EMBEDDER = WordHashEmbedder()
NAMES = ("Ana", "Bo", "Cara")
ASKED: dict[str, Any] = {"touch": False, "now": 2e9}
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("What did Ana say of topic5 and word7?", {}),
    ("number123", {"explain": True}),
    ("topic3 word4", {"filters": {"speaker": "Bo"}}),
    ("topic3 word4", {"filters": {"content": {"contains": "number4"}}}),
    ('"of topic3 said" numb*', {"profile": "vitality"}),
    ("word9", {"filters": {"created_at": {"lt": "2023-11-15"}}}),
]


def fill(memory: Memory, count: int = 240) -> None:
    memory.add_many(
        {
            "id": f"m{i:04}",
            "content": f"word{i % 37} of topic{i % 11} said number{i}",
            "speaker": NAMES[i % 3],
            "session_id": f"s{i // 12}",
            "created_at": 1_700_000_000 + 600 * i,
            "title": f"Report {i}" if i % 5 == 0 else None,
            "importance": i % 10 / 10,
        }
        for i in range(count)
    )
    memory.link("m0003", "m0100")


@pytest.fixture(params=[False, True], ids=["unindexed", "indexed"])
def both(
    request: pytest.FixtureRequest, database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Memory, Memory]]:
    """The same memories in a process that can hold none, and in one that does."""
    with Memory.open(database, embedder=EMBEDDER) as held:
        fill(held)
        if request.param:
            monkeypatch.setenv(MEMORY_VARIABLE, "0")
            assert build_indexes(database) == 2
            assert build_indexes(database) == 0
        store = PostgresStore(database, memory=0)
        with Memory.open(store, embedder=EMBEDDER) as memory:
            yield memory, held
        held.delete_all(namespace="default")  # and the indexes with it


def test_a_result_says_that_it_is_approximate_and_why(both: tuple[Memory, Memory]) -> None:
    memory, _ = both
    found, known = (each.search("topic3 word4", **ASKED) for each in both)
    assert found.approximate
    assert found.degraded[-1].startswith("exactness: the namespace 'default' has 240 memories")
    assert found.to_dict()["approximate"] is True
    assert (known.approximate, known.degraded) == (False, ())
    assert memory.get_context("topic3 word4", now=2e9).degraded == found.degraded
    for id in (found.ids[0], "m0001"):  # a hit and another
        told, exact = (each.explain("topic3 word4", id) for each in both)
        assert (told.approximate, told.degraded) == (True, found.degraded)
        assert found.degraded[-1] in str(told)
        assert "exactness: the namespace" in told.to_html()
        assert (exact.approximate, exact.degraded) == (False, ())


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("question", "options"), QUESTIONS)
def test_where_all_are_candidates_hits_are_those_of_the_index(
    both: tuple[Memory, Memory], question: str, options: dict[str, Any]
) -> None:
    found, known = (each.search(question, limit=5, **ASKED, **options) for each in both)
    assert len(known) == len(found)
    assert len(set(found.ids) & set(known.ids)) >= len(known.ids) - 1
    assert set(known.ids[:1]) <= set(found.ids)
    if options.get("explain"):
        assert all(hit.explanation and hit.explanation.value == hit.score for hit in found)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("profile", profiles.names())
def test_every_profile_finds(both: tuple[Memory, Memory], profile: str) -> None:
    found, known = (each.search("topic5 word7", profile=profile, **ASKED) for each in both)
    assert len(found) == len(known)
    assert len(set(found.ids) & set(known.ids)) >= 0.6 * len(known)


def test_writes_show_at_once_and_uses_count(both: tuple[Memory, Memory]) -> None:
    memory, held = both
    memory.add("The zeppelin landed", id="new", speaker="Ana")
    assert memory.search("zeppelin", touch=False).ids[0] == "new"
    held.update("new", content="The airship landed")
    assert memory.search("airship", touch=False).ids[0] == "new"
    memory.search("airship", limit=1)
    hit = memory.search("airship", limit=1, touch=False)[0]
    assert hit.record.access_count == 1
    held.delete("new")
    assert "new" not in memory.search("airship", touch=False).ids


def test_large_and_small_namespaces_are_searched_together(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salience.stores.postgres.replica.manager._BYTES_PER_MEMORY", 1_000)
    store = PostgresStore(database, memory=200_000)
    with Memory.open(store, embedder=EMBEDDER) as memory:
        fill(memory, 150)
        memory.for_namespace("small").add(
            "word3 of topic5 in a small one", id="small", speaker="Dan"
        )
        found = memory.search(
            "word3 topic5 Dan", namespaces=["default", "small"], limit=20, **ASKED
        )
        assert found.approximate
        assert {hit.record.namespace for hit in found} == {"default", "small"}
        assert "small" in found.ids
        assert not memory.for_namespace("small").search("word3", **ASKED).approximate


def test_a_misspelt_word_and_a_nickname_are_known_by_the_indexes(
    both: tuple[Memory, Memory],
) -> None:
    memory, _ = both
    memory.add("The zeppelin landed", id="new")
    found, known = (each.search("zepelin", profile="balanced", **ASKED) for each in both)
    indexed = bool(memory._core.dispatcher.store.replicas._own.large["default"]._has_index)  # type: ignore[attr-defined]
    assert found.taken == (known.taken if indexed else {})
    assert found.ids[0] == "new" or not indexed


def test_the_statements_use_the_indexes(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, "0")
    with Memory.open(database, embedder=EMBEDDER) as held:
        fill(held)
        assert build_indexes(database) == 2
        store = PostgresStore(database, memory=0)
        said: list[Any] = []
        store.database.on_command = said.append
        with Memory.open(store, embedder=EMBEDDER) as memory:
            memory.search("topic3 word4 number9", **ASKED)
        [select] = [each for each in said if getattr(each, "sql", "").startswith("WITH found")]
        with psycopg.connect(database, options="-c search_path=salience,public") as connection:
            store.database.configure(connection)
            connection.execute("SET enable_seqscan = off")
            plan = connection.execute(f"EXPLAIN {select.sql}".encode(), select.parameters)
            text = "\n".join(line for (line,) in plan.fetchall())
        assert "words_held_" in text
        assert "vectors_near_" in text
        held.delete_all(namespace="default")
        with psycopg.connect(database) as connection:
            left = connection.execute(
                "SELECT count(*) FROM pg_indexes WHERE indexname ~ '^(words_held|vectors_near)_'"
            ).fetchone()
        assert left == (0,)


def test_terms_are_counted_and_noted(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Document frequencies and lengths are those of the whole namespace, whatever is at hand."""
    monkeypatch.setenv(MEMORY_VARIABLE, "0")
    monkeypatch.setattr(large, "_COUNTED", 1_000)
    with Memory.open(database, embedder=EMBEDDER) as held:
        fill(held)
        build_indexes(database)
        with Memory.open(PostgresStore(database, memory=0), embedder=EMBEDDER) as memory:
            asked = {"profile": "multi_route", "explain": True, "limit": 3, **ASKED}
            found, known = (each.search("number77 topic0", **asked) for each in (memory, held))
            assert found.ids[0] == known.ids[0] == "m0077"
            assert found[0].score == pytest.approx(known[0].score, rel=1e-6)
        held.delete_all(namespace="default")


@pytest.mark.deep
def test_every_door_says_so(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, "0")
    with Memory.open(database, embedder="none") as memory:
        memory.add("Ana has a cello", id="cello")
    search = [sys.executable, "-c", PROGRAM, "search", "cello", "--db", database]
    search += ["--embedder", "none"]
    said = subprocess.run(search, capture_output=True, text=True, check=True)
    assert "exactness: the namespace 'default' has 1 memories" in said.stderr
    told = subprocess.run([*search, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout)["approximate"] is True
    with serve_memory(database, embedder="none") as remote:
        found = remote.search("cello")
        assert found.approximate
        assert found.degraded[-1].startswith("exactness: ")
        assert remote.explain("cello", "cello").approximate
    explain = [*search[:3], "explain", "cello", "cello", *search[5:]]
    said = subprocess.run(explain, capture_output=True, text=True, check=True)
    assert "exactness: the namespace" in " ".join(said.stdout.split())
    told = subprocess.run([*explain, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout)["approximate"] is True
    with in_process(database, embedder="none") as tools:
        [*_, lack] = tools.call("explain_memory", query="cello", id="cello")["lacks"]
        assert lack.startswith("Searched without exactness: the namespace 'default' has 1 ")
        assert lack in text_of(tools.result("explain_memory", query="cello", id="cello"))


@pytest.mark.parametrize("id", ["m0000", "m0120"])
@pytest.mark.parametrize("length", [2, 40])
def test_one_vector_of_another_length_decides_nothing(
    database: str, length: int, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(database, embedder=EMBEDDER) as memory:
        fill(memory)
        expected = memory.search("number5 of topic2", limit=20, **ASKED).ids
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "UPDATE salience.vectors v SET vector = %s::salience.halfvec FROM salience.memories m "
            "WHERE m.id = %s AND (v.namespace, v.row) = (m.namespace, m.row)",
            (str([1.0] * length), id),
        )

    def check(limit: int) -> tuple[str, ...]:
        store = PostgresStore(database, memory=limit)
        with Memory.open(store, embedder=EMBEDDER) as memory:
            found = memory.search("number5 of topic2", limit=20, **ASKED)
            assert len({*found.ids} & {*expected}) > 15
            assert "vector" in found.hits[0].routes
            for count in (1, 20):
                asked = EMBEDDER.embed(["word6 of topic6 said number6"] * count)
                near = operations.NearestVectors("default", [*asked], 0.9, all_of())
                rows = {row for row, _ in perform(memory, near)}
                [record] = perform(memory, operations.ReadRecords(np.array([*rows])))
                assert record.id == "m0006"
            memory.add("Something else", id="else")
            memory.delete("else")
            return found.degraded

    check(0)
    monkeypatch.setenv(MEMORY_VARIABLE, "0")
    assert build_indexes(database) == 2
    check(0)
    assert f"the vector 'content' of {id} is damaged" in check(1 << 30)[0]
    with Memory.open(database, embedder=EMBEDDER) as memory:
        memory.delete_all(namespace="default")

"""The doctor of a PostgreSQL store: each kind of damage, made by SQL, is found and mended."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from salience import AsyncMemory, Memory
from salience.errors import StoreError
from salience.stores import build_indexes, migrate
from salience.testing import WordHashEmbedder
from support.shared_postgres import Databases

EMBEDDER = WordHashEmbedder(32)
NOW = "2026-06-01"


@pytest.fixture(scope="module")
def sound(postgres: Databases) -> str:
    """The name of a database with memories, of which each test has a copy."""
    return _fill(postgres)


def _fill(postgres: Databases) -> str:
    with Memory.open(postgres.fresh("sound"), embedder=EMBEDDER) as memory:
        memory.add_many(
            {
                "id": f"m{i}",
                "content": f"Ana told Ben about ship number{i} on the river{i % 7}.",
                "title": f"Ship {i}" if i % 3 else None,
                "tags": ["Ship"],
                "speaker": ("Ana", "Ben")[i % 2],
                "session_id": f"s{i // 10}",
                "created_at": 1_700_000_000 + i,
            }
            for i in range(150)
        )
        memory.link("m1", "m2", "supports", 0.5)
        memory.update("m3", content="The ship was sold.")
        memory.delete("m4")
        memory.add("The log.", id="p", links=[{"target": "later", "type": "mentions"}])
        memory.for_namespace("other").add("The berth is paid.", id="berth", kind="fact")
    return "sound"


@pytest.fixture
def url(postgres: Databases, sound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # where the quarantine is
    return postgres.fresh("ill", sound)


def do(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True, options="-c search_path=salience,public") as db:
        for statement in statements:
            db.execute(statement.encode())


def opened(url: str) -> Memory:
    return Memory.open(url, embedder=EMBEDDER)


def answers(memory: Memory) -> list[Any]:
    asked = ("Which ship was sold?", "number17 of Ana", "river3")
    return [
        [(hit.id, hit.score) for hit in memory.search(text, limit=10, now=NOW, touch=False)]
        for text in asked
    ]


@pytest.fixture(scope="module")
def expected(postgres: Databases, sound: str) -> list[Any]:
    with opened(postgres.address(sound)) as memory:
        assert memory.upkeep.doctor() == memory.upkeep.doctor(fix=True)
        assert memory.upkeep.doctor().findings == ()  # a link may lead to a memory that is to come
        return answers(memory)


ROW = """(SELECT "row" FROM memories WHERE namespace = 'default' AND id = 'm5')"""
OF_M5 = f"namespace = 'default' AND \"row\" = {ROW}"
MENDED = [
    {  # the words of one memory, keys, indexes
        "DROP INDEX memories_by_time": "indexes",
        "UPDATE memories SET features = '\\x00', spellings = '{}' WHERE id = 'm5'": "words",
        f"UPDATE words SET content = '\\x0102030405060708' WHERE {OF_M5}": "words",
        "UPDATE spaces SET counter = 7, living = 3 WHERE namespace = 'default'": "counter",
    },
    {
        "ALTER TABLE links DROP CONSTRAINT links_pkey": "indexes",
        "UPDATE pg_index SET indisvalid = false "
        "WHERE indexrelid = 'memories_by_text'::regclass": "indexes",
        f"DELETE FROM words WHERE {OF_M5}": "words",
        "UPDATE clocks SET seq = 1": "counter",
    },
    {
        "DROP INDEX links_by_target": "indexes",
        "CREATE INDEX links_by_target ON links (target)": "indexes",
        "CREATE INDEX half ON links (type)": "indexes",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'half'::regclass": "indexes",
        "DELETE FROM spaces WHERE namespace = 'default'": "namespaces",
    },
]


@pytest.mark.parametrize("number", range(len(MENDED)))
def test_what_can_be_worked_out_is_mended(url: str, expected: list[Any], number: int) -> None:
    damage = MENDED[number]
    do(url, *damage)
    with opened(url) as memory:
        found = memory.upkeep.doctor()
        assert {finding.check for finding in found} & set(damage.values())
        assert not found
        fixed = memory.upkeep.doctor(fix=True)
        assert {finding.check for finding in fixed} >= set(damage.values())
        assert fixed, list(map(str, fixed))
        assert memory.upkeep.doctor().findings == ()
        assert answers(memory) == expected
        memory.add("The store goes on.", id="after")
        assert memory.upkeep.verify()
    assert list(Path().iterdir()) == []


ORPHANS = {
    "vectors": "INSERT INTO vectors SELECT namespace, name, 99999, vector FROM vectors LIMIT 1",
    "events": "INSERT INTO events SELECT namespace, 999999, 88888, type, at FROM events LIMIT 1",
    "links": "INSERT INTO links VALUES ('default', 'nobody', 'm1', 'supports', 0.5, 0)",
    "former_vectors": (
        "INSERT INTO former_vectors SELECT namespace, 1, 777777, name, vector FROM vectors LIMIT 1"
    ),
    "words": "INSERT INTO words (namespace, \"row\") VALUES ('default', 99999)",
}


def test_orphans_are_kept_in_a_file_and_removed(url: str, expected: list[Any]) -> None:
    do(url, *ORPHANS.values())
    with opened(url) as memory:
        found = [finding for finding in memory.upkeep.doctor() if finding.check == "orphans"]
        assert len(found) == len(ORPHANS)
        assert list(Path().iterdir()) == []
        assert memory.upkeep.doctor(fix=True)
        assert memory.upkeep.doctor().findings == ()
        assert answers(memory) == expected
    [quarantine] = Path().glob("ill_*.damaged.jsonl")
    lines = quarantine.read_text("utf-8").splitlines()
    kept = [json.loads(line) for line in lines]
    assert [line["table"] for line in kept] == ["vectors", "words", "events", "links",
        "former_vectors"]  # fmt: skip
    assert {line["namespace"] for line in kept} == {"default"}
    assert {line["why"] for line in kept} == {"orphan"}
    assert kept[3]["row"]["source"] == "nobody"


def test_vectors_of_another_length_are_taken_out_and_made_anew(url: str) -> None:
    do(
        url,
        f"UPDATE vectors SET vector = '[1,0,0]' WHERE \"row\" = {ROW} AND namespace = 'default'",
    )
    with opened(url) as memory:
        assert "dimensions" in {finding.check for finding in memory.upkeep.doctor()}
        assert memory.upkeep.doctor(fix=True)
        [missing] = memory.upkeep.doctor()
        assert missing.check == "vectors"
        assert missing.harmless
    assert Memory.upkeep.reembed(url, embedder=EMBEDDER, missing=True) == 1
    with opened(url) as memory:
        assert memory.upkeep.doctor().findings == ()


def test_a_vector_index_that_is_lost_is_built_anew(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALIENCE_POSTGRES_MEMORY_MB", "1")
    monkeypatch.setattr("salience.stores.postgres.replica.manager._BYTES_PER_MEMORY", 5_000)
    assert build_indexes(url) == 2  # of the words and the vectors of one of two namespaces
    with opened(url) as memory:
        assert memory.upkeep.doctor().findings == ()
    do(
        url,
        "DO $$ BEGIN EXECUTE (SELECT 'DROP INDEX ' || indexrelid::regclass FROM pg_index "
        "WHERE indexrelid::regclass::text LIKE '%vectors_near%'); END $$",
    )
    with opened(url) as memory:
        [finding] = memory.upkeep.doctor()
        assert finding.check == "indexes"
        assert finding.examples == ("content of default",)
        assert memory.upkeep.doctor(fix=True)
        assert memory.upkeep.doctor().findings == ()


def test_a_schema_that_cannot_be_mended_is_named_with_the_remedy(url: str) -> None:
    do(
        url,
        "ALTER TABLE memories DROP COLUMN passages",
        "ALTER TABLE spaces ALTER COLUMN living TYPE bigint",
        "DROP TABLE notes",
        "DROP FUNCTION casefolded",
        "ALTER TABLE links ADD COLUMN mine text",
    )
    with opened(url) as memory:
        for fix in (False, True):
            diagnosis = memory.upkeep.doctor(fix=fix)
            assert not diagnosis
            left = [finding for finding in diagnosis if finding.check == "structure"]
            assert [finding.problem for finding in left] == [
                "the table notes is missing",
                "the column passages of memories is missing",
                "the column living of spaces is of the type bigint NOT NULL, not integer NOT NULL",
                "the function casefolded is missing",
            ]
            assert all("pg_restore" in finding.remedy for finding in left)
            [others] = [finding for finding in diagnosis if "of others" in finding.problem]
            assert others.examples == ("links.mine",)
            assert others.harmless


def test_tables_without_the_row_security_of_the_others_get_it_awaited(url: str) -> None:
    async def mended() -> bool:
        async with await AsyncMemory.open(url, embedder=EMBEDDER) as memory:
            return bool(await memory.upkeep.doctor(fix=True))

    migrate(url, row_security=True)
    do(url, "DROP POLICY own_namespaces ON links", "ALTER TABLE words DISABLE ROW LEVEL SECURITY")
    with opened(url) as memory:
        [finding] = memory.upkeep.doctor()
        assert (finding.check, finding.examples) == ("policies", ("links", "words"))
        assert asyncio.run(mended())
        assert memory.upkeep.doctor().findings == ()


def test_a_key_that_would_not_be_unique_is_told(url: str) -> None:
    do(
        url,
        "ALTER TABLE links DROP CONSTRAINT links_pkey",
        "INSERT INTO links SELECT * FROM links WHERE source = 'm1'",
    )
    with opened(url) as memory:
        diagnosis = memory.upkeep.doctor(fix=True)
        assert not diagnosis
        [finding] = [each for each in diagnosis if each.check == "indexes"]
        assert "could not be mended" in finding.remedy
        assert "m1" in finding.remedy


def test_a_role_that_does_not_see_all_is_sent_to_the_owner(url: str, postgres: Databases) -> None:
    migrate(url, row_security=True)
    do(
        url,
        "CREATE ROLE tenant LOGIN",
        "GRANT USAGE ON SCHEMA salience TO tenant",
        "GRANT ALL ON ALL TABLES IN SCHEMA salience TO tenant",
    )
    with (
        Memory.open(postgres.address("ill", "tenant"), embedder=EMBEDDER) as memory,
        pytest.raises(StoreError, match="as the owner"),
    ):
        memory.upkeep.doctor()


def test_a_server_without_checksums_and_tables_left_behind_are_told(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "salience.stores.postgres.safety.checkup"
    monkeypatch.setattr(f"{module}._MANY_ROWS", 10)
    do(
        url,
        "ALTER TABLE events SET (autovacuum_enabled = off)",
        "UPDATE events SET at = at",
        "SELECT pg_stat_force_next_flush()",
    )
    with opened(url) as memory:
        found = memory.upkeep.doctor()
        assert found
        assert [finding.check for finding in found if "events" in finding.problem] == ["upkeep"]
        assert memory.upkeep.doctor(fix=True)
        assert not [each for each in memory.upkeep.doctor() if "events" in each.problem]


ONE_BAD_ROW = {
    "UPDATE memories SET features = '\\x00' WHERE id = 'm2'": True,
    "UPDATE words SET content = '\\x0102' WHERE \"row\" = 3": True,
    'DELETE FROM words WHERE "row" = 3': True,
    "UPDATE memories SET created_at = 1e300 WHERE id = 'm2'": False,
}


@pytest.mark.parametrize("damage", ONE_BAD_ROW)
def test_one_bad_row_never_stops_its_namespace(
    damage: str, database: str, cleaner: psycopg.Connection[Any]
) -> None:
    with Memory.open(database, embedder=WordHashEmbedder()) as memory:
        memory.add_many({"id": f"m{i}", "content": f"Note {i} of apples."} for i in range(4))
    cleaner.execute(f"SET search_path = salience; {damage}".encode())
    with Memory.open(database, embedder=WordHashEmbedder()) as memory:
        found = memory.search("apples")
        assert len(found) == 3 + ONE_BAD_ROW[damage]
        assert bool(found.degraded) is not ONE_BAD_ROW[damage]
        memory.add("Pears are another thing.")
        assert {finding.check for finding in memory.upkeep.doctor()} >= {
            "words" if ONE_BAD_ROW[damage] else "memories"
        }

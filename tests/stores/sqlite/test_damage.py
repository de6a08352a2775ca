"""Damage: every flipped bit that changes an answer is found; no error is a foreign one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.access.keyring import Keyring
from salience.errors import StoreError
from salience.importers import read
from salience.records.record import Draft
from salience.stores import codec
from salience.stores.sqlite.connection import connect
from salience.stores.sqlite.row_checksums import checksum_of
from salience.stores.sqlite.statements import checksum
from salience.testing import WordHashEmbedder
from torture import damage
from torture.tally import table

EMBEDDER = WordHashEmbedder(32)
SEED = 7
FLIPS, MENDED_FLIPS = 50, 12  # `make torture` flips more


def opened(path: Path) -> Memory:
    return Memory.open(path, embedder=EMBEDDER)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with opened(path) as memory:
        for i in range(20):
            memory.add(
                f"Ana told Ben about ship number {i} on the river.",
                id=f"m{i}",
                tags=["ship"],
                metadata={"mast": i},
                created_at="2026-01-01",
            )
        memory.link("m1", "m2", "supports", 0.5)
        memory.update("m3", content="The ship was sold.")
        memory.feedback("m4", "useful")
    return path.read_bytes()


def changed(path: Path, *statements: str) -> None:
    """Change a file past the library, whose function for checksums SQLite lacks then."""
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


@pytest.mark.deep
def test_no_flipped_bit_that_changes_an_answer_is_unnoticed(tmp_path: Path) -> None:
    tally = damage.on_sqlite(FLIPS, SEED, tmp_path, lambda _: None, mend=False)
    assert tally, table([tally])
    assert all(outcome in tally.attack for outcome in ("right", "found", "refused"))


def test_what_is_mended_holds_nothing_that_was_not_written(tmp_path: Path) -> None:
    tally = damage.on_sqlite(MENDED_FLIPS, SEED, tmp_path, lambda _: None)
    assert tally, table([tally])
    assert "mended" in tally.attack


def test_verify_names_damaged_rows_of_its_namespace_alone(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE memories SET content = 'Forged.' WHERE id = 'm5'")
        db.execute("UPDATE memories SET strength = 0.25 WHERE id = 'm8'")
    with opened(path) as memory:
        memory.for_namespace("other").add("Nothing of it is damaged.")
        assert memory.for_namespace("other").upkeep.verify()
        verification = memory.upkeep.verify(repair=True)
        assert not verification
        assert [finding.examples for finding in verification.damage] == [("m5",)]
        assert not verification.repaired  # what is damaged is mended first
        assert memory.upkeep.doctor(fix=True)
        assert memory.upkeep.verify()


def test_damage_in_a_sample_is_logged_at_opening(
    tmp_path: Path, sound: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE memories SET content = content || ' Forged.'")
    opened(path).close()
    assert "damaged memories (m" in caplog.text
    assert "see `salience doctor`" in caplog.text


def test_damaged_rows_go_to_a_file_and_the_rest_is_sound(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE memories SET content = 'Forged.' WHERE id = 'm5'")
        db.execute("UPDATE memories SET features = zeroblob(length(features)) WHERE id = 'm6'")
        db.execute(
            "UPDATE vectors SET vector = zeroblob(64) "
            "WHERE row = (SELECT row FROM memories WHERE id = 'm7')"
        )
        db.execute("UPDATE events SET at = at + 1 WHERE type = 'link'")
        db.execute("UPDATE memories SET strength = 0.25 WHERE id = 'm8'")
        db.execute("DROP INDEX links_by_target")
    db.close()
    with opened(path) as memory:
        found = memory.upkeep.doctor()
        assert not found
        assert {finding.check for finding in found} >= {
            "schema", "memories", "vectors", "events", "history",
        }  # fmt: skip
        assert not (tmp_path / "memory.db.damaged.jsonl").exists()
        assert memory.upkeep.doctor(fix=True)
        assert memory.upkeep.doctor()
        assert "m5" not in memory
        assert memory["m6"].content.startswith("Ana told Ben")
    lines = (tmp_path / "memory.db.damaged.jsonl").read_text("utf-8").splitlines()
    kept = [json.loads(line) for line in lines]
    assert "Forged." in [line["row"].get("content") for line in kept]
    assert {"memories", "vectors", "events"} <= {line["table"] for line in kept}


def test_a_link_to_a_memory_that_is_to_come_is_no_orphan(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memory:
        memory.add("The log.", id="log", links=[{"target": "later", "type": "mentions"}])
        assert memory.upkeep.doctor(fix=True).findings == ()
        memory.add("Later.", id="later")
        assert [link.target for link in memory.links("log")] == ["later"]


def test_indexes_words_and_numbers_are_worked_out_anew(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    with opened(path) as memory:
        assert memory.upkeep.doctor().findings == ()
    changed(
        path,
        "DROP INDEX links_by_target",
        "CREATE INDEX links_by_target ON links (target)",
        "CREATE TRIGGER foreign_one AFTER DELETE ON memories BEGIN SELECT 1; END",
        "UPDATE counter SET value = 2",
        "UPDATE spaces SET last = 1",
    )
    with closing(sqlite3.connect(path)) as db, db:  # as an older version might have kept it
        db.create_function("checksum", -1, checksum)
        db.execute("UPDATE memories SET terms_content = NULL, derived_by = 0 WHERE id = 'm5'")
        db.execute(f"UPDATE memories SET checksum = {checksum_of('memories')} WHERE id = 'm5'")
    with opened(path) as memory:
        found = memory.upkeep.doctor(fix=True)
        checks = [finding.check for finding in found]
        assert checks == ["schema", "schema", "counter", "counter", "words"]
        assert [finding.check for finding in found if not finding.fixed] == ["schema"]
        assert found.findings[1].examples == ("foreign_one",)
        memory.add("The store goes on.", id="after")
    changed(path, "DROP TRIGGER foreign_one")
    with opened(path) as memory:
        assert memory.upkeep.doctor().findings == ()
        assert memory.upkeep.verify()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET type = CAST(type AS BLOB) WHERE seq = 4",
        "UPDATE events SET memory = NULL WHERE seq = 4",
        "UPDATE events SET at = NULL WHERE seq = 4",
        "UPDATE memories SET content = CAST(content AS BLOB) WHERE id = 'm5'",
        "UPDATE memories SET terms_content = CAST('text' AS TEXT) WHERE id = 'm5'",
        "UPDATE memories SET importance = 'i', checksum = 0 WHERE id = 'm5'",
        "UPDATE memories SET passages = '[[0, ' WHERE id = 'm5'",
        "UPDATE counter SET value = 7",
        "UPDATE vectors SET name = CAST(name AS BLOB) WHERE row = 2",
    ],
)
def test_values_that_were_never_written_are_damage(
    tmp_path: Path, sound: bytes, change: str
) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    with closing(sqlite3.connect(path)) as db, db:  # as a flipped bit does, whatever is declared
        db.execute("PRAGMA writable_schema = ON")
        declared = db.execute("SELECT rowid, sql FROM sqlite_schema").fetchall()
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '')")
        [version] = db.execute("PRAGMA schema_version").fetchone()
        db.execute(f"PRAGMA schema_version = {version + 1}")
        db.execute(change)
        db.executemany("UPDATE sqlite_schema SET sql = ?2 WHERE rowid = ?1", declared)
        db.execute(f"PRAGMA schema_version = {version + 2}")
    with opened(path) as memory:
        assert not memory.upkeep.verify()
        problems = []
        for read_all in (lambda: memory.search("Which ship was sold?"), lambda: memory.events()):
            try:
                read_all()
            except StoreError as problem:
                problems.append(str(problem))
        assert all(str(path) in problem for problem in problems)
        assert not memory.upkeep.doctor()


def test_a_large_log_is_folded(
    tmp_path: Path, sound: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salience.stores.sqlite.checkup._MAX_LOG_BYTES", 100_000)
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    with opened(path) as memory:
        for i in range(20):
            memory.add(f"The log grows, {i}.")
        [finding] = memory.upkeep.doctor()
        assert finding.check == "log"
        assert finding.harmless
        assert str(path) in finding.problem
        assert memory.upkeep.doctor(fix=True).findings[0].fixed
        assert memory.upkeep.doctor().findings == ()


def test_names_and_keys_that_are_damaged_are_not_believed(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    with Keyring.open(path) as keyring:
        key = keyring.create("default", "memories:read").key
    changed(path, "UPDATE access_keys SET entry = replace(entry, 'read', 'reap')")
    with opened(path) as memory:
        assert not memory.upkeep.verify()
        assert [finding.check for finding in memory.upkeep.doctor()] == ["access_keys"]
        assert memory.upkeep.doctor(fix=True)
        assert memory.upkeep.verify()
    with Keyring.open(path) as keyring:
        assert keyring.list() == []
    assert key.id in (tmp_path / "memory.db.damaged.jsonl").read_text("utf-8")
    changed(path, "UPDATE spaces SET name = 'defaulu'")
    with opened(path) as memory:
        diagnosis = memory.upkeep.doctor(fix=True)
        assert not diagnosis
        assert "restore it from a backup" in diagnosis.findings[0].remedy


def test_what_was_moved_out_can_be_imported(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    changed(path, "UPDATE memories SET content = content || ' Perhaps.' WHERE id IN ('m5', 'm6')")
    with opened(path) as memory:
        before = memory["m5"]
        assert memory.upkeep.doctor(fix=True)
        assert "m5" not in memory
        added = memory.add_many(read(tmp_path / "memory.db.damaged.jsonl"))
        assert added.ids == ("m5", "m6")
        after = memory["m5"]
        assert memory.upkeep.doctor().findings == ()
    same = ("content", "tags", "created_at", "kind")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert after.metadata == {
        **before.metadata, "imported_from": "quarantine", "namespace": "default"
    }  # fmt: skip


def test_an_event_that_lacks_what_its_type_needs_is_refused(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    changed(path, "UPDATE events SET payload = replace(payload, 'feedback', 'geedback')")
    with opened(path) as memory:
        assert not memory.upkeep.verify()
        with pytest.raises(StoreError, match="judgement of no known kind"):
            memory.history("m4")
        with pytest.raises(StoreError, match="judgement of no known kind"):
            memory.get("m4", as_of="2026-02-01")
        assert memory.upkeep.doctor(fix=True)
        assert memory.upkeep.verify()


ONE_BAD_ROW = {  # what is damaged, whether the memory is still found, the check that names it
    "features = x'00'": (True, "memories"),
    "features = zeroblob(48)": (True, "memories"),
    "terms_content = x'0102'": (True, "memories"),
    "terms_title = 'of no word'": (True, "memories"),
    "passages = '{'": (True, "memories"),
    "metadata = '{broken'": (False, "memories"),
    "tags = '['": (False, "memories"),
    "content = CAST(x'ff' AS TEXT)": (False, "memories"),
    "speaker = CAST(x'ff' AS TEXT)": (False, "memories"),
    "importance = 'x'": (False, "memories"),
    "created_at = 'x'": (False, "memories"),
    "created_at = 1e300": (False, "memories"),
    "accesses = x'01'": (False, "memories"),
    "vector: vector = x'01'": (True, "vectors"),
    "vector: vector = zeroblob(20)": (True, "vectors"),
    "link: created_at = 'x'": (True, "links"),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("damage", ONE_BAD_ROW)
def test_one_bad_row_never_stops_its_namespace(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.add_many(
            {"id": f"m{i}", "content": f"Note {i} tells of apples.", "title": "T", "tags": ["x"]}
            for i in range(4)
        )
        memory.link("m0", "m1", "supports")
    what, _, change = damage.rpartition(": ")
    updates = {
        "": f"UPDATE memories SET {change} WHERE id = 'm0'",
        "vector": f"UPDATE vectors SET {change} "
        "WHERE row = (SELECT row FROM memories WHERE id = 'm0')",
        "link": f"UPDATE links SET {change}",
    }
    with sqlite3.connect(path) as db:
        db.execute(updates[what])
    db.close()
    is_found, check = ONE_BAD_ROW[damage]
    ids = {"m1", "m2", "m3"} | ({"m0"} if is_found else set())
    with opened(path) as memory:
        for profile in ("balanced", "vitality", "six_factor"):
            found = memory.search("apples", profile=profile)
            assert set(found.ids) == ids
            if not is_found or what == "vector":
                assert any("m0" in lack and "doctor" in lack for lack in found.degraded)
        assert set(memory.get_context("apples").ids) == ids
        memory.add("Pears are another thing.")
        assert check in {finding.check for finding in memory.upkeep.doctor()}
        assert memory.upkeep.doctor(fix=True)
        assert memory.upkeep.doctor()
        assert memory.search("apples").degraded == ()


@pytest.mark.parametrize("name", ["content", "content#1"])
@pytest.mark.parametrize("vector", ["x'0000'", "zeroblob(80)"])
def test_a_vector_of_another_length_takes_no_other_along(
    tmp_path: Path, name: str, vector: str
) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        told = " ".join(f"Ship {i} was sold by the river, as Ana told Ben." for i in range(60))
        memory.add_many({"id": f"m{i}", "content": f"{i}: {told}"} for i in range(3))
    changed(
        path,
        f"UPDATE vectors SET vector = {vector} WHERE name = '{name}' "
        "AND row = (SELECT row FROM memories WHERE id = 'm0')",
    )
    with opened(path) as memory:
        for _ in range(2):
            found = memory.search("Which ship was sold?")
            assert set(found.ids) == {"m0", "m1", "m2"}
            [lack] = found.degraded
            assert f"the vector '{name}' of m0 is damaged; see `salience doctor`" in lack
            memory.update("m0", tags=["ship"])  # its row alone is read again
        memory.add("Pears are another thing.")


def test_a_doctor_works_out_only_what_other_programs_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    with Memory.open(path, embedder=None) as memory:
        memory.add_many({"id": str(n), "content": f"The cello of {n}."} for n in range(30))
        memory.update("3", content="The viola of 3.")
    worked_out: list[str] = []
    encode = codec.encode_draft

    def counted(draft: Draft) -> dict[str, Any]:
        worked_out.append(draft.record.content)
        return encode(draft)

    monkeypatch.setattr(codec, "encode_draft", counted)
    with Memory.open(path, embedder=None) as memory:
        assert memory.upkeep.doctor().healthy
        assert not worked_out
    with closing(connect(str(path), False)) as db:
        db.execute("UPDATE memories SET derived_by = NULL WHERE id < '2'")
        db.execute("UPDATE memories SET derived_by = 7, features = zeroblob(52) WHERE id = '7'")
        db.execute(f"UPDATE memories SET checksum = {checksum_of('memories')}")
    with Memory.open(path, embedder=None) as memory:
        for _ in range(2):  # a diagnosis writes nothing
            worked_out.clear()
            [finding] = memory.upkeep.doctor().findings
            assert finding.examples == ("7",)
            assert len(worked_out) == 13  # 0, 1, 10 to 19 and 7
        assert memory.upkeep.doctor(fix=True).findings[0].fixed
        worked_out.clear()
        assert memory.upkeep.doctor().healthy
        assert not worked_out


BROKEN = {
    "importance": ("'abc'", "x'00'", "9e999", "-9e999"),
    "confidence": ("'x'", "9e999"),
    "access_count": ("'x'", "2.5"),
    "version": ("'q'", "1.5"),
    "pinned": ("'q'",),
    "kind": ("x'ff'",),
    "tier": ("x'00'",),
    "created_at": ("1e300",),
    "tags": ("'{'",),
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in BROKEN.items() for value in values]
)
def test_a_value_that_is_none_of_its_field_is_handed_out_by_nothing(
    field: str, value: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    with Memory.open(path, embedder=None) as memory:
        memory.add("Ana lives in Porto.", id="broken")
        memory.add("Ana has a cat.", id="sound")
    with closing(connect(str(path), False)) as db:
        db.execute("DROP TRIGGER only_this_schema")
        db.execute(f"UPDATE memories SET {field} = {value} WHERE id = 'broken'")
    with Memory.open(path, embedder=None) as memory:
        for profile in ("balanced", "six_factor", "vitality"):
            found = memory.search("Ana", touch=False, profile=profile)
            assert found.ids == ("sound",)
            assert any("what is stored of broken is damaged" in lack for lack in found.degraded)
        for call in (
            lambda: memory.get("broken"),
            lambda: memory.get_many(["broken"]),
            lambda: list(memory.get_all()),
        ):
            with pytest.raises(StoreError, match=r"broken.*salience doctor"):
                call()
        assert memory.get("sound") is not None
        assert any("broken" in finding.examples for finding in memory.upkeep.doctor().findings)

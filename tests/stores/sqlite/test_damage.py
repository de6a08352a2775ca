"""Damage: every flipped bit that changes an answer is found; no error is a foreign one."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import SalienceError, StoreError
from salience.testing import WordHashEmbedder

EMBEDDER = WordHashEmbedder(32)
NOW = "2026-06-01"
FLIPS = 120


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


def answers(memory: Memory) -> list[Any]:
    hits = memory.search("Which ship was sold?", limit=20, now=NOW, touch=False)
    return [
        [hit.to_dict() for hit in hits],
        [record.to_dict() for record in memory.get_all()],
        [link.to_dict() for link in memory.links()],
        [event.to_dict() for event in memory.history("m3").events],
    ]


def test_no_flipped_bit_that_changes_an_answer_is_unnoticed(tmp_path: Path, sound: bytes) -> None:
    path, draws = tmp_path / "memory.db", random.Random(7)
    path.write_bytes(sound)
    with opened(path) as memory:
        expected = answers(memory)
        assert memory.verify()
        assert memory.doctor()
    places = [place for place, byte in enumerate(sound) if byte]  # most of the rest is empty room
    outcomes = Counter[str]()
    for place in draws.sample(places, FLIPS):
        damaged = bytearray(sound)
        damaged[place] ^= 1 << draws.randrange(8)
        path.write_bytes(damaged)
        try:
            with opened(path) as memory:
                is_right = answers(memory) == expected
                is_found = not memory.verify()
        except SalienceError as problem:
            is_named = type(problem) is not StoreError or str(path) in str(problem)
            outcomes["refused" if is_named else "refused without a name"] += 1
            continue
        assert is_right or is_found, place
        outcomes["right" if is_right else "found"] += 1
    assert min(outcomes[each] for each in ("right", "found", "refused")) >= 10, outcomes
    assert outcomes["refused without a name"] == 0


def test_verify_names_damaged_rows_of_its_namespace_alone(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(sound)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE memories SET content = 'Forged.' WHERE id = 'm5'")
        db.execute("UPDATE memories SET strength = 0.25 WHERE id = 'm8'")
    with opened(path) as memory:
        memory.within("other").add("Nothing of it is damaged.")
        assert memory.within("other").verify()
        verification = memory.verify(repair=True)
        assert not verification
        assert [finding.examples for finding in verification.damage] == [("m5",)]
        assert not verification.repaired  # what is damaged is mended first
        assert memory.doctor(fix=True)
        assert memory.verify()


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
        found = memory.doctor()
        assert not found
        assert {finding.check for finding in found} >= {
            "schema", "memories", "vectors", "events", "history",
        }  # fmt: skip
        assert not (tmp_path / "memory.db.damaged.jsonl").exists()
        assert memory.doctor(fix=True)
        assert memory.doctor()
        assert "m5" not in memory
        assert memory["m6"].content.startswith("Ana told Ben")
    lines = (tmp_path / "memory.db.damaged.jsonl").read_text("utf-8").splitlines()
    kept = [json.loads(line) for line in lines]
    assert "Forged." in [line["row"].get("content") for line in kept]
    assert {"memories", "vectors", "events"} <= {line["table"] for line in kept}

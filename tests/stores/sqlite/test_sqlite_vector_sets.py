"""Two sets of vectors in a file: one is searched at any time, and the other made or dropped."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import EmbedderMismatch
from salience.retrieval.operations import Dimensions, FormerVectors, Unembedded
from salience.stores.migrations import migrations
from salience.stores.sqlite import records
from salience.stores.tables import vector_sets
from salience.testing import WordHashEmbedder

OLD, NEW = WordHashEmbedder(32), WordHashEmbedder(48)
MEMORIES = 23


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with facts, chats of several vectors, others' vectors and edited memories."""
    monkeypatch.setattr(vector_sets, "DROPPED_AT_ONCE", 4)
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Memory.open(url, embedder=OLD) as memory:
        for i in range(MEMORIES):
            memory.add(f"Box {i} is of the colour {i * i}.", id=f"m{i}", vectors=own_vector(i))
        chat = [
            {"role": "user", "content": "I like rye bread."},
            {"role": "user", "content": "Yes."},
        ]
        memory.add_chat(chat, session_id="s", mode="hybrid")
        memory.for_namespace("team").add("Deploys happen on Tuesdays.", id="deploy")
        for i in range(0, MEMORIES, 3):
            memory.update(f"m{i}", content=f"Box {i} is painted.")
    return url


def own_vector(number: int) -> dict[str, list[float]]:
    """A vector that no embedder makes again, for some memories."""
    return {"image": [1.0, float(number)]} if number % 5 == 0 else {}


def hits(url: str, embedder: WordHashEmbedder) -> Any:
    """What searches find, with their scores and routes."""
    with Memory.open(url, embedder=embedder) as memory:
        return [
            [(hit.id, hit.score, *sorted(hit.routes)) for hit in space.search(text, touch=False)]
            for space in (memory, memory.for_namespace("team"))
            for text in ("the colour of box number seven", "Tuesdays", "rye bread")
        ]


def reembedded_at_once(url: str, tmp_path: Path) -> Any:
    """What searches find in a copy of the file after all was embedded again by one call."""
    copied = f"sqlite:///{shutil.copy(url.removeprefix('sqlite:///'), tmp_path / 'copy.db')}"
    Memory.upkeep.reembed(copied, embedder=NEW)
    return hits(copied, NEW)


def stored(url: str) -> Any:
    """The vectors that are searched, with all that is told of them."""
    path = url.removeprefix("sqlite:///")
    with closing(records.SqliteRecords(path)) as reader:
        told = []
        for space in ("default", "team"):
            found = among(reader, space, None)
            assert among(reader, space, sorted({row for _, row, _ in found})) == found
            names = sorted({name for name, *_ in found})
            assert sorted(reader.answer(Dimensions(space))) == names
            missing = reader.unembedded(Unembedded(space, "content", 99)).tolist()
            told.append((found, reader.answer(Dimensions(space, tuple(names))), missing))
        former = [
            (name, vector.tobytes()) for _, name, vector in reader.answer(FormerVectors("default"))
        ]
    return told, former


def among(
    reader: records.SqliteRecords, space: str, rows: list[int] | None
) -> list[tuple[str, int, bytes | None]]:
    """The name, the row and the bytes of each vector, of all rows or of some."""
    return [
        (name, row, blob)
        for name, owners, blobs in reader.vectors(space, rows)
        for row, blob in zip(owners, blobs, strict=True)
    ]


def reembed(url: str, step: str, to: WordHashEmbedder | None = None) -> Any:
    return Memory.upkeep.reembedding(url, to, step=step)  # type: ignore[arg-type]


def test_rolled_back_a_file_is_as_it_was_with_the_vectors_of_its_edits(url: str) -> None:
    before = hits(url, OLD), stored(url)
    reembed(url, "fill", NEW)
    assert (hits(url, OLD), stored(url)) == before
    reembed(url, "cut_over", NEW)
    with pytest.raises(EmbedderMismatch):
        Memory.open(url, embedder=OLD)
    [(found, dimensions, missing), _], former = stored(url)
    assert (dimensions["content"], dimensions["image"], missing, former) == (48, 2, [], [])
    assert {name for name, *_ in found} == {name for name, *_ in before[1][0][0][0]}
    reembed(url, "roll_back", OLD)
    assert (hits(url, OLD), stored(url)) == before


def test_finished_a_file_holds_one_set(url: str) -> None:
    reembed(url, "fill", NEW)
    reembed(url, "cut_over", NEW)
    found = stored(url)
    reembed(url, "finish")
    assert stored(url) == found
    count = sum(len(each) for each, *_ in found[0])
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
        assert db.execute("SELECT count(*) FROM vectors").fetchone() == (count,)
        assert db.execute("SELECT count(*) FROM former_vectors").fetchone() == (0,)


def test_a_writer_waits_for_a_few_vectors_at_most(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cut-over changes a few notes, however many vectors there are."""
    reembed(url, "fill", NEW)
    changes: list[int] = []
    writing = records.SqliteRecords._writing

    def counted(self: records.SqliteRecords) -> Any:
        from contextlib import contextmanager

        @contextmanager
        def within() -> Any:
            with writing(self) as db:
                before = db.total_changes
                yield db
                changes.append(db.total_changes - before)

        return within()

    monkeypatch.setattr(records.SqliteRecords, "_writing", counted)
    reembed(url, "cut_over", NEW)
    assert max(changes) <= 5
    reembed(url, "finish")
    assert max(changes) <= 5
    assert len(changes) > MEMORIES / 4


KILLED = textwrap.dedent(
    """
    import sys
    from salience import Memory
    from salience.lifecycle import reembed
    from salience.testing import WordHashEmbedder

    reembed._CHUNK_MEMORIES = 4

    def progress(done, total):
        print(done, flush=True)
        sys.stdin.readline()

    Memory.upkeep.reembedding(sys.argv[1], WordHashEmbedder(48), step="fill", progress=progress)
    """
)


def test_killed_in_the_middle_it_goes_on_where_it_was(url: str, tmp_path: Path) -> None:
    expected = reembedded_at_once(url, tmp_path)
    before = hits(url, OLD)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    for _ in range(2):
        assert process.stdout.readline()
        process.stdin.write("\n")
        process.stdin.flush()
    assert process.stdout.readline()
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stdin.close()
    process.stdout.close()
    assert hits(url, OLD) == before
    status = reembed(url, "status")
    assert 8 <= status.embedded < status.memories
    done = status.embedded
    filled = reembed(url, "fill", NEW)
    assert (filled.made, filled.embedded) == (status.memories - done, status.memories)
    reembed(url, "cut_over", NEW)
    assert hits(url, NEW) == expected


def test_what_an_older_version_had_begun_to_replace_is_replaced(url: str, tmp_path: Path) -> None:
    """Files in which vectors were being renamed when salience was upgraded."""
    expected = reembedded_at_once(url, tmp_path)
    path = url.removeprefix("sqlite:///")
    Memory.upkeep.reembedding(url, NEW, step="fill")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rows = [row for (row,) in db.execute("SELECT row FROM memories ORDER BY row")]
        settled, last = rows[9], rows[-1]
        db.create_function("checksum", 1, lambda blob: None)
        db.execute("BEGIN")
        names = {name: name[1:] for (name,) in db.execute("SELECT DISTINCT name FROM vectors")}
        staged = {f"_{n}": n for n in names.values() if f"_{n}" in names}
        for name, plain in staged.items():
            db.execute("DELETE FROM vectors WHERE name = ? AND row <= ?", (plain, settled))
            rename = "UPDATE vectors SET name = ? WHERE name = ? AND row <= ?"
            db.execute(rename, (plain, name, settled))
        state = {"settled": settled, "last": last, "names": staged}
        db.execute("DELETE FROM meta WHERE key = 'vectors'")
        db.execute("UPDATE meta SET value = ? WHERE key = 'embedder'", (str(NEW.identity),))
        db.execute("INSERT INTO meta VALUES ('adoption', ?, 0)", (json.dumps(state),))
        [script] = [each for each in migrations("sqlite") if "adoption" in each]
        statement = ""
        for line in script.splitlines():
            statement += line + "\n"
            if sqlite3.complete_statement(statement):
                if "DROP COLUMN" not in statement and "change <=" not in statement:
                    db.execute(statement)
                statement = ""
        db.execute("COMMIT")
    [(found, dimensions, missing), _], _ = stored(url)
    assert (dimensions["content"], missing) == (48, [])
    assert len({len(blob) for name, _, blob in found if name == "content"}) == 1
    assert hits(url, NEW) == expected
    with closing(sqlite3.connect(path)) as db:
        left = db.execute("SELECT count(*) FROM vectors WHERE substr(name, 1, 1) = '_'")
        assert left.fetchone() == (0,)

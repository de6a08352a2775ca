"""A program that was started before an upgrade cannot write to what the new one has migrated."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from salience import Memory
from salience.errors import StoreError
from salience.stores import migrate
from salience.stores.migrations import migrations
from salience.stores.postgres import schema
from salience.stores.sqlite import connection
from salience.stores.sqlite.open_files import next_state
from support.shared_postgres import Databases

ROOT = Path(__file__).parents[2]
REFUSED = "another salience .*upgrade salience, and start whatever runs the older one again"
RELEASES = ["240b108b", "15f39e85", "135881bc"]  # with schema 16, 16 and 23 of a file
OLDER = """
import sys
from contextlib import suppress
from salience import Memory
with Memory.open(sys.argv[1], embedder=None) as memory:
    memory.add("Ana lives in Porto.", id="a")
    memory.search("Porto")
    memory.flush()
    print("ready", flush=True)
    sys.stdin.readline()
    for write in (
        lambda: memory.add("Ben lives in Lisbon.", id="b"),
        lambda: memory.update("a", content="Ana lives in Faro."),
        lambda: memory.link("a", "a", "mentions"),
        lambda: memory.delete("a"),
    ):
        try:
            print("it wrote", write())
        except Exception as problem:
            print(type(problem).__name__, problem)
    with suppress(Exception):
        memory.search("Porto")
        memory.flush()
"""


def statements_of_all() -> list[str]:
    """How each release begins the transactions in which it writes to a file."""
    return [next_state(16), *(next_state(version) for version in range(24, 30))]


def test_a_file_refuses_whoever_knows_another_schema(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=None) as memory:
        memory.add("Ana lives in Porto.", id="a")
    with connection.connect(str(path), read_only=False) as db:
        own = next_state(len(migrations("sqlite")))
        for statement in set(statements_of_all()) - {own}:
            with pytest.raises(Exception, match=REFUSED):
                db.execute(statement)
        db.execute(own)
    db.close()
    with Memory.open(path, embedder=None) as memory:
        assert memory.upkeep.doctor()


def test_a_file_that_is_migrated_while_it_is_open_refuses_the_older_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, later = tmp_path / "memory.db", [*migrations("sqlite"), "CREATE TABLE later (a);"]
    with Memory.open(path, embedder=None) as older:
        older.add("Ana lives in Porto.", id="a")
        with monkeypatch.context() as patch:
            patch.setattr(connection, "migrations", lambda store: later)
            with Memory.open(path, embedder=None) as newer:
                newer.add("Ben lives in Lisbon.", id="b")
        with pytest.raises(StoreError, match="newer salience"):
            older.add("Cy lives in Faro.")


def test_tables_that_are_migrated_while_they_are_open_refuse_the_older_program(
    postgres: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, later = postgres.fresh("older_writers"), [*migrations("postgres"), "SELECT 1"]
    with Memory.open(url, embedder=None) as older:
        older.add("Ana lives in Porto.", id="a")
        older.search("Porto")
        older.upkeep.flush()
        with monkeypatch.context() as patch:
            patch.setattr(schema, "migrations", lambda store: later)
            migrate(url)
        for write in (
            lambda: older.add("Ben lives in Lisbon.", id="b"),
            lambda: older.update("a", content="Ana lives in Faro."),
            lambda: older.update("a", importance=0.2),
            lambda: older.delete("a"),
        ):
            with pytest.raises(StoreError, match=REFUSED):
                write()


@pytest.mark.deep
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.parametrize("release", RELEASES)
def test_a_process_of_an_older_release_is_refused(
    release: str, store: str, tmp_path: Path, postgres: Databases
) -> None:
    archive = subprocess.run(["git", "archive", release, "src"], cwd=ROOT, capture_output=True)
    if archive.returncode:
        pytest.skip("needs the history of the repository")
    subprocess.run(["tar", "x", "-C", str(tmp_path)], input=archive.stdout, check=True)
    file = f"sqlite:///{tmp_path / 'memory.db'}"
    url = file if store == "sqlite" else postgres.fresh(f"older_{release}")
    older = subprocess.Popen(
        [sys.executable, "-c", OLDER, url],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert older.stdout is not None
    assert older.stdout.readline() == "ready\n"
    if store == "postgres":
        migrate(url)
    with Memory.open(url, embedder=None) as memory:
        before = list(memory.get_all()), memory.history("a")
        said, _ = older.communicate("go\n", timeout=120)
        assert len(re.findall("^(StoreError|NotWritable) ", said, re.MULTILINE)) == 4, said
        assert (list(memory.get_all()), memory.history("a")) == before
        assert memory.search("Porto", touch=False).ids == ("a",)
        assert memory.upkeep.verify()
        assert memory.upkeep.doctor()

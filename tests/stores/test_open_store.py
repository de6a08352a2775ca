"""The store that a URL opens, those from outside the package included."""

import asyncio
from collections.abc import Callable
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import salience.stores
from salience import AsyncMemory, Memory
from salience.errors import InvalidInput, StoreClosed, StoreError
from salience.retrieval.operations import Op, Outside
from salience.stores import Store, open_store, register_store
from salience.stores.embedded import EmbeddedStore
from salience.stores.postgres.reads import StoreReader
from salience.stores.postgres.replica.answers import Replicas
from salience.stores.postgres.store import PostgresStore
from salience.stores.sqlite.records import SqliteRecords
from salience.stores.tables.reader import TableReader

OPENED: list[str] = []


def opener(url: str) -> Store:
    OPENED.append(url)
    return open_store("ram://")


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(salience.stores, "_registered", {})
    OPENED.clear()


def test_a_registered_scheme_opens_its_store() -> None:
    register_store("mystore", opener)
    with Memory.open("mystore://host/name?key=1", embedder=None) as memory:
        memory.add("Green tea", id="a")
        assert memory.search("tea").ids == ("a",)
    assert OPENED == ["mystore://host/name?key=1"]
    with pytest.raises(InvalidInput, match="mystore://"):
        open_store("other://")


def test_an_installed_package_names_its_store_by_an_entry_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = "salience.stores"
    installed = EntryPoints(
        [
            EntryPoint("mystore", f"{__name__}:opener", group),
            EntryPoint("gone", "no_such_module:opener", group),
            EntryPoint("other", f"{__name__}:opener", "another.group"),
        ]
    )
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda **params: installed.select(**params)
    )
    open_store("mystore://").close()
    assert OPENED == ["mystore://"]
    with pytest.raises(StoreError, match="'gone' of no_such_module:opener cannot be loaded"):
        open_store("gone://")
    with pytest.raises(InvalidInput, match="is not the address of a store"):
        open_store("other://")


MISTYPED = [  # an address, and what to write instead
    ("", "write agent.db"),
    ("  ", "write agent.db"),
    ("agent.db\n", "begins or ends with a blank; strip it"),
    ("sqlite://agent.db", "write sqlite:///agent.db, or the path alone: agent.db"),
    ("sqlite:agent.db", "write sqlite:///agent.db, or the path alone: agent.db"),
    ("sqlite:/var/agent.db", "write sqlite:////var/agent.db, or the path alone: /var/agent.db"),
    ("sqlite:///", "names no file; write sqlite:///agent.db"),
    ("sqllite:///agent.db", "write sqlite:///agent.db"),
    ("SQLite:///agent.db", "write sqlite:///agent.db"),
    ("sqlite3:////var/agent.db", "write sqlite:////var/agent.db"),
    ("file:///var/agent.db", "write sqlite:////var/agent.db, or the path alone: /var/agent.db"),
    ("file:agent.db", "the path alone: agent.db"),
    ("postgress://ana:secret@host/db", "write postgresql://user@host/database"),
    ("postgresql+psycopg://ana:secret@host/db", "write postgresql://user@host/database"),
    ("postgres:ana:secret@host/db", "write postgresql://user@host/database"),
    ("psql://host/db", "write postgresql://user@host/database"),
    ("ram://x", "write ram://"),
    ("memory://", "write ram://"),
    (
        "mysql://ana:secret@host/db",
        "is not the address of a store; write agent.db, sqlite:///agent.db, postgres",
    ),
    ("agent.db?mode=rw", "mode=ro is the only one"),
    (5, "must be a path, a URL or a store, not int"),
    (b"agent.db", "must be a path, a URL or a store, not bytes"),
]


@pytest.mark.parametrize(("address", "remedy"), MISTYPED)
def test_a_mistyped_address_says_what_to_write_instead(address: Any, remedy: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Memory(address, embedder=None)
    assert caught.value.field == "url"
    assert remedy in str(caught.value)
    assert "secret" not in str(caught.value)


ADDRESSES: list[Callable[[Path], Any]] = [
    str,
    lambda path: path,
    lambda path: f"sqlite:///{path}",
    lambda path: path.name,
    lambda path: Path(path.name),
    lambda path: f"sqlite:///{path.name}",
    lambda path: f"~/{path.name}",
    lambda path: f"sqlite:///~/{path.name}",
    lambda path: np.str_(path),
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("opening", [Memory, Memory.open])
def test_every_address_of_a_file_opens_it(
    opening: Any, address: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with opening(address(tmp_path / "agent.db"), embedder=None) as memory:
        memory.add("Green tea", id="a")
    with Memory(tmp_path / "agent.db", embedder=None) as memory:
        assert "a" in [record.id for record in memory.get_all().memories]
    assert [path.name for path in tmp_path.iterdir()] == ["agent.db"]


@pytest.mark.parametrize(("variable", "file"), [(None, "memory.db"), ("mine.db", "mine.db")])
def test_without_an_address_the_default_file_is_opened(
    variable: str | None, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SALIENCE_DB", raising=False)
    if variable is not None:
        monkeypatch.setenv("SALIENCE_DB", variable)
    Memory(embedder=None).close()
    Memory.open(embedder=None).close()
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_a_file_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("These are words. " * 99)
    for address, problem in (
        (tmp_path, "is a folder; name a file in it, as"),
        (tmp_path / "no" / "agent.db", "there is no folder .*; make it first"),
        (tmp_path / "text.db", "file is not a database; give the path of a salience store"),
        (f"{tmp_path}/no.db?mode=ro", r"there is no such file; leave out \?mode=ro to make it"),
    ):
        with pytest.raises(StoreError, match=problem):
            Memory(address, embedder=None)
    assert [path.name for path in tmp_path.iterdir()] == ["text.db"]


def test_an_awaited_memory_opens_when_it_is_entered_or_awaited(tmp_path: Path) -> None:
    async def body() -> list[int]:
        unopened = AsyncMemory(tmp_path / "agent.db", embedder=None)
        with pytest.raises(StoreClosed, match="async with memory:"):
            await unopened.search("tea")
        async with unopened as memory:
            await memory.add("Green tea")
        awaited = await AsyncMemory(tmp_path / "agent.db", embedder=None)
        async with awaited as memory, await AsyncMemory.open(tmp_path / "agent.db") as other:
            return [
                (await each.get_all()).total for each in (memory, other, other.for_namespace("x"))
            ]

    assert asyncio.run(body()) == [1, 1, 0]


@pytest.mark.parametrize("scheme", ["", "ram", "sqlite", "postgres", "postgresql", "a:b", None])
def test_a_scheme_that_cannot_be_used_is_refused(scheme: str) -> None:
    with pytest.raises(InvalidInput, match="scheme"):
        register_store(scheme, opener)
    with pytest.raises(InvalidInput, match="opener"):
        register_store("mystore", "no opener")  # type: ignore[arg-type]


def test_each_operation_is_answered_by_the_method_of_its_name() -> None:
    kinds: list[type[Op]] = [Op, *Op.__subclasses__()]
    asked = {op for kind in kinds for op in kind.__subclasses__() if not op.__subclasses__()}
    elsewhere = {
        op for op in asked if op.__name__ in ("Embed", "Extract", "Rerank", "Outside", "AsOf")
    }
    file = (EmbeddedStore, SqliteRecords, TableReader)
    for answering in (file, (StoreReader, Replicas, PostgresStore)):
        unanswered = {op for op in asked if not any(hasattr(each, op.method) for each in answering)}
        assert unanswered == elsewhere


def test_a_store_refuses_what_it_has_no_method_for() -> None:
    store = open_store("ram://")
    with pytest.raises(TypeError, match="a store does not answer Outside"):
        store.batch([Outside(list)])
    store.close()

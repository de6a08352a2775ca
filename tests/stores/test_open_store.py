"""The store that a URL opens, those from outside the package included."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

import salience.stores
from salience import Memory
from salience.errors import InvalidInput, StoreError
from salience.stores import EmbeddedStore, Store, open_store, register_store
from salience.stores.ram import RamRecords

OPENED: list[str] = []


def opener(url: str) -> Store:
    OPENED.append(url)
    return EmbeddedStore(RamRecords())


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
    with pytest.raises(InvalidInput, match="names no store"):
        open_store("other://")


@pytest.mark.parametrize("url", ["", "memory.db", "ram://x", "sqlite://memory.db", "mysql://x"])
def test_another_url_names_no_store(url: str) -> None:
    with pytest.raises(InvalidInput, match="names no store") as caught:
        open_store(url)
    assert caught.value.field == "url"


@pytest.mark.parametrize("scheme", ["", "ram", "sqlite", "postgres", "postgresql", "a:b", None])
def test_a_scheme_that_cannot_be_used_is_refused(scheme: str) -> None:
    with pytest.raises(InvalidInput, match="scheme"):
        register_store(scheme, opener)
    with pytest.raises(InvalidInput, match="opener"):
        register_store("mystore", "no opener")  # type: ignore[arg-type]

"""Any value in any argument: a result, or an error of salience; and what is stored is built-in.

A namespace answers afterwards as before, and the keeping of exact types is seen in its records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.embedders import EmbedderIdentity
from salience.engine.options import Settings
from salience.errors import InvalidInput, SalienceError
from salience.stores import migrate
from salience.testing import WordHashEmbedder
from support.doors import CHAT, FUNCTIONS, call, doors, endless
from support.examples import examples
from support.hostile import HOSTILE, Colour, Count, Word, shared

DOORS = doors()


def fill(memory: Memory) -> None:
    memory.delete_all(namespace="n")
    memory.add("An apple a day", id="taken", tags=["t"], metadata={"k": 1}, importance=0.5)
    memory.add("Another fruit", id="other", kind="fact")


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.deep)])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    is_file = request.param == "file"
    address: Any = tmp_path / "memory.db" if is_file else request.getfixturevalue("database")
    migrate(address)
    with Memory(address, embedder=WordHashEmbedder(), namespace="n") as memory:
        fill(memory)
        yield memory


def inexact(value: Any) -> Any:
    """The first part of a value that is not exactly of a built-in type; None if there is none."""
    if type(value) in (str, int, float, bool, type(None), datetime):
        return None
    if type(value) in (list, tuple):
        return next((part for part in map(inexact, value) if part is not None), None)
    if isinstance(value, Mapping) and type(value).__module__ == "builtins":
        return inexact([*value.keys(), *value.values()])
    return value


def assert_in_order(memory: Memory) -> None:
    """The namespace answers, and holds nothing but built-in types."""
    for record in memory.get_all(limit=1_000):
        assert inexact(vars(record)) is None, record.id
    for link in memory.links():
        assert inexact([link.source, link.target, link.type, link.weight]) is None
    for profile in ("balanced", "composite"):
        assert memory.search("apple fruit", profile=profile, touch=False, limit=100)
    for id in ("taken", "other"):
        for event in memory.history(id).events:
            assert inexact([event.type, event.actor, event.session, event.payload]) is None
        assert memory.explain("apple", id)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(door=st.sampled_from(DOORS), make=st.sampled_from(HOSTILE))
@example(door=("add", "content"), make=lambda: Word("apple"))
@example(door=("add", "metadata"), make=shared)
@example(door=("update", "metadata"), make=lambda: {"k": shared()})
@example(door=("search", "filters"), make=lambda: {"and": [shared()]})
@example(door=("get_many", "ids"), make=lambda: np.array("apple"))
def test_any_value_anywhere_is_taken_or_refused_and_harms_nothing(
    memory: Memory, door: tuple[str, str], make: Callable[[], Any]
) -> None:
    value = make()
    if endless(*door, value) or isinstance(value, range):
        return
    call(memory, *door, value)
    existing = {record.id: record.status for record in memory.get_all(limit=1_000)}
    if existing.get("taken") != "active" or "other" not in existing or len(existing) > 30:
        fill(memory)
    assert_in_order(memory)


@pytest.mark.parametrize(
    "hostile", [HOSTILE[::8], pytest.param(HOSTILE, marks=pytest.mark.deep)], ids=["some", "all"]
)
@pytest.mark.parametrize("name", Settings.__annotations__)
def test_any_setting_is_taken_or_refused_at_opening(
    name: str, hostile: list[Callable[[], Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a log of searches may be asked for at "apple"
    for make in hostile:
        values: dict[str, Any] = {"embedder": WordHashEmbedder(), name: make()}
        try:
            with Memory("ram://", **values) as memory:
                memory.add("An apple a day. Yesterday.", id="a")
                memory.search("what did Ana eat last week?", options={"token_budget": 100})
                memory.delete_all(namespace=memory.namespace)
        except SalienceError as problem:
            str(problem).encode()
        except (TypeError, ValueError, RuntimeError):
            if name not in FUNCTIONS:
                raise


@pytest.mark.one_in(8)
@pytest.mark.parametrize("make", HOSTILE)
def test_any_value_is_taken_or_refused_by_what_writes_files(
    make: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Memory(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("An apple a day", id="taken")
        for name, argument in (
            ("backup", "path"),
            ("backup", "overwrite"),
            ("backup", "progress"),
            ("restore_backup", "backup"),
            ("restore_backup", "url"),
            ("restore_backup", "overwrite"),
            ("restore_backup", "progress"),
        ):
            call(memory, name, argument, make())
        assert memory.upkeep.verify()


@pytest.mark.one_in(8)
@pytest.mark.parametrize("make", HOSTILE)
def test_what_a_function_of_the_caller_gives_is_checked(make: Callable[[], Any]) -> None:
    class Own(WordHashEmbedder):
        def embed(self, texts: Any, *, kind: Any = "document") -> Any:
            return make()

    class Nameless(WordHashEmbedder):
        @property
        def identity(self) -> EmbedderIdentity:
            value: EmbedderIdentity = make()
            return value

    class Finder:
        def extract(self, text: str) -> Any:
            return make()

    value: Any = lambda *_: make()  # noqa: E731
    for setting in (
        {"clock": value},
        {"count_tokens": value},
        {"entities": Finder()},
        {"embedder": Own()},
        {"embedder": Nameless()},
    ):
        options: dict[str, Any] = {"embedder": WordHashEmbedder(), **setting}
        try:
            with Memory("ram://", **options) as memory:
                memory.add("An apple a day", id="a")
                memory.search("apple", options={"token_budget": 100})
                memory.upkeep.maintain()
                for record in memory.get_all():
                    assert inexact(vars(record)) is None
        except SalienceError:
            continue
    with Memory("ram://", embedder=WordHashEmbedder()) as memory:
        for act in (
            lambda: memory.add_chat(CHAT, facets=value),
            lambda: memory.get_context("apple", options={"counter": value}),
        ):
            try:
                act()
            except SalienceError:
                continue
        for record in memory.get_all():
            assert inexact(vars(record)) is None


@pytest.mark.parametrize("wrong", [5, "text", None, ["central"]])
def test_a_summariser_that_is_no_function_is_refused(wrong: Any) -> None:
    with Memory("ram://", embedder=None) as memory:
        with pytest.raises(InvalidInput, match="give a function"):
            memory.upkeep.consolidate(summarise=wrong)
        with pytest.raises(InvalidInput, match="give a function"):
            memory.upkeep.maintain(summarise=wrong)


def test_values_of_other_types_become_what_they_stand_for() -> None:
    with Memory("ram://", embedder=None) as memory:
        id = memory.add(Word("An apple"), tags=[Colour.RED], metadata={"n": Count(3)}).id
        record = memory.get(str(id))
        assert record is not None
        assert (record.content, record.tags, record.metadata) == ("An apple", ("red",), {"n": 3})
        assert inexact(vars(record)) is None


@pytest.mark.parametrize("year", [1, 99, 9900, 9999])
def test_a_clock_far_from_history_is_refused(year: int) -> None:
    with Memory("ram://", embedder=None, clock=lambda: datetime(year, 1, 1)) as memory:
        for act in (
            lambda: memory.add("apple"),
            lambda: memory.search("apple"),
            memory.upkeep.maintain,
        ):
            with pytest.raises(InvalidInput, match="clock: is in the year"):
                act()

"""Conditions on fields as keywords of the methods that take filters, embedded and at a server."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.records.field_filters import FieldFilters
from salience.records.fields import FIELDS
from salience.search.recording import SEARCH_LOG_VARIABLE
from support.served import serve_memory

NARROWED = (
    "search", "explain", "inspect.candidates", "inspect.compare", "get_context", "get_all",
    "iterate", "count", "delete_all",
)  # fmt: skip
ITEMS: list[dict[str, Any]] = [
    {"id": "a", "content": "Ana cooks rice.", "tags": ["cooking", "Home"], "user_id": "ana"},
    {"id": "b", "content": "Ben cooks soup.", "tags": ["cooking"], "user_id": "ben"},
    {
        "id": "c",
        "content": "Ana reads.",
        "kind": "fact",
        "user_id": "ana",
    },
    {"id": "d", "content": "Hi.", "session_id": "s", "speaker": "Ana", "created_at": "2020-01-01"},
]


@pytest.fixture(params=["embedded", pytest.param("remote", marks=pytest.mark.deep)])
def memory(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "embedded":
        with Memory("ram://", embedder=None) as memory:
            memory.add_many(ITEMS)
            yield memory
    else:
        with serve_memory("ram://", embedder=None) as memory:
            memory.add_many(ITEMS)
            yield memory


def test_each_is_a_field_or_a_bound_of_the_time() -> None:
    assert set(FieldFilters.__annotations__) - {"since", "until"} <= set(FIELDS)


@pytest.mark.parametrize("name", NARROWED)
def test_each_method_shows_them(name: str) -> None:
    parameters = inspect.signature(attrgetter(name)(Memory)).parameters
    assert set(FieldFilters.__annotations__) <= set(parameters)


@pytest.mark.parametrize(
    ("conditions", "ids"),
    [
        ({"tags": ["cooking"]}, "ab"),
        ({"tags": ["COOKING", "home"]}, "a"),
        ({"tags": "home"}, "a"),
        ({"user_id": "ana"}, "ac"),
        ({"user_id": "ana", "kind": "fact"}, "c"),
        ({"session_id": "s"}, "d"),
        ({"speaker": "Ana"}, "d"),
        ({"agent_id": "x"}, ""),
        ({"since": "2021-01-01"}, "abc"),
        ({"until": "2021-01-01"}, "d"),
        ({"filters": {"kind": "note"}, "user_id": "ana"}, "a"),
    ],
)
def test_they_narrow_as_filters_do(memory: Any, conditions: dict[str, Any], ids: str) -> None:
    assert sorted(each.id for each in memory.get_all(**conditions)) == [*ids]
    assert sorted(each.id for each in memory.iterate(**conditions)) == [*ids]
    assert memory.count(**conditions) == len(ids)
    found = memory.search("Ana Ben cooks rice soup reads hi", **conditions)
    assert found.profile == "balanced"
    assert sorted(found.ids) == [*ids]
    context = memory.get_context("Ana Ben cooks rice soup reads hi", **conditions)
    assert sorted(context.ids) == [*ids]
    assert memory.delete_all(**conditions).memories == len(ids)
    assert memory.count() == len(ITEMS) - len(ids)


@pytest.mark.parametrize("name", ["get_all", "count", "delete_all", "iterate"])
@pytest.mark.parametrize(
    ("conditions", "field"),
    [
        ({"user_id": None}, "user_id"),
        ({"kind": 5}, "kind"),
        ({"tags": []}, "tags"),
        ({"tags": [5]}, "tags"),
        ({"since": "soon"}, "since"),
        ({"filters": {"colour": 1}, "user_id": "ana"}, "filters"),
    ],
)
def test_a_wrong_value_is_named_and_nothing_is_done(
    memory: Any, name: str, conditions: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput, match=rf"^{field}"):
        list(getattr(memory, name)(**conditions))
    with pytest.raises(InvalidInput, match=rf"^{field}"):
        memory.search("Ana", **conditions)
    assert memory.count() == len(ITEMS)


@pytest.mark.parametrize("wrong", ["top_k", "k", "n_results"])
def test_the_names_of_others_have_a_hint(memory: Any, wrong: str) -> None:
    for call in (memory.get_all, lambda **options: memory.search("Ana", **options)):
        with pytest.raises(TypeError, match=rf"'{wrong}'; did you mean 'limit'\?"):
            call(**{wrong: 3})
    with pytest.raises(TypeError, match="'user'; did you mean 'user_id'"):
        memory.count(user="ana")


def test_times_that_are_swapped_are_refused(memory: Any) -> None:
    swapped = {"since": "2026-03-01T01:00+02:00", "until": date(2026, 2, 28)}
    calls = [memory.get_all, memory.count, memory.delete_all]
    calls += [lambda **times: memory.search("Ana", **times)]
    for call in calls:
        with pytest.raises(InvalidInput, match=r"^until: is before since; .* swap them$"):
            call(**swapped)
    assert memory.count(since="2026-03-01", until="2026-03-01") == 0
    assert memory.count() == len(ITEMS)


def test_the_log_of_searches_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "searches"
    monkeypatch.setenv(SEARCH_LOG_VARIABLE, str(log))
    with Memory("ram://", embedder=None) as memory:
        memory.add_many(ITEMS)
        memory.search("Ana", user_id="ana")
    assert json.loads(log.read_text())["filters"] == {"and": [{"user_id": "ana"}]}


def test_a_mapping_is_added_as_a_memory_or_a_message(memory: Any) -> None:
    added = memory.add({"content": "Ana swims.", "tags": ["sport"], "id": "e"})
    assert (added.id, memory.get("e").tags) == ("e", ("sport",))
    added = memory.add({"role": "user", "content": "I swim."}, session_id="t")
    turn = memory.get(added.id)
    assert (turn.content, turn.speaker, turn.session_id) == ("I swim.", "user", "t")
    assert memory.get(memory.add({"content": "Ben swims."}, kind="fact").id).kind == "fact"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"text": "Ana swims."}, "content: is a mapping without content, of 'text'"),
        ({"content": "Ana swims.", "id": "f"}, "id: is in the mapping, too"),
        ({"content": "Ana swims.", "colour": "red"}, "colour"),
        (["Ana swims.", "Ben swims."], r"content\[0\]: .* add_many"),
    ],
)
def test_what_cannot_be_meant_is_said(memory: Any, content: Any, told: str) -> None:
    fields = {"id": "g"} if isinstance(content, dict) and "id" in content else {}
    with pytest.raises((InvalidInput, TypeError), match=told):
        memory.add(content, **fields)
    assert memory.count() == len(ITEMS)

"""What every result has: a mapping that JSON can hold, and a `repr` of one short line."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import math
import pickle
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import AsyncMemory, Link, Memory, Profile
from salience.display.result import MAX_REPR_CHARACTERS, Result, field_names, short_repr, to_json
from salience.errors import InvalidInput
from salience.lifecycle.pruning import Candidate
from salience.lifecycle.verify import Difference
from salience.ranking.expressions import Col
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Vector
from salience.search.listing import Page
from salience.stores.address import public_url
from salience.stores.copy import Copied
from salience.stores.copy import copy as copy_store
from salience.testing import WordHashEmbedder
from support.doors import public_names
from support.examples import examples
from support.kitchen import QUERY, crowd
from support.scoring import NOW, Designed

_NARROW = Profile("narrow", retrieve(Vector(), depth=2) >> score(Col("vector.score")) >> cut())
LONG = 'a "long" text\n' * 50
_INPUTS = {"Section"}  # dataclasses that methods take


def returned_types() -> set[type]:
    """Every dataclass that a public method of `Memory` returns, with those inside them."""
    seen: set[type] = set()
    hints = [
        get_type_hints(method).get("return")
        for method in (attrgetter(name)(Memory) for name in public_names(Memory))
        if callable(method)
    ]
    _collect([*hints, Copied], seen)
    return seen


def _collect(hints: list[Any], seen: set[type]) -> None:
    for hint in hints:
        _collect([part for part in get_args(hint) if part is not ...], seen)
        kind = get_origin(hint) or hint
        is_known = kind in seen or getattr(kind, "__name__", "") in _INPUTS
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and not is_known:
            seen.add(kind)
            _collect(list(get_type_hints(kind).values()), seen)


def results(folder: Path) -> list[Any]:
    """A result of every method, of memories whose texts are long and have every character."""
    memory = crowd(5)
    memory.add(LONG, id="long" * 20, title=LONG, tags=["x"], metadata={"a": {"b": [1, None]}})
    said = {"kind": "fact", "agent_id": "a", "user_id": "u"}
    memory.add_many([{"content": "the gate is green now, cos=0.5", **said}] * 25, dedup=False)
    old = NOW - timedelta(days=900)
    memory.add_many([{"content": f"old {i}", "created_at": old} for i in range(4)])
    memory.add("to be done", kind="task", created_at=old)
    chat = [{"role": "user", "content": "I am allergic to peanuts."}]
    memory.add_chat(chat, session_id="told", user_id="ana")
    memory.add("gone", expires_at=NOW - timedelta(days=1), created_at=old)
    memory.link("soup", "tea", "contradicts")
    memory.add(f"# Ferries\n\n{'The ferry leaves at nine. ' * 60}", id="note")
    every: list[Any] = [
        memory.search("the ferry at nine", limit=1),
        memory.add(LONG),
        memory.add_many(["one", {"content": 5}, {"content": "two", "links": [{"target": "no"}]}]),
        memory.add_chat([{"role": "user", "content": "hello"}], session_id="s"),
        memory.search(QUERY, explain=True, limit=50),
        memory.search(QUERY, profile="multi_route", explain=True),
        memory.search("what was cooked yesterday", profile="vitality.activity"),
        memory.search(QUERY, profile="vitality", explain=True),
        *(memory.explain(QUERY, id, limit=2) for id in ("risotto", "salad", "tea")),
        memory.explain(QUERY, "salad", profile="composite", filters={"kind": "fact"}),
        memory.explain(QUERY, "soup", profile=_NARROW),
        memory.explain(QUERY, "salad", options={"min_score": 0.9}, limit=5, profile="composite"),
        memory.explain(QUERY, "salad", against="tea"),
        memory.inspect.candidates(QUERY, limit=3),
        memory.inspect.candidates(QUERY, profile="activation", limit=3),
        memory.inspect.compare(QUERY, ["balanced", "composite"]),
        memory.get_context(QUERY, 120, options={"trace": True}),
        memory.get("tea"),
        memory.get_all(limit=3),
        memory.update("tea", content=LONG),
        memory.feedback("tea", "useful", "helps"),
        memory.history("tea"),
        memory.events(limit=5),
        memory.tags(),
        memory.about("ana"),
        memory.entities(limit=1),
        memory.links(),
        memory.inspect.graph("soup", entities=True),
        memory.labels.add(QUERY, "soup"),
        memory.labels.questions(),
        memory.labels.score(),
        memory.links(pending=True),
        memory.inspect.zones(),
        memory.inspect.zone_shares(points=5),
        memory.inspect.vitality("tea", until="2099-01-01", points=5),
        memory.upkeep.verify(),
        memory.upkeep.audit(),
        memory.upkeep.consolidate(),
        memory.upkeep.prune(),
        memory.upkeep.maintain(
            steps=("expire", "tasks", "links", "consolidate", "prune"), dry_run=True
        ),
        memory.undo(memory.archive("soup") or ""),
        memory.undo_actor("nobody", since=NOW),
        memory.export(folder / "all.jsonl"),
        memory.stats(),
        memory.delete_user("nobody"),
        memory.export(folder / "all.jsonl"),
        Difference("tea", "boosted_at", None, NOW),
        Candidate("tea", LONG, 0.05, (LONG,)),
    ]
    url = f"sqlite:///{folder / 'one.db'}"
    with Memory.open(url, embedder=Designed()) as one:
        one.add("to be copied")
        every += [one.upkeep.doctor(), one.backup(folder / "backup.db")]
    with closing(sqlite3.connect(folder / "one.db")) as db, db:
        db.execute("UPDATE memories SET strength = 0.25")
    with Memory.open(url, embedder=Designed()) as one:
        every += [one.upkeep.verify(), one.upkeep.doctor(fix=True)]
    with Memory.open("ram://", embedder=Designed(), search_log=folder / "searches.db") as one:
        one.search(QUERY)
        every.append(one.inspect.searches())
    copied = copy_store(url, f"sqlite:///{folder / 'other.db'}")
    Memory.upkeep.reembedding(url, WordHashEmbedder(16), step="fill")
    compared = Memory.upkeep.reembedding(
        url, WordHashEmbedder(16), step="compare", embedder=Designed()
    )
    return [*every, *copied, compared]


def inside(value: Any) -> Iterator[Result]:
    """The results in a value, itself among them."""
    if isinstance(value, Result):
        yield value
        for name in field_names(type(value)):
            yield from inside(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from inside(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from inside(item)


def test_every_returned_type_has_both() -> None:
    types = returned_types()
    assert len(types) > 30
    for kind in types:
        assert issubclass(kind, Result), kind
        assert "_shown" not in field_names(kind)
        is_generated = getattr(kind.__repr__, "__wrapped__", None) is not None
        assert not is_generated, f"{kind} has the repr of a dataclass; give it repr=False"


def test_every_result_is_plain_json_and_one_short_line(tmp_path: Path) -> None:
    every = list(inside(results(tmp_path)))
    for one in every:
        plain = one.to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain, type(one)
        line = repr(one)
        assert len(line) <= MAX_REPR_CHARACTERS, line
        assert line.startswith(f"{type(one).__name__}(")
        assert line.endswith(")")
        assert line.isprintable()
    assert returned_types() - {type(one) for one in every} == set()


def test_a_hit_reads_like_its_memory() -> None:
    memory = crowd(1)
    memory.add(
        "saffron for the feast, cos=0.99", id="new", kind="fact", tags=["spice"], title="Saffron"
    )
    [hit] = memory.search(QUERY, limit=1, filters={"tags": "spice"}, touch=False)
    record = memory.get("new")
    assert record is not None
    assert hit.record == record
    for name in field_names(type(record)):
        assert getattr(hit, name) == getattr(record, name), name
    assert (hit.importance, hit.relevance_score) == (0.5, 0.5)
    assert (hit.kind, hit.tags, hit.title, hit.rank) == ("fact", ("spice",), "Saffron", 1)
    assert (hit.to_dict()["importance"], hit.to_dict()["relevance_score"]) == (0.5, 0.5)
    assert copy.copy(hit) == hit
    assert pickle.loads(pickle.dumps(hit)) == hit
    with pytest.raises(dataclasses.FrozenInstanceError):
        hit.rank = 3  # type: ignore[misc]
    memory.update("new", importance=0.0)
    [hit] = memory.search(QUERY, limit=1, filters={"tags": "spice"}, touch=False)
    assert hit.importance == 0.0


def test_the_turns_that_support_a_session_are_fields_of_its_hit() -> None:
    with Memory.open("ram://", embedder=None, clock=lambda: NOW) as memory:
        talk = [
            {"role": "user", "content": "Where is the red bicycle?"},
            {"role": "assistant", "content": "The red bicycle is in the shed."},
        ]
        memory.add_chat(talk, mode="hybrid", session_id="s")
        [hit] = memory.search("red bicycle", profile="multi_route", filters={"session_id": "s"})
        assert hit.supporting_turn_count == 1
        assert hit.best_turn_routes["lexical"] >= 1
        assert memory.get(hit.best_turn or "") is not None
        assert hit.to_dict()["supporting_turn_count"] == 1
        assert hit.to_dict()["best_turn_routes"] == dict(hit.best_turn_routes)
        [plain] = memory.search("red bicycle", limit=1)
        assert (plain.supporting_turn_count, plain.best_turn) == (None, None)
        assert "supporting_turn_count" not in plain.to_dict()


def test_a_memory_shows_where_it_is_and_no_password(tmp_path: Path) -> None:
    with Memory.open("ram://", embedder=None, namespace="team") as memory:
        assert repr(memory) == "Memory(url='ram://', namespace='team', profile='balanced')"
        assert "namespace='other'" in repr(memory.for_namespace("other"))
    assert repr(AsyncMemory(tmp_path / "a.db")) == "AsyncMemory(not open yet)"
    for url in (
        "postgresql://ana:se/cr@et@host:5432/db",
        "postgresql://host:5432/db?user=ana&password=secret",
        "postgresql://ana:secret@host:5432/db?sslmode=require",
    ):
        assert public_url(url) == "postgresql://host:5432/db"
    assert public_url("sqlite:///b@c/a.db?mode=ro") == "sqlite:///b@c/a.db"
    assert public_url("/home/ana/a.db") == "/home/ana/a.db"


@given(
    st.dictionaries(
        st.sampled_from(["query", "score", "hits", "at", "value"]),
        st.text()
        | st.floats()
        | st.integers()
        | st.datetimes()
        | st.lists(st.text())
        | st.none()
        | st.booleans(),
    )
)
def test_any_values_are_one_printable_line(values: Mapping[str, Any]) -> None:
    line = short_repr("Name", values)
    assert len(line) <= MAX_REPR_CHARACTERS
    assert line.isprintable()


def test_values_become_plain() -> None:
    values = {"a": (1, np.float32(0.5)), "b": math.nan, "c": NOW, "d": np.int64(3), "e": {"f": ()}}
    plain: dict[str, Any] = {
        "a": [1, 0.5],
        "b": None,
        "c": "2026-03-10T12:00:00Z",
        "d": 3,
        "e": {"f": []},
    }
    assert to_json(values) == plain


def test_the_usual_names_of_others_are_told_what_they_are_called_here() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        options: dict[str, Any] = {"threshold": 0.5}
        with pytest.raises(TypeError, match=r"give it as options=.*min_score"):
            memory.search("x", **options)
        options = {"top_k": 3}
        with pytest.raises(TypeError, match="did you mean 'limit'"):
            memory.search("x", **options)
        options = {"user": "u"}
        with pytest.raises(TypeError, match="did you mean 'user_id'"):
            memory.add("x", **options)


def test_every_result_is_read_again_from_its_json(tmp_path: Path) -> None:
    for one in inside(results(tmp_path)):
        plain = one.to_dict()
        again = type(one).from_dict(json.loads(json.dumps(plain)))
        assert type(again) is type(one)
        assert again.to_dict() == plain
        for name in public_attributes(type(one)):
            assert same(attribute(again, name), attribute(one, name)), (type(one), name)


@pytest.mark.deep
@given(st.integers(0, 10**6), st.sampled_from(["balanced", "six_factor", "vitality", "activation"]))
@settings(max_examples=examples(10))
def test_any_search_is_read_again_from_its_json(seed: int, profile: str) -> None:
    memory, id = crowd(seed), f"n{seed % 40:02}"
    for one in (
        memory.search(QUERY, limit=50, explain=True, profile=profile),
        memory.explain(QUERY, id, limit=5, profile=profile),
        memory.inspect.compare(QUERY, [profile, "composite"]),
    ):
        plain = one.to_dict()
        again = type(one).from_dict(json.loads(json.dumps(plain)))
        assert again.to_dict() == plain
        assert str(again) == str(one)


def public_attributes(kind: type[Result]) -> set[str]:
    """The fields and properties of a type of results."""
    properties = inspect.getmembers(kind, lambda member: isinstance(member, property))
    return {*field_names(kind), *(name for name, _ in properties)}


def attribute(one: Result, name: str) -> Any:
    try:
        return getattr(one, name)
    except InvalidInput as problem:  # `AddResult.id` where nothing was added
        return str(problem)


def same(one: Any, other: Any) -> bool:
    """Test whether two values are equal, NaN and NaN, too."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, Result) and type(one) is type(other):
        return all(same(getattr(one, n), getattr(other, n)) for n in field_names(type(one)))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def test_unknown_keys_are_passed_over_and_missing_ones_have_their_defaults() -> None:
    link = {"namespace": "n", "source": "a", "target": "b", "type": "mentions", "weight": 1}
    read = Link.from_dict({**link, "created_at": "2026-03-10T12:00:00Z", "colour": "red"})
    assert read == Link("n", "a", "b", "mentions", 1.0, NOW)
    assert Page.from_dict({"memories": [], "total": 0}) == Page((), 0, None, "newest")
    for wrong in ({"source": "a"}, {**link, "created_at": "soon"}, {**link, "created_at": 5}):
        with pytest.raises((TypeError, ValueError, LookupError)):
            Link.from_dict(wrong)

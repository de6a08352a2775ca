"""Any search: a sensible result, or InvalidInput that names the argument."""

import inspect
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.errors import InvalidInput
from salience.ranking import profiles
from support.asked import FURTHER, in_options
from support.bad_input import HUGE, LONE, NAN, NO_TIME, label
from support.examples import examples

SEARCHES: list[tuple[str, Any, str]] = [
    ("query", "", "query"),
    ("query", " \n", "query"),
    ("query", None, "query"),
    ("query", 5, "query"),
    ("query", b"apple", "query"),
    ("limit", 0, "limit"),
    ("limit", -1, "limit"),
    ("limit", 1001, "limit"),
    ("limit", True, "limit"),
    ("limit", "5", "limit"),
    ("limit", 5.0, "limit"),
    ("limit", None, "limit"),
    ("profile", "nope", "profile"),
    ("profile", 5, "profile"),
    ("profile", ["balanced"], "profile"),
    ("filters", "kind", "filters"),
    ("filters", {"colour": 1}, "filters.colour"),
    ("filters", {"kind": {"like": "x"}}, "filters.kind"),
    ("filters", {"status": "achived"}, "filters.status"),
    ("filters", {"$not": {"tier": {"in": ["long", "longer"]}}}, "filters.$not.tier"),
    ("filters", {"$not": {"$not": {"colour": 1}}}, "filters.$not.$not.colour"),
    ("now", "soon", "now"),
    ("now", NAN, "now"),
    ("now", True, "now"),
    ("now", NO_TIME, "now"),
    ("as_of", NO_TIME, "as_of"),
    ("filters", {"created_at": {"gte": NO_TIME}}, "filters.created_at"),
    *((name, "no", name) for name in ("touch", "explain", "include_archived")),
    *((name, np.ones(2), name) for name in ("touch", "weights", "limit", "min_score")),
    ("min_score", NAN, "min_score"),
    ("min_score", "0.5", "min_score"),
    ("min_score", True, "min_score"),
    ("weights", {"nope": 1.0}, "weights.nope"),
    ("weights", {"similarity": NAN}, "weights.similarity"),
    ("weights", {"similarity": "1"}, "weights.similarity"),
    ("weights", {"similarity": True}, "weights.similarity"),
    ("weights", [1.0], "weights"),
    ("namespaces", [], "namespaces"),
    ("namespaces", "default", "namespaces"),
    ("namespaces", [""], "namespaces"),
    ("namespaces", [LONE], "namespaces"),
    ("now", HUGE, "now"),
    ("limit", HUGE, "limit"),
    ("token_budget", -HUGE, "token_budget"),
    ("min_score", HUGE, "min_score"),
    ("min_score", 10**400, "min_score"),
    ("min_similarity", 10**400, "min_similarity"),
    ("weights", {"similarity": 10**400}, "weights.similarity"),
    ("context", [], "context"),
    ("context", HUGE, "context"),
]


@pytest.mark.parametrize(("argument", "value", "field"), SEARCHES, ids=label)
def test_a_wrong_argument_of_a_search_is_named(
    memory: Memory, argument: str, value: Any, field: str
) -> None:
    arguments = in_options({"query": "apple", "profile": "composite", argument: value})
    field = f"options.{field}" if argument in FURTHER else field
    with pytest.raises(InvalidInput) as caught:
        memory.search(**arguments)
    assert caught.value.field == field
    if arguments.keys() <= inspect.signature(memory.explain).parameters.keys():
        with pytest.raises(InvalidInput) as caught:
            memory.explain(id="taken", **arguments)
        assert caught.value.field == field


def test_filters_nested_without_end_are_refused(memory: Memory) -> None:
    deep: dict[str, Any] = {"kind": "note"}
    for _ in range(100_000):
        deep = {"$not": deep}
    with pytest.raises(InvalidInput) as caught:
        memory.search("apple", filters=deep)
    assert caught.value.field == "filters"


BALANCED = profiles.get("balanced")
ARRAY: Any = np.array(["a", "b"])
CHAT = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "There."}]
OTHER: list[tuple[Callable[[Memory], Any], str]] = [
    (lambda m: m.get(""), "id"),
    (lambda m: m.get(5), "id"),  # type: ignore[arg-type]
    (lambda m: m.get(LONE), "id"),
    (lambda m: m.delete(LONE), "id"),
    (lambda m: m.delete(["taken"]), "id"),  # type: ignore[arg-type]
    (lambda m: m.update(LONE, importance=0.1), "id"),
    (lambda m: m.update(5, importance=0.1), "id"),  # type: ignore[arg-type]
    (lambda m: m.update("taken", id2="x"), "id2"),
    (lambda m: m.update("taken", vectors={}), "vectors"),
    (lambda m: m.update("taken", content=None), "content"),
    (lambda m: m.update("taken", created_at=None), "created_at"),
    (lambda m: m.update("taken", status=None), "status"),
    (lambda m: m.explain("apple", LONE), "id"),
    (lambda m: m.links(LONE), "id"),
    (lambda m: m.links(5), "id"),  # type: ignore[arg-type]
    (lambda m: m.link(LONE, "taken"), "source"),
    (lambda m: m.link("taken", 5), "target"),  # type: ignore[arg-type]
    (lambda m: m.link("taken", "taken", weight="1"), "weight"),  # type: ignore[arg-type]
    (lambda m: m.get_all(limit=0), "limit"),
    (lambda m: m.get_all(limit=True), "limit"),
    (lambda m: m.get_all(limit=10_001), "limit"),
    (lambda m: m.get_all(cursor="nonsense"), "cursor"),
    (lambda m: m.get_all(cursor=""), "cursor"),
    (lambda m: m.get_all(cursor="W1tb" * 30_000), "cursor"),  # "[" without end
    (lambda m: m.get_all(cursor=b64encode(b"[1%s, 1]" % (b"0" * 400)).decode()), "cursor"),
    (lambda m: m.get_all(cursor=LONE), "cursor"),
    (lambda m: m.get_all(cursor=5), "cursor"),  # type: ignore[arg-type]
    (lambda m: m.get_all("kind"), "filters"),  # type: ignore[arg-type]
    (lambda m: m.delete_all(), "filters"),
    (lambda m: m.delete_all(namespace=""), "namespace"),
    (lambda m: m.delete_all(namespace=5), "namespace"),  # type: ignore[arg-type]
    (lambda m: m.for_namespace(""), "namespace"),
    (lambda m: m.for_namespace(LONE), "namespace"),
    (lambda m: m.for_namespace("x" * 257), "namespace"),
    (lambda m: Memory.open("ram://", namespace=""), "namespace"),
    (lambda m: Memory.open("ram://", profile="nope"), "profile"),
    (lambda m: Memory.open("ram://", embedder="nope"), "embedder"),
    (lambda m: Memory.open("ram://", clock=5), "clock"),  # type: ignore[arg-type]
    (lambda m: Memory.open("ram://", count_tokens=5), "count_tokens"),  # type: ignore[arg-type]
    (lambda m: Memory.open("ram://", entities=5), "entities"),  # type: ignore[arg-type]
    (lambda m: Memory.upkeep.reembed("ram://", progress=5), "progress"),  # type: ignore[arg-type]
    (lambda m: m.add_many(["An apple."], progress=5), "progress"),  # type: ignore[arg-type]
    (lambda m: m.upkeep.maintain(progress=5), "progress"),  # type: ignore[arg-type]
    (lambda m: m.upkeep.consolidate(progress=5), "progress"),  # type: ignore[arg-type]
    (lambda m: m.upkeep.audit(progress=5), "progress"),  # type: ignore[arg-type]
    (lambda m: m.inspect.zone_shares(progress=5), "progress"),  # type: ignore[arg-type]
    (lambda m: m.inspect.zone_shares(points=-HUGE), "points"),
    (lambda m: m.upkeep.maintain(steps=5), "steps"),  # type: ignore[arg-type]
    (lambda m: m.upkeep.maintain(steps="prune"), "steps"),
    (lambda m: m.undo(5), "run"),  # type: ignore[arg-type]
    (lambda m: m.undo(f"prune-{'9' * 5_000}"), "run"),
    (lambda m: m.link("taken", "taken", type=HUGE), "type"),  # type: ignore[arg-type]
    (lambda m: m.touch("taken", use=HUGE), "use"),  # type: ignore[arg-type]
    (lambda m: m.get_all(limit=HUGE), "limit"),
    (lambda m: m.inspect.zone_shares(points=10**9), "points"),
    (lambda m: m.update("taken", created_at=NO_TIME), "created_at"),
    (lambda m: m.touch("taken", now=NO_TIME), "now"),
    (lambda m: m.inspect.zones(now=NO_TIME), "now"),
    (lambda m: m.update("taken", status="actve"), "status"),
    (lambda m: m.search("apple", profile=replace(BALANCED, statuses=("actve",))), "statuses"),
    (lambda m: m.upkeep.prune(apply="no"), "apply"),  # type: ignore[arg-type]
    (lambda m: m.upkeep.consolidate(apply="no"), "apply"),  # type: ignore[arg-type]
    (lambda m: m.upkeep.consolidate(everything="no"), "everything"),  # type: ignore[arg-type]
    (lambda m: m.upkeep.maintain(dry_run="false"), "dry_run"),  # type: ignore[arg-type]
    (lambda m: m.upkeep.verify(repair="false"), "repair"),  # type: ignore[arg-type]
    (lambda m: m.stats(everywhere="no"), "everywhere"),  # type: ignore[arg-type]
    (lambda m: m.explain("apple", "taken", everywhere="no"), "everywhere"),  # type: ignore[arg-type]
    (lambda m: m.add_many(["x"], strict="no"), "strict"),  # type: ignore[arg-type]
    (lambda m: Memory.upkeep.reembed("ram://", missing="no"), "missing"),  # type: ignore[arg-type]
    (lambda m: m.get_context("apple", touch="no"), "touch"),  # type: ignore[arg-type]
    (lambda m: m.get_context("apple", options={"references": "no"}), "options.references"),  # type: ignore[arg-type]
    (lambda m: m.get_context("apple", format=ARRAY), "format"),
    (lambda m: m.get_context("apple", options={"counter": ARRAY}), "options.counter"),
    (lambda m: m.add_chat(CHAT, mode=ARRAY, session_id="s"), "mode"),
    (lambda m: m.add_chat(CHAT, session_id=ARRAY), "session_id"),
    (lambda m: m.touch("taken", use=ARRAY), "use"),
    (lambda m: m.link("taken", "taken", "contradicts"), "target"),
    *(
        (lambda m, name=name: getattr(m, name)(None), "ids")
        for name in ("archive", "unarchive", "touch", "delete_many")
    ),
    (lambda m: m.supersede("x" * 513, "taken"), "old"),
    (lambda m: m.search("apple", profile={"name": "p"}), "profile.stages"),
    (lambda m: m.inspect.compare("apple", ["balanced", {}]), "profiles[1].name"),
    (lambda m: m.search("apple", kind="fact", filters={"kind": {"zz": 1}}), "filters.kind"),
    (lambda m: m.supersede(5, "taken"), "old"),  # type: ignore[arg-type]
    (lambda m: m.supersede("taken", 5), "new"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "field"), OTHER)
def test_every_other_door_names_the_field(
    memory: Memory, call: Callable[[Memory], Any], field: str
) -> None:
    before = memory.get_all(limit=1000).memories, memory.links()
    with pytest.raises(InvalidInput) as caught:
        call(memory)
    assert caught.value.field == field
    assert len(str(caught.value)) < 1_000
    assert (memory.get_all(limit=1000).memories, memory.links()) == before


ODD_QUERIES = [
    "?!…,;", '"', '"unclosed phrase', "*", "app*", "NEAR", "NEAR(apple day)", "apple NEAR/2 day",
    "a AND OR NOT b", "content:apple", "^apple", "{apple}", "(((", "--", "';DROP TABLE memories;--",
    "\0", "\0\0", "nul\0byte", LONE, "\udfff", "🎉🎉🎉", "👩\u200d👩\u200d👧",
    "\u0301", "\u200b", "\ufeff", "ﷺ",
    "x" * 100_000, "apple " * 16_666, "? " * 50_000, "march " * 16_666, "the of and a",
    "who what when where",
    "1" * 5_000, "٣", "²", "ǅ", "İ", "ß", "%", "_", "\\", "\x1b[31m", "ⅷ", "한", "ก",
    "on 99/99/9999", "in month 13 of year 0", "31 February 2026", "-1", "1e999",
]  # fmt: skip


@pytest.mark.one_in(5)
@pytest.mark.parametrize("query", ODD_QUERIES, ids=label)
@pytest.mark.parametrize("profile", ["balanced", pytest.param("composite", marks=pytest.mark.deep)])
def test_an_odd_query_has_a_result(memory: Memory, query: str, profile: str) -> None:
    result = memory.search(query, profile=profile, explain=True)
    assert len(result) <= 1
    for hit in result:
        assert np.isfinite(hit.score)
        assert hit.explanation is not None
        assert hit.explanation.value == hit.score
    memory.explain(query, "taken", profile=profile)


@settings(max_examples=examples(200), deadline=None)
@given(query=st.text(st.characters(codec=None), max_size=60))
@example(query="\ud800\udc00")
@example(query="2026-02-30 apple")
def test_any_text_may_be_asked(memory: Memory, query: str) -> None:
    try:
        result = memory.search(query)
    except InvalidInput as problem:
        field, empty = problem.field, not query.strip()
    else:
        field, empty = "query", False
        assert all(np.isfinite(hit.score) for hit in result)
    assert field == "query"
    assert empty == (not query.strip())


def test_numbers_of_numpy_are_numbers(memory: Memory) -> None:
    asked: dict[str, Any] = {"query": "apple", "profile": "composite", "touch": np.bool_(False)}
    five, numbers = np.int64(5), {"token_budget": np.int32(500), "min_score": np.float32(0)}
    further: dict[str, Any] = {**numbers, "weights": {"similarity": np.float32(0.5)}}
    plain = memory.search(
        **asked, limit=5, now=1_700_000_000, options={"token_budget": 500, "min_score": 0.0}
    )
    result = memory.search(
        **asked,
        limit=five,  # type: ignore[arg-type]
        now=np.int64(1_700_000_000),  # type: ignore[arg-type]
        options=further,  # type: ignore[arg-type]
    )
    assert result.ids == plain.ids
    where = {"access_count": {"gte": np.int64(0)}, "importance": {"nin": [np.float32(0.25)]}}
    assert memory.get_all(where, limit=five).total == memory.get_all().total  # type: ignore[arg-type]
    assert memory.get_all({"metadata.n": np.int64(1)}).total == 0
    assert memory.upkeep.prune(cap=five).run is None  # type: ignore[arg-type]
    assert memory.get_context("apple", max_tokens=np.int64(300)).max_tokens == 300  # type: ignore[arg-type]

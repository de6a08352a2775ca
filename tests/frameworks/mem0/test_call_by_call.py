"""The drop-in beside mem0's own `Memory`: the same calls give the same answers and errors."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Any

import mem0
import mem0.exceptions
import pytest

from salience.integrations.mem0 import AsyncMemory, Memory
from salience.testing import WordHashEmbedder

SCOPE = {"user_id": "ana"}
MESSAGES = [
    {"role": "system", "content": "You are a guide."},
    {"role": "user", "content": "I like green tea.", "name": "Ana"},
    {"role": "assistant", "content": "Tea is noted."},
    {"role": "user", "content": [{"type": "text", "text": "Coffee is too bitter."}]},
]
FILTERS: list[dict[str, Any]] = [
    {"n": 1},
    {"n": {"eq": 1}},
    {"n": {"ne": 1}},
    {"n": {"nin": [1, 5]}},
    {"n": {"in": [1, 5]}},
    {"n": [1, 5]},
    {"n": {"gt": 1}},
    {"n": {"gte": 1, "lt": 2}},
    {"n": {"lte": 1}},
    {"topic": "drinks", "n": 2},
    {"topic": {"contains": "other"}},
    {"role": "assistant"},
    {"actor_id": "Ana"},
    {"OR": [{"n": 1}, {"role": "assistant"}]},
    {"NOT": [{"n": 1}]},
    {"NOT": [{"n": 1}, {"role": "assistant"}]},
    {"AND": [{"n": 2}, {"topic": "drinks"}]},
    {"AND": [{"OR": [{"n": 1}, {"n": 2}]}, {"NOT": [{"topic": "other"}]}]},
    {"created_at": {"gte": "2020-01-01"}},
    {"created_at": {"lt": "2020-01-01"}},
    {"agent_id": "guide"},
    {"run_id": "r1"},
    {"user_id": "ben"},
]
NOWHERE = "00000000-0000-0000-0000-000000000000"
WRONG = [
    "m.add('x')",
    "m.add(5, user_id='u')",
    "m.add('x', user_id='u', memory_type='other')",
    "m.add('x', user_id='a b', infer=False)",
    "m.add('x', user_id=' ', infer=False)",
    "m.add('x', user_id='u', infer=False, expiration_date='soon')",
    "m.search('x', user_id='u')",
    "m.search('x', agent_id='u')",
    "m.search('x')",
    "m.search(' ', filters={'user_id': 'u'})",
    "m.search('x', filters={'user_id': 'a b'})",
    "m.search('x', filters={'user_id': 'u'}, top_k=-1)",
    "m.search('x', filters={'user_id': 'u'}, top_k='5')",
    "m.search('x', filters={'user_id': 'u'}, threshold=2)",
    "m.search('x', filters={'user_id': 'u'}, threshold='high')",
    "m.search('x', filters={'user_id': 'u', 'n': {'over': 1}})",
    "m.search('x', filters={'user_id': 'u', 'OR': []})",
    "m.search('x', filters={'user_id': 'u', 'AND': {}})",
    "m.get_all(user_id='u')",
    "m.get_all()",
    "m.get_all(filters={'n': 1})",
    f"m.update('{NOWHERE}', text='x')",
    f"m.update('{NOWHERE}')",
    f"m.delete('{NOWHERE}')",
    "m.delete_all()",
    "m.chat('x')",
]
NOTHING = [
    f"m.get('{NOWHERE}')",
    f"m.history('{NOWHERE}')",
    "m.delete_all(user_id='nobody')",
    "m.add([{'role': 'user'}], user_id='u', infer=False)['results']",
    "m.search('x', filters={'user_id': 'u'}, top_k=0)",
    "m.get_all(filters={'user_id': 'u'}, top_k=0)",
    "m.search('x', filters={'user_id': 5})",
    "m.reset()",
]


def filled(memory: Any) -> list[str]:
    """Three memories of Ana's and one of Ben's; their ids."""
    ids = []
    added = memory.add(MESSAGES, user_id=" ana ", metadata={"topic": "drinks", "n": 1}, infer=False)
    ids += [each["id"] for each in added["results"]]
    other = {"topic": "other", "n": 2}
    for text, scope, metadata in (
        ("Ana has a boat.", {"user_id": "ana", "agent_id": "guide", "run_id": "r1"}, other),
        ("Ben has a cello.", {"user_id": "ben"}, {"n": 2}),
    ):
        added = memory.add(text, **scope, metadata=metadata, infer=False)
        ids += [each["id"] for each in added["results"]]
    return ids


def shape(value: Any, ids: list[str]) -> Any:
    """An answer with the places of ids for ids, and no times or scores."""
    if isinstance(value, dict):
        times = ("created_at", "updated_at")
        return {
            name: type(each).__name__ if name in times else shape(each, ids)
            for name, each in value.items()
            if name not in ("score", "score_details", "id")
        } | ({"id": shape(value["id"], ids)} if "id" in value else {})
    if isinstance(value, list):
        return [shape(each, ids) for each in value]
    return ids.index(value) if value in ids else value


def texts(answer: dict[str, Any]) -> list[str]:
    return sorted(each["memory"] for each in answer["results"])


def test_answers_are_the_same_call_by_call(theirs: Any, ours: Memory) -> None:
    answers = []
    for memory in (theirs, ours):
        ids = filled(memory)
        first = ids[0]
        seen: list[Any] = [
            memory.get(first),
            sorted(
                memory.get_all(filters=SCOPE)["results"], key=lambda each: ids.index(each["id"])
            ),
            memory.get_all(filters={"run_id": "r1"}),
            memory.update(first, text="I like black tea.", metadata={"n": 7, "user_id": "ben"}),
            memory.update(first, metadata={"more": [1, {"a": None}]}),
            memory.update(first, expiration_date="2999-12-31"),
            memory.get(first),
            memory.delete(ids[1]),
            memory.get(ids[1]),
            memory.delete_all(user_id="ben"),
            memory.get(ids[4]),
        ]
        changes = [
            {name: value for name, value in each.items() if name != "id"}
            for each in memory.history(first)
        ]
        answers.append([shape(each, ids) for each in [*seen, changes]])
    for their_answer, our_answer in zip(*answers, strict=True):
        assert our_answer == their_answer


def test_an_added_message_is_answered_with_the_same_fields(theirs: Any, ours: Memory) -> None:
    answers = [
        memory.add(MESSAGES, user_id="ana", infer=False)["results"] for memory in (theirs, ours)
    ]
    for each in answers:
        assert [len(item.pop("id")) for item in each] == [36] * 3
    assert answers[1] == answers[0]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_find_the_same(theirs: Any, ours: Memory, filters: dict[str, Any]) -> None:
    for memory in (theirs, ours):
        filled(memory)
    both = {**SCOPE, **filters}
    assert texts(ours.get_all(filters=both)) == texts(theirs.get_all(filters=both))
    found = [m.search("tea boat cello", filters=both, threshold=0.0) for m in (theirs, ours)]
    assert texts(found[1]) == texts(found[0])


def test_a_wildcard_asks_for_any_value(theirs: Any, ours: Memory) -> None:
    """mem0's store passes it over, so that it finds what has no such field, too."""
    for memory in (theirs, ours):
        filled(memory)
        memory.add("Nothing is known of it.", user_id="ana", infer=False)
    wild = {**SCOPE, "topic": "*"}
    extra = set(texts(theirs.get_all(filters=wild))) - set(texts(ours.get_all(filters=wild)))
    assert extra == {"Nothing is known of it."}


def test_results_have_the_same_fields(theirs: Any, ours: Memory) -> None:
    for memory in (theirs, ours):
        filled(memory)
    query = "green tea in the boat"
    first = [m.search(query, filters=SCOPE, explain=True)["results"][0] for m in (theirs, ours)]
    assert first[1]["memory"] == first[0]["memory"] == "I like green tea."
    assert set(first[1]) == set(first[0])
    shared = {"semantic_score", "final_score", "threshold"}
    for each in first:
        assert shared <= set(each["score_details"])
        assert 0.0 <= each["score"] <= 1.0


def test_what_has_expired_is_hidden_alike(theirs: Any, ours: Memory) -> None:
    for memory in (theirs, ours):
        memory.add("Old tea.", user_id="ana", infer=False, expiration_date="2020-01-01")
        memory.add("Fresh tea.", user_id="ana", infer=False, expiration_date="2999-01-01")
        for show, count in ((False, 1), (True, 2)):
            options = {"filters": SCOPE, "show_expired": show}
            assert len(memory.get_all(**options)["results"]) == count
            assert len(memory.search("tea", **options)["results"]) == count


@pytest.mark.parametrize("call", WRONG)
def test_errors_are_of_the_same_kind(theirs: Any, ours: Memory, call: str) -> None:
    raised = []
    for memory in (theirs, ours):
        with pytest.raises(Exception) as caught:  # noqa: PT011  # of either library
            eval(call, {"m": memory})
        raised.append(caught.value)
    their_error, our_error = raised
    if isinstance(their_error, mem0.exceptions.ValidationError):
        assert our_error.error_code == their_error.error_code
        assert our_error.suggestion
    else:
        kind = ValueError if isinstance(their_error, ValueError) else type(their_error)
        assert isinstance(our_error, kind)


@pytest.mark.parametrize("call", NOTHING)
def test_nothing_is_the_same(theirs: Any, ours: Memory, call: str) -> None:
    assert eval(call, {"m": ours}) == eval(call, {"m": theirs})


@pytest.mark.parametrize("kind", ["Memory", "AsyncMemory"])
def test_each_method_takes_what_theirs_takes(kind: str) -> None:
    their_class = getattr(mem0, kind)
    our_class = {"Memory": Memory, "AsyncMemory": AsyncMemory}[kind]
    names = ["add", "get", "get_all", "search", "update", "delete", "delete_all", "history"]
    for name in [*names, "reset", "from_config", "close"]:
        theirs, ours = (
            inspect.signature(getattr(c, name)).parameters for c in (their_class, our_class)
        )
        taken = [each for each in theirs.values() if each.name != "llm"]  # a class of LangChain
        for each in taken:
            assert each.name in ours, f"{name}({each.name})"
            our = ours[each.name]
            assert our.kind == each.kind
            if each.name == "threshold":
                assert our.default is None  # theirs is a cosine of another embedder
            elif each.default is None or isinstance(each.default, bool | int | float | str):
                assert our.default == each.default, f"{name}({each.name})"
        positional = [p.name for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert [p.name for p in ours.values() if p.kind is p.POSITIONAL_OR_KEYWORD][
            : len(positional)
        ] == positional
        is_awaited = inspect.iscoroutinefunction(getattr(our_class, name))
        assert is_awaited == inspect.iscoroutinefunction(getattr(their_class, name))


def test_the_awaited_class_answers_the_same() -> None:
    async def answers() -> tuple[Any, ...]:
        async with AsyncMemory("ram://", embedder=WordHashEmbedder()) as memory:
            added = await memory.add(MESSAGES, user_id="ana", infer=False)
            first = added["results"][0]["id"]
            await memory.update(first, text="I like black tea.")
            found = await memory.search("black tea", filters=SCOPE)
            return found["results"][0]["memory"], await memory.history(first)

    text, history = asyncio.run(answers())
    assert text == "I like black tea."
    assert [each["event"] for each in history] == ["ADD", "UPDATE"]


def test_an_identity_in_metadata_is_left_out_with_a_warning(
    theirs: Any, ours: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    for memory in (theirs, ours):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            added = memory.add("x", user_id="ana", metadata={"user_id": "ben"}, infer=False)
        assert memory.get(added["results"][0]["id"])["user_id"] == "ana"
        assert "user_id" in caplog.text

"""What an agent is told: what comes near, within the budget, and mostly nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.coding_agents.recall import TAG, Limits, recall_at_start, recall_for_prompt
from salience.errors import InvalidInput
from support.examples import examples

HERE = ("code/shop",)
KEPT = {
    "pnpm": ("correction", "Use pnpm instead of npm in this repository."),
    "pytest": ("convention", "We always write tests with pytest, never unittest."),
    "commits": ("convention", "From now on, commit messages start with the ticket number."),
    "queue": (
        "decision",
        "Let's go with PostgreSQL for the job queue, as SQLite locks under load.",
    ),
    "handlers": ("convention", "The convention here is that handlers live in src/api/handlers."),
    "port": ("correction", "The dev server runs on port 8081, not 8080."),
    "errors": ("convention", "Error messages must name the field and the remedy."),
    "index": ("finding", "The root cause was a missing index on orders.user_id."),
}


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open("ram://", namespace=HERE[0]) as memory:
        for id, (kind, text) in KEPT.items():
            memory.add(text, id=id, kind=kind, tags=[TAG], speaker="user")
        memory.for_namespace("code/other").add(
            "Use pnpm for lodash.", id="x", kind="convention", tags=[TAG]
        )
        yield memory


@pytest.mark.parametrize(
    ("prompt", "first"),
    [
        ("add a unit test for the parser", "pytest"),
        ("which of npm and pnpm do I use?", "pnpm"),
        ("write a handler for GET /users", "handlers"),
        ("commit this", "commits"),
        ("where does the queue store its jobs?", "queue"),
        ("start the server and check the health endpoint", "port"),
        ("what listens on 8081?", "port"),
        ("why is the query over orders.user_id slow", "index"),
    ],
)
def test_a_prompt_is_told_what_comes_near_it(memory: Memory, prompt: str, first: str) -> None:
    told = recall_for_prompt(memory, HERE, prompt, (), Limits())
    assert told.ids[0] == first
    assert KEPT[first][1] in told.text
    assert "<recalled-memories>" in told.text


@pytest.mark.parametrize(
    "prompt",
    [
        "what's the weather in Paris?",
        "fix the typo in the readme",
        "continue",
        "yes please",
        "ok",
        "",
        "make the login button blue",
        "explain how this works to me",
        "please rewrite the introduction, it sounds too formal",
        "thanks, that looks great",
    ],
)
def test_a_prompt_that_nothing_comes_near_is_told_nothing(memory: Memory, prompt: str) -> None:
    assert recall_for_prompt(memory, HERE, prompt, (), Limits()).text == ""


def test_what_was_told_is_not_told_again(memory: Memory) -> None:
    told = recall_for_prompt(memory, HERE, "commit this", (), Limits())
    again = recall_for_prompt(memory, HERE, "commit this", told.ids, Limits())
    assert "commits" in told.ids
    assert "commits" not in again.ids


def test_a_start_is_told_conventions_first_and_no_findings(memory: Memory) -> None:
    told = recall_at_start(memory, HERE, Limits(start_tokens=2_000))
    kinds = [KEPT[id][0] for id in told.ids]
    order = ["convention", "decision", "correction"]
    assert kinds == sorted(kinds, key=order.index)
    assert set(told.ids) == set(KEPT) - {"index"}


def test_two_projects_are_apart_unless_both_are_asked(memory: Memory) -> None:
    assert recall_at_start(memory, ("code/other",), Limits()).ids == ("x",)
    assert recall_at_start(memory, ("code/nothing",), Limits()).text == ""
    both = recall_at_start(memory, ("code/other", *HERE), Limits(start_tokens=2_000))
    assert {"x", "pytest"} <= set(both.ids)


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(1, 600), st.sampled_from(["add a unit test", "commit this", "npm or pnpm"]))
def test_no_budget_is_passed(memory: Memory, tokens: int, prompt: str) -> None:
    limits = Limits(start_tokens=tokens, prompt_tokens=tokens)
    for told in (
        recall_at_start(memory, HERE, limits),
        recall_for_prompt(memory, HERE, prompt, (), limits),
    ):
        assert -(-len(told.text) // 4) <= tokens
        assert bool(told.text) == bool(told.ids)


def test_without_vectors_two_words_in_common_are_enough() -> None:
    with Memory.open("ram://", embedder=None, namespace=HERE[0]) as memory:
        memory.add(KEPT["pytest"][1], id="pytest", kind="convention", tags=[TAG])
        assert recall_for_prompt(memory, HERE, "write more tests", (), Limits()).ids == ("pytest",)
        assert not recall_for_prompt(memory, HERE, "write the readme", (), Limits()).ids


def test_limits_come_from_the_environment() -> None:
    limits = Limits.of({"SALIENCE_HOOK_TOKENS": "90", "SALIENCE_HOOK_SIMILARITY": "0.6"})
    assert (limits.start_tokens, limits.prompt_tokens, limits.similarity) == (90, 90, 0.6)
    assert limits.similarity_with_word == pytest.approx(0.4)
    assert Limits.of({}) == Limits()
    with pytest.raises(InvalidInput, match="SALIENCE_HOOK_TOKENS"):
        Limits.of({"SALIENCE_HOOK_TOKENS": "many"})

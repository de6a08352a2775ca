"""`add(messages, extract=...)`: facts beside their turns, and nothing lost if the model fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pytest

from salience import AsyncMemory, Memory
from salience.engine.extraction import Extractor, Fact, finder_of
from salience.errors import InvalidInput
from support.scripted_model import asked, finds, says
from support.scripted_server import Server, answer
from support.served import serve_memory

CHAT = [
    {
        "role": "user",
        "content": "Ugh, the bakery put almonds in again.",
        "created_at": "2026-05-01",
    },
    {"role": "assistant", "content": "Sorry to hear that."},
]
Messages = list[dict[str, str]]


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def server(served: Server) -> Server:
    served.script, served.seen = [], []
    return served


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open("ram://") as memory:
        yield memory


@pytest.fixture
def model(server: Server) -> Iterator[Extractor]:
    with Extractor("m", base_url=server.url, max_retries=0) as model:
        yield model


def _almonds(messages: Messages) -> Sequence[Mapping[str, Any]]:
    assert [message["role"] for message in messages] == ["user", "assistant"]
    return [{"text": "User is allergic to almonds.", "turns": [1], "topic": "health"}]


def test_a_fact_is_kept_beside_its_turns_with_a_link_to_its_source(
    memory: Memory, server: Server, model: Extractor
) -> None:
    fact = {"text": "Ana cannot eat almonds.", "turns": [1], "source": "user", "topic": "health"}
    server.script = [says({"facts": [fact]})]
    added = memory.add(CHAT, user_id="ana", extract=model)
    turn, _, found = added.ids
    record = memory.get(found)
    assert record is not None
    assert (record.kind, record.content, record.user_id) == ("fact", fact["text"], "ana")
    assert record.created_at.date().isoformat() == "2026-05-01"
    assert record.metadata == {
        "about_user": "health",
        "attributed_to": "user",
        "source": {"model": "m"},
    }
    assert [(link.source, link.target) for link in memory.links(found)] == [(found, turn)]
    assert [(each.topic, each.memory.id) for each in memory.about("ana")] == [("health", found)]
    assert asked(server)[1]["turns"][0]["said"] == CHAT[0]["content"]


def test_a_restated_turn_is_not_listed_beside_its_fact(memory: Memory) -> None:
    chat = [{"role": "user", "content": "I'm allergic to almonds."}, CHAT[1]]
    memory.add(chat, user_id="ana", extract=_almonds)
    assert [fact.memory.content for fact in memory.about("ana")] == ["User is allergic to almonds."]


def test_the_model_is_told_what_is_known_and_a_change_supersedes(
    memory: Memory, server: Server, model: Extractor
) -> None:
    server.script = [finds("Ana lives in Ghent."), finds("Ana lives in Antwerp.")]
    first = memory.add(CHAT, user_id="ana", extract=model)
    later = [{"role": "user", "content": "Antwerp is home now.", "created_at": "2026-05-09"}]
    memory.add(later, user_id="ana", extract=model)
    assert asked(server)[1]["known"] == ["Ana lives in Ghent."]
    assert memory[first.ids[-1]].status == "superseded"
    told = [fact.memory.content for fact in memory.about("ana") if fact.topic == "place"]
    assert told == ["Ana lives in Antwerp."]


@pytest.mark.parametrize(
    "failure", [answer(500, {}), says("no JSON"), says({"facts": 1}), says("")]
)
def test_whatever_fails_the_turns_are_there_and_it_is_told(
    memory: Memory, server: Server, model: Extractor, failure: Any
) -> None:
    server.script = [failure]
    added = memory.add(CHAT, extract=model)
    assert len(added.ids) == len(memory) == 2
    assert added.degraded[0].startswith("extract: ")


@pytest.mark.parametrize("wrong", [lambda m: 3, lambda m: {"text": "x"}, lambda m: 1 / 0])
def test_a_function_that_fails_loses_nothing(memory: Memory, wrong: Any) -> None:
    added = memory.add(CHAT, extract=wrong)
    assert len(added.ids) == 2
    assert added.degraded[0].startswith("extract: ")


def test_the_setting_is_for_messages_and_a_call_may_say_otherwise() -> None:
    def all_of_it(messages: Messages) -> list[str]:
        return [f"User said: {message['content']}" for message in messages]

    with Memory.open("ram://", embedder=None, extract=all_of_it) as memory:
        assert len(memory.add([CHAT[0]]).ids) == 2
        assert len(memory.add("A note.").ids) == 1
        assert len(memory.add("Another note.", extract=True).ids) == 2
        assert len(memory.add([CHAT[0]], extract=False).ids) == 1
        assert len(memory.for_namespace("other").add([CHAT[0]]).ids) == 2


def test_a_repeated_write_asks_no_model_again(memory: Memory) -> None:
    for expected in (3, 2):
        added = memory.add(CHAT, extract=_almonds, idempotency_key="once")
        assert len(added) == expected
    assert len(memory) == 3


async def _awaited() -> tuple[str, ...]:
    async with await AsyncMemory.open("ram://") as memory:
        return (await memory.add(CHAT, extract=_almonds)).ids


def test_awaited_it_is_the_same() -> None:
    import asyncio

    assert len(asyncio.run(_awaited())) == 3


async def _coroutine(messages: Messages) -> list[Fact]:
    return []


@pytest.mark.parametrize("wrong", [3, "", object(), Extractor, _coroutine])
def test_what_finds_no_facts_is_refused(memory: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="extract"):
        memory.add(CHAT, extract=wrong)
    with pytest.raises(InvalidInput, match="extract"):
        Memory.open("ram://", extract=wrong)
    assert len(memory) == 0


def test_an_endpoint_is_named_in_one_text(memory: Memory, server: Server) -> None:
    server.script = [finds("Ana bakes.")]
    spec = f"small@{server.url}"
    with cast(Extractor, finder_of(spec)):  # the same for the same text
        assert len(memory.add(CHAT, extract=spec).ids) == 3
    assert server.seen[0][2]["model"] == "small"


def test_without_a_model_in_the_environment_true_is_refused(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SALIENCE_EXTRACTION_MODEL", raising=False)
    monkeypatch.delenv("SALIENCE_EXTRACTION_URL", raising=False)
    with pytest.raises(InvalidInput, match="SALIENCE_EXTRACTION_MODEL"):
        memory.add(CHAT, extract=True)


def test_a_finder_of_ones_own_cannot_be_sent_to_a_server() -> None:
    with (
        serve_memory("ram://", embedder=None) as served,
        pytest.raises(InvalidInput, match="extract"),
    ):
        served.add(CHAT, extract=_almonds)

"""Facts of messages: added, known, changed, or kept as they are without a model."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from salience import Memory as Salience
from salience.errors import ExtractionError
from salience.integrations.mem0 import AsyncMemory, Memory
from support.scripted_model import asked, extractor, finds, says
from support.scripted_server import Server, answer

ANA = {"user_id": "ana"}
MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "I moved to Lisbon."},
    {"role": "assistant", "content": "How nice."},
]


def texts(memory: Memory, **filters: Any) -> list[str]:
    return sorted(each["memory"] for each in memory.get_all(filters={**ANA, **filters})["results"])


def test_facts_are_added_with_the_turns_that_they_come_from(
    reading: Memory, model: Server, store: Salience
) -> None:
    model.script = [finds(("Ana lives in Lisbon.", [1]), ("Ana has a cat.", [1, 2]))]
    added = reading.add(MESSAGES, user_id="ana", metadata={"topic": "home"})
    assert [set(each) for each in added["results"]] == [{"id", "memory", "event"}] * 2
    assert [each["event"] for each in added["results"]] == ["ADD", "ADD"]
    assert "notes" not in added
    record = store[added["results"][1]["id"]]
    assert (record.kind, record.user_id, record.session_id) == ("fact", "ana", None)
    found = reading.get(record.id)
    assert found is not None
    assert found["attributed_to"] == "user"
    assert found["metadata"]["topic"] == "home"
    assert found["metadata"]["source"] == {
        "model": "m",
        "turns": [
            {"by": "user", "said": "I moved to Lisbon."},
            {"by": "assistant", "said": "How nice."},
        ],
    }
    prompt, request = asked(model)
    assert "No pets." in prompt
    assert [turn["said"] for turn in request["turns"]] == ["I moved to Lisbon.", "How nice."]


def test_the_model_is_told_what_is_known_of_the_same_user_alone(
    reading: Memory, model: Server
) -> None:
    model.script = [finds("Ana has a boat."), finds("Ben has a boat."), finds()]
    reading.add("My boat is blue.", user_id="ana")
    reading.add("My boat is red.", user_id="ben")
    assert reading.add("My boat is old.", user_id="ana", prompt="Boats alone.")["results"] == []
    prompt, request = asked(model)
    assert request["known"] == ["Ana has a boat."]
    assert "Boats alone." in prompt
    assert "No pets." not in prompt


def test_a_known_fact_is_not_added_again(reading: Memory, model: Server) -> None:
    model.script = [finds("Ana likes green tea."), finds("Ana likes green tea.")]
    [first] = reading.add("I like green tea.", user_id="ana")["results"]
    [second] = reading.add("Green tea again!", user_id="ana")["results"]
    assert second == {"id": first["id"], "memory": "Ana likes green tea.", "event": "NONE"}
    assert texts(reading) == ["Ana likes green tea."]


def test_a_fact_that_changed_takes_the_place_of_the_old_one(
    reading: Memory, model: Server, store: Salience
) -> None:
    model.script = [finds("Ana lives in Porto."), finds("Ana lives in Lisbon.")]
    [old] = reading.add("I live in Porto.", user_id="ana")["results"]
    [new] = reading.add("I moved to Lisbon.", user_id="ana")["results"]
    assert new["event"] == "UPDATE"
    assert new["previous_memory"] == "Ana lives in Porto."
    assert new["linked_memory_ids"] == [old["id"]]
    assert texts(reading) == ["Ana lives in Lisbon."]
    found = reading.search("Where does Ana live?", filters=ANA, threshold=0)["results"]
    assert [each["memory"] for each in found] == ["Ana lives in Lisbon."]
    assert store[old["id"]].status == "superseded"


def test_a_fact_of_an_earlier_time_does_not_replace_a_later_one(
    reading: Memory, model: Server
) -> None:
    model.script = [finds("Ana lives in Lisbon."), finds("Ana lives in Porto.")]
    [later] = reading.add("I live in Lisbon.", user_id="ana", timestamp="2026-03-01")["results"]
    [earlier] = reading.add("I live in Porto.", user_id="ana", timestamp="2025-03-01")["results"]
    assert (earlier["event"], earlier["id"]) == ("NONE", later["id"])
    assert texts(reading) == ["Ana lives in Lisbon."]


def test_a_fact_that_says_more_is_an_update(reading: Memory, model: Server) -> None:
    short = "Ana likes strong green tea in the early morning before work with her sister Eva."
    long = f"{short} Eva makes it."
    model.script = [finds(short), finds(long)]
    [first] = reading.add("Tea.", user_id="ana")["results"]
    [second] = reading.add("Tea.", user_id="ana")["results"]
    assert second == {
        "id": first["id"],
        "memory": long,
        "event": "UPDATE",
        "previous_memory": short,
    }
    assert [each["old_memory"] for each in reading.history(first["id"])] == [None, short]


@pytest.mark.parametrize("scope", ["run_id", "app_id"])
def test_facts_of_another_run_or_app_are_not_compared(
    reading: Memory, model: Server, scope: str
) -> None:
    model.script = [finds("Ana lives in Porto.")] * 3 + [finds("Ana lives in Lisbon.")]
    events = [
        reading.add("Home.", user_id="ana", **{scope: name})["results"][0]["event"]  # type: ignore[arg-type]
        for name in ("one", "two", "one", "two")
    ]
    assert events == ["ADD", "ADD", "NONE", "UPDATE"]
    assert texts(reading, **{scope: "one"}) == ["Ana lives in Porto."]
    assert texts(reading, **{scope: "two"}) == ["Ana lives in Lisbon."]


def test_without_a_model_messages_are_kept_and_it_is_said(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        added = memory.add(MESSAGES, user_id="ana")
    assert [each["memory"] for each in added["results"]] == ["I moved to Lisbon.", "How nice."]
    [note] = added["notes"]
    assert note.startswith("infer: no model")
    assert note in caplog.text
    assert "notes" not in memory.add("Verbatim.", user_id="ana", infer=False)


def test_nothing_is_written_if_the_model_fails(reading: Memory, model: Server) -> None:
    model.script = [answer(401, {"error": "no"})]
    with pytest.raises(ExtractionError, match="status 401"):
        reading.add("I moved to Lisbon.", user_id="ana")
    assert texts(reading) == []


def test_no_model_is_asked_about_nothing(reading: Memory, model: Server) -> None:
    assert reading.add([{"role": "system", "content": "Be kind."}], user_id="ana") == {
        "results": []
    }
    assert reading.add("Verbatim.", user_id="ana", infer=False)["results"][0]["event"] == "ADD"
    assert model.seen == []


def test_a_procedure_is_one_memory_of_the_agent(reading: Memory, model: Server) -> None:
    model.script = [says("1. Opened the door.")]
    options: dict[str, Any] = {"agent_id": "guide", "memory_type": "procedural_memory"}
    [added] = reading.add(MESSAGES, **options)["results"]
    found = reading.get(added["id"])
    assert found is not None
    assert found["memory"] == "1. Opened the door."
    assert found["metadata"] == {"memory_type": "procedural_memory"}


def test_the_awaited_class_asks_the_model_in_a_thread(store: Salience, model: Server) -> None:
    model.script = [finds("Ana lives in Porto."), finds("Ana lives in Lisbon.")]

    async def events() -> list[str]:
        async with AsyncMemory(store, extractor=extractor(model)) as memory:
            added = [await memory.add("Home.", user_id="ana") for _ in range(2)]
            return [each["results"][0]["event"] for each in added]

    assert asyncio.run(events()) == ["ADD", "UPDATE"]

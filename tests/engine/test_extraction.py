"""Facts by a model: what it is asked, what is read of its answers, and what failures become."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from salience.engine.extraction import Extractor, Fact, Turn
from salience.errors import ExtractionError, InvalidInput
from support.scripted_model import asked, extractor, finds, says
from support.scripted_server import Server, answer, drop

TURNS = [
    Turn("user", "I moved to Lisbon last week.", "Ana"),
    Turn("assistant", "Then book the dentist there."),
]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


def test_the_model_is_asked_for_facts_by_a_schema(server: Server) -> None:
    server.script = [finds(("Ana lives in Lisbon.", [1]), ("The assistant named a dentist.", [2]))]
    with extractor(server, api_key="secret") as model:
        day = datetime(2026, 3, 1, tzinfo=UTC)
        facts = model.facts(TURNS, known=["Ana likes tea."], instructions="No pets.", today=day)
    assert facts == [
        Fact("Ana lives in Lisbon.", (0,), "user"),
        Fact("The assistant named a dentist.", (1,), "assistant"),
    ]
    [(path, headers, body)] = server.seen
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret"
    assert body["model"] == "m"
    assert body["response_format"]["json_schema"]["strict"] is True
    prompt, request = asked(server)
    assert "No pets." in prompt
    assert request == {
        "today": "2026-03-01",
        "known": ["Ana likes tea."],
        "turns": [
            {"turn": 1, "by": "user", "name": "Ana", "said": TURNS[0].text},
            {"turn": 2, "by": "assistant", "said": TURNS[1].text},
        ],
    }


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ({"facts": []}, []),
        (
            '```json\n{"facts": [{"text": "A fact.", "turns": [1], "source": "user"}]}\n```',
            ["A fact."],
        ),
        (
            {"facts": [{"text": " ", "turns": [1]}, {"text": 5}, "x", {"text": "A fact."}]},
            ["A fact."],
        ),
        ({"facts": [{"text": "A fact.", "turns": [0, 3, True, "1", -1]}]}, ["A fact."]),
    ],
)
def test_what_is_usable_of_an_answer_is_read(
    server: Server, content: Any, texts: list[str]
) -> None:
    server.script = [says(content)]
    with extractor(server) as model:
        facts = model.facts(TURNS)
    assert [fact.text for fact in facts] == texts
    assert all(place in (0, 1) for fact in facts for place in fact.turns)


@pytest.mark.parametrize(
    "content", ["no JSON", "[]", '{"facts": "none"}', "", {"choices": []}], ids=str
)
def test_an_answer_in_another_form_is_an_error(server: Server, content: Any) -> None:
    server.script = [says(content)]
    with extractor(server) as model, pytest.raises(ExtractionError, match="m: the answer"):
        model.facts(TURNS)


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": [{"message": {}}]}, []])
def test_an_answer_without_text_is_an_error(server: Server, body: Any) -> None:
    server.script = [answer(200, body)]
    with extractor(server) as model, pytest.raises(ExtractionError, match="no text"):
        model.facts(TURNS)


def test_a_failure_that_may_pass_is_tried_again(server: Server) -> None:
    server.script = [answer(500, {}), drop, answer(429, {}, Retry_After="0"), finds("A fact.")]
    with extractor(server, max_retries=3) as model:
        assert [fact.text for fact in model.facts(TURNS)] == ["A fact."]
    assert len(server.seen) == 4


@pytest.mark.parametrize(("status", "tries"), [(500, 2), (401, 1)])
def test_a_failure_that_stays_is_an_error_without_the_key(
    server: Server, status: int, tries: int
) -> None:
    server.script = [answer(status, {"error": "the key secret is wrong"})] * 2
    failure = pytest.raises(ExtractionError, match=f"status {status}")
    with extractor(server, max_retries=1, api_key="secret") as model, failure as caught:
        model.facts(TURNS)
    assert "secret" not in str(caught.value)
    assert len(server.seen) == tries


def test_an_endpoint_without_schemas_is_asked_for_json(server: Server) -> None:
    refusal = answer(400, {"error": {"message": "response_format json_schema is not supported"}})
    server.script = [refusal, finds("A fact."), finds("Another.")]
    with extractor(server) as model:
        for text in ("A fact.", "Another."):
            assert [fact.text for fact in model.facts(TURNS)] == [text]
    kinds = [body["response_format"]["type"] for _, _, body in server.seen]
    assert kinds == ["json_schema", "json_object", "json_object"]


def test_a_procedure_is_a_text(server: Server) -> None:
    server.script = [says("```\nFirst open it.\n```"), says("Own."), says(" ")]
    with extractor(server) as model:
        assert model.procedure(TURNS) == "First open it."
        assert model.procedure(TURNS, "In one word.") == "Own."
        assert asked(server)[0] == "In one word."
        with pytest.raises(ExtractionError, match="empty"):
            model.procedure(TURNS)


def test_the_environment_names_an_endpoint() -> None:
    assert Extractor.from_environment({}) is None
    given = {
        "SALIENCE_EXTRACTION_MODEL": "m",
        "SALIENCE_EXTRACTION_URL": "http://127.0.0.1:1/v1",
        "SALIENCE_EXTRACTION_TIMEOUT": "0.5",
    }
    model = Extractor.from_environment(given)
    assert model is not None
    assert model.model == "m"


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"SALIENCE_EXTRACTION_URL": "http://x/v1"}, "SALIENCE_EXTRACTION_MODEL"),
        (
            {"SALIENCE_EXTRACTION_MODEL": "m", "SALIENCE_EXTRACTION_TIMEOUT": "soon"},
            "SALIENCE_EXTRACTION_TIMEOUT",
        ),
        ({"SALIENCE_EXTRACTION_MODEL": "m", "SALIENCE_EXTRACTION_URL": "x"}, "base_url"),
    ],
)
def test_a_wrong_setting_is_named(environment: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Extractor.from_environment(environment)
    assert caught.value.field == named


@pytest.mark.parametrize("options", [{"model": ""}, {"timeout": 0.0}, {"max_retries": -1}])
def test_a_wrong_argument_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Extractor(**{"model": "m", "base_url": "http://127.0.0.1:1/v1", **options})


def test_the_public_endpoint_needs_a_key() -> None:
    with pytest.raises(ExtractionError, match="API key"):
        Extractor("m")

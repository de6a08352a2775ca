"""The rerank protocol, against a real server on a local port."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from salience import Memory
from salience.errors import RerankerError
from salience.rerankers import HttpReranker, get, reranked, resolve
from support.scripted_server import Handler, Server, answer, drop

pytest.importorskip("httpx", reason="the extra 'openai' is not installed")

KEY = "secret-0123456789"


def relevance(handler: Handler, body: dict[str, Any]) -> None:
    """The share of the query's words in each document, the best first, as the services answer."""
    asked = set(body["query"].lower().split())
    results = [
        {"index": index, "relevance_score": len(asked & set(text.lower().split())) / len(asked)}
        for index, text in enumerate(body["documents"])
    ]
    results.sort(key=lambda result: -result["relevance_score"])
    handler.reply(200, {"id": "1", "results": results[: body["top_n"]]})


@pytest.fixture
def reranker(server: Server) -> Iterator[HttpReranker]:
    with HttpReranker("m", base_url=server.url, api_key=KEY, backoff=0.001) as made:
        yield made


def test_scores_come_in_the_order_of_the_texts(server: Server, reranker: HttpReranker) -> None:
    server.script = [relevance]
    assert reranker("red house", ["blue house", "a cello", "red house"]) == [0.5, 0.0, 1.0]
    [(path, headers, body)] = server.seen
    assert path == "/v1/rerank"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "m",
        "query": "red house",
        "documents": ["blue house", "a cello", "red house"],
        "top_n": 3,
    }


def test_nothing_is_sent_for_no_texts(server: Server, reranker: HttpReranker) -> None:
    assert reranker("red", []) == []
    assert server.seen == []


@pytest.mark.parametrize("bad", [answer(500, {}), answer(429, {}), drop])
def test_failures_that_may_pass_are_tried_again(
    server: Server, reranker: HttpReranker, bad: Any
) -> None:
    server.script = [bad, relevance]
    assert reranker("red", ["red"]) == [1.0]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "without scores"),
        ({"results": [{"index": 0}]}, "without scores"),
        ({"results": [{"index": 0, "relevance_score": "high"}]}, "without scores"),
        ({"results": [{"index": 1, "relevance_score": 1.0}]}, "1 scores to 1 texts"),
        ({"results": []}, "0 scores to 1 texts"),
        (b'{"results": [{"index": 0, "relevance_score": NaN}]}', "not finite"),
        (b"<html>", "not JSON"),
    ],
)
def test_another_answer_is_refused(
    server: Server, reranker: HttpReranker, body: Any, problem: str
) -> None:
    server.script = [answer(200, body)]
    with pytest.raises(RerankerError, match=problem):
        reranker("red", ["red"])


def test_a_refusal_carries_the_words_of_the_server_and_not_the_key(
    server: Server, reranker: HttpReranker
) -> None:
    server.script = [answer(401, {"message": f"wrong key {KEY}"})]
    with pytest.raises(RerankerError, match=r"status 401: wrong key \*\*\*") as caught:
        reranker("red", ["red"])
    assert KEY not in str(caught.value)


def test_a_search_is_reranked_by_a_server_and_goes_on_without_it(server: Server) -> None:
    model = resolve(f"http:m@{server.url}")
    reranker = get(model)
    assert isinstance(reranker, HttpReranker)
    with reranker, Memory.open("ram://", embedder=None) as memory:
        memory.add("house house cello", id="far")
        memory.add("a red house", id="near")
        profile = reranked("balanced", model, share=1.0)
        server.script = [relevance]
        assert memory.search("a red house", profile=profile).hits[0].id == "near"
        server.script = [answer(400, {"error": {"message": "too long"}})]
        result = memory.search("a red house", profile=profile)
        assert len(result) == 2
        assert any("too long" in note for note in result.degraded)

"""`Client`: the Python snippets of a document about scoring, as they are written there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from salience import Client
from salience.errors import InvalidInput, NotFound
from support.served import serve_memory

CREATE = """
client.memories.create(
    content="The user runs the firm and wants short answers",
    tier="long",
    content_type="fact",
    importance_score=0.95,
    metadata={"category": "user-profile"}
)
# Update importance based on feedback
client.memories.update("memory-id",
    importance_score=0.8 # Boost after positive feedback
)
"""
FEEDBACK = """
# Record positive feedback
client.feedback.create(
    memory_id="memory-id",
    type="useful",
    context="It answered the question"
)
# Record negative feedback
client.feedback.create(
    memory_id="memory-id",
    type="not_useful",
    context="It no longer holds"
)
"""
SEARCH = """
results = client.search(
    query="User preferences",
    threshold=0.8, # the least score
    limit=10
)

broad_results = client.search(
    query="Anything about the user",
    threshold=0.5,
    limit=50
)
"""
USE = """
results = client.search(
    query="What does the user work on now?",
    tier="short",
    limit=5
)
scores = [r.combined_score for r in client.search(query="User", limit=10).results]
context = client.get_context(
    query="Greet this user on the first page",
    max_tokens=3000
)
"""


@pytest.fixture
def client() -> Iterator[Client]:
    with serve_memory("ram://") as memory, Client(memory.url) as client:
        client.memories.create("User preferences are short answers.", id="memory-id", tier="short")
        yield client


def test_the_snippets_run_as_they_are_written(client: Client) -> None:
    names: dict[str, Any] = {"client": client}
    for snippet in (CREATE, FEEDBACK, SEARCH, USE):
        exec(snippet, names)
    memory = client.memories.get("memory-id")
    assert memory is not None
    assert (memory.importance, memory.tier) == (0.8, "short")
    assert (memory.feedback_for, memory.feedback_against) == (1.0, 1.0)
    listed = client.memories.list(filters={"tier": "long"}).memories
    assert [(one.importance, one.content_type) for one in listed] == [(0.95, "fact")]
    broad = names["broad_results"]
    assert broad.threshold == 0.5
    assert all(result.combined_score >= 0.5 for result in broad.results)
    assert [result.id for result in names["results"].results] == ["memory-id"]
    assert names["results"].profile == broad.profile == "six_factor"  # which a threshold is of
    assert max(result.combined_score for result in broad.results) <= 1.0
    assert len(names["scores"]) == 2
    assert "short answers" in names["context"].text


def test_answers_are_mappings_with_attributes(client: Client) -> None:
    answer = client.search("preferences")
    assert answer["results"][0]["combined_score"] == answer.results[0].combined_score > 0.0
    assert {"similarity", "relevance_score", "importance_score"} <= answer.results[0].keys()
    assert (answer.search_type, answer.threshold) == ("hybrid", None)
    with pytest.raises(AttributeError, match="has no 'hits', but"):
        _ = answer.hits


def test_memories_have_their_scores_and_the_defaults_of_those(client: Client) -> None:
    def scores(memory: Any) -> tuple[float, float]:
        return memory.importance_score, memory.relevance_score

    new = client.memories.create("The user drinks tea.")
    assert scores(new) == (0.5, 0.5)
    assert scores(client.memories.get(new.id)) == (0.5, 0.5)
    assert scores(client.memories.update(new.id, importance_score=0.8)) == (0.8, 0.5)
    assert scores(client.feedback.create(new.id, "useful")) == (0.8, 0.6)
    assert {scores(memory) for memory in client.memories.list().memories} == {
        (0.5, 0.5),
        (0.8, 0.6),
    }


def test_errors_are_those_of_a_memory(client: Client) -> None:
    with pytest.raises(InvalidInput, match="importance"):
        client.memories.create("x", importance_score=7)
    with pytest.raises(NotFound):
        client.memories.update("nobody", importance_score=0.5)
    assert client.memories.get("nobody") is None
    assert (client.memories.delete("memory-id"), client.memories.delete("memory-id")) == (
        True,
        False,
    )
    with pytest.raises(InvalidInput, match="url"):
        Client("memory.db")


def test_a_search_is_ranked_as_everywhere(client: Client) -> None:
    assert client.search("preferences").profile == "balanced"
    assert client.search("preferences", tier="short").profile == "six_factor"
    assert client.search("preferences", threshold=0.1, profile="balanced").profile == "balanced"

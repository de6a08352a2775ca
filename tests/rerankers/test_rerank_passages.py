"""Reranking of long memories: the model reads their best passages, each under its headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.ranking.passages import best_passages
from salience.ranking.profile import Profile
from salience.ranking.stages import ModelScores
from salience.rerankers import rerank, reranked
from salience.retrieval.operations import FoundPassage
from salience.testing import WordHashEmbedder

QUESTION = "Which cello did Ana buy?"
FILLER = "The ferry left the harbour in the morning and came back at night. "
MANUAL = "\n\n".join(
    (
        "# Journal",
        FILLER * 6,
        "## Music\n\n" + "Ana was told which cello to buy by her teacher. " + FILLER * 4,
        "## Later\n\n" + "Ana did buy a cello, a red one. " + FILLER * 4,
        FILLER * 6,
    )
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        memory.add(MANUAL, id="long", title="Of Ana", speaker="Ben", session_id="one")
        memory.add("Ana has a cello.", id="short")
        yield memory


class Reader:
    """Scores 1 for each text that holds the words, and keeps what it was given."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.texts: list[str] = []

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        self.texts = list(texts)
        return [float(self.words in text) for text in texts]


def test_a_long_memory_is_read_by_its_best_passage_under_its_headings(memory: Memory) -> None:
    reader = Reader("ferry")
    result = memory.search(QUESTION, profile=reranked("balanced", reader))
    hits = {hit.id: hit for hit in result.hits}
    best = hits["long"].passages[0]
    assert best.heading in ("Journal > Music", "Journal > Later")
    assert sorted(reader.texts) == [
        "Ana has a cello.",
        f"Of Ana\n{best.heading}\nBen: {best.text}",
    ]
    assert hits["long"].details["rerank.passage"] == best.number
    assert "rerank.passage" not in hits["short"].details


def test_of_several_passages_the_one_with_the_largest_number_counts(memory: Memory) -> None:
    whole = memory.search(QUESTION).hits
    passages = next(hit.passages for hit in whole if hit.id == "long")
    assert len(passages) == 2
    for wanted in passages:
        reader = Reader(wanted.text)
        result = memory.search(QUESTION, profile=reranked("balanced", reader, passages=3))
        [long] = [hit for hit in result.hits if hit.id == "long"]
        assert len(reader.texts) == 3
        assert long.details["rerank.passage"] == wanted.number
        assert long.details["rerank.score"] == 1.0
        assert result.ids[0] == "long"


def test_whole_texts_are_read_where_that_is_asked_for(memory: Memory) -> None:
    reader = Reader("ferry")
    result = memory.search(QUESTION, profile=reranked("balanced", reader, passages=0))
    assert f"Of Ana\nBen: {MANUAL}" in reader.texts
    assert all("rerank.passage" not in hit.details for hit in result.hits)


def test_the_passages_of_a_text_that_was_edited_since_are_none() -> None:
    found = [FoundPassage(0, 5, "", 1.0, None), FoundPassage(6, 11, "", 0.5, 0.5)]
    assert best_passages("hello world", found) == [(0, 0.5), (1, 0.5)]
    assert best_passages("hello", found) == []
    assert best_passages("hello world", [FoundPassage(0, 11, "", 0.0, None)]) == []


def test_a_profile_says_how_passages_are_read(memory: Memory) -> None:
    profile = reranked("balanced", Reader("ferry"), passages=2)
    [stage] = [each for each in profile.pipeline.stages if isinstance(each, ModelScores)]
    assert (stage.passages, stage.words) == (2, profile.routes[0])
    assert Profile.from_json(profile.to_json()) == profile


@pytest.mark.parametrize("wrong", [-1, 4, True, 1.0, "1"])
def test_a_wrong_number_of_passages_is_refused(wrong: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        rerank(Reader("ferry"), passages=wrong)
    assert caught.value.field == "passages"

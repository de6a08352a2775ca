"""Reranking: the order by model and score together, and what happens when the model fails."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput, RerankerError
from salience.ranking.profile import Profile
from salience.ranking.stages import ModelScores
from salience.rerankers import Reranker, register_reranker, rerank, reranked, resolve
from support.waiting import HANG_SECONDS

QUESTION = "Where does Ana live?"
TEXTS = ("Ana lives in a house.", "Ana moved to Lisbon.", "Ben has a cello.")


def by_length(query: str, texts: Sequence[str]) -> list[float]:
    """The number of characters."""
    return [float(len(text)) for text in texts]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open("ram://") as memory:
        for text in TEXTS:
            memory.add(text, id=text.split()[1], speaker=None)
        yield memory


def min_max(values: Sequence[float]) -> list[float]:
    return [(value - min(values)) / (max(values) - min(values)) for value in values]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_score_is_the_share_of_the_model_and_the_rest_of_the_first(
    memory: Memory, share: float
) -> None:
    first = {hit.id: hit.score for hit in memory.search(QUESTION).hits}
    profile = reranked("balanced", by_length, share=share)
    result = memory.search(QUESTION, profile=profile, explain=True)
    lengths = {hit.id: float(len(hit.content)) for hit in result.hits}
    ids = list(first)
    scaled = zip(
        ids,
        min_max([lengths[id] for id in ids]),
        min_max([first[id] for id in ids]),
        strict=True,
    )
    expected = {id: share * model + (1.0 - share) * score for id, model, score in scaled}
    assert {hit.id: hit.score for hit in result.hits} == pytest.approx(expected, abs=1e-12)
    assert [hit.id for hit in result.hits] == sorted(expected, key=lambda id: -expected[id])
    for hit in result.hits:
        assert hit.explanation is not None
        assert hit.explanation.value == hit.score
        assert hit.explanation.contributions().keys() == {"reranked", "ranked"}
        assert hit.details["rerank.score"] == lengths[hit.id]
        earlier = hit.explanation.find("score")
        assert earlier is not None
        assert earlier.value == first[hit.id]
    assert result.degraded == ()


def test_a_speaker_stands_before_the_text() -> None:
    seen: list[str] = []

    def watching(query: str, texts: Sequence[str]) -> list[float]:
        seen.extend((query, *texts))
        return [0.0] * len(texts)

    with Memory.open("ram://") as memory:
        memory.add("I moved to Lisbon.", speaker="Ana", session_id="one")
        memory.search("Where did Ana move?", profile=reranked("balanced", watching))
    assert seen == ["Where did Ana move?", "Ana: I moved to Lisbon."]


def failing(query: str, texts: Sequence[str]) -> list[float]:
    raise ValueError("no such device")


def too_few(query: str, texts: Sequence[str]) -> list[float]:
    return [1.0]


def not_finite(query: str, texts: Sequence[str]) -> list[float]:
    return [float("nan")] * len(texts)


NOBODY_WAITS = threading.Event()


def hanging(query: str, texts: Sequence[str]) -> list[float]:
    assert NOBODY_WAITS.wait(HANG_SECONDS)
    return [0.0] * len(texts)


@pytest.mark.parametrize(
    ("model", "seconds", "problem"),
    [
        (failing, 60.0, "ValueError: no such device"),
        (too_few, 60.0, "gave 1 scores to 3 texts"),
        (not_finite, 60.0, "not a finite number"),
        (hanging, 0.2, "gave no answer within 0.2 s"),
    ],
)
def test_a_model_that_fails_leaves_the_order_and_the_search_says_so(
    memory: Memory, model: Reranker, seconds: float, problem: str
) -> None:
    NOBODY_WAITS.clear()
    plain = memory.search(QUESTION)
    profile = reranked("balanced", model, timeout=seconds)
    result = memory.search(QUESTION, profile=profile, explain=True)
    NOBODY_WAITS.set()
    assert [(hit.id, hit.score) for hit in result.hits] == [
        (hit.id, hit.score) for hit in plain.hits
    ]
    [note] = result.degraded
    assert note.startswith("rerank: ")
    assert problem in note
    assert all(hit.explanation and hit.explanation.value == hit.score for hit in result.hits)


def test_calls_that_hang_are_not_piled_up(memory: Memory) -> None:
    release, calls = threading.Event(), []

    def stuck(query: str, texts: Sequence[str]) -> list[float]:
        calls.append(query)
        release.wait(HANG_SECONDS)
        return [0.0] * len(texts)

    profile = reranked("balanced", stuck, timeout=0.02)
    notes = [memory.search(QUESTION, profile=profile).degraded[0] for _ in range(7)]
    assert len(calls) == 4
    assert "still at work on earlier searches" in notes[-1]
    release.set()
    while memory.search(QUESTION, profile=profile).degraded:
        time.sleep(0.01)


def test_only_the_best_are_read_and_no_fewer_than_are_wanted(memory: Memory) -> None:
    sizes: list[int] = []

    def counting(query: str, texts: Sequence[str]) -> list[float]:
        sizes.append(len(texts))
        return by_length(query, texts)

    assert len(memory.search(QUESTION, limit=1, profile=reranked("balanced", counting, top=2))) == 1
    assert len(memory.search(QUESTION, limit=3, profile=reranked("balanced", counting, top=2))) == 3
    nothing = memory.search(
        QUESTION, filters={"speaker": "nobody"}, profile=reranked("balanced", counting)
    )
    assert len(nothing) == 0
    assert sizes == [2, 3]


def test_a_profile_is_written_as_data_and_names_what_this_process_must_know(
    memory: Memory,
) -> None:
    profile = reranked("balanced", by_length)
    assert Profile.from_json(profile.to_json()) == profile
    data = json.loads(profile.to_json().replace("by_length", "unknown"))
    with pytest.raises(InvalidInput, match=r"no reranker is called .*unknown"):
        memory.search(QUESTION, profile=data)


def test_explain_says_why_a_memory_was_reranked_out(memory: Memory) -> None:
    profile = reranked("balanced", by_length, top=2, share=1.0)
    report = memory.explain(QUESTION, "has", limit=1, profile=profile)
    assert not report.found
    assert report.why_not is not None
    assert report.why_not.stage == "keep"


async def _awaited(profile: Profile) -> tuple[str, ...]:
    async with await AsyncMemory.open("ram://") as memory:
        await memory.add("Ana lives in a house.")
        return (await memory.search(QUESTION, profile=profile)).degraded


def test_it_is_awaited_as_well() -> None:
    import asyncio

    assert asyncio.run(_awaited(reranked("balanced", by_length))) == ()
    assert "ValueError" in asyncio.run(_awaited(reranked("balanced", failing)))[0]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (lambda: rerank(by_length, top=0), "top"),
        (lambda: rerank(by_length, share=1.5), "share"),
        (lambda: rerank(by_length, share=True), "share"),
        (lambda: rerank(by_length, timeout=0.0), "timeout"),
        (lambda: ModelScores(""), "model"),
        (lambda: resolve("nobody"), "model"),
        (lambda: resolve("cross-encoder:"), "model"),
        (lambda: resolve("http:no-address"), "model"),
        (lambda: resolve(7), "model"),  # type: ignore[arg-type]
        (lambda: register_reranker("", by_length), "name"),
        (lambda: register_reranker("mine", 7), "reranker"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_are_refused_by_name(wrong: object, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        wrong()  # type: ignore[operator]
    assert caught.value.field.startswith(field)


def test_a_registered_name_is_known(memory: Memory) -> None:
    register_reranker("mine", by_length)
    assert resolve("mine") == "mine"
    assert memory.search(QUESTION, profile=reranked("balanced", "mine")).degraded == ()


def test_a_method_is_a_reranker_like_any_function(memory: Memory) -> None:
    class Lengths:
        __hash__ = None  # type: ignore[assignment]

        def scores(self, query: str, texts: Sequence[str]) -> list[float]:
            return by_length(query, texts)

        def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
            return by_length(query, texts)

    for model in (Lengths().scores, Lengths()):
        assert memory.search(QUESTION, profile=reranked("balanced", model)).degraded == ()


def test_a_service_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    with pytest.raises(RerankerError, match="set COHERE_API_KEY"):
        resolve("cohere:rerank-v3.5")


def test_weights_of_the_first_formula_still_count(memory: Memory) -> None:
    profile = reranked("balanced", by_length, share=0.0)
    unmoved = memory.search(QUESTION, profile=profile)
    moved = memory.search(
        QUESTION, profile=profile, options={"weights": {"lexical": 0.0, "semantic": 0.0}}
    )
    assert [hit.score for hit in unmoved.hits] != [hit.score for hit in moved.hits]
    assert replace(profile, name="other") != profile


def test_probabilities_are_those_of_the_search_without_the_model(memory: Memory) -> None:
    memory.add_many({"content": f"Ana saw {i} houses.", "id": f"n{i}"} for i in range(40))
    plain = memory.search(QUESTION, limit=50)
    profile = reranked("balanced", by_length, top=4)
    result = memory.search(QUESTION, limit=4, profile=profile)
    expected = {hit.id: hit.probability or 0.0 for hit in plain.hits}
    least = 1.0  # of those ranked before
    for hit in result.hits:
        least = min(least, expected[hit.id])
        assert hit.probability == least
    assert result[0].probability <= (result.probability or 0.0) <= (plain.probability or 0.0)  # type: ignore[operator]
    assert [hit.id for hit in result.hits] != [hit.id for hit in plain.hits[:4]]
    report = memory.explain(QUESTION, result.ids[0], profile=profile)
    assert report.probability is not None
    assert report.probability.value == expected[result.ids[0]]
    floor = (plain.probability or 0.0) + 0.01
    assert len(memory.search(QUESTION, profile=profile, options={"min_probability": floor})) == 0

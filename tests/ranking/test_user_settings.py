"""What users set counts in `balanced`: gently, in proportion to the match, and only where set."""

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import Memory
from salience.language.entities import Aliases
from salience.language.query_analysis import with_other_names
from salience.ranking.balanced import PARTS
from salience.ranking.expressions import Sum
from salience.ranking.profile import Profile
from salience.ranking.profiles import balanced
from salience.ranking.stages import Pipeline, Score
from salience.search.results import SearchResult
from salience.testing import WordHashEmbedder

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
TEXTS = (
    "Use spaces for the indentation of Python files.",
    "Black formats Python files on save.",
    "Indentation errors stop the build.",
    "The cat sleeps on the sofa.",
    "Python files belong into the folder src.",
)
QUESTION = "Which indentation do Python files have?"
ADDED = (*PARTS["set by users"], *PARTS["versions"])
shares = st.floats(0.0, 1.0)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with opened() as memory:
        yield memory


def opened(**fields: Any) -> Memory:
    """A memory of the texts by their places; the first one also has the fields given."""
    memory = Memory.open("ram://", embedder=WordHashEmbedder(), clock=lambda: NOW)
    for place, text in enumerate(TEXTS):
        memory.add(text, id=str(place), dedup=False, **(fields if place == 0 else {}))
    return memory


def scores(memory: Memory, profile: Profile = balanced) -> dict[str, float]:
    return {hit.id: hit.score for hit in found(memory, profile=profile)}


def found(memory: Memory, **options: Any) -> SearchResult:
    return memory.search(QUESTION, touch=False, **options)


def parts(memory: Memory, id: str = "0") -> dict[str, float]:
    """The value of each part of a memory's score that users decide."""
    [tree] = [hit.explanation for hit in found(memory, explain=True) if hit.id == id]
    assert tree is not None
    nodes = {node.label: node.value for node in tree}
    return {name: nodes[name] for name in ADDED}


def without_added_parts() -> Profile:
    """The default profile without the parts that users decide."""
    stages = []
    for stage in balanced.pipeline.stages:
        if isinstance(stage, Score) and isinstance(stage.signal, Sum):
            kept = [p for p in stage.signal.parts if p.children()[-1].label() not in ADDED]
            stage = Score(Sum(tuple(kept)))
        stages.append(stage)
    return Profile("without", Pipeline(tuple(stages)))


def test_with_nothing_set_the_scores_are_those_without_these_parts(memory: Memory) -> None:
    assert scores(memory) == scores(memory, without_added_parts())
    assert set(parts(memory).values()) == {0.0}


@pytest.mark.parametrize(
    ("fields", "part", "share"),
    [
        ({"importance": 0.9}, "importance", 0.4),
        ({"importance": 0.5}, "importance", 0.0),
        ({"importance": 0.0}, "importance", -0.5),
        ({"relevance_score": 1.0}, "relevance", 0.5),
        ({"memory_score": 0.25}, "usefulness", -0.25),
        ({"confidence": 0.4}, "confidence", -0.6),
        ({"confidence": 1.0}, "confidence", 0.0),
        ({"pinned": 1.0}, "pinned", 1.0),
        ({"tier": "long"}, "long_term", 1.0),
        ({"tier": "medium"}, "long_term", 0.0),
        ({"tier": "short"}, "short_term", 1.0),
    ],
)
def test_a_setting_counts_in_proportion_to_the_match(
    fields: dict[str, Any], part: str, share: float
) -> None:
    # By words and by meaning the first text is the best of all: its match is 1.
    with opened(**fields) as memory:
        values = parts(memory)
    assert values.pop(part) == pytest.approx(share)
    assert set(values.values()) == {0.0}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("useful", {"feedback": 2 / 3 - 0.5, "relevance": 0.1}),
        ("not_useful", {"feedback": 1 / 3 - 0.5, "relevance": -0.1}),
        ("outdated", {"feedback": 1 / 3 - 0.5, "relevance": -0.1}),
        ("incorrect", {"feedback": 1 / 5 - 0.5, "relevance": -0.3, "incorrect": 1.5}),
    ],
)
def test_feedback_counts_by_what_it_says(
    memory: Memory, kind: Any, expected: dict[str, float]
) -> None:
    memory.feedback("0", kind)
    values = parts(memory)
    for part, value in expected.items():
        assert values.pop(part) == pytest.approx(value)
    assert set(values.values()) == {0.0}


@given(shares, shares)
def test_the_score_grows_with_the_importance(one: float, other: float) -> None:
    low, high = sorted((one, other))
    with opened(importance=low) as few, opened(importance=high) as much:
        assert scores(few)["0"] <= scores(much)["0"]


@given(shares, shares, st.booleans(), st.sampled_from(["short", "long"]))
def test_no_setting_lifts_an_unrelated_memory_over_a_clear_match(
    importance: float, relevance: float, pinned: bool, tier: str
) -> None:
    with opened() as memory:
        memory.add("Nothing of the kind.", id="other", importance=importance, pinned=pinned,
                   relevance_score=relevance, tier=tier)  # fmt: skip
        assert found(memory)[0].id == "0"


def test_one_judgement_as_incorrect_lowers_clearly_and_two_sink(memory: Memory) -> None:
    before = scores(memory)
    assert max(before, key=before.__getitem__) == "0"
    memory.feedback("0", "incorrect")
    once = scores(memory)
    assert before["0"] - once["0"] > 2.0
    memory.feedback("0", "incorrect")
    twice = found(memory)
    assert twice.ids[-1] == "0"
    assert twice[-1].score == pytest.approx(twice[-2].score - 0.001)
    # nothing else has moved
    assert {hit.id: hit.score for hit in twice if hit.id != "0"} == {
        id: score for id, score in before.items() if id != "0"
    }


@given(st.sets(st.integers(0, len(TEXTS) - 1), min_size=1, max_size=len(TEXTS) - 1))
def test_what_is_incorrect_is_never_above_another_match(incorrect: set[int]) -> None:
    with opened() as memory:
        order = found(memory).ids
        for place in incorrect:
            for _ in range(2):
                memory.feedback(str(place), "incorrect")
        ids = found(memory).ids
    last = {str(place) for place in incorrect}
    assert set(ids[-len(last) :]) == last
    assert [id for id in ids if id not in last] == [id for id in order if id not in last]


def test_a_single_memory_that_is_incorrect_is_still_found() -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        memory.add("Use tabs.", id="tabs")
        for _ in range(2):
            memory.feedback("tabs", "incorrect")
        assert memory.search("tabs or spaces").ids == ("tabs",)


def test_useful_feedback_lifts_gently(memory: Memory) -> None:
    before = scores(memory)
    memory.feedback("1", "useful")
    gained = scores(memory)["1"] - before["1"]
    assert 0.0 < gained < 0.5


def test_what_a_user_corrected_gives_way_to_the_correction() -> None:
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        memory.add("Indent the code with four spaces.", id="spaces")
        memory.add("No, use tabs, not spaces.", id="tabs")
        memory.add("The build runs at night.", id="build")
        question = "How should the code be indented?"
        assert memory.search(question, touch=False)[0].id == "spaces"
        memory.feedback("spaces", "incorrect", context="the user wants tabs")
        assert memory.search(question, touch=False)[0].id != "spaces"
        memory.feedback("spaces", "incorrect")
        assert memory.search(question, touch=False).ids[-1] == "spaces"


def test_a_version_that_is_incorrect_does_not_hold() -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder(), clock=lambda: NOW) as memory:
        for id, text, at in (
            ("oslo", "Ana lives in Oslo.", "2026-01-01"),
            ("rome", "Ana moved to Rome.", "2026-03-01"),
        ):
            memory.add(text, id=id, kind="fact", created_at=at, dedup=False)
        assert memory.search("Does Ana live in Oslo?", touch=False)[0].id == "rome"
        memory.feedback("rome", "incorrect")
        assert memory.search("Does Ana live in Oslo?", touch=False)[0].id == "oslo"


LABELLED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("js", "JavaScript runs in the browser.", {}),
    ("tabs", "The browser has tabs.", {}),
    ("york", "The office in New York has a browser.", {}),
    ("she", "She moved to Lisbon last year.", {"entities": ["Ana"]}),
    ("he", "He moved to Porto last year.", {}),
    ("fruit", "Berries from the market.", {"tags": ["shopping"]}),
    ("vegetables", "Leeks from the market.", {}),
)


@pytest.mark.parametrize(
    ("question", "with_aliases", "without"),
    [
        ("What is JS?", "js", None),
        ("Which browser is in NYC?", "york", None),
        ("Where did Ana move to last year?", "she", "she"),
        ("What about the market and shopping?", "fruit", "fruit"),
    ],
)
def test_other_names_entities_and_tags_are_found(
    question: str, with_aliases: str, without: str | None
) -> None:
    other_names = {"JS": "JavaScript", "NYC": "New York"}
    for aliases, expected in ((other_names, with_aliases), (None, without)):
        with Memory.open("ram://", embedder=WordHashEmbedder(), aliases=aliases) as memory:
            for id, text, fields in LABELLED:
                memory.add(text, id=id, **fields)
            if expected is not None:
                assert memory.search(question)[0].id == expected


def test_an_alias_names_a_speaker() -> None:
    with Memory.open("ram://", aliases={"Liz": "Elizabeth"}) as memory:
        memory.add_many(
            {"content": text, "speaker": speaker, "session_id": "s"}
            for speaker, text in (("Bob", "I like pears."), ("Elizabeth", "I like plums, too."))
        )
        assert memory.search("What does Liz like?")[0].speaker == "Elizabeth"


def test_aliases_change_no_other_profile() -> None:
    def ranked(aliases: dict[str, str] | None, profile: str) -> list[tuple[str, float]]:
        with Memory.open(
            "ram://", embedder=WordHashEmbedder(), aliases=aliases, clock=lambda: NOW
        ) as memory:
            for id, text, fields in LABELLED:
                memory.add(text, id=id, **fields)
            hits = memory.search("Which js is in the browser?", profile=profile, touch=False)
            return [(hit.id, hit.score) for hit in hits]

    for profile in ("composite", "activation", "multi_route"):
        assert ranked({"JS": "JavaScript"}, profile) == ranked(None, profile)


def test_other_names_in_a_text() -> None:
    aliases = Aliases.of({"JS": "JavaScript", "ECMAScript": "JavaScript", "NYC": "New York"})
    assert aliases.others_in("Is JS used in new york?") == {
        "js": {"javascript", "ecmascript"},
        "new york": {"nyc"},
    }
    assert aliases.others_in("What is new?") == Aliases().others_in("JS") == {}
    terms = (("use",), ("js",), ("new",), ("york",))
    assert with_other_names(terms, {"js": {"javascript"}, "new york": {"nyc"}}) == (
        ("use",), ("js", "javascript"), ("new", "nyc"), ("york", "nyc"),
    )  # fmt: skip
    assert with_other_names((("nyc",),), {"nyc": {"new york"}}) == (("nyc",), ("new",), ("york",))

"""Profiles are plain data: equal, hashable, printable, JSON both ways, checked when declared."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from salience import Memory, Profile
from salience.errors import InvalidInput, InvalidProfile
from salience.ranking import profiles
from salience.ranking.evaluation import Evaluation
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Col, Signal
from salience.ranking.stages import Cut, Pipeline, Retrieve, Score, cut, retrieve, score
from salience.ranking.weights import weighted
from salience.retrieval.routes import ExactMatch, Lexical, MatchAll, Trigram, Vector
from support.asked import in_options
from support.examples import examples
from support.kitchen import QUERY, crowd
from support.signals import trees

BUILT_IN = sorted(profiles.BUILT_IN)
SIMPLE = Profile(
    "simple",
    retrieve(Lexical(before=0.5), Vector("image", name="image"), Trigram(), MatchAll(), depth=7)
    >> score(0.5 * Col("lexical.score").default(0.0).named("words") + 0.25 * Col("importance"))
    >> cut(),
    doc="For these tests.",
)


def there_and_back(profile: Profile) -> Profile:
    return Profile.from_dict(json.loads(json.dumps(profile.to_dict(), allow_nan=False)))


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_profile_is_plain_data(name: str) -> None:
    profile = profiles.get(name)
    assert profile.name == name
    assert profile.doc
    assert profile.check() is profile
    assert there_and_back(profile) == profile
    assert hash(there_and_back(profile)) == hash(profile)
    assert str(there_and_back(profile).signal) == str(profile.signal)
    assert Profile.from_json(profile.to_json()) == profile
    assert len({profile, there_and_back(profile)}) == 1


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_profile_from_json_ranks_alike(name: str) -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(
            {"content": f"Ana saw {n} apples in May", "speaker": "Ana", "session_id": "s"}
            for n in ("two", "three", "four")
        )
        question = "How many apples did Ana see?"
        built_in, read = (
            memory.search(question, profile=profile, touch=False, now="2026-07-01")
            for profile in (name, there_and_back(profiles.get(name)))
        )
        assert [(h.id, h.score) for h in read] == [(h.id, h.score) for h in built_in]


def test_routes_and_stages_survive_the_journey() -> None:
    assert there_and_back(SIMPLE) == SIMPLE
    assert SIMPLE.weighted({"words": 0.75}) != SIMPLE


@settings(max_examples=examples(150), deadline=None)
@given(tree=trees)
def test_any_formula_survives_the_journey(tree: Signal) -> None:
    columns = Score(Col("created_at"), into="a") >> Score(Col("created_at"), into="b")
    given_too = columns >> Score(Col("b"), into="c") >> Score(Col("c"), into="group")
    profile = Profile("any", retrieve(Lexical()) >> given_too >> score(tree) >> cut())
    again = there_and_back(profile)
    assert again == profile
    assert again.signal == tree
    assert str(again.signal) == str(tree)


def test_weights_change_the_formula_and_nothing_else() -> None:
    composite = profiles.get("composite")
    assert weighted(composite.signal) == {"similarity": 0.5, "importance": 0.3, "recency": 0.2}
    changed = composite.weighted({"recency": 0.0, "similarity": 1.0})
    assert weighted(changed.signal) == {"similarity": 1.0, "importance": 0.3, "recency": 0.0}
    assert composite.weighted(None) is composite
    assert composite.weighted(weighted(composite.signal)) == composite
    assert changed.pipeline.stages[0] == composite.pipeline.stages[0]
    assert weighted(composite.signal)["recency"] == 0.2
    for wrong in ({"recencies": 1.0}, {"recency": math.nan}, {"recency": "1"}):
        with pytest.raises(InvalidInput, match=r"weights\.recenc"):
            composite.weighted(wrong)  # type: ignore[arg-type]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_weight_of_a_built_in_profile_can_be_set(name: str) -> None:
    profile = profiles.get(name)
    known = profile.weights
    assert known
    for part in known:
        changed = profile.weighted({part: 0.125})
        assert changed.weights == {**known, part: 0.125}
        assert profile.weighted({part: known[part]}) == profile


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(InvalidInput, match="balanced, composite") as caught:
        profiles.get("nope")
    assert caught.value.field == "profile"


LEXICAL = Col("lexical.score")


@pytest.mark.parametrize(
    ("build", "field", "sign"),
    [
        (lambda: Pipeline(()), "stages[0]", "begin with retrieve"),
        (lambda: score(LEXICAL) >> cut(), "stages[0]", "begin with retrieve"),
        (lambda: retrieve(Lexical()) >> score(LEXICAL), "stages[1]", "end with cut"),
        (lambda: retrieve(Lexical()) >> cut(), "stages", "score"),
        (
            lambda: retrieve(Vector()) >> score(LEXICAL) >> cut(),
            "stages[1].signal",
            "'lexical.score'",
        ),
        (
            lambda: retrieve(Lexical(name="words")) >> score(LEXICAL) >> cut(),
            "stages[1].signal",
            "'lexical.score'",
        ),
        (
            lambda: retrieve(Lexical()) >> score(1.0 * LEXICAL + Col("colour")) >> cut(),
            "stages[1].signal.parts[1]",
            "'colour'",
        ),
        (
            lambda: (
                retrieve(Lexical()) >> score(Col("late")) >> Score(LEXICAL, into="late") >> cut()
            ),
            "stages[1].signal",
            "'late'",
        ),
    ],
)
def test_check_names_the_node(build: Callable[[], Pipeline], field: str, sign: str) -> None:
    with pytest.raises(InvalidProfile, match=sign) as caught:
        Profile("wrong", build()).check()
    assert caught.value.field == field
    with Memory.open("ram://", embedder=None) as memory, pytest.raises(InvalidProfile):
        memory.search("x", profile=Profile("wrong", build()))


def test_a_depth_has_to_be_positive() -> None:
    with pytest.raises(InvalidInput) as caught:
        retrieve(Lexical(), depth=0)
    assert caught.value.field == "depth"


def edited(change: Callable[[Any], Any]) -> Any:
    data = json.loads(json.dumps(SIMPLE.to_dict()))
    other = change(data)
    return data if other is None else other


def put(*path: Any, value: Any) -> Callable[[Any], Any]:
    def change(data: Any) -> None:
        node = data
        for step in path[:-1]:
            node = node[step]
        if value is KeyError:
            del node[path[-1]]
        else:
            node[path[-1]] = value

    return change


SIGNAL = ("stages", 1, "signal")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda data: [], "profile"),
        (lambda data: "simple", "profile"),
        (put("name", value=5), "name"),
        (put("name", value=KeyError), "name"),
        (put("colour", value=1), "colour"),
        (put("stages", value=KeyError), "stages"),
        (put("stages", value=5), "stages"),
        (put("stages", value=[]), "stages[0]"),
        (put("stages", value=[5]), "stages[0]"),
        (put("stages", 0, value={"type": "Nope"}), "stages[0]"),
        (put("stages", 0, value={}), "stages[0]"),
        (put("stages", 0, value={"type": "Stage"}), "stages[0]"),
        (put("stages", 0, value={"type": "Pipeline", "stages": []}), "stages[0]"),
        (put("stages", 0, value={"type": "Col", "name": "x"}), "stages[0]"),
        (put("stages", 0, "depth", value=0), "stages[0].depth"),
        (put("stages", 0, "depth", value="7"), "stages[0].depth"),
        (put("stages", 0, "depth", value=True), "stages[0].depth"),
        (put("stages", 0, "depth", value=1.5), "stages[0].depth"),
        (put("stages", 0, "routes", value=5), "stages[0].routes"),
        (put("stages", 0, "routes", 0, value=5), "stages[0].routes[0]"),
        (put("stages", 0, "routes", 0, value={"type": "Cut"}), "stages[0].routes[0]"),
        (put("stages", 0, "routes", 0, "k1", value="high"), "stages[0].routes[0].k1"),
        (put("stages", 0, "routes", 0, "k2", value=1.0), "stages[0].routes[0].k2"),
        (
            put("stages", 0, "routes", 0, "fields", value=["content"]),
            "stages[0].routes[0].fields[0]",
        ),
        (
            put("stages", 0, "routes", 0, "fields", 0, value=["content", "1"]),
            "stages[0].routes[0].fields[0][1]",
        ),
        (put("stages", 0, "routes", 2, "fields", value="title"), "stages[0].routes[2].fields"),
        (put(*SIGNAL, value="x"), "stages[1].signal"),
        (put(*SIGNAL, value={"type": "Signal"}), "stages[1].signal"),
        (put(*SIGNAL, value={"type": "Sum", "parts": []}), "stages[1].signal.parts"),
        (put(*SIGNAL, value={"type": "Sum"}), "stages[1].signal"),
        (put(*SIGNAL, value={"type": "Sum", "parts": [None]}), "stages[1].signal.parts[0]"),
        (put(*SIGNAL, value={"type": "Constant", "value": "5"}), "stages[1].signal.value"),
        (put(*SIGNAL, value={"type": "Constant", "value": True}), "stages[1].signal.value"),
        (put(*SIGNAL, value={"type": "Constant", "value": math.nan}), "stages[1].signal.value"),
        (put(*SIGNAL, value={"type": "Col", "name": 5}), "stages[1].signal.name"),
        (
            put(*SIGNAL, value={"type": "Apply", "function": "sin", "arguments": []}),
            "stages[1].signal.function",
        ),
        (
            put(*SIGNAL, value={"type": "Apply", "function": "exp", "arguments": []}),
            "stages[1].signal.arguments",
        ),
        (
            put(*SIGNAL, value={"type": "SaidBy", "who": "somebody"}),
            "stages[1].signal.who",
        ),
        (
            put(*SIGNAL, "parts", 0, "parts", 1, "of", "of", "name", value=None),
            "stages[1].signal.parts[0].parts[1].of.of.name",
        ),
        (
            put(*SIGNAL, "parts", 0, "parts", 1, "of", value={"type": "Col", "name": "colour"}),
            "stages[1].signal.parts[0].parts[1].of",
        ),
    ],
)
def test_wrong_data_names_the_path(change: Callable[[Any], Any], field: str) -> None:
    data = edited(change)
    assert data != SIMPLE.to_dict()
    with pytest.raises(InvalidProfile) as caught:
        Profile.from_dict(data)
    assert caught.value.field == field


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "NaN", '{"name": "x"'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidProfile) as caught:
        Profile.from_json(text)
    assert caught.value.field == "profile"


@pytest.mark.parametrize("path", ["a\0.json", "\ud800.json", "x" * 5_000 + ".json", "no.json"])
def test_a_path_that_leads_to_no_profile_is_refused(path: str) -> None:
    with pytest.raises(InvalidProfile, match="cannot be read"):
        profiles.get(path)


def test_data_nested_without_end_is_refused() -> None:
    deep: Any = {"type": "Col", "name": "importance"}
    for _ in range(5_000):
        deep = {"type": "Sum", "parts": [deep]}
    with pytest.raises(InvalidProfile, match="deep"):
        Profile.from_dict(edited(put(*SIGNAL, value=deep)))


def test_stages_compose() -> None:
    first, middle, last = retrieve(Lexical()), score(LEXICAL), cut()
    assert first >> (middle >> last) == (first >> middle) >> last == Pipeline((first, middle, last))
    assert isinstance(first, Retrieve)
    assert isinstance(middle, Score)
    assert isinstance(last, Cut)


def test_routes_of_unknown_fields_and_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'nonsense' are not kept; use content, title"):
        Lexical((("nonsense", 1.0),))
    for fields in (("nonsense",), ("importance",), ("metadata",)):
        for route in (Trigram, ExactMatch):
            with pytest.raises(InvalidInput, match="holds no text"):
                route(fields)
    assert Trigram(("title", "metadata.city")).fields == ("title", "metadata.city")
    twice = (
        retrieve(Lexical()) >> retrieve(Lexical((("tags", 1.0),))) >> score(Col("lexical.score"))
    )
    with pytest.raises(InvalidProfile, match=r"stages\[1\]\.routes: 'lexical' occurs twice"):
        Profile("twice", twice >> cut()).check()
    data = Profile("one", retrieve(Lexical()) >> score(Col("lexical.score")) >> cut()).to_dict()
    data["stages"][0]["routes"][0]["fields"] = [["nonsense", 1.0]]
    with pytest.raises(InvalidProfile, match=r"stages\[0\]\.routes\[0\]\.fields: the words of"):
        Profile.from_dict(data)


def _ranking(signal: Signal) -> Profile:
    formula = 1.0 * Col("lexical.score").named("words") + 0.5 * signal.named("own")
    return Profile("mine", retrieve(Lexical()) >> score(formula) >> cut())


def test_a_score_that_misses_a_value_names_the_memory_and_the_part() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Tea is nice.", id="a", importance=0.5)
        memory.add("Tea is hot.", id="b")
        for limit in (1, 10):
            with pytest.raises(InvalidProfile) as caught:
                memory.search("tea", profile=_ranking(Col("importance")), limit=limit)
            assert caught.value.field == "score"
            assert "'b'" in str(caught.value)
            assert "as importance has none" in str(caught.value)
            assert ".default(" in caught.value.remedy
        found = memory.search("tea", profile=_ranking(Col("importance").default(0.0)))
        assert found.ids == ("a", "b")


@dataclass(frozen=True)
class _Short(Signal):
    def compute(self, ev: Evaluation, *values: Any, **none: Any) -> Any:
        return np.zeros(1)


def test_a_signal_of_ones_own_gives_a_value_for_each_candidate() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add_many(["Tea is nice.", "Tea is hot.", "Tea is cold."])
        with pytest.raises(InvalidProfile, match=r"shape \(1,\) for 3 candidates"):
            memory.search("tea", profile=_ranking(_Short()))


def told(tree: Explanation) -> str:
    return json.dumps(tree.to_dict())


def changes(old: Explanation, new: Explanation) -> list[tuple[float, float]]:
    """The values that differ between two trees, the innermost of each, but those of subtotals."""
    if told(old) == told(new) or old.label == "subtotal":
        return []
    if new.weight is not None and told(new.children[1]) == told(old):
        return [(1.0, new.weight)]  # it was added plainly
    pairs = zip(old.children, new.children, strict=True)
    inner = [change for pair in pairs for change in changes(*pair)]
    return inner or [(old.value, new.value)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [name for name in BUILT_IN if "." not in name])
def test_a_weight_changes_the_factor_of_its_part_and_nothing_else(name: str) -> None:
    memory, weights = crowd(4), profiles.get(name).weights

    def explained(**options: Any) -> dict[str, Explanation]:
        asked = {"profile": name, "limit": 6, "touch": False, "explain": True, **options}
        found = memory.search(QUERY, **in_options(asked))
        by_id = {hit.id: hit.explanation for hit in found if hit.explanation is not None}
        assert [tree.value for tree in by_id.values()] == [hit.score for hit in found]
        return by_id

    before = explained()
    assert before
    for part, weight in weights.items():
        after = explained(weights={part: weight + 0.25})
        different = {
            change
            for id in before.keys() & after.keys()
            for change in changes(before[id], after[id])
        }
        assert different <= {(weight, weight + 0.25)}

"""Profiles written down: JSON both ways, errors that name the node, formulas, other weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from salience import Profile
from salience.errors import InvalidInput, InvalidProfile
from salience.ranking import profiles
from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import Col, Constant, Signal, Sum
from salience.ranking.functions import Apply, QueryFlag, WhenQuery
from salience.ranking.serialization import nodes
from salience.ranking.stages import Depth, SessionFirst, cut, min_value, retrieve, score
from salience.retrieval.candidates import Floats
from salience.retrieval.routes import ExactMatch, MatchAll, TimeWindow, Vector
from support.kitchen import QUERY, check_snapshot, kitchen


@pytest.mark.parametrize("name", sorted(profiles.BUILT_IN))
def test_json_both_ways(name: str) -> None:
    profile = profiles.BUILT_IN[name]
    assert Profile.from_json(profile.to_json()) == profile
    assert hash(Profile.from_json(profile.to_json())) == hash(profile)


def test_a_profile_of_the_users_own_ranks(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    data = profiles.composite.to_dict()
    data["name"] = "mine"
    data["stages"][1]["signal"]["parts"][0]["parts"][0] = 5  # a number stands for a constant
    path.write_text(json.dumps(data), encoding="utf-8")
    memory = kitchen()
    expected = memory.search(
        QUERY, profile="composite", options={"weights": {"similarity": 5.0}}, touch=False
    )
    for given in (str(path), path, data, profiles.load(path)):
        found = memory.search(QUERY, profile=given, touch=False)
        assert found.profile == "mine"
        assert found.ids == expected.ids
        assert [hit.score for hit in found] == [hit.score for hit in expected]
    assert kitchen(profile=str(path)).search(QUERY, touch=False).profile == "mine"


def test_text_stands_for_a_column() -> None:
    data = Profile("words", retrieve(Vector()) >> score(Col("vector.score")) >> cut()).to_dict()
    data["stages"][1]["signal"] = "vector.score"
    assert Profile.from_dict(data).signal == Col("vector.score")


@dataclass(frozen=True)
class Doubled(Signal):
    """2 * x."""

    of: Signal

    def compute(self, ev: Evaluation, of: Floats) -> Floats:
        return 2.0 * of

    def __str__(self) -> str:
        return f"doubled({self.of})"


def test_a_signal_of_the_users_own_can_be_named() -> None:
    mine = Profile("mine", retrieve(Vector()) >> score(Doubled(Col("vector.score"))) >> cut())
    assert Profile.from_json(mine.to_json()) == mine


Change = Callable[[dict[str, Any]], Any]


def _parts(data: dict[str, Any]) -> list[Any]:
    found = data["stages"][1]["signal"]["parts"]
    assert isinstance(found, list)
    return found


WRONG: list[tuple[Change, str]] = [
    (lambda d: d.update(stages=3), "stages: is 3; give a list"),
    (lambda d: d.update(nme=3), "nme: is not a part of a profile; use name, doc, statuses, stages"),
    (lambda d: d.pop("name"), "name: is missing"),
    (lambda d: d.pop("stages"), "stages: is missing"),
    (lambda d: d.update(name=3), "name: is 3; give text"),
    (lambda d: d["stages"].pop(), "stages[1]: is not a cut; end with cut() or pack()"),
    (lambda d: d["stages"].pop(0), "stages[0]: retrieves nothing; begin with retrieve(...)"),
    (lambda d: d["stages"].pop(1), "have no score"),
    (
        lambda d: d["stages"][0].update(type="Retreive"),
        "stages[0]: has the type 'Retreive'; did you mean",
    ),
    (lambda d: d["stages"][0].pop("type"), "stages[0]: has no type; use one of"),
    (
        lambda d: d["stages"][0]["routes"][0].update(type="Vektor"),
        "stages[0].routes[0]: has the type 'Vektor'; did you mean Vector?",
    ),
    (
        lambda d: d["stages"][0]["routes"][0].update(min_similarity="high"),
        "stages[0].routes[0].min_similarity: is 'high'; give a number",
    ),
    (
        lambda d: d["stages"][0]["routes"][0].update(minimum=1),
        "stages[0].routes[0].minimum: is not a part of Vector",
    ),
    (lambda d: d["stages"][0].update(depth=0), "stages[0].depth: is 0; give a positive number"),
    (lambda d: d["stages"][0].update(depth=True), "stages[0].depth: is True"),
    (
        lambda d: _parts(d)[0]["parts"].__setitem__(0, {"type": "Constant", "value": "0.5"}),
        "stages[1].signal.parts[0].parts[0].value: is '0.5'; give a number",
    ),
    (
        lambda d: _parts(d).append({"type": "Apply", "function": "minimum", "arguments": [1]}),
        "stages[1].signal.parts[3].arguments: are 1 where minimum takes 2",
    ),
    (
        lambda d: _parts(d).append({"type": "Apply", "function": "min", "arguments": [1, 2]}),
        "stages[1].signal.parts[3].function: there is no function 'min'",
    ),
    (lambda d: _parts(d).clear(), "stages[1].signal.parts: are none; give at least one"),
    (
        lambda d: _parts(d)[0]["parts"][1]["of"]["of"].update(name="vectr.score"),
        "stages[1].signal.parts[0].parts[1].of.of: score reads 'vectr.score', which no earlier "
        "stage writes and no memory has; did you mean vector.score?",
    ),
    (
        lambda d: _parts(d).append({"type": "WhenQuery", "feature": "about_me", "of": 1}),
        "stages[1].signal.parts[3].feature: there is no feature 'about_me' of a query; use",
    ),
    (
        lambda d: _parts(d).append({"type": "QueryFlag", "feature": "role"}),
        "stages[1].signal.parts[3].feature: there is no feature 'role' of a query; use",
    ),
    (
        lambda d: _parts(d).append({"type": "SaidBy", "who": "me"}),
        "stages[1].signal.parts[3].who: is 'me'; use one of assistant, named, nobody",
    ),
    (
        lambda d: _parts(d).append({"type": "Named", "name": "a"}),
        "stages[1].signal.parts[3]: is a NamedExpression without of; give a signal",
    ),
    (lambda d: _parts(d).append(True), "stages[1].signal.parts[3]: is True; give an object"),
    (lambda d: _parts(d).append({"type": "Cut"}), "stages[1].signal.parts[3]: has the type 'Cut'"),
    (lambda d: d.update(statuses="active"), "statuses: is 'active'; give a list"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_errors_name_the_node_and_what_would_be_right(change: Change, message: str) -> None:
    data = json.loads(profiles.composite.to_json())
    change(data)
    with pytest.raises(InvalidProfile) as problem:
        Profile.from_dict(data)
    assert message in str(problem.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "profile: is not JSON"), ("[]", "profile: must be an object, not list")],
)
def test_what_is_no_profile_at_all(text: str, message: str) -> None:
    with pytest.raises(InvalidProfile, match=message):
        Profile.from_json(text)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidProfile, match="cannot be read: No such file"):
        profiles.load(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidProfile, match="is not UTF-8 text"):
        profiles.get(str(tmp_path / "bytes.json"))


def test_functions_take_as_many_arguments_as_they_have() -> None:
    for function in Apply.FUNCTIONS:
        with pytest.raises(InvalidInput, match="arguments: are 3"):
            Apply(function, (Constant(1.0),) * 3)


# Weights


def test_a_part_that_is_added_plainly_has_the_weight_1() -> None:
    multi = profiles.get("multi_route")
    assert multi.weights["rrf_score"] == 1.0
    memory = kitchen()
    plain = memory.search(QUERY, profile=multi, explain=True, limit=1, touch=False)[0]
    heavy = memory.search(
        QUERY,
        profile=multi,
        explain=True,
        limit=1,
        touch=False,
        options={"weights": {"rrf_score": 3.0}},
    )[0]
    assert plain.explanation is not None
    assert heavy.explanation is not None
    fused = plain.explanation.contributions()["rrf_score"]
    assert heavy.explanation.contributions()["rrf_score"] == 3.0 * fused


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"recensy": 1.0}, "weights.recensy: composite has no part of that name; use one of "),
        ({"recency": "much"}, "weights.recency: is 'much'; give a number"),
        ({"recency": True}, "weights.recency: is True; give a number"),
        ({"recency": float("nan")}, "weights.recency: is nan; give a finite number"),
        (["recency"], "weights: must be a mapping"),
    ],
)
def test_wrong_weights_are_named(weights: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as problem:
        kitchen().search(QUERY, profile="composite", options={"weights": weights})
    assert message in str(problem.value)


def test_a_profile_without_weights_says_so() -> None:
    bare = Profile("bare", retrieve(Vector()) >> score(Col("vector.score")) >> cut())
    with pytest.raises(InvalidInput, match="bare weighs no parts by name"):
        bare.weighted({"vector": 1.0})


# Formulas


@pytest.mark.parametrize("name", sorted(profiles.BUILT_IN))
def test_formulas_fit_the_width_and_name_every_part(name: str) -> None:
    profile = profiles.BUILT_IN[name]
    text = profile.formula(80)
    assert max(len(line) for line in text.splitlines()) <= 80
    for part in profile.weights:
        assert f"\n{part}" in text


def test_formula_snapshots() -> None:
    for name in ("balanced", "composite", "activation"):
        check_snapshot(f"formula_{name}.txt", profiles.BUILT_IN[name].formula())


def test_negative_weights_are_subtracted() -> None:
    signal = Sum((0.5 * Col("importance").named("a"), -1.0 * Col("position").named("b")))
    text = Profile("x", retrieve(Vector()) >> score(signal) >> cut()).formula()
    assert "score = 0.5 * a\n      - 1   * b" in text


FORMER = {
    "name": "written before",
    "stages": [
        {
            "type": "Recall",
            "routes": [
                {"type": "Vector"},
                {"type": "Scan"},
                {"type": "Exact", "fields": ["title"]},
                {"type": "During"},
            ],
            "depth": {"type": "Depth", "per_k": 2, "least": 64},
        },
        {"type": "AtLeast", "column": "vector.score", "least": 0.25},
        {"type": "Score", "into": "rrf_score", "signal": {"type": "OverMax", "of": "vector.score"}},
        {"type": "SessionFirst", "most": 0.2},
        {
            "type": "Score",
            "signal": {
                "type": "Sum",
                "parts": [
                    {"type": "Named", "name": "near", "of": {"type": "Nearby", "of": 1.0}},
                    {"type": "Given", "fact": "names_one", "of": {"type": "BestOf", "of": 1.0}},
                    {"type": "Fact", "name": "roles"},
                    {"type": "Lapsed"},
                    {"type": "Latest"},
                    {"type": "Col", "name": "names"},
                ],
            },
        },
        {"type": "Cut"},
    ],
}


def test_a_profile_with_former_names_of_types_and_fields_is_read() -> None:
    profile = Profile.from_dict(FORMER)
    first, bound, _, sessions, _, _ = profile.pipeline.stages
    assert first == retrieve(
        Vector(), MatchAll(), ExactMatch(("title",)), TimeWindow(), depth=Depth(2, min_rows=64)
    )
    assert bound == min_value("vector.score", 0.25)
    assert sessions == SessionFirst(max_support=0.2)
    features = [
        node.feature
        for _, node in nodes(profile.signal, "")
        if isinstance(node, (WhenQuery, QueryFlag))
    ]
    assert features == ["query_names_one_speaker", "namespace_has_user"]
    assert "proper_nouns" in profile.signal.inputs()
    assert Profile.from_json(profile.to_json()) == profile


def _numbers(data: Any) -> list[tuple[Any, Any]]:
    """The places of all numbers in JSON: a container and the key in it."""
    places = list(data.items() if isinstance(data, dict) else enumerate(data))
    found = [(data, key) for key, value in places if type(value) in (int, float)]
    for _, value in places:
        found += _numbers(value) if isinstance(value, (dict, list)) else []
    return found


@pytest.mark.one_in(24)
@pytest.mark.parametrize("part", range(12))
@pytest.mark.parametrize("digits", [400, 9])
def test_any_number_anywhere_is_taken_or_refused(digits: int, part: int) -> None:
    memory = kitchen()
    data = profiles.balanced.to_dict()
    for place, key in _numbers(data)[part::12]:
        before, place[key] = place[key], 10**digits
        with suppress(InvalidInput):
            memory.search(QUERY, profile=Profile.from_dict(data), touch=False)
        place[key] = before


@pytest.mark.parametrize("name", ["content", "speaker", "tags", "session_id", "id", "metadata.a"])
def test_a_text_in_a_formula_is_refused(name: str) -> None:
    with kitchen() as memory:
        memory.add("saffron", speaker="Ana", tags=["a"], session_id="s", metadata={"a": "b"})
        formula = Col("scan.score") + Col(name)
        profile = Profile("texts", retrieve(MatchAll()) >> score(formula) >> cut())
        with pytest.raises(InvalidInput, match=name):
            memory.search(QUERY, profile=profile)


@pytest.mark.parametrize("of", [[], [1], [["created_at"]], [None], "created_at", None, {}])
def test_an_age_of_what_names_no_times_is_refused_when_it_is_read(of: object) -> None:
    data = profiles.BUILT_IN["composite"].to_dict()
    changed = json.loads(json.dumps(data))

    def change(node: Any) -> None:
        for value in node.values() if isinstance(node, dict) else node:
            if isinstance(value, dict | list):
                change(value)
        if isinstance(node, dict) and node.get("type") == "Age":
            node["of"] = of

    change(changed)
    with pytest.raises(InvalidProfile, match="of"):
        Profile.from_dict(changed)

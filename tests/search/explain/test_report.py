"""Explanations: the tree is the score, for every profile and every memory."""

from __future__ import annotations

import json
import math
from functools import reduce
from operator import add, mul
from pathlib import Path
from typing import Any

import pytest

from salience import Explanation, Memory
from salience.errors import NotFound
from salience.ranking import profiles
from salience.search.explain import ExplainReport
from salience.testing import WordHashEmbedder
from support.kitchen import QUERY, check_snapshot, crowd, kitchen

PROFILES = sorted(
    profiles.BUILT_IN, key=lambda name: (name not in ("balanced", "activation"), name)
)


def check_sums(tree: Explanation) -> None:
    """Every sum and product is what its children give, bit for bit."""
    for node in tree:
        values = [child.value for child in node.children]
        if node.how in ("sum", "product"):
            value = reduce(add if node.how == "sum" else mul, values)
            assert value == node.value or (math.isnan(value) and math.isnan(node.value))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.deep)])
def test_the_root_is_the_score_and_a_memory_that_is_no_hit_has_a_stage_that_dropped_it(
    profile: str, seed: int
) -> None:
    memory = crowd(seed)
    result = memory.search(QUERY, limit=7, profile=profile, touch=False)
    scores = {hit.id: hit.score for hit in result}
    for record in [*memory.get_all(limit=100)][seed % 2 :: 2]:  # each seed takes half of them
        report = memory.explain(QUERY, record.id, limit=7, profile=profile)
        assert report.found == (record.id in scores)
        if report.found:
            assert report.score == scores[record.id]
            assert result[(report.rank or 0) - 1].id == record.id
        else:
            assert report.why_not is not None
            assert report.why_not.reason
        if report.why is not None:
            assert report.why.value == report.score
            check_sums(report.why)
        assert json.loads(json.dumps(report.to_dict()))["id"] == record.id
        assert str(report)


@pytest.mark.parametrize("profile", PROFILES)
def test_contributions_add_up_to_the_score(profile: str) -> None:
    memory = crowd(3)
    for hit in memory.search(QUERY, limit=20, profile=profile, explain=True, touch=False):
        assert hit.explanation is not None
        assert sum(hit.explanation.contributions().values()) == pytest.approx(hit.score, abs=1e-12)


@pytest.mark.deep
@pytest.mark.parametrize("profile", PROFILES)
def test_stores_agree(profile: str, tmp_path: Path) -> None:
    with crowd(8) as ram, crowd(8, f"sqlite:///{tmp_path / 'memory.db'}") as file:
        for record in [*ram.get_all(limit=12)][::2]:
            options: dict[str, Any] = {"limit": 3, "profile": profile}
            assert str(ram.explain(QUERY, record.id, **options)) == str(
                file.explain(QUERY, record.id, **options)
            )


def test_explaining_touches_nothing() -> None:
    memory = kitchen()
    before = [record.to_dict() for record in memory.get_all()]
    memory.explain(QUERY, "risotto")
    memory.explain(QUERY, "salad", limit=1).to_html()
    memory.upkeep.flush()
    assert [record.to_dict() for record in memory.get_all()] == before


def test_a_score_of_an_earlier_stage_is_explained_behind_its_column() -> None:
    report = kitchen().explain(QUERY, "risotto", profile="multi_route", limit=3)
    assert report.why is not None
    fused = report.why.find("rrf_score")
    assert fused is not None
    assert {"lexical", "vec_full"} <= {child.label for child in fused.children}


def test_the_notes_of_a_stage_are_reported() -> None:
    report = kitchen().explain(QUERY, "cake", profile="activation")
    assert report.left["conflict.by"] == ("paella",)
    assert report.why is not None
    penalty = report.why.find("conflict_penalty")
    assert penalty is not None
    assert "by paella" in penalty.note
    spread = kitchen().explain(QUERY, "bread", profile="activation")
    assert spread.left["activation.via"] == "paella"
    assert "  activation came from paella (links followed: 1)" in spread.lines()
    lines = [line for id in ("cake", "paella") for line in kitchen().explain(QUERY, id).summary()]
    [given, gone] = [line for line in lines if "contradicts" in line]
    assert given.startswith("  gives way to paella, which it contradicts (")
    assert gone == "  goes before cake, which it contradicts"


def test_a_memory_that_is_not_there() -> None:
    with pytest.raises(NotFound, match="there is no memory 'stew' in the namespace 'default'"):
        kitchen().explain(QUERY, "stew")


def test_parts_of_a_sum_that_are_0_share_a_line_and_stay_in_the_data() -> None:
    parts = tuple(Explanation(name, value) for name, value in (("a", 0.0), ("b", 2.0), ("c", 0.0)))
    tree = Explanation("score", 2.0, "sum", parts)
    assert str(tree).splitlines()[1:] == [
        "   2.0000  b",
        "   0.0000  (2 parts are 0: a, c)",
    ]
    assert [child["label"] for child in tree.to_dict()["children"]] == ["a", "b", "c"]


def test_snapshots() -> None:
    memory = kitchen()
    reports: dict[str, ExplainReport] = {
        "composite_hit": memory.explain(QUERY, "risotto", profile="composite", limit=3),
        "composite_cut": memory.explain(QUERY, "tea", profile="composite", limit=3),
        "balanced_hit": memory.explain(QUERY, "paella", limit=3),
        "balanced_kind": memory.explain("which drinks are poured at five", "tea", limit=3),
        "activation_conflict": memory.explain(QUERY, "cake", profile="activation", limit=2),
        "multi_route_mmr": memory.explain(QUERY, "curry", profile="multi_route", limit=2),
    }
    for name, report in reports.items():
        check_snapshot(f"{name}.txt", str(report))


@pytest.mark.parametrize(("filters", "found"), [(None, True), ({"kind": "fact"}, False)])
def test_the_passages_of_a_long_memory_that_match_are_named(
    filters: dict[str, str] | None, found: bool
) -> None:
    chores = "We swept the floor of the barn and stacked the wood behind it. " * 12
    fact = "The password of the guest network is <juniper>."
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        memory.add(f"{chores}\n\n## Visitors\n\n{fact}\n\n{chores}", id="diary")
        memory.add("The guest network was slow.", id="short")
        query = "password of the guest network"
        report = memory.explain(query, "diary", filters=filters)
        short = memory.explain(query, "short", filters=filters)
        [hit] = [hit for hit in memory.search(query) if hit.id == "diary"]
    assert report.found is found
    assert report.passages == hit.passages
    best = report.passages[0]
    assert fact in best.text
    assert f"passage {best.number} of {best.of} (Visitors): {fact}" in str(report)
    assert "&lt;juniper&gt;" in report.to_html().partition("Where it matches")[2]
    back = ExplainReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert back.passages == report.passages
    assert short.passages == ()
    assert "Where it matches" not in short.to_html()

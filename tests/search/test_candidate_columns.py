"""Candidates: what a search ranked, in columns from which anybody computes its scores."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.ranking import profiles
from salience.search.candidates import CandidateTable
from support.kitchen import QUERY, crowd

NAMES = sorted(profiles.BUILT_IN)
WORDS = ["flour", "jar", "cellar", "oven", "salt", "water", "board", "knife", "cloth"]


def fold(table: CandidateTable, at: int, weights: Mapping[str, float] = {}) -> float:
    """The score of a row, by the parts alone."""
    total, product = None, None
    for part in table.parts:
        value = 0.0 if part.values is None else part.values[at]
        value = math.nan if value is None else value
        if part.factor:
            product = value if product is None else product * value
            total = None if total is None else total * value
        else:
            if part.weight is not None:
                value *= weights.get(part.name, part.weight)
            total = value if total is None else total + value
    result = product if total is None else total
    assert result is not None
    return result


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", NAMES)
def test_parts_and_factors_give_the_scores_to_the_bit(name: str) -> None:
    memory = crowd(6)
    for question in (QUERY, "When did Ana bake bread yesterday?", "What should I cook?"):
        table = memory.inspect.candidates(question, profile=name)
        hits = memory.search(question, profile=name, touch=False)
        assert [row.id for row in table.rows if row.left is None] == list(hits.ids)
        assert [row.score for row in table.rows[: len(hits)]] == [hit.score for hit in hits]
        assert [row.probability for row in table.rows[: len(hits)]] == [h.probability for h in hits]
        assert table.probability == hits.probability
        for at, row in enumerate(table.rows):
            assert row.score is None or fold(table, at) == row.score
        assert all(part.values is None or any(part.values) for part in table.parts)


def test_a_weight_changes_no_values_but_those_that_move_with_it() -> None:
    memory = crowd(6)
    table = memory.inspect.candidates(QUERY)
    unmoved = 0
    for part in table.parts:
        if part.weight is None:
            continue
        weights = {part.name: part.weight + 0.7}
        other = memory.inspect.candidates(QUERY, options={"weights": weights})
        places = {row.id: at for at, row in enumerate(other.rows)}
        order = [places[row.id] for row in table.rows]
        moved = False
        for before, after in zip(table.parts, other.parts, strict=True):
            values = None if after.values is None else tuple(after.values[at] for at in order)
            if values != before.values:
                assert part.name in before.moves_with
                moved = True
        if not moved:
            unmoved += 1
            for at, row in enumerate(table.rows):
                assert fold(table, at, weights) == other.rows[places[row.id]].score
    assert unmoved > len(table.parts) / 2


def test_a_weight_of_a_stage_before_the_score_moves_its_column() -> None:
    table = crowd(6).inspect.candidates(QUERY, profile="vitality.knowledge")
    first = table.parts[0]
    assert first.moves_with == ("name_similarity", "semantic", "text_rank")
    assert not table.additive
    assert first.factor


def test_stages_tell_who_went_on() -> None:
    memory = crowd(6)
    table = memory.inspect.candidates(QUERY, hits=3, limit=4)
    assert len(table.rows) == 4
    assert [row.left for row in table.rows] == [None, None, None, len(table.stages) - 1]
    assert [step.kind for step in table.stages] == [
        "retrieve",
        "conflict",
        "changes",
        "score",
        "cut",
    ]
    assert all(
        one.left == other.entered
        for one, other in zip(table.stages, table.stages[1:], strict=False)
    )
    cut = table.stages[-1]
    assert (cut.entered, cut.left, cut.by, cut.last) == (table.of, 3, "score", table.rows[2].score)
    words = table.routes["lexical"]
    ranks = [
        rank for rank in memory.inspect.candidates(QUERY).routes["lexical"].rank if rank is not None
    ]
    assert sorted(ranks) == list(range(1, words.taken + 1))


def test_hits_that_are_too_unlikely_leave_at_a_step_of_its_own() -> None:
    memory = crowd(6)
    whole = memory.inspect.candidates(QUERY)
    chances = [row.probability or 0.0 for row in whole.rows[:10]]
    least = chances[4] + 1e-9
    table = memory.inspect.candidates(QUERY, options={"min_probability": least})
    hits = memory.search(QUERY, options={"min_probability": least}, touch=False)
    step = table.stages[-1]
    assert (step.kind, step.entered, step.left) == ("cutoff", 10, len(hits))
    assert [row.id for row in table.rows if row.left is None] == list(hits.ids)
    assert table.rows[len(hits)].left == len(table.stages) - 1
    assert table.probability == hits.probability


def test_one_that_left_before_the_score_has_none() -> None:
    memory = crowd(6)
    cosines = sorted(
        s for s in memory.inspect.candidates(QUERY).routes["vector"].score if s is not None
    )
    table = memory.inspect.candidates(QUERY, options={"min_similarity": cosines[len(cosines) // 2]})
    gone = [row for row in table.rows if row.score is None]
    assert gone
    assert {row.left for row in gone} == {1}
    assert table.rows[-len(gone) :] == tuple(gone)
    assert all(part.values is None or part.values[-1] is None for part in table.parts)


def test_a_stage_that_adds_memories_enters_them() -> None:
    memory = Memory("ram://")
    memory.add("The yeast is in the cellar.", id="yeast")
    memory.add("Someone has moved the jar.", id="jar")
    memory.link("yeast", "jar")
    table = memory.inspect.candidates("Where is the yeast?", profile="activation")
    assert [row.id for row in table.rows] == ["yeast", "jar"]
    assert table.routes["lexical"].rank == (1, None)
    assert [(step.entered, step.left) for step in table.stages[:2]] == [(0, 1), (1, 2)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("profile", ["activation", "vitality.knowledge"])
def test_what_paths_gave_adds_up_to_the_activation(profile: str, seed: int) -> None:
    chance, memory = random.Random(seed), Memory("ram://")
    ids = [f"m{at}" for at in range(30)]
    for at, id in enumerate(ids):
        memory.add("yeast " * (at % 4 == 0) + " ".join(chance.choices(WORDS, k=6)), id=id)
    links = set[tuple[str, str, str]]()
    while len(links) < 70:
        source, target = chance.sample(ids, 2)
        links.add((source, target, chance.choice(["supports", "mentions", "contradicts"])))
    for source, target, type in sorted(links):
        memory.link(source, target, type, weight=chance.choice([0.5, 1.0]))
    table = memory.inspect.candidates("yeast", profile=profile)
    hits = memory.search("yeast", profile=profile, limit=100, explain=True, touch=False)
    spread = 0
    for hit in hits:
        [row] = [row for row in table.rows if row.id == hit.id]
        assert hit.explanation is not None
        [activation] = {n.value for n in hit.explanation if n.label == "activation"} or {0.0}
        assert math.fsum(path.given for path in row.paths) == pytest.approx(activation, rel=1e-12)
        assert all(path.given > 0.0 and path.target == row.id for path in row.paths)
        for path in row.paths:
            ends = (path.source, path.target, path.type), (path.target, path.source, path.type)
            assert path.source is None or links & set(ends)
        if row.paths and row.paths[-1].source is not None:
            spread += 1
            assert row.paths[-1].source == hit.details["activation.via"]
    assert spread > 5
    assert not any(row.paths for row in memory.inspect.candidates("yeast").rows)


def test_looking_is_no_use_and_can_look_back() -> None:
    memory = Memory("ram://", clock=lambda: "2026-05-01")  # type: ignore[arg-type, return-value]
    memory.add("The yeast is in the cellar.", id="yeast", created_at="2026-01-01")
    memory.upkeep.flush()
    before = memory.events().events
    table = memory.inspect.candidates("Where is the yeast?")
    memory.upkeep.flush()
    record = memory.get("yeast")
    assert record is not None
    assert (record.access_count, len(memory.events().events)) == (0, len(before))
    assert not memory.inspect.candidates("Where is the yeast?", as_of="2025-12-01").rows
    assert table.rows[0].text == "The yeast is in the cellar."


def test_long_texts_are_cut_and_columns_stay_small() -> None:
    memory = Memory("ram://")
    memory.add_many([f"Ana has bread number {number}. " + "x" * 400 for number in range(200)])
    table = memory.inspect.candidates("Who has bread?")
    assert (len(table.rows), table.rows[0].is_cut, len(table.rows[0].text)) == (200, True, 280)
    assert len(json.dumps(table.to_dict(), separators=(",", ":"))) < 155_000


@pytest.mark.parametrize(
    ("options", "field"),
    [({"hits": 0}, "hits"), ({"hits": 1001}, "hits"), ({"limit": 1001}, "limit")],
)
def test_numbers_out_of_range_are_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        crowd(6).inspect.candidates(QUERY, **options)

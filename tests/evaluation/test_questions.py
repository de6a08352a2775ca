"""Labelled questions: profiles are measured by the one formula, and a set is made of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.evaluation import datasets
from salience.evaluation.datasets import labelled_set
from salience.ranking import profiles
from salience.retrieval import metrics


def test_profiles_are_measured_as_eval_does() -> None:
    with Memory("ram://") as memory:
        memory.add_many(
            [{"content": f"Ana likes {what}.", "id": what} for what in ("tea", "cake", "rain")]
        )
        one = memory.labels.add("Does Ana like cake?", ["cake", "gone"])
        other = memory.labels.add("Who likes rain?", "rain", at="2026-01-01")
        memory.labels.add("What does Ben like?")
        before = [event.seq for event in memory.events()]
        scores = memory.labels.score(["balanced", "vitality"])
        assert [each.profile for each in scores] == ["balanced", "vitality"]
        for each in scores:
            ranked = {
                asked.id: memory.search(
                    asked.query, profile=each.profile, limit=20, now=asked.at, touch=False
                ).ids
                for asked in (one, other)
            }
            values = metrics.per_query({q.id: q.relevant for q in (one, other)}, ranked)
            assert (each.questions, each.by_question) == (2, values)
            assert {n: m.mean for n, m in each.measures.items()} == metrics.mean([*values.values()])
            assert all(m.low <= m.mean <= m.high for m in each.measures.values())
        memory.upkeep.flush()
        assert [event.seq for event in memory.events()] == before
        ranking = profiles.get("balanced").weighted({"semantic": 0.0})
        [by_object, by_mapping] = memory.labels.score([ranking, ranking.to_dict()])
        assert by_object == by_mapping
        for wrong in (["nothing"], "balanced", {"name": "x"}):
            with pytest.raises(InvalidInput, match="profile"):
                memory.labels.score(wrong)  # type: ignore[arg-type]


def test_without_a_question_there_is_nothing_to_measure() -> None:
    with Memory("ram://") as memory:
        [score] = memory.labels.score()
        assert (score.questions, score.measures) == (0, {})


def test_questions_are_exported_as_a_set(tmp_path: Path) -> None:
    with Memory("ram://") as memory:
        memory.add("I moved to Lisbon.", id="m", speaker="Ana", created_at="2026-02-03")
        asked = memory.labels.add("Where does Ana live?", "m")
        memory.labels.add("What is not there?")
        path = tmp_path / "own.json"
        path.write_text(json.dumps(labelled_set(memory)))
    [member] = datasets.load(tmp_path)
    [query] = member.queries
    assert (query.id, query.text, query.relevant) == (asked.id, asked.query, ("m",))
    assert not member.unanswerable()
    assert member.memories[0]["content"] == "I moved to Lisbon."


def test_recorded_searches_come_in_pages_newest_first(tmp_path: Path) -> None:
    with Memory("ram://", search_log=tmp_path / "log") as memory:
        memory.add("Ben has a cello.", id="cello")
        for query in ("cello", "nothing of the kind", "Who has a cello?"):
            memory.search(query)
        memory.for_namespace("other").search("elsewhere")
        memory.search("looked at", touch=False)
        first = memory.inspect.searches(limit=2)
        assert [one.query for one in first] == ["Who has a cello?", "nothing of the kind"]
        rest = memory.inspect.searches(first.cursor, limit=2)
        assert ([one.query for one in rest], rest.cursor) == (["cello"], None)
        unsure = memory.inspect.searches(below=0.5)
        assert [one.query for one in unsure] == ["nothing of the kind"]
        assert unsure.searches[0].ids == ("cello",)
        assert all(one.ms is not None and one.ms > 0.0 for one in first)
        with pytest.raises(InvalidInput, match="after"):
            memory.inspect.searches(memory.events().cursor)
    with Memory("ram://") as memory:
        page = memory.inspect.searches()
        assert (page.searches, page.is_kept) == ((), False)

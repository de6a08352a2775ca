"""Profiles measured by the labelled questions of a namespace, and these as a set for `eval`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from salience.display.result import to_json
from salience.engine.memory import Memory
from salience.evaluation import metrics
from salience.evaluation.comparison import Judged, intervals
from salience.retrieval.questions import LabelledQuestion, Measure, ProfileScore
from salience.search.request import Filters


def score(
    profile: str, questions: Sequence[LabelledQuestion], ranked: Mapping[str, Sequence[str]]
) -> ProfileScore:
    """The score of a profile that has found these ids for each question, by its id.

    Raises:
        SalienceError: `ir_measures` is not installed.
    """
    values = metrics.per_query({each.id: each.relevant for each in questions}, ranked)
    judged = [Judged("", id, None, measured) for id, measured in values.items()]
    means, bounds = metrics.mean([*values.values()]), intervals(judged)
    measures = {name: Measure(mean, *bounds[name]) for name, mean in means.items()}
    return ProfileScore(profile, len(judged), measures, values)


def conversation(memory: Memory, filters: Filters = None) -> dict[str, Any]:
    """A namespace and its labelled questions as a file of a set that `eval` and `tune` read.

    `filters` is a condition that the memories meet.
    """
    turns = [
        {
            "id": record.id,
            "text": record.content,
            "speaker": record.speaker,
            "session": record.session_id,
            "created_at": to_json(record.created_at),
        }
        for record in memory.iterate(filters, order="oldest")
    ]
    queries = [
        {"id": each.id, "text": each.query, "relevant": [*each.relevant]}
        for each in memory.questions()
        if each.relevant
    ]
    return {"memories": turns, "queries": queries}

"""Calibration: the weights of a model of probability, fitted to conversations with questions.

Four kinds of questions are asked of each conversation: its own, which its memories answer; its own
that nothing answers; those of the next one with the names exchanged; and its own put to the wrong
person, who did not say it. Two of three have an answer. The weights are those of a logistic
regression with an L2 penalty, by Newton's method.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.embedders import resolve
from salience.engine.memory import Memory
from salience.evaluation import datasets
from salience.evaluation.abstention import exchanged, put_to_the_other
from salience.evaluation.datasets import Conversation
from salience.evaluation.runner import Progress
from salience.language.reader import IS_REQUEST, read_query
from salience.lazily import dataclass
from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import Signal
from salience.ranking.probability.model import (
    GENERIC,
    HIT_PARTS,
    RESULT_PARTS,
    WORDS,
    Meaning,
    Model,
    hit_evidence,
    result_evidence,
)
from salience.ranking.run import RankedRun
from salience.search.search import rank

Floats = NDArray[np.float64]

HITS = 10
"""The first hits of a question that are examples of memories which answer or do not."""
_SHARES = {"own": 2.0, "unanswered": 0.5, "exchanged": 0.4, "wrong person": 0.1}
"""The weight of all questions of a set, by where they come from."""
_PENALTY = 1.0
_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Examples:
    """Evidence, shape (examples, parts), with the answers (1 or 0) and weights of the examples."""

    evidence: Floats
    answers: Floats
    weights: Floats

    @classmethod
    def joined(cls, parts: Sequence[Examples]) -> Examples:
        """Several as one."""
        return cls(
            np.concatenate([part.evidence for part in parts]),
            np.concatenate([part.answers for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )


def fit(examples: Examples, names: Sequence[str], penalty: float = _PENALTY) -> dict[str, float]:
    """The weights, by name, and the "bias", which maximise the penalised likelihood of a logistic.

    sum of w (y log p + (1 - y) log(1 - p)) - penalty / 2 * sum of (weight * deviation of part)^2,
    the weights w scaled to a mean of 1. Newton's method; the bias is not penalised.
    """
    weights = examples.weights / examples.weights.mean()
    mean = np.average(examples.evidence, axis=0, weights=weights)
    deviation = np.sqrt(np.average((examples.evidence - mean) ** 2, axis=0, weights=weights))
    deviation[deviation == 0.0] = 1.0
    scaled = np.column_stack([np.ones(len(weights)), (examples.evidence - mean) / deviation])
    ridge = np.diag([0.0, *[penalty] * len(names)])
    solution = np.zeros(len(names) + 1)
    for _ in range(_ROUNDS):
        expected = 1.0 / (1.0 + np.exp(-scaled @ solution))
        slope = scaled.T @ (weights * (examples.answers - expected)) - ridge @ solution
        curve = (scaled.T * (weights * expected * (1.0 - expected))) @ scaled + ridge
        step = np.linalg.solve(curve, slope)
        solution += step
        if np.abs(step).max() < 1e-10:
            break
    slopes = solution[1:] / deviation
    bias = solution[0] - slopes @ mean
    return {
        "bias": round(float(bias), 4),
        **{name: round(float(slope), 4) for name, slope in zip(names, slopes, strict=True)},
    }


def calibrate(
    folders: Sequence[str | Path],
    embedder: str = "default",
    *,
    generic: bool = False,
    progress: Progress | None = None,
) -> Model:
    """The model of an embedder, fitted to the sets of conversations in some folders.

    With `generic`, the model is for embedders of an unknown scale.

    Raises:
        ImportProblem: a folder is not a set of conversations.
        InvalidInput: the embedder does not exist.
    """
    resolved = resolve(embedder)
    meaning: Meaning = "none" if resolved is None else "above_median" if generic else "cosine"
    name = WORDS if resolved is None else str(resolved.identity).partition("@")[0]
    report_progress = progress or (lambda step, done, total: None)
    results: list[Examples] = []
    hits: list[Examples] = []
    sets: list[dict[str, Any]] = []
    for folder in folders:
        members = datasets.load(folder)
        title = Path(folder).resolve().name
        memory = Memory.open("ram://", embedder=resolved, time_zone="UTC")
        asked = list(_questions(members))
        of_set: list[tuple[_Question, Floats]] = []
        for conversation in members:
            memory.for_namespace(conversation.name).add_many(conversation.memories)
        for done, question in enumerate(asked):
            report_progress(title, done, len(asked))
            run = _run(memory, question)
            if not len(run.scored):
                continue
            of_set.append((question, _values(run, result_evidence(meaning), RESULT_PARTS)[0]))
            if question.source == "own":
                hits.append(_of_hits(run, question))
        results.append(_weighted(of_set))
        sets.append(
            {
                "name": title,
                "conversations": len(members),
                "memories": sum(len(member.memories) for member in members),
                "questions": sum(len(member.queries) for member in members),
            }
        )
    result = fit(Examples.joined(results), RESULT_PARTS)
    return Model(
        name=GENERIC if generic else name,
        meaning=meaning,
        result=result,
        hit=fit(Examples.joined(hits), HIT_PARTS),
        fitted={
            "sets": sets,
            "command": " ".join(
                [
                    "salience calibrate",
                    *(Path(folder).name for folder in folders),
                    f"--embedder {embedder}",
                    *(["--generic"] if generic else []),
                ]
            ),
            "embedder": name,
            "version": version("salience"),
        },
    )


@dataclass(frozen=True)
class _Question:
    """A question to a conversation, its answers there, and where it comes from."""

    conversation: Conversation
    text: str
    relevant: frozenset[str] = frozenset()
    source: str = "own"


def _questions(members: Sequence[Conversation]) -> Iterator[_Question]:
    for member in members:
        for query in member.queries:
            if query.relevant:
                yield _Question(member, query.text, frozenset(query.relevant))
        for text in member.unanswered:
            yield _Question(member, text, source="unanswered")
        for text in put_to_the_other(member):
            yield _Question(member, text, source="wrong person")
    for member, texts in exchanged(members):
        for text in texts:
            if read_query(text).request <= IS_REQUEST:  # what bears on a request may be anywhere
                yield _Question(member, text, source="exchanged")


def _weighted(questions: Sequence[tuple[_Question, Floats]]) -> Examples:
    """The examples of a set, which weighs the square root of the number of its conversations."""
    sources = [question.source for question, _ in questions]
    counts = Counter(sources)
    weight = math.sqrt(len({question.conversation.name for question, _ in questions}))
    return Examples(
        np.array([values for _, values in questions]),
        np.array([source == "own" for source in sources], dtype=np.float64),
        np.array([weight * _SHARES[source] / counts[source] for source in sources]),
    )


def _of_hits(run: RankedRun, question: _Question) -> Examples:
    """The first hits of a question that has an answer; together they weigh 1."""
    order = np.argsort(-run.scored.floats("score"), kind="stable")[:HITS]
    evidence = _values(run, hit_evidence(), HIT_PARTS)[order]
    ids = run.scored["id"][order].tolist()
    answers = np.array([id in question.relevant for id in ids], dtype=np.float64)
    return Examples(evidence, answers, np.full(len(order), 1.0 / len(order)))


def _run(memory: Memory, question: _Question) -> RankedRun:
    within = memory.for_namespace(question.conversation.name)
    now = question.conversation.now
    request = within._core.request(question.text, limit=HITS, now=now, touch=False)
    run, _, _ = within._run(rank(request), searches=True)
    return run


def _values(run: RankedRun, evidence: Mapping[str, Signal], names: Sequence[str]) -> Floats:
    """The evidence of each candidate, shape (candidates, parts)."""
    evaluation = Evaluation(run.query, run.scored)
    return np.column_stack([evaluation.column(evidence[name]) for name in names])

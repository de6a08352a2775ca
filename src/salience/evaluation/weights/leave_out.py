"""Parts left out: what a ranking loses or gains without each part of its formula.

The score without a part is score - weight * value, so all of them are read off one search. Where a
part stands in other parts, it stays there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput
from salience.evaluation.metrics import DEPTH
from salience.evaluation.runner import Progress
from salience.evaluation.weights.rankings import Ranking, rankings
from salience.ranking.profile import Profile
from salience.ranking.weights import weighted

Floats = NDArray[np.float64]

FOLDS = 3
MEASURES = ("R@10", "MRR")
_K = 10


@dataclass(frozen=True)
class LeftOut:
    """A measure of one set, with all parts and with each left out.

    `changes` has for each part the difference on all questions, and on each of the folds.
    """

    set: str
    measure: str
    questions: int
    with_all: float
    changes: dict[str, tuple[float, tuple[float, ...]]]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        changes = {
            part: {"change": change, "folds": list(folds)}
            for part, (change, folds) in self.changes.items()
        }
        return {
            "set": self.set,
            "measure": self.measure,
            "questions": self.questions,
            "all_parts": self.with_all,
            "without": changes,
        }


def leave_out(
    folders: Sequence[str | Path],
    profile: Profile,
    embedder: str = "default",
    *,
    progress: Progress | None = None,
) -> list[LeftOut]:
    """Recall@10 and MRR of each set without each part, and the same by thirds of conversations.

    A set of fewer than three conversations is divided into thirds of its questions, in their order.

    Raises:
        ImportProblem: a folder is not a set of conversations.
        InvalidInput: the embedder does not exist, or the profile is not a sum of parts.
    """
    names = tuple(weighted(profile.signal))
    if not names:
        raise InvalidInput("profile", f"{profile.name} has no weighted parts", "use another one")
    measured: dict[str, list[tuple[str, Floats]]] = {}
    for ranking in rankings(folders, profile, embedder, progress):
        values = _values(ranking, names)
        measured.setdefault(ranking.set, []).append((ranking.conversation, values))
    return [
        found for title, questions in measured.items() for found in _of_set(title, questions, names)
    ]


def _values(ranking: Ranking, names: Sequence[str]) -> Floats:
    """The measures of a question, (1 + parts, measures): with all parts, then without each."""
    scored, weights = ranking.run.scored, weighted(ranking.run.profile.signal)
    relevant, parts = frozenset(ranking.query.relevant), ranking.run.parts()
    ids = scored["id"].tolist()
    order = sorted(range(len(ids)), key=ids.__getitem__)  # as equal scores are ordered
    answers = np.array([ids[place] in relevant for place in order], dtype=bool)
    score = scored.floats("score")[order]
    with_all = _measures(score, answers, len(relevant))
    rows = [with_all]
    for name in names:
        value = np.broadcast_to(parts[name], len(ids))[order]
        is_level = not len(ids) or value.min() == value.max()  # no order changes
        rows.append(
            with_all
            if is_level
            else _measures(score - weights[name] * value, answers, len(relevant))
        )
    return np.array(rows)


def _measures(scores: Floats, answers: NDArray[np.bool_], count: int) -> tuple[float, float]:
    ranks = np.flatnonzero(answers[np.argsort(-scores, kind="stable")]) + 1
    first = float(ranks[0]) if len(ranks) else np.inf
    return np.count_nonzero(ranks <= _K) / count, 1.0 / first if first <= DEPTH else 0.0


def _of_set(
    title: str, questions: Sequence[tuple[str, Floats]], names: Sequence[str]
) -> Iterator[LeftOut]:
    values = np.stack([measures for _, measures in questions])
    changes = values[:, 1:] - values[:, :1]
    folds = fold_of_each([conversation for conversation, _ in questions])
    means = changes.mean(axis=0)
    by_fold = [changes[folds == fold].mean(axis=0) for fold in np.unique(folds)]
    for column, measure in enumerate(MEASURES):
        by_part = {
            name: (
                float(means[row, column]),
                tuple(float(mean[row, column]) for mean in by_fold),
            )
            for row, name in enumerate(names)
        }
        yield LeftOut(title, measure, len(values), float(values[:, 0, column].mean()), by_part)


def fold_of_each(conversations: Sequence[str]) -> NDArray[np.intp]:
    """The fold of each question: by turns for conversations, or by thirds where there are few."""
    places = {name: place for place, name in enumerate(dict.fromkeys(conversations))}
    if len(places) >= FOLDS:
        return np.array([places[name] % FOLDS for name in conversations])
    return np.arange(len(conversations)) * FOLDS // max(len(conversations), 1)

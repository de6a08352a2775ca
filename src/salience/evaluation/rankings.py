"""Rankings: the questions of conversations and of recorded searches, each with its candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.embedders import resolve
from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.evaluation import datasets
from salience.evaluation.datasets import Conversation
from salience.evaluation.runner import Progress
from salience.evaluation.searches import labelled, questions, read_searches
from salience.importers.conversation import Query
from salience.lazily import dataclass
from salience.ranking.profile import Profile
from salience.ranking.run import RankedRun
from salience.ranking.weights import weighted
from salience.retrieval.metrics import DEPTH
from salience.search.search import rank
from salience.stores.address import Address


@dataclass(frozen=True, eq=False)
class Ranking:
    """A question of a set of conversations, and the search that ranked its candidates."""

    set: str
    conversation: str
    query: Query
    run: RankedRun


def rankings(
    folders: Sequence[str | Path],
    profile: Profile,
    embedder: str,
    progress: Progress | None = None,
    *,
    log: str | Path | None = None,
    url: Address | None = None,
    namespace: str | None = None,
) -> Iterator[Ranking]:
    """The questions with an answer of sets, a log and a namespace, with all their candidates.

    Args:
        folders: each a set of conversations with questions.
        profile: the one that ranks.
        embedder: as `Memory.open` takes it.
        progress: called with the step, how much of it is done, and how much there is.
        log: a file of recorded searches, see `salience.evaluation`.
        url: the store that they were made in.
        namespace: the one of that store whose labelled questions count; none by default.
    """
    resolved = resolve(embedder)
    report = progress or (lambda step, done, total: None)
    for folder in folders:
        title, members = Path(folder).resolve().name, datasets.load(folder)
        with Memory.open("ram://", embedder=resolved, profile=profile, time_zone="UTC") as memory:
            for place, member in enumerate(members):
                report(title, place, len(members))
                memory.for_namespace(member.place).add_many(member.memories)
                yield from _of_conversation(title, member, memory)
    if log is not None:
        with Memory.open(url, embedder=resolved, profile=profile, time_zone="UTC") as memory:
            members = questions(memory, read_searches(log))
            for place, member in enumerate(members):
                report(Path(log).stem, place, len(members))
                yield from _of_conversation(Path(log).stem, member, memory)
    if namespace is not None:
        with Memory(url, embedder=resolved, profile=profile, namespace=namespace) as memory:
            for member in labelled(memory):
                yield from _of_conversation("labelled", member, memory)


def _of_conversation(title: str, conversation: Conversation, memory: Memory) -> Iterator[Ranking]:
    within = memory.for_namespace(conversation.place)
    for query in conversation.queries:
        if query.relevant:
            now = query.at or conversation.now
            request = within._core.request(
                query.text, limit=DEPTH, now=now, filters=query.filters, touch=False
            )
            run, _, _ = within._run(rank(request), searches=True)
            yield Ranking(title, conversation.name, query, run)


# Parts left out: what a ranking loses or gains without each part of its formula

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

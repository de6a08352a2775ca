"""Tuning: the weights of a profile, fitted to conversations with questions, and cross-validated.

A question is a list: its candidates, some of which answer. With the scores s = b (w . x + c) of the
candidates, where x are the values of the named parts, w their weights, c what the other parts add,
and b a scale that is fitted first, the weights maximise

    mean over questions of (mean over answers of log softmax(s))
    - penalty / 2 * sum over parts of (b d (w - v))^2

with v the weights before and d the deviation of each part within a list: a part moves as far as the
questions pay for it. Each set counts the same. Newton's method; there is one maximum.

The folds are whole conversations. A profile is worth keeping only if no fold is worse by the
weights that the other folds gave.

Source: the list-wise loss is that of ListNet for one place (Cao et al., ICML 2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput
from salience.evaluation.rankings import Ranking, rankings
from salience.evaluation.runner import Progress
from salience.lazily import dataclass, replace
from salience.ranking.expressions import NamedExpression, Subtotal
from salience.ranking.profile import Profile
from salience.ranking.weights import walk, weighted
from salience.stores.address import Address

Floats = NDArray[np.float64]

K = 10
"""Hits of a question that are measured."""
PENALTIES = (0.003, 0.03, 0.3, 3.0)
FOLDS = 5
TOLERANCE = 1e-9
_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Question:
    """A question as numbers: the parts of its candidates, and which of them answer it.

    `parts` has shape (candidates, weights), float32; `rest` is what the other parts add. The
    candidates are in the order of their ids, as equal scores are ordered. `answers` counts all
    memories that answer, found or not.
    """

    set: str
    conversation: str
    parts: NDArray[np.float32]
    rest: Floats
    relevant: NDArray[np.bool_]
    answers: int


@dataclass(frozen=True)
class Quality:
    """Recall@10 and MRR, the means over questions."""

    recall: float
    mrr: float
    questions: int

    @property
    def together(self) -> float:
        """The mean of both."""
        return (self.recall + self.mrr) / 2


@dataclass(frozen=True)
class Fold:
    """Questions of one set that nothing was learned from: by the weights before and by learned
    ones."""

    name: str
    set: str
    before: Quality
    after: Quality

    @property
    def is_worse(self) -> bool:
        """True if either measure fell."""
        return (
            self.after.recall < self.before.recall - TOLERANCE
            or self.after.mrr < self.before.mrr - TOLERANCE
        )


@dataclass(frozen=True)
class Tuned:
    """The weights that all questions give, and what they are worth on questions that did not.

    `folds` are those of the penalty chosen, `left_out` one for each set, learned from the others.
    `is_kept` tells whether no fold and no set is worse; then `profile` has the weights.
    """

    profile: Profile
    weights: Mapping[str, float]
    before: Mapping[str, float]
    penalty: float
    folds: tuple[Fold, ...]
    left_out: tuple[Fold, ...]
    is_kept: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "profile": self.profile.name,
            "is_kept": self.is_kept,
            "penalty": self.penalty,
            "weights": dict(self.weights),
            "before": dict(self.before),
            **{
                name: [
                    {
                        "fold": fold.name,
                        "set": fold.set,
                        "questions": fold.before.questions,
                        "R@10": [fold.before.recall, fold.after.recall],
                        "MRR": [fold.before.mrr, fold.after.mrr],
                    }
                    for fold in folds
                ]
                for name, folds in (("folds", self.folds), ("left_out", self.left_out))
            },
        }


def tune(
    folders: Sequence[str | Path],
    profile: Profile,
    embedder: str = "default",
    *,
    parts: Sequence[str] = (),
    seed: int = 0,
    progress: Progress | None = None,
    log: str | Path | None = None,
    url: Address | None = None,
    namespace: str | None = None,
) -> Tuned:
    """The weights of a profile, learned from sets of questions, own searches and labels.

    Args:
        folders: each a set of conversations with questions.
        profile: the one whose weights are learned, and which they are compared with.
        embedder: as `Memory.open` takes it.
        parts: the named parts whose weights may change; all by default.
        seed: of the folds.
        progress: called with the step, how much of it is done, and how much there is.
        log: a file of recorded searches, see `salience.evaluation`.
        url: the store that they were made in.
        namespace: the one of that store whose labelled questions count; none by default.

    Raises:
        ImportProblem: a folder is not a set of conversations.
        InvalidInput: the embedder or a part does not exist, or there are too few conversations.
    """
    before = tunable(profile, parts)
    names = list(before)
    learned_from = list(
        read_questions(
            folders, profile, embedder, names, progress, log=log, url=url, namespace=namespace
        )
    )
    start = np.array(list(before.values()))
    trials = []
    for penalty in PENALTIES:
        folds = tuple(cross_validate(learned_from, start, penalty, seed))
        trials.append((any(fold.is_worse for fold in folds), -_gain(folds), penalty, folds))
    _, _, penalty, folds = min(trials)
    learned = fit(learned_from, start, penalty)
    left_out = tuple(leave_one_out(learned_from, start, penalty))
    weights = {name: round(float(value), 4) for name, value in zip(names, learned, strict=True)}
    sources = [Path(folder).name for folder in folders]
    fitted = {
        "command": " ".join(["salience tune", *sources, *([] if log is None else ["--log"])]),
        "profile": profile.name,
        "embedder": embedder,
        "sets": sorted({question.set for question in learned_from}),
        "questions": len(learned_from),
        "weights": len(names),
        "penalty": penalty,
        "seed": seed,
        "version": version("salience"),
    }
    return Tuned(
        replace(profile.weighted(weights), name=f"{profile.name}-tuned", fitted=fitted),
        weights,
        before,
        penalty,
        folds,
        left_out,
        not any(fold.is_worse for fold in (*folds, *left_out)),
    )


def _gain(folds: Sequence[Fold]) -> float:
    return float(np.mean([fold.after.together - fold.before.together for fold in folds]))


def tunable(profile: Profile, parts: Sequence[str] = ()) -> dict[str, float]:
    """The weights that can be learned: those of parts which do not depend on other weights.

    Raises:
        InvalidInput: a part that is asked for is not among them.
    """
    linear = {
        name: weight
        for name, weight in weighted(profile.signal).items()
        if not _depends_on_weights(profile, name)
    }
    for name in parts:
        if name not in linear:
            names = ", ".join(linear)
            raise InvalidInput("parts", f"{name!r} has no weight to learn", f"use some of {names}")
    return {name: linear[name] for name in linear if not parts or name in parts}


def _depends_on_weights(profile: Profile, name: str) -> bool:
    """Test whether a part reads the sum of those before it, or stands in another part, too."""
    places = [
        node
        for node in walk(profile.signal)
        if isinstance(node, NamedExpression) and node.name == name
    ]
    return any(isinstance(node, Subtotal) for place in places for node in walk(place))


def read_questions(
    folders: Sequence[str | Path],
    profile: Profile,
    embedder: str,
    names: Sequence[str],
    progress: Progress | None = None,
    *,
    log: str | Path | None = None,
    url: Address | None = None,
    namespace: str | None = None,
) -> Iterator[Question]:
    """The answerable questions of the sets, each with the parts of all its candidates."""
    for ranking in rankings(
        folders, profile, embedder, progress, log=log, url=url, namespace=namespace
    ):
        if len(ranking.run.scored):
            yield _question(ranking, names)


def _question(ranking: Ranking, names: Sequence[str]) -> Question:
    run, relevant = ranking.run, frozenset(ranking.query.relevant)
    ids = run.scored["id"].tolist()
    order = sorted(range(len(ids)), key=ids.__getitem__)
    values, weights = run.parts(), weighted(run.profile.signal)
    parts = np.column_stack([np.asarray(values[name], dtype=np.float64) for name in names])[order]
    start = np.array([weights[name] for name in names])
    rest = run.scored.floats("score")[order] - parts @ start
    is_relevant = np.array([ids[place] in relevant for place in order])
    return Question(
        ranking.set,
        ranking.conversation,
        parts.astype(np.float32),
        rest,
        is_relevant,
        len(relevant),
    )


def quality(questions: Sequence[Question], weights: Floats) -> Quality:
    """Recall@10 and MRR of the order by some weights."""
    recalls, reciprocals = [], []
    for question in questions:
        order = np.argsort(-(question.parts @ weights + question.rest), kind="stable")
        ranks = np.flatnonzero(question.relevant[order]) + 1
        recalls.append(np.count_nonzero(ranks <= K) / question.answers)
        reciprocals.append(1.0 / ranks[0] if len(ranks) and ranks[0] <= 2 * K else 0.0)
    return Quality(float(np.mean(recalls)), float(np.mean(reciprocals)), len(questions))


def fit(questions: Sequence[Question], start: Floats, penalty: float) -> Floats:
    """The weights that maximise the penalised likelihood of the answers; see the module."""
    lists = [question for question in questions if question.relevant.any()]
    counts = {title: sum(q.set == title for q in lists) for title in {q.set for q in lists}}
    shares = [1.0 / (len(counts) * counts[question.set]) for question in lists]
    deviation = _deviation(lists)
    scale = _scale(lists, shares, start)
    ridge = penalty * (scale * deviation) ** 2
    weights = start.copy()
    value, slope, curve = _likelihood(lists, shares, weights, scale)
    value -= 0.5 * float(ridge @ (weights - start) ** 2)
    for _ in range(_ROUNDS):
        gradient = slope - ridge * (weights - start)
        step = np.linalg.solve(curve + np.diag(ridge + 1e-9), gradient)
        if float(gradient @ step) < 1e-8:
            break
        size = 1.0
        while size > 1e-3:  # Newton's step may be too long where the curve is not quadratic
            trial = weights + size * step
            gained, new_slope, new_curve = _likelihood(lists, shares, trial, scale)
            gained -= 0.5 * float(ridge @ (trial - start) ** 2)
            if gained >= value:
                break
            size /= 2.0
        else:
            break
        weights, value, slope, curve = trial, gained, new_slope, new_curve
    return weights


def _deviation(lists: Sequence[Question]) -> Floats:
    """The deviation of each part within a list, its root mean square over the lists."""
    variances = [question.parts.astype(np.float64).var(axis=0) for question in lists]
    return np.asarray(np.sqrt(np.mean(variances, axis=0)))


def _scale(lists: Sequence[Question], shares: Sequence[float], weights: Floats) -> float:
    """The factor of all scores, b, that makes the answers likeliest by the weights before."""
    scales = np.geomspace(0.25, 16.0, 25)
    values = [_likelihood(lists, shares, weights, float(b), order=0)[0] for b in scales]
    return float(scales[int(np.argmax(values))])


def _likelihood(
    lists: Sequence[Question],
    shares: Sequence[float],
    weights: Floats,
    scale: float,
    order: int = 2,
) -> tuple[float, Floats, Floats]:
    """The mean log-likelihood of the answers, its slope, and its curve with the sign changed."""
    total, size = 0.0, len(weights)
    slope, curve = np.zeros(size), np.zeros((size, size))
    for question, share in zip(lists, shares, strict=True):
        parts = question.parts.astype(np.float64)
        scores = scale * (parts @ weights + question.rest)
        scores -= scores.max()
        chances = np.exp(scores)
        mass = chances.sum()
        chances /= mass
        target = question.relevant / np.count_nonzero(question.relevant)
        total += share * float(target @ scores - np.log(mass))
        if order:
            mean = chances @ parts
            slope += share * scale * (target @ parts - mean)
            spread = (parts * chances[:, None]).T @ parts - np.outer(mean, mean)
            curve += share * scale * scale * spread
    return total, slope, curve


def cross_validate(
    questions: Sequence[Question], start: Floats, penalty: float, seed: int
) -> Iterator[Fold]:
    """Each fold of conversations, with the weights that the others give; one for each set in it.

    Raises:
        InvalidInput: there are fewer than two conversations.
    """
    folds = _folds(questions, seed)
    for number in range(max(folds.values()) + 1):
        learned = [q for q in questions if folds[q.set, q.conversation] != number]
        weights = fit(learned, start, penalty)
        for title in sorted({question.set for question in questions}):
            own = [
                q for q in questions if q.set == title and folds[q.set, q.conversation] == number
            ]
            if own:
                yield Fold(f"fold {number + 1}", title, quality(own, start), quality(own, weights))


def _folds(questions: Sequence[Question], seed: int) -> dict[tuple[str, str], int]:
    """The fold of each conversation: those of a set are spread over all folds."""
    conversations = sorted({(question.set, question.conversation) for question in questions})
    if len(conversations) < 2:
        raise InvalidInput(
            "questions", "are of one conversation", "give two conversations, or label two questions"
        )
    shuffled = np.random.default_rng(seed).permutation(len(conversations))
    count, place_in_set = min(FOLDS, len(conversations)), dict[str, int]()
    folds: dict[tuple[str, str], int] = {}
    for at in sorted(shuffled.tolist(), key=lambda at: conversations[at][0]):
        title = conversations[at][0]
        place_in_set[title] = place_in_set.get(title, len(folds)) + 1
        folds[conversations[at]] = place_in_set[title] % count
    return folds


def leave_one_out(questions: Sequence[Question], start: Floats, penalty: float) -> Iterator[Fold]:
    """Each set, with the weights that the other sets give; nothing for a single set."""
    sets = sorted({question.set for question in questions})
    for title in sets if len(sets) > 1 else ():
        own = [question for question in questions if question.set == title]
        weights = fit([q for q in questions if q.set != title], start, penalty)
        yield Fold("set left out", title, quality(own, start), quality(own, weights))

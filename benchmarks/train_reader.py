"""Fit the reader of statements to `corpus/statements.tsv`, or measure it on what it did not see.

python train_reader.py          writes the weights into the package
python train_reader.py --folds  measures each third by a model that was fitted to the rest
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from salience.language import linear
from salience.language.reader import FORCES, HOLDERS, KEPT, SUBJECTS, WEIGHTS

CORPUS = Path(__file__).parent / "corpus" / "statements.tsv"
HEADS = {
    "holder": HOLDERS,
    "force": FORCES,
    "subject": SUBJECTS,
    "denied": ("denied",),
    "kept": KEPT,
}
GRAMS = {"characters": 1.0, "words": 1.3, "places": 1.0, "before": 1.2}
ROWS, DECAY, STEPS = 1.0, 5e-5, 60
_SUBJECT_OF_TOPIC = {
    "health": "health", "diet": "health", "taste": "preference", "family": "family",
    "work": "work", "place": "place", "home": "place", "project": "project", "tools": "project",
    "-": "",
}  # fmt: skip


class Line(NamedTuple):
    """A labelled sentence, with `-` where nobody said."""

    lang: str
    hand: str
    domain: str
    holder: str
    force: str
    polarity: str
    topic: str
    kept: str
    before: str
    text: str

    @property
    def preceding(self) -> str:
        """The sentence before it, empty if there is none."""
        return "" if self.before == "-" else self.before


def read(file: Path = CORPUS) -> list[Line]:
    """The lines of the corpus."""
    return [Line(*line.split("\t")) for line in file.read_text("utf-8").splitlines()]


def in_company(lines: Sequence[Line]) -> list[Line]:
    """The lines, and again those without a sentence before, each after some line of its language.

    So that the sentence before counts where it announces a quotation, and not otherwise.
    """
    by_lang = {line.lang: [each for each in lines if each.lang == line.lang] for line in lines}
    after = [
        line._replace(before=by_lang[line.lang][at * 7919 % len(by_lang[line.lang])].text)
        for at, line in enumerate(lines)
        if line.before == "-"
    ]
    return [*lines, *after]


class Targets(NamedTuple):
    """For each head, the wanted outputs, shape (lines, outputs), and the weight of each line."""

    wanted: dict[str, NDArray[np.float64]]
    weights: dict[str, NDArray[np.float64]]


def targets(lines: Sequence[Line]) -> Targets:
    """The answers that a model should give to each line."""
    holders = [line.holder.partition(":")[0] for line in lines]
    subjects = [_SUBJECT_OF_TOPIC.get(line.topic, "other") for line in lines]
    wanted = {
        "holder": _one_hot(holders, HOLDERS),
        "force": _one_hot([line.force for line in lines], FORCES),
        "subject": _one_hot(subjects, SUBJECTS),
        "denied": _one_hot([line.polarity for line in lines], "-"),
        "kept": _one_hot([line.kept for line in lines], KEPT),
    }
    weights = {head: (one.sum(axis=1) > 0).astype(float) for head, one in wanted.items()}
    weights["denied"] = np.array([float(line.polarity in "+-") for line in lines])
    return Targets(wanted, weights)


def _one_hot(values: Sequence[str], names: Iterable[str]) -> NDArray[np.float64]:
    return np.array([[float(value == name) for name in names] for value in values])


class Features(NamedTuple):
    """Features of texts: those of the embedding, and of the n-grams, one column a bucket."""

    rows: NDArray[np.float32]
    grams: Any


def features(lines: Sequence[Line]) -> Features:
    """The features by which the model reads, each times the scale of its kind."""
    found = linear.grams([line.text for line in lines], [line.preceding for line in lines])
    scales = np.array([GRAMS[group] for group in linear.GROUPS])
    values = np.repeat((found.factors * scales).ravel(), np.diff(found.starts))
    starts = found.starts[:: len(linear.GROUPS)]
    shape = len(lines), linear.BUCKETS
    grams = csr_matrix((values.astype(np.float32), found.buckets, starts), shape)
    grams.sum_duplicates()
    rows = linear.rows([line.text for line in lines]) / linear.ROW_UNIT * ROWS
    return Features(rows.astype(np.float32), grams)


class Weights(NamedTuple):
    """The weights of the scaled features: of rows, of n-grams, and the bias of each output."""

    rows: NDArray[np.float32]
    grams: NDArray[np.float32]
    bias: NDArray[np.float32]

    def scores(self, of: Features) -> NDArray[np.float64]:
        """The scores of texts."""
        return np.asarray(of.rows @ self.rows + of.grams @ self.grams + self.bias, np.float64)


def fit(of: Features, aims: Targets) -> Weights:
    """Logistic regression of each head, with a penalty of the squares of the weights."""
    size, outputs = len(of.rows), sum(map(len, HEADS.values()))
    cuts = np.cumsum([of.rows.shape[1] * outputs, linear.BUCKETS * outputs])
    back = of.grams.T.tocsr()

    def unpacked(flat: NDArray[Any]) -> Weights:
        of_rows, of_grams, bias = np.split(flat.astype(np.float32), cuts)
        return Weights(of_rows.reshape(-1, outputs), of_grams.reshape(-1, outputs), bias)

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        errors, total = _errors(unpacked(flat).scores(of), aims)
        slopes = of.rows.T @ errors, back @ errors, errors.sum(axis=0)
        gradient = np.concatenate([each.ravel() for each in slopes]) / size
        return total / size + DECAY / 2 * float(flat @ flat), gradient + DECAY * flat

    start = np.zeros(cuts[1] + outputs)
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return unpacked(best.x)


def _errors(scores: NDArray[np.float64], aims: Targets) -> tuple[NDArray[np.float32], float]:
    """The error of each output, and the loss."""
    found = linear.probabilities(scores, HEADS, [1.0] * len(HEADS))
    parts, total = [], 0.0
    for head, wanted in aims.wanted.items():
        weights = aims.weights[head]
        parts.append((found[head] - wanted) * weights[:, np.newaxis])
        total -= float((np.log(_likely(found[head], wanted)) * weights).sum())
    return np.hstack(parts).astype(np.float32), total


def _likely(found: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability that was given to what is wanted."""
    if wanted.shape[1] == 1:
        found, wanted = np.hstack([found, 1 - found]), np.hstack([wanted, 1 - wanted])
    return np.maximum((found * wanted).sum(axis=1), 1e-9)


def folds(lines: Sequence[Line]) -> NDArray[np.int64]:
    """The fold of each line, of three: hand A by blocks, in which its situations recur."""
    return np.array([at // 650 if line.hand == "A" else at % 3 for at, line in enumerate(lines)])


def held_out(lines: Sequence[Line], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """The scores of each line by a model that was fitted to the lines of other groups."""
    scores = np.zeros((len(lines), sum(map(len, HEADS.values()))))
    for group in np.unique(groups):
        out = np.flatnonzero(groups == group)
        seen = in_company([line for line, of in zip(lines, groups, strict=True) if of != group])
        weights = fit(features(seen), targets(seen))
        scores[out] = weights.scores(
            features([line for line, of in zip(lines, groups, strict=True) if of == group])
        )
    return scores


def sharpness(scores: NDArray[np.float64], aims: Targets) -> list[float]:
    """For each head, the factor of its scores with the least loss, which calibrates it."""
    factors = np.linspace(0.3, 3.0, 28)
    found = [linear.probabilities(scores, HEADS, [factor] * len(HEADS)) for factor in factors]
    return [
        float(
            factors[
                np.argmax(
                    [np.log(_likely(one[head], wanted)) @ aims.weights[head] for one in found]
                )
            ]
        )
        for head, wanted in aims.wanted.items()
    ]


def report(lines: Sequence[Line], scores: NDArray[np.float64]) -> None:
    """Print the share of right answers of each head, in all and by language."""
    aims = targets(lines)
    found = linear.probabilities(scores, HEADS, sharpness(scores, aims))
    right = {}
    for head, wanted in aims.wanted.items():
        same = found[head].argmax(1) == wanted.argmax(1)
        right[head] = same if wanted.shape[1] > 1 else (found[head][:, 0] > 0.5) == wanted[:, 0]
    langs = np.array([line.lang for line in lines])
    for name in ("all", *sorted(set(langs))):
        chosen = (langs == name) | (name == "all")
        shares = (right[head][chosen & (aims.weights[head] > 0)].mean() for head in HEADS)
        print(
            f"{name:4}", *(f"{head} {share:.3f}" for head, share in zip(HEADS, shares, strict=True))
        )
    judged = aims.weights["force"] > 0
    told = np.isin([line.force for line in lines], ("told", "planned"))
    told &= np.isin([line.holder for line in lines], ("user", "group"))
    others = np.isin([line.force for line in lines], ("fiction", "supposed", "quoted"))
    chance = claims(found)
    print("believed of the user or his group, by the least probability")
    for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        claimed = judged & (chance >= least)
        print(
            f"  {least}: precision {told[claimed].mean():.3f} recall {claimed[told].mean():.3f}"
            f" fiction and such claimed {claimed[others].mean():.3f}"
        )
    for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        judged = aims.weights["kept"] > 0
        wanted = aims.wanted["kept"][judged, 0] == 0
        claimed = 1 - found["kept"][judged, 0] >= least
        right, found_of = wanted[claimed].mean(), claimed[wanted].mean()
        print(f"  kept {least}: precision {right:.3f} recall {found_of:.3f}")


def claims(found: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """The probability that a sentence tells of its speaker or his group what holds."""
    ours = found["holder"][:, HOLDERS.index("user")] + found["holder"][:, HOLDERS.index("group")]
    told = found["force"][:, FORCES.index("told")] + found["force"][:, FORCES.index("planned")]
    return ours * told


def main() -> None:
    """Fit and write, or measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", action="store_true", help="measure on what was held out")
    arguments = parser.parse_args()
    lines = read()
    scores = held_out(lines, folds(lines))
    report(lines, scores)
    if arguments.folds:
        return
    seen = in_company(lines)
    weights = fit(features(seen), targets(seen))
    scaled = ROWS * weights.rows, weights.grams, weights.bias
    linear.save(WEIGHTS, HEADS, GRAMS, *scaled, sharpness(scores, targets(lines)))


if __name__ == "__main__":
    main()

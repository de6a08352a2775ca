"""Change: how likely a later statement takes the place of an earlier one.

A linear model, fitted by `benchmarks/train_change.py` to labelled pairs in ten languages. It reads
the later statement by itself, and the two side by side: how near they are as wholes, which tokens
of one the other has something near to, and whether their numbers and names differ. Of several
earlier statements, those that the later one is nearest to are the likelier ones. It reads by the
bundled static embedder, whatever a store embeds with, so the same pair reads alike everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salience.language.linear import MAX_CHARS, LinearModel, token_rows
from salience.lazily import regex

WEIGHTS = Path(__file__).with_name("change.txt")
PAIR_WEIGHTS = Path(__file__).with_name("change_pairs.txt")
NEARNESS, NO_PAIR = 1.5, -2.0
"""The factor of the nearness, and the nearness of no pair at all."""
MAX_DEVIATION = 3.0
"""Standard deviations at which a figure of a pair is cut."""
LIKELY = 0.3
"""The least probability to report a memory as possibly replaced."""
LEADING = 0.45
"""The least probability to prefer the newer one for any question."""
POSSIBLE = 0.15
"""The least probability to prefer the newer one for a question about the present."""
LEAST_COSINE = 0.1
"""The cosine of two statements below which neither takes the place of the other."""

_MAX_TOKENS = 120
_RECENT_TEXTS = 4096
_NUMBER = regex(r"\d+(?:[.,:]\d+)*")
_NAME = regex(r"(?<=\s)[^\W\d_a-z]\w+")
_DIGIT = regex(r"\d")


class _Read(NamedTuple):
    """A statement as pairs are compared."""

    row: NDArray[np.float32]  # of unit length
    tokens: NDArray[np.float32]  # unit rows
    lengths: NDArray[np.float32]  # of the tokens' vectors: rare tokens have long ones
    shares: NDArray[np.float32]  # of each token's length in all
    pieces: frozenset[str]  # of two characters
    grams: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    size: float


@lru_cache(maxsize=_RECENT_TEXTS)
def _read(text: str) -> _Read:
    text = text[:MAX_CHARS]
    vectors = token_rows(text)[:_MAX_TOKENS]
    lengths = np.maximum(np.sqrt((vectors * vectors).sum(axis=1)), 1e-9)
    row = vectors.sum(axis=0)
    plain = _DIGIT.sub("0", f" {text.lower()} ")
    shifted = [plain[at:] for at in range(4)]
    of_size = (zip(*shifted[:n], strict=False) for n in (3, 4))
    grams = frozenset(map("".join, chain.from_iterable(of_size)))
    return _Read(
        row / max(float(np.sqrt(row @ row)), 1e-9),
        vectors / lengths[:, np.newaxis],
        lengths,
        lengths / lengths.sum(),
        frozenset(map("".join, pairwise(plain))),
        grams or frozenset({plain}),
        frozenset(_NUMBER.findall(text)),
        frozenset(name for name in _NAME.findall(text) if not name[0].islower()),
        float(np.log(max(len(text), 1))),
    )


def figures(older: str, newer: str) -> list[float]:
    """The figures of a pair of statements."""
    a, b = _read(older), _read(newer)
    cosines = a.tokens @ b.tokens.T
    of_a, of_b = cosines.max(axis=1), cosines.max(axis=0)
    in_both, pieces = len(a.grams & b.grams), len(a.pieces & b.pieces)
    same_a, same_b = of_a > 0.99, of_b > 0.99
    return [
        float(a.row @ b.row),
        in_both / (len(a.grams) + len(b.grams) - in_both),
        in_both / len(a.grams),
        in_both / len(b.grams),
        a.size,
        b.size,
        b.size - a.size,
        abs(b.size - a.size),
        *_differences(a.numbers, b.numbers),
        float(bool(a.numbers & b.numbers)),
        *_differences(a.names, b.names),
        float(bool(a.names & b.names)),
        float(a.shares @ of_a),
        float(b.shares @ of_b),
        float(a.shares @ same_a),
        float(b.shares @ same_b),
        _mean_of_two(of_a),
        _mean_of_two(of_b),
        float((a.lengths * of_a).max()),
        float((b.lengths * same_b).max()),
        pieces / (len(a.pieces) + len(b.pieces) - pieces),
        pieces / len(a.pieces),
    ]


def _mean_of_two(values: NDArray[np.float32]) -> float:
    """The mean of the two largest values."""
    largest = sorted(values.tolist())[-2:]
    return sum(largest) / len(largest)


def _differences(one: frozenset[str], other: frozenset[str]) -> tuple[float, float, float]:
    return float(bool(one)), float(bool(other)), float(bool(one and other and not one & other))


class _Pairs(NamedTuple):
    """The weights of the figures of a pair, for a change and for nearness, and their scales."""

    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    change: NDArray[np.float64]
    near: NDArray[np.float64]
    products: NDArray[np.float64]  # of two figures, for nearness: (figures, figures)
    near_bias: float
    scale: NDArray[np.float64]  # factor and bias by which scores become probabilities


@cache
def _models() -> tuple[LinearModel, _Pairs]:
    lines = PAIR_WEIGHTS.read_text(encoding="ascii").splitlines()
    means, spreads, of_change, near, scale = (np.array(line.split(), np.float64) for line in lines)
    products = np.zeros((len(means), len(means)))
    products[np.triu_indices(len(means))] = near[len(means) : -1]
    pairs = _Pairs(means, spreads, of_change, near[: len(means)], products, near[-1], scale)
    return LinearModel(WEIGHTS), pairs


def tells(texts: Sequence[str]) -> NDArray[np.float64]:
    """Scores of texts by themselves, above 0 for most that report a change."""
    return _models()[0].scores(texts)[:, 0]


def may_replace(newer: str, older: Sequence[str], told: float | None = None) -> NDArray[np.float64]:
    """The probability that a statement takes the place of each of some earlier ones, (older,).

    `told` is its score by itself, if that is known.
    """
    if not older:
        return np.zeros(0)
    _, pairs = _models()
    raw = np.array([figures(each, newer) for each in older])
    levels = ((raw - pairs.means) / pairs.spreads).clip(-MAX_DEVIATION, MAX_DEVIATION)
    near = levels @ pairs.near + (levels @ pairs.products * levels).sum(axis=1) + pairs.near_bias
    of_all = np.logaddexp.reduce(np.append(near, NO_PAIR))
    told = float(tells([newer])[0]) if told is None else told
    scores = told + levels @ pairs.change + NEARNESS * (near - of_all)
    factor, bias = pairs.scale
    chances = 1.0 / (1.0 + np.exp(-(factor * scores + bias)))
    return np.where(raw[:, 0] >= LEAST_COSINE, chances, 0.0)

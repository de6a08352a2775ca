"""Linear models of short texts: a static embedding and hashed n-grams, weighed and summed.

score(text) = b + E e(text) + sum over groups g of f_g W_g(text) / sqrt(n_g), e the row of the
bundled static embedder, W_g the sum of the weights of the n_g n-grams of the group, by their hash.
Weights and rows are small whole numbers, whose sums are exact in any order and on any processor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from salience.embedders.static import DIMENSIONS, StaticEmbedder
from salience.lazily import regex

BUCKETS = 12_288
MAX_CHARS = 400
"""Characters of a text that are read, half of them from its end."""
GROUPS = ("characters", "words", "places", "before")
ROW_UNIT = 127.0
"""The integer that stands for 1 in an embedded row."""

_ZERO, _LEVELS = 79, 46  # a weight is a printable character: `O` is 0, `!` is -46, `}` is 46
_BATCH_TEXTS = 256
_LINE = 120  # characters of a line of weights
_UNITS = ("rows", "grams", "bias")
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # each of their characters is a word
_TOKEN = regex(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+(?:'[^\W{_UNSPACED}]+)?|[^\w\s]")
_DIGITS = regex(r"\d")
_END = " .!\u3002\uff01\u2026\u2019'\")"
_BASE, _MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))
_HALF = np.uint64(32)
_FACTORS = 1.0 / np.sqrt(np.maximum(np.arange(16 * MAX_CHARS), 1))  # small letters may be two
_FACTORS[0] = 0.0
_SALTS = np.arange(10, dtype=np.uint64) * _MIXER


class Grams(NamedTuple):
    """The n-grams of texts: the bucket of each, and where those of a text and group begin.

    Group g of text t has `buckets[starts[4 * t + g]:starts[4 * t + g + 1]]`.
    """

    buckets: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def factors(self) -> NDArray[np.float64]:
        """1 / sqrt(n) of each text and group, shape (texts, groups); 0 without n-grams."""
        return _FACTORS[self.starts[1:] - self.starts[:-1]].reshape(-1, len(GROUPS))


def rows(texts: Sequence[str]) -> NDArray[np.float32]:
    """The rows of the static embedder in units of 1 / ROW_UNIT, shape (texts, 256)."""
    return np.rint(_embedder().embed([_cut(text) for text in texts]) * np.float32(ROW_UNIT))


def token_rows(text: str) -> NDArray[np.float32]:
    """The vectors of the tokens of a text, shape (tokens, 256); one row of zeros if it has none."""
    rows = _embedder().token_rows(text)
    return rows if len(rows) else np.zeros((1, DIMENSIONS), np.float32)


@cache
def _embedder() -> StaticEmbedder:
    return StaticEmbedder()


def grams(texts: Sequence[str], before: Sequence[str]) -> Grams:
    """The n-grams of texts, each with the text before it, "" if there is none."""
    spans: list[NDArray[np.int64]] = []
    joined, sizes = "", [0]
    for pair in zip(texts, before, strict=True):
        for text, spans_of in zip(map(_plain, pair), (_spans, _spans_before), strict=True):
            parts, counts = spans_of(text)
            if joined:
                moved = np.array([[len(joined)], [len(joined)], [0]])
                parts = [part + moved for part in parts]
            spans += parts
            sizes += counts
            joined += text if parts else ""
    first, last, salt = np.concatenate(spans, axis=1)
    points = np.frombuffer(joined.encode("utf-32-le"), np.uint32).astype(np.uint64)
    powers, inverses = _powers(1 << len(points).bit_length())
    sums = np.zeros(len(points) + 1, np.uint64)
    ((points + np.uint64(1)) * powers[: len(points)]).cumsum(out=sums[1:])
    hashed = (sums[last] - sums[first]) * inverses[first] + _SALTS[salt]
    hashed = (hashed ^ (hashed >> _HALF)) * _MIXER
    buckets = (hashed >> _HALF) % np.uint64(BUCKETS)
    return Grams(buckets.view(np.int64), np.array([*accumulate(sizes)]))


@lru_cache(maxsize=8)
def _powers(count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The first powers of the base, and those of its inverse."""
    powers, inverses = np.full((2, count), [[_BASE], [_INVERSE]])
    powers[0] = inverses[0] = 1
    return np.cumprod(powers), np.cumprod(inverses)


@lru_cache(maxsize=1024)
def _characters(length: int, sizes: tuple[int, ...], salt: int) -> NDArray[np.int64]:
    """The spans of each number of characters in a text of some length."""
    return _array([(at, at + n, salt) for n in sizes for at in range(length - n + 1)])


def _spans(text: str) -> tuple[list[NDArray[np.int64]], list[int]]:
    """The spans of the characters, of the words and at the ends of a text, and how many of each."""
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    words = [
        (tokens[at][0], tokens[at + n][1], 1) for n in (0, 1, 2) for at in range(len(tokens) - n)
    ]
    end, length = len(text.rstrip(_END)), len(text)
    inner = [span for span in tokens if span[1] <= end]
    places = [(tokens[0][0], tokens[n][1], 2) for n in range(min(4, len(tokens)))]
    places += [(inner[-n][0], inner[-1][1], 3) for n in range(1, min(4, len(inner)) + 1)]
    places += [(1, n, 4) for n in (3, 4, 5) if n <= length]
    places += [(end - n, end, 5) for n in (1, 2, 3, 4, 5) if n <= end]
    characters = _characters(length, (2, 3, 4, 5), 0)
    pieces = _array([*words, *places, (end, length, 6)])
    return [characters, pieces], [characters.shape[1], len(words), len(places) + 1]


def _spans_before(text: str) -> tuple[list[NDArray[np.int64]], list[int]]:
    if not text.strip():
        return [], [0]
    tokens = [(*match.span(), 8) for match in _TOKEN.finditer(text)]
    parts = [_characters(len(text), (2, 3, 4), 7), _array([*tokens, (len(text) - 2, len(text), 9)])]
    return parts, [sum(part.shape[1] for part in parts)]


def _array(spans: Sequence[tuple[int, int, int]]) -> NDArray[np.int64]:
    """Spans in three rows: first and last place in a text, and what they are for."""
    return np.fromiter(chain.from_iterable(spans), np.int64, 3 * len(spans)).reshape(-1, 3).T


def _plain(text: str) -> str:
    """The text as its n-grams are read: in lower case, all digits alike, between blanks."""
    text = " ".join(_cut(text).replace("\u2019", "'").lower().split())
    return f" {_DIGITS.sub('0', text)} "


def _cut(text: str) -> str:
    half = MAX_CHARS // 2
    return text if len(text) <= MAX_CHARS else f"{text[:half]} {text[-half:]}"


class LinearModel:
    """A linear model, read from its file of weights.

    `heads` are its answers by name, each with the names of its outputs: of one output the
    probability that it holds, of several the probability of each, in sum 1.
    """

    def __init__(self, file: Path) -> None:
        head, _, body = file.read_text(encoding="ascii").partition("\n\n")
        lines = dict(line.split(": ") for line in head.splitlines())
        self.heads: Mapping[str, tuple[str, ...]] = {
            name[5:]: tuple(value.split())
            for name, value in lines.items()
            if name.startswith("head ")
        }
        self._units = {name: _numbers(lines[name]) for name in _UNITS if name in lines}
        self._groups = _numbers(lines["groups"])
        self._sharpness = _numbers(lines["sharpness"]).tolist()
        outputs = sum(map(len, self.heads.values()))
        weights = (
            np.frombuffer(body.replace("\n", "").encode(), np.uint8).astype(np.float32) - _ZERO
        )
        first = DIMENSIONS if "rows" in lines else 0
        self._of_rows, self._of_grams = np.split(weights.reshape(-1, outputs), [first])

    def scores(
        self, texts: Sequence[str], before: Sequence[str] | None = None
    ) -> NDArray[np.float64]:
        """The scores of texts, each perhaps with the text before it: (texts, outputs)."""
        before = ("",) * len(texts) if before is None else before
        parts = [
            self._scores(texts[at : at + _BATCH_TEXTS], before[at : at + _BATCH_TEXTS])
            for at in range(0, len(texts), _BATCH_TEXTS)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self._of_rows.shape[1]))

    def _scores(self, texts: Sequence[str], before: Sequence[str]) -> NDArray[np.float64]:
        text_grams = grams(texts, before)
        taken = self._of_grams.take(text_grams.buckets, axis=0)
        # The sum of a group without n-grams is anything, and counts nothing.
        sums = np.add.reduceat(np.concatenate([taken, taken[:1]]), text_grams.starts, axis=0)[:-1]
        factors = (text_grams.factors * self._groups)[:, :, np.newaxis]
        weighed = sums.reshape(len(texts), len(GROUPS), -1) * factors
        by_grams = weighed[:, 0] + weighed[:, 1] + weighed[:, 2] + weighed[:, 3]
        units = self._units
        scores = by_grams * units["grams"] + units["bias"]
        if len(self._of_rows):
            scores += rows(texts) @ self._of_rows * (units["rows"] / ROW_UNIT)
        return scores

    def probabilities(
        self, texts: Sequence[str], before: Sequence[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """The probabilities of each head: (texts, outputs of the head)."""
        scores = self.scores(texts, before)
        return probabilities(scores, self.heads, self._sharpness)


def probabilities(
    scores: NDArray[np.float64], heads: Mapping[str, Sequence[str]], sharpness: Sequence[float]
) -> dict[str, NDArray[np.float64]]:
    """The probabilities of each head, of the scores times the sharpness of the head."""
    found, start = {}, 0
    for (name, outputs), factor in zip(heads.items(), sharpness, strict=True):
        part = scores[:, start : start + len(outputs)] * factor
        start += len(outputs)
        if len(outputs) == 1:
            part = np.concatenate([np.zeros_like(part), part], axis=1)
        exps = np.exp(part - part.max(axis=1, keepdims=True))
        found[name] = (exps / exps.sum(axis=1, keepdims=True))[:, -len(outputs) :]
    return found


def save(
    file: Path,
    heads: Mapping[str, Sequence[str]],
    groups: Mapping[str, float],
    of_rows: NDArray[Any] | None,
    of_grams: NDArray[Any],
    bias: NDArray[Any],
    sharpness: Sequence[float],
) -> None:
    """Write the weights (256, or none, and BUCKETS rows of one column an output) as text.

    `groups` are the factors of the groups of n-grams.
    """
    lines, body = [f"head {name}: {' '.join(names)}" for name, names in heads.items()], ""
    for name, weights in (("rows", of_rows), ("grams", of_grams)):
        if weights is None:
            continue
        unit = np.maximum(np.abs(weights).max(axis=0), 1e-9) / _LEVELS
        lines.append(f"{name}: {_written(unit)}")
        levels = np.rint(weights / unit).astype(int) + _ZERO
        body += "".join(map(chr, levels.ravel()))
    lines.append(f"groups: {_written([groups[name] for name in GROUPS])}")
    lines += [f"bias: {_written(bias)}", f"sharpness: {_written(sharpness)}"]
    wrapped = (body[at : at + _LINE] for at in range(0, len(body), _LINE))
    file.write_text("\n".join([*lines, "", *wrapped, ""]), encoding="ascii")


def _numbers(text: str) -> NDArray[np.float64]:
    return np.array([float(number) for number in text.split()])


def _written(numbers: Sequence[float] | NDArray[Any]) -> str:
    return " ".join(f"{number:.6g}" for number in numbers)

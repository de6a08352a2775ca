"""The reader of statements: of whom a sentence speaks, in which force, of what, and how surely.

A linear model over the sentence and the one before it, fitted by `benchmarks/train_reader.py` to
labelled sentences in ten languages. What it is unsure of it does not claim: see `Reading`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

from salience.language.linear import LinearModel
from salience.lazily import dataclass, regex

HOLDERS = ("user", "other", "group", "nobody")
"""Who holds what is said: who says it, somebody else, a group of the speaker's, or nobody."""
FORCES = (
    "told", "planned", "supposed", "wished", "quoted", "fiction", "asked", "ordered", "forget",
    "joke",
)  # fmt: skip
"""In which force it is said; `forget` asks for it to be forgotten."""
SUBJECTS = ("health", "preference", "family", "work", "place", "project", "other")
KEPT = ("no", "correction", "convention", "decision", "finding")
"""What a sentence of a work session is worth keeping as."""
WEIGHTS = Path(__file__).with_name("reader.txt")

MAX_SENTENCES = 64
"""Sentences of a text that are read, the first ones."""
_RECENT_TEXTS = 4096
_SENTENCE = regex(
    r"(?:[^.!?\n\u3002\uff01\uff1f]|[.!?](?!\s|$|[\"'\u201d\u00bb)]))+[.!?\u3002\uff01\uff1f\"'\u201d\u00bb\u300d)]*"
)


@dataclass(frozen=True)
class Reading:
    """A sentence as it is read: the likeliest of each answer, and the probabilities that count.

    `told` is the probability that it tells, or announces, what holds of who says it or of a group
    of his; `forget` that it asks to forget something; `keep` that it is worth keeping of a work
    session, as `kept`; `denied` that it denies or dislikes what it speaks of.
    """

    text: str
    holder: str
    force: str
    subject: str
    kept: str
    told: float
    forget: float
    keep: float
    denied: float


@cache
def _model() -> LinearModel:
    return LinearModel(WEIGHTS)


def read(sentences: Sequence[str], before: Sequence[str] | None = None) -> list[Reading]:
    """Read sentences, each perhaps with the one before it; many at once cost least."""
    found = {
        head: rows.tolist() for head, rows in _model().probabilities(sentences, before).items()
    }
    return [
        Reading(
            sentence,
            _likeliest(HOLDERS, holder),
            _likeliest(FORCES, force),
            _likeliest(SUBJECTS, subject),
            _likeliest(KEPT[1:], kept[1:]),
            (holder[0] + holder[2]) * (force[0] + force[1]),
            force[FORCES.index("forget")],
            1.0 - kept[0],
            denied,
        )
        for sentence, holder, force, subject, kept, [denied] in zip(
            sentences,
            *(found[head] for head in ("holder", "force", "subject", "kept", "denied")),
            strict=True,
        )
    ]


@lru_cache(maxsize=_RECENT_TEXTS)
def read_text(text: str) -> tuple[Reading, ...]:
    """Read the sentences of a text, each after the one before it."""
    [readings] = read_texts([text])
    return readings


def read_texts(texts: Sequence[str]) -> list[tuple[Reading, ...]]:
    """Read the sentences of several texts at once."""
    split = [sentences_of(text) for text in texts]
    flat = [one for sentences in split for one in sentences]
    before = [one for sentences in split for one in ("", *sentences[:-1])[: len(sentences)]]
    readings = iter(read(flat, before))
    return [tuple(next(readings) for _ in sentences) for sentences in split]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, at most MAX_SENTENCES."""
    found = (sentence.strip() for sentence in _SENTENCE.findall(text))
    return [sentence for sentence in found if sentence][:MAX_SENTENCES]


def _likeliest(names: Sequence[str], chances: Sequence[float]) -> str:
    return names[max(range(len(names)), key=chances.__getitem__)]

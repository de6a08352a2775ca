"""The reader of statements: whom a sentence is about, its force, its subject, and how surely.

A linear model over the sentence and the one before it, fitted by `benchmarks/train_reader.py` to
labelled sentences in ten languages. What it is unsure of it does not claim: see `Reading`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from salience.language import linear
from salience.lazily import dataclass, regex

HOLDERS = ("user", "other", "group", "nobody")
"""The holder of a statement: the speaker, somebody else, a group of the speaker's, or nobody."""
FORCES = (
    "told", "planned", "supposed", "wished", "quoted", "fiction", "asked", "ordered", "forget",
    "joke",
)  # fmt: skip
"""The force of a sentence; `forget` asks to forget something."""
SUBJECTS = ("health", "preference", "family", "work", "place", "project", "other")
KEPT = ("no", "correction", "convention", "decision", "finding")
"""The kinds of sentences of a work session, by what they are kept as."""
WEIGHTS = Path(__file__).with_name("reader.txt")
QUERY_WEIGHTS = Path(__file__).with_name("queries.txt")

MAX_SENTENCES = 64
"""Sentences of a text that are read, the first ones."""
_RECENT_TEXTS = 4096
_RECENT_QUERIES = 1024
_SURE = 0.85  # least probability of a request to forget; high, as such a request may hide memories
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

    @property
    def instructs(self) -> bool:
        """True for a standing instruction."""
        return self.force == "ordered" and self.keep >= BELIEVED

    @property
    def belief(self) -> float:
        """The probability that it is an instruction that stands, or else that it is told."""
        return self.keep if self.instructs else self.told

    @property
    def topic(self) -> str:
        """Its topic as one of TOPICS, whether it is believed or not."""
        if self.instructs:
            return "instruction"
        return {"project": "work"}.get(self.subject, self.subject)


BELIEVED = 0.56
"""The least probability of a claim."""
TOPICS = ("health", "instruction", "preference", "family", "work", "place", "other")
"""The topics of statements about oneself, the most important first."""
IS_REQUEST = 0.5
"""The least probability of a request."""
ASKS_FORMER = 0.6
"""The least probability that a query asks for what held before."""
_APART, _NEAR = 0.3, 0.5  # in the probability of a denial, and the cosine, of opposite sentences


@cache
def _model() -> linear.LinearModel:
    return linear.LinearModel(WEIGHTS)


def read(sentences: Sequence[str], before: Sequence[str] | None = None) -> list[Reading]:
    """Read sentences, each perhaps with the one before it; many at once cost least."""
    rows_of = {
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
            *(rows_of[head] for head in ("holder", "force", "subject", "kept", "denied")),
            strict=True,
        )
    ]


_read: dict[str, tuple[Reading, ...]] = {}  # the texts of a write are read when they are stored


def read_text(text: str) -> tuple[Reading, ...]:
    """Read the sentences of a text, each after the one before it."""
    [readings] = read_texts([text])
    return readings


def to_forget(text: str) -> tuple[str, ...]:
    """The sentences of a text that ask for something to be forgotten."""
    readings = read_text(text)
    return tuple(each.text for each in readings if each.force == "forget" and each.forget >= _SURE)


def only_to_forget(text: str) -> bool:
    """Test whether a text asks for something to be forgotten, and says nothing else."""
    return bool(requests := to_forget(text)) and len(requests) == len(sentences_of(text))


def read_texts(texts: Sequence[str]) -> list[tuple[Reading, ...]]:
    """Read the sentences of several texts at once."""
    readings_of = {text: _read.get(text) for text in texts}
    new = {text: sentences_of(text) for text, readings in readings_of.items() if readings is None}
    flat = [s for sentences in new.values() for s in sentences]
    before = [s for sentences in new.values() for s in ("", *sentences)[: len(sentences)]]
    readings = iter(read(flat, before))
    for text, sentences in new.items():
        readings_of[text] = tuple(next(readings) for _ in sentences)
    if len(_read) + len(new) > _RECENT_TEXTS:
        _read.clear()
    _read.update({text: readings_of[text] or () for text in list(new)[:_RECENT_TEXTS]})
    return [readings_of[text] or () for text in texts]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, at most MAX_SENTENCES."""
    stripped = (sentence.strip() for sentence in _SENTENCE.findall(text))
    return [sentence for sentence in stripped if sentence][:MAX_SENTENCES]


def believed(readings: Iterable[Reading]) -> Reading | None:
    """The claimed sentence that matters most, None without claims."""
    claimed = [reading for reading in readings if reading.belief >= BELIEVED]
    rank = TOPICS.index
    return min(claimed, key=lambda one: (rank(one.topic), -one.belief), default=None)


def opposite(one: Reading, other: Reading) -> bool:
    """Test whether of two sentences about nearly the same one denies what the other says."""
    if abs(one.denied - other.denied) < _APART:
        return False
    near, far = linear.rows([one.text, other.text]) / linear.ROW_UNIT
    return float(near @ far) >= _NEAR


def _likeliest(names: Sequence[str], chances: Sequence[float]) -> str:
    return names[max(range(len(names)), key=chances.__getitem__)]


class QueryReading(NamedTuple):
    """The reading of what a query asks for.

    `request` is the probability that it asks for advice, a plan, a draft or leave to do something;
    `asks_former` says that it surely asks for what held before.
    """

    request: float
    asks_former: bool


@cache
def _query_model() -> linear.LinearModel:
    return linear.LinearModel(QUERY_WEIGHTS)


@lru_cache(maxsize=_RECENT_QUERIES)
def read_query(query: str) -> QueryReading:
    """Read what a query asks for.

    A linear model over its n-grams alone, so that a query is read alike whatever the embedder,
    fitted by `benchmarks/train_queries.py` to queries in eleven languages.
    """
    chances = _query_model().probabilities([query])
    request, former = float(chances["request"][0, 0]), float(chances["former"][0, 0])
    return QueryReading(request, request <= IS_REQUEST and former >= ASKS_FORMER)

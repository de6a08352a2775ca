"""Models: the weights by which evidence becomes a probability, as JSON, and their formulas.

    logistic(x) = 1 / (1 + exp(-x))
    P(any memory answers) = logistic(b + w0 names missing + w1 match + w2 session + sqrt(n) (w3
                                     + w4 cosine of the speaker + w5 coverage of the speaker)
                                     + w6 request + the weight of the kind of question)
    own = logistic(c + v (score - best score))
    P(this one answers) = P(any memory answers) * own / (1 - product of (1 - own) of the first ten)

Each embedder has weights of its own in `weights/`, written by `salience calibrate`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal

from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, field
from salience.ranking.expressions import Col, NamedExpression, Signal, Sum, signal
from salience.ranking.functions import Apply, QueryFlag, WhenQuery, at_most, maximum
from salience.ranking.probability.signals import (
    AboveMedian,
    AnyOf,
    Asked,
    AtBest,
    Best,
    Coverage,
    NamesMissing,
    Requested,
)
from salience.ranking.signals import OnDate, RepeatsQuery, SaidBy, Trusted

Meaning = Literal["cosine", "above_median", "none"]
GENERIC, WORDS = "generic", "words"
"""The names of the models for an embedder without weights of its own, and for no vectors."""

RESULT_PARTS = (
    "asked", "match", "session", "speaker_cosine", "speaker_coverage", "names_missing", "request",
    "asks_name", "asks_number", "asks_when", "first_person", "names_date",
)  # fmt: skip
HIT_PARTS = ("score_gap",)
FIRST = 10
"""The candidates of the highest scores that share the probability of the result."""
_COVERAGE_SHARE = 0.5  # of the coverage in the match, beside the cosine


@dataclass(frozen=True)
class Model:
    """Weights by part for the result and for a hit, each with a "bias".

    `meaning` says how the cosine counts: as it is, above the median of the candidates (for an
    embedder whose scale is unknown), or not at all. `fitted` says on what and by which command.
    """

    name: str
    meaning: Meaning
    result: Mapping[str, float]
    hit: Mapping[str, float]
    fitted: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Model:
        """The model of `to_dict`.

        Raises:
            InvalidInput: a weight is missing or no number.
        """
        parts = {
            "result": ("bias", *RESULT_PARTS),
            "hit": ("bias", *HIT_PARTS),
        }
        for part, names in parts.items():
            weights = values.get(part)
            for name in names:
                value = weights.get(name) if isinstance(weights, Mapping) else None
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    path = f"{part}.{name}"
                    raise InvalidInput(path, f"is {shown(value)}", "fit it: salience calibrate")
        return cls(
            name=values["name"],
            meaning=values["meaning"],
            result=values["result"],
            hit=values["hit"],
            fitted=values["fitted"],
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "name": self.name,
            "meaning": self.meaning,
            "result": dict(self.result),
            "hit": dict(self.hit),
            "fitted": dict(self.fitted),
        }

    @cached_property
    def of_result(self) -> Signal:
        """The probability that any candidate answers, the same for each of them."""
        parts = result_evidence(self.meaning)
        weighed = (self.result[name] * parts[name] for name in RESULT_PARTS)
        evidence = Sum((signal(self.result["bias"]), *weighed))
        return _sigmoid(evidence).named("any_answers", "some memory answers the query")

    @cached_property
    def of_hit(self) -> Signal:
        """The probability that a candidate answers; the first ten make up that of the result.

        They answer independently of each other by `own`, given that at least one does.
        """
        share = self.own / self.any_of_first
        return self.of_result * share.named("this_one", "if any does, this one")

    @cached_property
    def any_of_first(self) -> Signal:
        """The chance that one of the first candidates answers by itself."""
        return AnyOf(self.own, FIRST)

    @cached_property
    def own(self) -> Signal:
        """The chance of a candidate by itself, the larger the higher it is ranked."""
        gap = self.hit["score_gap"] * hit_evidence()["score_gap"]
        return _sigmoid(Sum((signal(self.hit["bias"]), gap)))

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The columns that the formulas read, and those that tell sessions of one name apart."""
        return self.of_result.inputs() | self.of_hit.inputs() | {"namespace"}


def result_evidence(meaning: Meaning) -> dict[str, Signal]:
    """The `RESULT_PARTS` by name."""
    asked, counts, match = Asked(), _counts(), _match(meaning)
    session = Coverage(_on_date(), among=counts)
    missing = AtBest(NamesMissing(), match, counts)
    return {
        "asked": asked.named("asked", "the square root of the number of things asked for"),
        "match": _part("match", Best(match, counts), "the best match of those that count"),
        "session": _part(
            "session", Best(session, counts), "the session that holds most of what is asked"
        ),
        "speaker_cosine": asked * _lead(_cosine(meaning), "speaker_cosine", "is nearer"),
        "speaker_coverage": asked * _lead(_coverage(), "speaker_coverage", "holds more of it"),
        "names_missing": _part(
            "names_missing", missing, "the best match lacks names that are asked for"
        ),
        "request": _part(
            "request", Requested(), "how surely it asks for advice or a piece of work"
        ),
        **{name: _part(name, QueryFlag(f"query_{flag}"), doc) for name, flag, doc in _KINDS},
    }


_KINDS = (
    ("asks_name", "asks_name", "asks for a name"),
    ("asks_number", "asks_number", "asks for a number"),
    ("asks_when", "asks_when", "asks when"),
    ("first_person", "is_first_person", "asks about who asks"),
    ("names_date", "names_date", "names a time"),
)


def _lead(of: Signal, name: str, does: str) -> Signal:
    """By how much the best of what the speaker named said exceeds the best of all others."""
    lead = Best(of, _counts()) - Best(of, _told_by_others())
    return _part(
        name, WhenQuery("query_names_one_speaker", lead), f"what the person named said {does}"
    )


def hit_evidence() -> dict[str, Signal]:
    """The `HIT_PARTS` by name."""
    score = Col("score")
    return {"score_gap": _part("score_gap", score - Best(score), "its score below the best")}


def _part(name: str, of: Signal, doc: str) -> NamedExpression:
    return of.named(name, doc)


# Each part is one object wherever it occurs, so that it is computed once.


@cache
def _coverage() -> Coverage:
    """The share of what is asked that a memory holds."""
    return Coverage(_on_date())


@cache
def _cosine(meaning: Meaning) -> Signal:
    """max(0, cosine) on the scale of the model; what the embedder cannot read, words decide."""
    if meaning == "none":
        return signal(0.0)
    cosine = maximum(0.0, Col("vector.score").default(0.0))
    scaled = AboveMedian(cosine) if meaning == "above_median" else cosine
    return Trusted(scaled, _coverage())


@cache
def _match(meaning: Meaning) -> Signal:
    """cosine + coverage / 2: the evidence of one memory."""
    coverage = _COVERAGE_SHARE * _coverage()
    return coverage if meaning == "none" else _cosine(meaning) + coverage


@cache
def _on_date() -> Signal:
    """1 where the memory is of the time that the query asks about or mentions it, less around."""
    return WhenQuery("query_names_date", maximum(OnDate(), Col("mentions_date")))


@cache
def _counts() -> Signal:
    """1 for a memory that can answer: by its speaker, and no question that only repeats the query.

    A query that names one speaker is answered by what the speaker told, and by what nobody or the
    user told of the speaker; any other query by all.
    """
    return _told_by_asked() * at_most(RepeatsQuery(signal(1.0)), 0.5)


@cache
def _told_by_asked() -> Signal:
    about = Col("mentions_named") * maximum(SaidBy("nobody"), SaidBy("user"))
    anyone = 1.0 + -1.0 * QueryFlag("query_names_one_speaker")
    return maximum(anyone, maximum(SaidBy("named"), about))


@cache
def _told_by_others() -> Signal:
    """1 for a memory that another speaker told than the one that the query names."""
    return 1.0 + -1.0 * maximum(_told_by_asked(), SaidBy("nobody"))


def _sigmoid(of: Signal) -> Signal:
    return Apply("sigmoid", (of,))


@cache
def evidence_columns() -> frozenset[str]:
    """The columns that the formulas read, but the score."""
    inputs = (part.inputs() for part in result_evidence("cosine").values())
    return frozenset().union(*inputs)


def model_for(embedder: str | None) -> Model:
    """The model of an embedder by its identity, None for no vectors; else the generic one."""
    if embedder is None:
        return _models()[WORDS]
    fitting = (m for m in _models().values() if embedder.startswith(f"{m.name}@"))
    return next(fitting, _models()[GENERIC])


@cache
def _models() -> dict[str, Model]:
    """The models in `weights/` by name."""
    folder = files(__package__) / "weights"
    texts = (entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".json"))
    models = (Model.from_dict(json.loads(text)) for text in texts)
    return {model.name: model for model in models}

"""Reranking: what a model gives that reads the query and a text together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from salience.errors import InvalidInput, RerankerError, shown
from salience.ranking.stages.stage import Stage
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import ReadTexts, Rerank
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query

DEFAULT_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class ModelScores(Stage):
    """Writes `rerank.score`: what the reranker of that name gives to each text for the query.

    A text is the content, after its speaker if it has one. If the reranker fails, or takes longer
    than `timeout` seconds, no row has a score, and the search says so.
    """

    model: str
    timeout: float = DEFAULT_TIMEOUT_SECONDS

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidInput("model", "is empty", "name a reranker")
        if not 0.0 < self.timeout < 86_400.0:
            raise InvalidInput("timeout", f"is {shown(self.timeout)}", "give seconds above 0")

    def label(self) -> str:
        return "rerank"

    def reads(self) -> frozenset[str]:
        return frozenset({"speaker"})

    def writes(self) -> frozenset[str]:
        return frozenset({"rerank.score"})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        scores, problem = np.full(len(candidates), np.nan), None
        if len(candidates):
            texts = yield from ask(ReadTexts(candidates.rows))
            speakers = candidates["speaker"].tolist()
            spoken = tuple(map(_spoken, texts, speakers))
            try:
                scores = yield from ask(Rerank(self.model, query.text, spoken, self.timeout))
            except RerankerError as failure:
                problem = str(failure)
        table = candidates.with_columns(**{"rerank.score": np.asarray(scores, dtype=np.float64)})
        return replace(table, problem=problem)


def _spoken(text: str | None, speaker: str | None) -> str:
    """A text after its speaker; "" for a memory that was erased meanwhile."""
    if text is None:
        return ""
    return text if speaker is None else f"{speaker}: {text}"

"""Reranking: the scores of a model that reads the query and a text together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salience.errors import InvalidInput, RerankerError, shown
from salience.lazily import dataclass, replace
from salience.ranking.passages import MAX_PASSAGES, PLAIN_WORDS, best_passages, find_passages
from salience.ranking.stages.stage import Stage
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import FoundPassage, ReadTexts, Rerank
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical

DEFAULT_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class ModelScores(Stage):
    """Writes rerank.score: the score that the named reranker gives the text for the query.

    A text has the title, the speaker and the content, as far as they exist. Of a long one the
    model reads the best `passages`, each under its headings; rerank.score is their largest score,
    and rerank.passage the number of that passage, from 1. With 0 `passages` it reads every text
    whole. The route `words` and the vectors choose the passages.

    If the reranker fails, or takes longer than `timeout` seconds, no row has a score, and the
    search says so.
    """

    model: str
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    passages: int = 1
    words: Lexical = PLAIN_WORDS

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidInput("model", "is empty", "name a reranker")
        if not 0.0 < self.timeout < 86_400.0:
            raise InvalidInput("timeout", f"is {shown(self.timeout)}", "give seconds above 0")
        is_whole = isinstance(self.passages, int) and not isinstance(self.passages, bool)
        if not is_whole or not 0 <= self.passages <= MAX_PASSAGES:
            raise InvalidInput(
                "passages", f"is {shown(self.passages)}", f"give a number from 0 to {MAX_PASSAGES}"
            )

    def label(self) -> str:
        return "rerank"

    def reads(self) -> frozenset[str]:
        return frozenset({"speaker", "title"})

    def writes(self) -> frozenset[str]:
        return frozenset({"rerank.score", "rerank.passage"})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        count = len(candidates)
        best, numbers, problem = np.full(count, np.nan), np.full(count, np.nan), None
        if count:
            parts = yield from self._parts(query, candidates)
            texts = tuple(text for passages in parts for _, text in passages)
            try:
                scores = yield from ask(Rerank(self.model, query.text, texts, self.timeout))
            except RerankerError as failure:
                problem = str(failure)
            else:
                scored = iter(scores)
                for place, passages in enumerate(parts):
                    # Of equal scores that of the better passage, which stands before the other.
                    score, number = max(
                        ((next(scored), number) for number, _ in passages), key=lambda part: part[0]
                    )
                    best[place], numbers[place] = score, number or np.nan
        table = candidates.with_columns(**{"rerank.score": best, "rerank.passage": numbers})
        return replace(table, problem=problem)

    def _parts(self, query: Query, candidates: Candidates) -> Plan[list[list[tuple[int, str]]]]:
        """The (number, text) of each part to read, for each candidate; 0 is the whole text."""
        rows = candidates.rows
        contents: list[str | None] = yield from ask(ReadTexts(rows))
        passage_lists: Sequence[Sequence[FoundPassage]] = [()] * len(rows)
        if self.passages:
            passage_lists = yield from find_passages(self.words, query, rows, contents)
        columns = zip(
            contents,
            passage_lists,
            candidates["title"].tolist(),
            candidates["speaker"].tolist(),
            strict=True,
        )
        return [self._read(*column) for column in columns]

    def _read(
        self,
        content: str | None,
        found: Sequence[FoundPassage],
        title: str | None,
        speaker: str | None,
    ) -> list[tuple[int, str]]:
        """The (number, text) of the parts of one memory; "" if it was erased meanwhile."""
        if content is None:
            return [(0, "")]

        def text(words: str, heading: str = "") -> str:
            spoken = words if speaker is None else f"{speaker}: {words}"
            return "\n".join(part for part in (title, heading, spoken) if part)

        best = best_passages(content, found)[: self.passages]
        return [
            (place + 1, text(content[found[place].start : found[place].end], found[place].heading))
            for place, _ in best
        ] or [(0, text(content))]

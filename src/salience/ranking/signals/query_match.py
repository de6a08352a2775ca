"""Matches of a memory with the speakers, entities and dates that the query names."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from salience.language.speakers import name_candidates
from salience.language.tokens import stem, strings_in
from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.expressions import Signal
from salience.ranking.signals.recency import DAY
from salience.retrieval.candidates import CategoricalColumn, Floats

_MONTHS = 12
_DAYS_APART = 4  # from so many days on, a day is not around another


@dataclass(frozen=True)
class SaidBy(Signal):
    """1 where the speaker is one of those the query names, or of a role, else 0.

    `who` is "named", "user", "assistant", or "nobody" for no speaker at all.
    """

    who: Literal["named", "user", "assistant", "nobody"]

    def columns(self) -> frozenset[str]:
        return frozenset({"speaker"})

    def compute(self, ev: Evaluation) -> Values:
        reading = ev.query.reading
        wanted: Set[str | None] = {
            "named": reading.speakers,
            "user": reading.users,
            "assistant": reading.assistants,
            "nobody": {None},
        }[self.who]
        if not wanted:
            return 0.0
        places, speakers = ev.distinct("speaker")
        return np.array([speaker in wanted for speaker in speakers], dtype=np.float64)[places]


@dataclass(frozen=True)
class MentionsName(Signal):
    """1 where the memory's words hold a name that the query names, else 0.

    Names are the speakers that it names, and any other words of it that begin with a capital.
    """

    matched: str = "lexical.matched"

    def columns(self) -> frozenset[str]:
        return frozenset({self.matched, "mentions_named"})

    def compute(self, ev: Evaluation) -> Values:
        mentions = ev.candidates.floats("mentions_named")
        candidates = name_candidates(ev.query.text)
        names = {stem(word) for word in candidates.words if word in candidates.proper}
        terms = [at for at, term in enumerate(ev.query.reading.terms) if not names.isdisjoint(term)]
        if terms:
            matched = ev.candidates[self.matched][:, terms] > 0.0
            mentions = np.maximum(mentions, matched.any(axis=1).astype(np.float64))
        return mentions if mentions.any() else 0.0


@dataclass(frozen=True)
class LabelCover(Signal):
    """sum of idf(t) over the query's terms in the labels alone, divided by that of all found.

    In [0, 1]. The labels of a memory are its entities and tags. A term that its words have does not
    count again, so entities that were found in its own text give nothing.
    """

    matched: str = "lexical.matched"
    labels: str = "labels.matched"

    def columns(self) -> frozenset[str]:
        return frozenset({self.matched, self.labels})

    def compute(self, ev: Evaluation) -> Values:
        words, labels = ev.candidates[self.matched], ev.candidates[self.labels]
        if not labels.any():
            return 0.0
        alone = np.where(words > 0.0, 0.0, labels)
        if not alone.any():
            return 0.0
        total = np.maximum.reduce(np.maximum(words, labels), axis=0).sum()
        return np.minimum(np.add.reduce(alone, axis=1) / total, 1.0)


@dataclass(frozen=True)
class EntityOverlap(Signal):
    """|Q n M| / |Q|, the share of the query's entities that the memory has; 0 if it has none.

    In [0, 1]. M are the memory's entities and its speaker. Entities are compared folded, and other
    names of one entity are equal (see `Aliases`).

    Source: the design of the "six_factor" profile, entity co-occurrence.
    """

    of: tuple[str, ...] = ("entities", "speaker")

    def columns(self) -> frozenset[str]:
        return frozenset(self.of)

    def compute(self, ev: Evaluation) -> Values:
        entities = ev.query.entities
        if not entities:
            return 0.0
        shared = np.zeros(len(ev.candidates))
        for key in entities:
            shared += np.logical_or.reduce([self._has_entity(ev, name, key) for name in self.of])
        return shared / len(entities)

    @staticmethod
    def _has_entity(ev: Evaluation, name: str, key: str) -> NDArray[np.bool_]:
        """True for the memories that have an entity in a column, shape (candidates,)."""
        column, aliases = ev.candidates.columns[name], ev.query.aliases
        if isinstance(column, CategoricalColumn) and column.naming is not None:
            matches = np.zeros(len(column.distinct) + 1, dtype=bool)  # the last is for None, -1
            matches[column.naming(aliases.spellings({key}))] = True
            return matches[column.codes]
        places, values = ev.distinct(name)
        return np.array([key in aliases.keys(strings_in(value)) for value in values])[places]

    def note(self, ev: Evaluation, row: int) -> str:
        entities, values = ev.query.entities, (ev.candidates.columns[n][row] for n in self.of)
        if not entities:
            return "the question names no entity"
        names = (name for value in values for name in strings_in(value))
        shared = entities & ev.query.aliases.keys(names)
        return f"{', '.join(sorted(shared)) or 'none'} of {', '.join(sorted(entities))}"


@dataclass(frozen=True)
class OnDate(Signal):
    """1 where the memory is of a year, month or day that the query names, else 0 (in UTC).

    `part` is "year", "month" or "day" (of the years named, or any). Around a day it is
    1 - 0.2 |days apart| up to 3 days, as events are often told a little later.
    """

    part: Literal["year", "month", "day"]

    def columns(self) -> frozenset[str]:
        return frozenset({"created_at"})

    def compute(self, ev: Evaluation) -> Values:
        dates = ev.query.reading.dates
        if not {"year": dates.years, "month": dates.months, "day": dates.days}[self.part]:
            return 0.0
        seconds = np.nan_to_num(ev.candidates.floats("created_at"), nan=-1e12)
        day = np.floor(seconds / DAY).astype("datetime64[D]")
        year = day.astype("datetime64[Y]").astype(np.int64) + 1970
        if self.part == "year":
            return np.isin(year, list(dates.years)).astype(np.float64)
        if self.part == "month":
            month = day.astype("datetime64[M]").astype(np.int64) % _MONTHS + 1
            return np.isin(month, list(dates.months)).astype(np.float64)
        # around New Year, the nearest such day may be of another year than the memory
        years = dates.years or {y + by for y in set(year.tolist()) for by in (-1, 0, 1)}
        return self._near(day, dates.days, years)

    @staticmethod
    def _near(day: Any, days: Set[tuple[int, int]], years: Set[int]) -> Floats:
        apart = np.full(len(day), _DAYS_APART)
        for month, day_of_month in days:
            for year in years:
                try:
                    named = np.datetime64(f"{year:04d}-{month:02d}-{day_of_month:02d}")
                except ValueError:  # the 31st of a short month
                    continue
                np.minimum(apart, np.abs((day - named).astype(np.int64)), out=apart)
        return np.where(apart < _DAYS_APART, 1.0 - 0.2 * apart, 0.0)

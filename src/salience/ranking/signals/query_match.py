"""Matches of a memory with the speakers, entities and dates that the query names."""

from __future__ import annotations

from collections.abc import Sequence, Set
from operator import itemgetter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import exp, row_sums
from salience.language.speakers import name_candidates
from salience.language.tokens import stem, strings_in
from salience.lazily import dataclass
from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Signal
from salience.ranking.signals.vitality import DAY
from salience.retrieval.candidates import CategoricalColumn

_BEFORE = 0.3  # what a memory right before the time is worth
_AFTER = 0.7  # right after it, when much is told
_REACH = 5 * DAY  # within which it fades, at least
_WEEK = 7 * DAY
_Time = tuple[float, float, float]  # from, until, how likely it is meant
_WEEKS = (0.8, 0.5)  # what a weekday is worth that is named in the week before, and in that before


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
        names: Set[str | None] = {
            "named": reading.speakers,
            "user": reading.users,
            "assistant": reading.assistants,
            "nobody": {None},
        }[self.who]
        if not names:
            return 0.0
        places, speakers = ev.distinct("speaker")
        return np.array([speaker in names for speaker in speakers], dtype=np.float64)[places]


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
        for at in terms:
            mentions = np.maximum(mentions, ev.candidates[self.matched][:, at] > 0.0)
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
        total = row_sums(np.maximum.reduce(np.maximum(words, labels), axis=0))
        return np.minimum(row_sums(alone) / total, 1.0)


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
class HoldsTopic(Signal):
    """sum of idf(t) over the terms held, besides those of the time asked about, over the largest.

    1 everywhere if no candidate holds any: "what happened yesterday?" has no topic.
    """

    matched: str = "lexical.matched"

    def columns(self) -> frozenset[str]:
        return frozenset({self.matched})

    def compute(self, ev: Evaluation) -> Values:
        topic = ev.query.reading.topic_terms
        coverage = np.zeros(len(ev.candidates))
        for column in ev.candidates[self.matched][:, topic].T:  # in the order of the terms
            coverage += column
        largest = coverage.max(initial=0.0)
        return coverage / largest if largest > 0.0 else 1.0


@dataclass(frozen=True)
class RepeatsQuery(Signal):
    """max(0, x) for a question that has each word of the query and no further content word, else 0.

    Half of it with one further content word.
    """

    of: Signal
    matched: str = "lexical.matched"

    def columns(self) -> frozenset[str]:
        return frozenset({self.matched, "is_question", "content_words"})

    def compute(self, ev: Evaluation, values: Values) -> Values:
        further = ev.candidates.floats("content_words") - ev.query.reading.content_words
        short = np.minimum(np.maximum(1.0 - 0.5 * further, 0.0), 1.0)
        repeats = short * ev.candidates.floats("is_question")
        at = repeats.nonzero()[0]
        if not len(at):
            return 0.0
        repeats[at] *= (ev.candidates[self.matched][at] > 0.0).all(axis=1)
        return repeats * np.maximum(0.0, values)

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return Explanation(self.label(), ev.at(self, row))


@dataclass(frozen=True)
class OnDate(Signal):
    """1 where the memory is of a time that the query asks about, else less the farther it is.

    Before that time it is 0.3 exp(-gap / reach); after it, when much is told, 0.7 exp(-gap /
    reach); the reach is 5 days, or as long as the time. Of several readings of its words the best
    counts, each times how likely it is meant.
    """

    def columns(self) -> frozenset[str]:
        return frozenset({"created_at"})

    def compute(self, ev: Evaluation) -> Values:
        times = ev.query.reading.asked_times
        if not times:
            return 0.0
        created = ev.candidates.floats("created_at")
        seconds = np.nan_to_num(created, nan=-np.inf)
        first, last = (
            np.fmin.reduce(created, initial=np.inf),
            np.fmax.reduce(created, initial=-np.inf),
        )
        nearest = _nearest(times, first, last)
        start, end, weight = np.array(nearest, dtype=np.float64).T[:, :, np.newaxis]
        reach = np.maximum(_REACH, end - start)
        is_before = seconds < start
        gap = np.maximum(start - seconds, seconds - end)
        near = np.where(is_before, _BEFORE, _AFTER) * exp(-gap / reach)
        near[~is_before & (seconds < end)] = 1.0
        return np.maximum.reduce(weight * near, axis=0)


def _nearest(times: Sequence[_Time], first: float, last: float) -> list[_Time]:
    """The times that may be worth most to a memory created from `first` to `last`.

    Of those before all memories, or after all of them, one that is farther off than another is
    worth less, unless it is likelier meant or longer.
    """
    kept = [time for time in times if time[1] > first and time[0] <= last]
    before = [time for time in times if time[1] <= first]
    after = [time for time in times if time[0] > last]
    for apart in (sorted(before, key=itemgetter(1), reverse=True), sorted(after)):
        weight = reach = 0.0
        for time in apart:
            length = max(_REACH, time[1] - time[0])
            if time[2] > weight or length > reach:
                kept.append(time)
            if time[2] >= weight and length >= reach:
                weight, reach = time[2], length
    return kept


@dataclass(frozen=True)
class TellsOfDay(Signal):
    """0.8 for a memory that names the weekday asked about, written in the week before it, else 0.

    0.5 if it was written a week earlier. 0.8 as well for one that says "tomorrow", written on the
    day before. The time asked about is at most a week; of its readings the likeliest counts.
    """

    def columns(self) -> frozenset[str]:
        return frozenset({"created_at", "mentions_weekday", "mentions_tomorrow"})

    def compute(self, ev: Evaluation) -> Values:
        weekday = ev.candidates.floats("mentions_weekday")
        tomorrow = ev.candidates.floats("mentions_tomorrow")
        if not (weekday.any() or tomorrow.any()):
            return 0.0
        start, end, _ = ev.query.reading.asked_times[0]
        seconds = np.nan_to_num(ev.candidates.floats("created_at"), nan=-np.inf)
        weeks = np.floor((seconds - end) / _WEEK)  # -1 in the week before its end
        near = np.select([weeks == -1, weeks == -2], _WEEKS, 0.0)
        eve = (seconds >= start - DAY) & (seconds < end - DAY)
        return np.maximum(weekday * near, _WEEKS[0] * tomorrow * eve)

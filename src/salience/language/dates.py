"""The dates that a question names, as texts name them and as the past time they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from math import inf
from typing import NamedTuple

from salience.language.analysis_types import NamedDates, Wording
from salience.language.english import (
    AFTER_TO,
    AMBIGUOUS_MONTHS,
    ASKS_FORMER,
    BEFORE_TO,
    BETWEEN,
    DAY_AFTER,
    DAY_BEFORE,
    DAY_MONTH_YEAR,
    DETERMINER_BEFORE,
    ISO_DATE,
    LISTED,
    LONE_YEAR,
    MANY_AFTER,
    MONTH,
    MONTHS,
    NAMESAKE_MONTHS,
    NUMBERED_BEFORE,
    PREPOSITION_BEFORE,
    STOP,
    TIME_BEFORE,
    TO,
    USED_TO,
    WORD_AFTER,
    YEAR_AFTER,
    YEAR_BEFORE,
    YEAR_BEGINS,
    YEAR_OF,
)
from salience.language.tokens import fold, stem

Stretch = tuple[datetime, datetime]
_LEAP = 8  # years from a 29 February to the next one, at most
_LAST_YEAR = 9998  # the next one can be told, too
_MONTH_FORMS = {
    month: tuple(stem(name) for name in MONTHS if MONTHS[name] == month) for month in range(1, 13)
}
_MOSTLY_WORDS = frozenset(MONTHS[name] for name in AMBIGUOUS_MONTHS - NAMESAKE_MONTHS)
_ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


class _Named(NamedTuple):
    """A month of a question, or a day of it; its year if that stands with it; and where it is."""

    year: int | None
    month: int
    day: int | None
    start: int
    end: int


class _Read(NamedTuple):
    """The dates of a question, each with the one to which it reaches (itself for none).

    `years` stand by themselves.
    """

    named: tuple[tuple[_Named, _Named], ...]
    years: frozenset[int]


def named_dates(low: str) -> NamedDates:
    """The years, months and days that a folded question names."""
    read = _read(low)
    named = [each for pair in read.named for each in pair]
    return NamedDates(
        read.years | {each.year for each in named if each.year is not None},
        frozenset(each.month for each in named),
        frozenset((each.month, each.day) for each in named if each.day is not None),
    )


def date_wordings(dates: NamedDates, this_year: int) -> dict[str, tuple[Wording, ...]]:
    """How a text names a year, month or day that a question names, by "year", "month" and "day".

    A year by its number, a day by its month and number or by figures such as 2026-06-12 and
    12.06.2026, a month by its name and by those days. May and March are mostly other words: they
    are months beside a day or year that the question names. Figures are of the years that it names,
    else of this year or one next to it.
    """
    years = tuple(map(str, sorted(dates.years)))
    near = years or tuple(str(this_year + by) for by in (-1, 0, 1))
    days: list[Wording] = []
    for month, day in sorted(dates.days):
        number = (str(day), f"{day:02}", f"{day}{_ORDINALS.get(day, 'th')}")
        days.append((_MONTH_FORMS[month], number))
        days.append((near, (f"{month:02}",), (f"{day:02}",)))
    clear = sorted(dates.months - _MOSTLY_WORDS)
    names = tuple(form for month in clear for form in _MONTH_FORMS[month])
    months: list[Wording] = [(names,)] if names else []
    if years:
        months += [(_MONTH_FORMS[month], years) for month in sorted(dates.months & _MOSTLY_WORDS)]
    found: dict[str, tuple[Wording, ...]] = {
        "year": ((years,),) if years else (),
        "month": (*months, *days),
        "day": tuple(days),
    }
    return {part: wordings for part, wordings in found.items() if wordings}


def named_time(text: str, now: datetime) -> tuple[float, float] | None:
    """The past time that a question is about by its words, in seconds, its end not in it.

    A day, month or year as a whole, of several from the first to the last. A month or day without a
    year is of the years that the question names, else the last one that has begun; of two with
    "to" between them, the second is the first one after that. All the past ("originally", "used
    to") where no date is named. None without either, or for a date that is still to come.
    """
    low = fold(text.replace("\u2019", "'"))
    read = _read(low)
    if not read.named and not read.years:
        return (-inf, now.timestamp()) if _asks_former(low) else None
    begun = [each for each in _stretches(read, now) if each[0] <= now]
    if not begun:
        return None
    return min(begun)[0].timestamp(), max(end for _, end in begun).timestamp()


def _asks_former(low: str) -> bool:
    if ASKS_FORMER.search(low):
        return True
    return "used to" in low and any(each["other"] is None for each in USED_TO.finditer(low))


@lru_cache(maxsize=8)  # asked for twice in a search
def _read(low: str) -> _Read:
    named = sorted([*_in_words(low), *_in_figures(low)], key=lambda each: each.start)
    pairs: list[tuple[_Named, _Named]] = []
    for each in named:
        if pairs and pairs[-1][0] is pairs[-1][1] and _reaches(low, pairs[-1][0], each):
            pairs[-1] = (pairs[-1][0], each)
        else:
            pairs.append((each, each))
    starts, ends = [each.start for each in named], [each.end for each in named]
    gaps = zip([0, *ends], [*starts, len(low)], strict=True)
    lone = (year for start, end in gaps for year in LONE_YEAR.finditer(low, start, end))
    years = {int(year.group()) for year in lone if _is_year(low, *year.span())}
    return _Read(tuple(pairs), frozenset(years))


def _in_words(low: str) -> Iterator[_Named]:
    """The dates whose month is a word: "May", "5 May", "May 5th, 2024", "2024 May"."""
    read = 0
    for found in MONTH.finditer(low):
        name, (start, end) = found.group(), found.span()
        day = DAY_BEFORE.search(low, max(0, start - 9), start) or DAY_AFTER.match(low, end)
        if day:
            start, end = min(start, day.start()), max(end, day.end())
        if name in AMBIGUOUS_MONTHS and (not day or _counts(low, name, day, end)):
            listed = read and name in NAMESAKE_MONTHS and LISTED.fullmatch(low, read, start)
            if not listed and not _is_month(low, name, start, end):
                continue
        year = YEAR_OF.match(low, end) or YEAR_BEFORE.search(low, max(read, start - 7), start)
        if year:
            start, end = min(start, year.start()), max(end, year.end())
        yield _Named(
            int(year.group(1)) if year else None,
            MONTHS[name],
            int(day.group(1)) or None if day else None,
            start,
            end,
        )
        read = end


def _counts(low: str, name: str, day: re.Match[str], end: int) -> bool:
    """Whether what may be a day counts something: "may 5 people come?"."""
    if name in NAMESAKE_MONTHS or not day.group().strip(" .,").isdigit():
        return False
    word = WORD_AFTER.match(low, end)
    return word is not None and word.group(1) not in STOP


def _is_month(low: str, name: str, start: int, end: int) -> bool:
    """Whether "may", "march" or "april" is a month by what stands around it (and its day)."""
    before = low[max(0, start - 40) : start]
    namesake, alone = name in NAMESAKE_MONTHS, low[start:end] == name
    if TIME_BEFORE.search(before):
        return True
    if (namesake or not alone) and DETERMINER_BEFORE.search(before):
        return True
    if namesake and low.startswith("'s", end):
        return False
    return any(
        (
            namesake and start == 0,
            YEAR_AFTER.match(low, end),
            PREPOSITION_BEFORE.search(before),
            BEFORE_TO.match(low, end),
            AFTER_TO.search(before),
        )
    )


def _is_year(low: str, start: int, end: int) -> bool:
    """Whether a number is a year by what stands around it."""
    before = low[max(0, start - 20) : start]
    many = MANY_AFTER.match(low, end)
    counts = many is not None and many.group(1) not in STOP and not YEAR_BEGINS.search(before)
    return not counts and not NUMBERED_BEFORE.search(before)


def _in_figures(low: str) -> Iterator[_Named]:
    """Dates such as 2024-05-31, 31.5.2024 and 5/31/24."""
    for found in DAY_MONTH_YEAR.finditer(low):
        day, month, year = map(int, found.group(1, 3, 4))
        if month > 12:
            day, month = month, day
        if 1 <= month <= 12 and day <= 31:
            yield _Named(year if year > 99 else year + 2000, month, day or None, *found.span())
    for found in ISO_DATE.finditer(low):
        year, month, day = map(int, found.groups())
        if 1 <= month <= 12:
            yield _Named(year, month, day or None, *found.span())


def _reaches(low: str, first: _Named, last: _Named) -> bool:
    """Whether "to", or "between" and "and", make one time of two dates."""
    to = TO.fullmatch(low, first.end, last.start)
    if to is None:
        return False
    return to.group(1) is None or bool(BETWEEN.search(low, max(0, first.start - 12), first.start))


def _stretches(read: _Read, now: datetime) -> Iterator[Stretch]:
    own = {each.year for pair in read.named for each in pair if each.year is not None}
    years, alone = sorted(read.years or own), read.years
    for first, last in read.named:
        if first.year is not None:
            starts = [_in(first.year, first)]
        elif last.year is not None:
            starts = _nearest(first, _in(last.year, last)[0], -1)
        else:
            starts = [_in(year, first) for year in years] or _nearest(first, now, -1)
            alone = frozenset()  # they were of this one
        for start in starts:
            yield from [start] if last is first else _until(start, last)
    for year in alone:
        yield _month(year, 1)[0], _month(year, 12)[1]


def _until(start: Stretch, last: _Named) -> Iterator[Stretch]:
    """The time from one date to another, which has a year or is the next one."""
    ends = _nearest(last, start[0], 1) if last.year is None else [_in(last.year, last)]
    for end in ends:
        yield min(start, end)[0], max(start, end)[1]


def _nearest(named: _Named, at: datetime, step: int) -> list[Stretch]:
    """The last one that had begun by a moment (step -1), or the first one from then on (1).

    None in the years that cannot be told. The month stands for a day that it never has.
    """
    for year in range(at.year, at.year + step * (_LEAP + 1), step):
        found = _exactly(year, named)
        if found and (found[0] - at) * step >= timedelta(0):
            return [found]
    return [] if named.day is None else _nearest(named._replace(day=None), at, step)


def _in(year: int, named: _Named) -> Stretch:
    """A day or month in a year; the month for a day that it has not."""
    return _exactly(year, named) or _month(year, named.month)


def _exactly(year: int, named: _Named) -> Stretch | None:
    if not 1 <= year <= _LAST_YEAR:
        return None
    first, after = _month(year, named.month)
    if named.day is None:
        return first, after
    start = first + timedelta(days=named.day - 1)
    return (start, start + timedelta(days=1)) if start < after else None


def _month(year: int, month: int) -> Stretch:
    after = (year + month // 12, month % 12 + 1)
    return datetime(year, month, 1, tzinfo=timezone.utc), datetime(*after, 1, tzinfo=timezone.utc)

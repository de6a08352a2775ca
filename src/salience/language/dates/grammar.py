"""The grammar of dates in a question: the places where a text names a date or a time.

`mentioned_dates` finds calendar dates, in words ("5 May 2024", "from March to June") and in figures
("2024-05-31"), with their year, month and day. It uses the patterns of `cues`; `asked` finds the
times that they stand for, and relative ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from salience.language.analysis_types import NamedDates
from salience.language.cues import CueTable
from salience.language.english import (
    AMBIGUOUS_MONTHS,
    DIGIT,
    MONTHS,
    NAMESAKE_MONTHS,
    STOP_WORDS,
    TEMPORAL_WORDS,
    WEEKDAYS,
)
from salience.language.tokens import words

_BETWEEN_CHARS = len("between on the ")
_DAY_BEFORE_CHARS = len("12th of ") + 1  # and the character before it, which is no digit
_YEAR_BEFORE_CHARS = len("2024, ") + 1
_MONTH_CONTEXT_CHARS = 40
_YEAR_CONTEXT_CHARS = 20


class DateMention(NamedTuple):
    """A month that a text names, or a day of it; its year if it has one; and where it stands."""

    year: int | None
    month: int
    day: int | None
    start: int
    end: int


class DateMentions(NamedTuple):
    """The calendar dates of a text.

    `ranges` are the first and the last date of each range in order, twice the same for one date
    that stands alone; `years` are those that belong to no month.
    """

    ranges: tuple[tuple[DateMention, DateMention], ...]
    years: frozenset[int]


@lru_cache(maxsize=8)  # a search reads its question several times
def may_name_time(folded: str) -> bool:
    """Test whether a folded text has a figure or a sign of a time, as each that names one does."""
    is_plain = folded.isascii() and _SIGNS.isdisjoint(words(folded))
    return not is_plain or DIGIT.search(folded) is not None


@lru_cache(maxsize=8)
def mentioned_dates(folded: str) -> DateMentions:
    """The calendar dates of a folded text."""
    if not may_name_time(folded):
        return DateMentions((), frozenset())
    in_figures = _in_figures(folded) if DIGIT.search(folded) else ()
    mentions = sorted([*_in_words(folded), *in_figures], key=lambda mention: mention.start)
    ranges: list[tuple[DateMention, DateMention]] = []
    for mention in mentions:
        if ranges and ranges[-1][0] is ranges[-1][1] and _is_range(folded, ranges[-1][0], mention):
            ranges[-1] = (ranges[-1][0], mention)
        else:
            ranges.append((mention, mention))
    starts, ends = [mention.start for mention in mentions], [mention.end for mention in mentions]
    gaps = zip([0, *ends], [*starts, len(folded)], strict=True)
    numbers = (number for start, end in gaps for number in LONE_YEAR.finditer(folded, start, end))
    years = {int(number.group()) for number in numbers if _is_year(folded, *number.span())}
    return DateMentions(tuple(ranges), frozenset(years))


def named_dates(folded: str) -> NamedDates:
    """The years, months and days that a folded question names."""
    dates = mentioned_dates(folded)
    mentions = [mention for ends in dates.ranges for mention in ends]
    return NamedDates(
        dates.years | {mention.year for mention in mentions if mention.year is not None},
        frozenset(mention.month for mention in mentions),
        frozenset((mention.month, mention.day) for mention in mentions if mention.day is not None),
    )


def _in_words(folded: str) -> Iterator[DateMention]:
    """The dates whose month is a word: "May", "5 May", "May 5th, 2024", "2024 May"."""
    previous_end = 0
    for match in MONTH_NAME.finditer(folded):
        name, (start, end) = match.group(), match.span()
        day = DAY_BEFORE.search(folded, max(0, start - _DAY_BEFORE_CHARS), start)
        day = day or DAY_AFTER.match(folded, end)
        if day:
            start, end = min(start, day.start()), max(end, day.end())
        if name in AMBIGUOUS_MONTHS and (not day or _is_quantity(folded, name, day, end)):
            listed = previous_end and LISTED.fullmatch(folded, previous_end, start)
            if not ((listed and name in NAMESAKE_MONTHS) or _is_month(folded, name, start, end)):
                continue
        year_from = max(previous_end, start - _YEAR_BEFORE_CHARS)
        year = YEAR_AFTER.match(folded, end) or YEAR_BEFORE.search(folded, year_from, start)
        if year:
            start, end = min(start, year.start()), max(end, year.end())
        yield DateMention(
            int(year.group(1)) if year else None,
            MONTHS[name],
            int(day.group(1)) or None if day else None,
            start,
            end,
        )
        previous_end = end


def _in_figures(folded: str) -> Iterator[DateMention]:
    """Dates such as 2024-05-31, 31.5.2024, 5/31/24, 2024-05, 5/2024 and "on 5/31"."""
    for match in DAY_MONTH_YEAR.finditer(folded):
        first, second, year = map(int, match.group(1, 3, 4))
        year = year if year > 99 else year + 2000
        readings = [(first, second)]  # between slashes, either may be the month
        if match[2] == "/" or second > 12:
            readings.append((second, first))
        yield from _in_either_order(year, readings, *match.span())
    for match in DAY_AND_MONTH.finditer(folded):
        first, second = map(int, match.groups())
        span = match.start(1), match.end()
        yield from _in_either_order(None, [(first, second), (second, first)], *span)
    for pattern, year_group in ((ISO_MONTH, 1), (MONTH_YEAR, 2)):
        for match in pattern.finditer(folded):
            year, month = int(match[year_group]), int(match[3 - year_group])
            yield DateMention(year, month, None, *match.span())
    for match in ISO_DATE.finditer(folded):
        year, month, day = map(int, match.group(1, 3, 4))
        if 1 <= month <= 12:
            yield DateMention(year, month, day or None, *match.span())


def _in_either_order(
    year: int | None, readings: list[tuple[int, int]], start: int, end: int
) -> Iterator[DateMention]:
    """The readings, as day and month, that may be dates."""
    for day, month in dict.fromkeys(readings):
        if 1 <= month <= 12 and day <= 31:
            yield DateMention(year, month, day or None, start, end)


def _is_quantity(folded: str, name: str, day: re.Match[str], end: int) -> bool:
    """Test whether the number beside "may" or "march" counts something: "may 5 people come?"."""
    if name in NAMESAKE_MONTHS or not day.group().strip(" .,").isdigit():
        return False
    word = WORD_AFTER.match(folded, end)
    return word is not None and word.group(1) not in STOP_WORDS


def _is_month(folded: str, name: str, start: int, end: int) -> bool:
    """Test whether "may", "march" or "april" is a month by the words around it (and its day)."""
    before = folded[max(0, start - _MONTH_CONTEXT_CHARS) : start]
    namesake, alone = name in NAMESAKE_MONTHS, folded[start:end] == name
    if AFTER_TIME_WORD.search(before):
        return True
    if (namesake or not alone) and AFTER_DETERMINER.search(before):
        return True
    if namesake and folded.startswith("'s", end):
        return False
    return any(
        (
            namesake and start == 0,
            FIGURE_AFTER.match(folded, end),
            AFTER_PREPOSITION.search(before),
            BEFORE_RANGE_END.match(folded, end),
            AFTER_RANGE_START.search(before),
        )
    )


def _is_year(folded: str, start: int, end: int) -> bool:
    """Test whether a number is a year by the words around it."""
    before = folded[max(0, start - _YEAR_CONTEXT_CHARS) : start]
    things = COUNTABLE_AFTER.match(folded, end)
    counts = things is not None and things.group(1) not in STOP_WORDS
    if counts and not AFTER_YEAR_WORD.search(before):
        return False
    return not AFTER_NUMBERED.search(before)


def _is_range(folded: str, first: DateMention, last: DateMention) -> bool:
    """Test whether "to", or "between" and "and", make one time of two dates."""
    joint = DATE_RANGE.fullmatch(folded, first.end, last.start)
    return joint is not None and (joint["and"] is None or is_after_between(folded, first.start))


def is_after_between(folded: str, start: int) -> bool:
    """Test whether "between" stands right before a place, so that "and" makes a range."""
    return BETWEEN.search(folded, max(0, start - _BETWEEN_CHARS), start) is not None


# Cues of dates and times in a question, the patterns of `grammar`: `tables/dates.txt`

_TABLE = CueTable("dates")

_SIGNS = TEMPORAL_WORDS | MONTHS.keys() | WEEKDAYS | {*_TABLE["_signs"].words}
MONTH_NAME = _TABLE.pattern("month_name")
DAY_BEFORE = _TABLE.pattern("day_before")
DAY_AFTER = _TABLE.pattern("day_after")
YEAR_BEFORE = _TABLE.pattern("year_before")
YEAR_AFTER = _TABLE.pattern("year_after")
FIGURE_AFTER = _TABLE.pattern("figure_after")
WORD_AFTER = _TABLE.pattern("word_after")
COUNTABLE_AFTER = _TABLE.pattern("countable_after")
AFTER_TIME_WORD = _TABLE.pattern("after_time_word")
AFTER_PREPOSITION = _TABLE.pattern("after_preposition")
AFTER_DETERMINER = _TABLE.pattern("after_determiner")
AFTER_NUMBERED = _TABLE.pattern("after_numbered")
AFTER_YEAR_WORD = _TABLE.pattern("after_year_word")
LISTED = _TABLE.pattern("listed")
BETWEEN = _TABLE.pattern("between")
DATE_RANGE = _TABLE.pattern("date_range")
BEFORE_RANGE_END = _TABLE.pattern("before_range_end")
AFTER_RANGE_START = _TABLE.pattern("after_range_start")
LONE_YEAR = _TABLE.pattern("lone_year")
ISO_DATE = _TABLE.pattern("iso_date")
ISO_MONTH = _TABLE.pattern("iso_month")
MONTH_YEAR = _TABLE.pattern("month_year")
DAY_AND_MONTH = _TABLE.pattern("day_and_month")
DAY_MONTH_YEAR = _TABLE.pattern("day_month_year")
HALF_YEAR = _TABLE.pattern("half_year")
YEAR_AND_HALF = _TABLE.pattern("year_and_half")
DAYS_OF_MONTH = _TABLE.pattern("days_of_month")
MONTH_OF_DAYS = _TABLE.pattern("month_of_days")
PART_BEFORE = _TABLE.pattern("part_before")
PART_OF_DAY = _TABLE.pattern("part_of_day")
BOUND_BEFORE = _TABLE.pattern("bound_before")
BOUND_AFTER = _TABLE.pattern("bound_after")
RELATIVE_TIME = _TABLE.pattern("relative_time")
AHEAD = _TABLE.pattern("ahead")
BEHIND = _TABLE.pattern("behind")

"""The dates of a question in two readings: as texts word them, and as stretches of time.

As wording: `named_dates`, `date_wordings`. As time: `past_interval`, the past time that a question
is about by its calendar dates, and `search_interval`, the time that it restricts the search to,
also by relative words such as "last Tuesday". All is in UTC; what has no year or day of its own
lies in the past. `grammar` says how a date is recognised.
"""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import cache
from importlib import import_module
from math import inf
from typing import Any

from salience.errors import SalienceError
from salience.language.analysis_types import NamedDates, QueryAnalysis, TimeRange, Wording
from salience.language.dates.grammar import (
    DateMention,
    DateMentions,
    TimePhrase,
    mentioned_dates,
    range_end,
    time_phrases,
)
from salience.language.english import AMBIGUOUS_MONTHS, MONTHS, NAMESAKE_MONTHS
from salience.language.languages import language_of
from salience.language.query_cues import ASKS_FORMER, USED_TO
from salience.language.tokens import fold, stem, without_bigrams, words

Interval = tuple[datetime, datetime]
"""A stretch of time, its end not in it."""

_ALWAYS = datetime(1, 1, 1, tzinfo=timezone.utc)
_FOREVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
_LAST_YEAR = 9998  # the next one exists as a datetime, too
_MAX_LEAP_YEAR_GAP = 8  # years from a 29 February to the next one
_MOMENT = timedelta(seconds=1)  # added to now, so that what is written now lies in the interval
_MONTH_STEMS = {
    month: tuple(stem(name) for name in MONTHS if MONTHS[name] == month) for month in range(1, 13)
}
_MOSTLY_WORDS = frozenset(MONTHS[name] for name in AMBIGUOUS_MONTHS - NAMESAKE_MONTHS)
_ORDINAL_SUFFIXES = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


class DatesMissing(SalienceError):
    """A question names a time, and the package that understands it is not installed."""


# As wording


def named_dates(folded: str) -> NamedDates:
    """The years, months and days that a folded question names."""
    dates = mentioned_dates(folded)
    mentions = [mention for ends in dates.ranges for mention in ends]
    return NamedDates(
        dates.years | {mention.year for mention in mentions if mention.year is not None},
        frozenset(mention.month for mention in mentions),
        frozenset((mention.month, mention.day) for mention in mentions if mention.day is not None),
    )


def date_wordings(dates: NamedDates, this_year: int) -> dict[str, tuple[Wording, ...]]:
    """The wordings by which a text names the dates of a question, by "year", "month" and "day".

    A year is named by its number, a day by its month and number or by figures such as 2026-06-12
    and 12.06.2026, a month by its name and by those days. May and March are mostly other words:
    they count as months beside a day or year that the question names. Figures are of the years
    that it names, else of this year or one next to it.
    """
    years = tuple(map(str, sorted(dates.years)))
    near = years or tuple(str(this_year + offset) for offset in (-1, 0, 1))
    days: list[Wording] = []
    for month, day in sorted(dates.days):
        number = (str(day), f"{day:02}", f"{day}{_ORDINAL_SUFFIXES.get(day, 'th')}")
        days.append((_MONTH_STEMS[month], number))
        days.append((near, (f"{month:02}",), (f"{day:02}",)))
    clear = sorted(dates.months - _MOSTLY_WORDS)
    names = tuple(name for month in clear for name in _MONTH_STEMS[month])
    months: list[Wording] = [(names,)] if names else []
    if years:
        months += [(_MONTH_STEMS[month], years) for month in sorted(dates.months & _MOSTLY_WORDS)]
    wordings: dict[str, tuple[Wording, ...]] = {
        "year": ((years,),) if years else (),
        "month": (*months, *days),
        "day": tuple(days),
    }
    return {part: ways for part, ways in wordings.items() if ways}


def date_terms(reading: QueryAnalysis) -> tuple[bool, ...]:
    """For each term of a question, True if it is part of a date that the question names."""
    parts = ("year", "month", "day")
    named = {stem for month in reading.dates.months for stem in _MONTH_STEMS[month]}
    for wording in (wording for part in parts for wording in reading.wordings.get(part, ())):
        named.update(*wording)
    return tuple(not named.isdisjoint(term) for term in reading.terms)


# As the past time that a question is about


def past_interval(text: str, now: datetime) -> tuple[float, float] | None:
    """The past time that a question is about by its words, [start, end) in seconds.

    A day, month or year counts as a whole, several from the first to the last. A month or day
    without a year belongs to the years that the question names, else to the last one in which it
    has begun; of two with "to" between them, the second is the first one after that. Without a
    date, "originally" and "used to" mean all the past. None without either, or for a date that is
    still to come.
    """
    folded = fold(text.replace("\u2019", "'"))
    dates = mentioned_dates(folded)
    if not dates.ranges and not dates.years:
        return (-inf, now.timestamp()) if _asks_former(folded) else None
    past = [interval for interval in _intervals(dates, now) if interval[0] <= now]
    if not past:
        return None
    return min(past)[0].timestamp(), max(end for _, end in past).timestamp()


def _asks_former(folded: str) -> bool:
    tokens = words(folded)
    language = language_of(tokens if folded.isascii() else without_bigrams(tokens))
    if language is not None:
        return language.matches("asks_former", folded)
    if ASKS_FORMER.search(folded):
        return True
    return "used to" in folded and any(match["other"] is None for match in USED_TO.finditer(folded))


def _intervals(dates: DateMentions, now: datetime) -> Iterator[Interval]:
    own = {date.year for ends in dates.ranges for date in ends if date.year is not None}
    years, lone_years = sorted(dates.years or own), dates.years
    for first, last in dates.ranges:
        if first.year is not None:
            starts = [_in_year(first.year, first)]
        elif last.year is not None:
            starts = _nearest(first, _in_year(last.year, last)[0], -1)
        else:
            starts = [_in_year(year, first) for year in years] or _nearest(first, now, -1)
            lone_years = frozenset()  # they are the years of this date
        for start in starts:
            yield from [start] if last is first else _until(start, last)
    for year in lone_years:
        yield _month(year, 1)[0], _month(year, 12)[1]


def _until(start: Interval, last: DateMention) -> Iterator[Interval]:
    """From one date to another, which has a year or is the next one after the first."""
    ends = _nearest(last, start[0], 1) if last.year is None else [_in_year(last.year, last)]
    for end in ends:
        yield min(start, end)[0], max(start, end)[1]


def _nearest(date: DateMention, moment: datetime, step: int) -> list[Interval]:
    """The last such date that had begun by a moment (step -1), or the first from then on (1).

    Empty beyond the years of the calendar. A day that its month never has stands for the month.
    """
    for year in range(moment.year, moment.year + step * (_MAX_LEAP_YEAR_GAP + 1), step):
        interval = _exactly(year, date)
        if interval and (interval[0] - moment) * step >= timedelta(0):
            return [interval]
    return [] if date.day is None else _nearest(date._replace(day=None), moment, step)


def _in_year(year: int, date: DateMention) -> Interval:
    """A day or month of a year; the month for a day that it does not have."""
    return _exactly(year, date) or _month(year, date.month)


def _exactly(year: int, date: DateMention) -> Interval | None:
    if not 1 <= year <= _LAST_YEAR:
        return None
    first, after = _month(year, date.month)
    if date.day is None:
        return first, after
    start = first + timedelta(days=date.day - 1)
    return (start, start + timedelta(days=1)) if start < after else None


def _month(year: int, month: int) -> Interval:
    after = (year + month // 12, month % 12 + 1)
    return datetime(year, month, 1, tzinfo=timezone.utc), datetime(*after, 1, tzinfo=timezone.utc)


# As the time that a search keeps to


def search_interval(text: str, now: datetime) -> TimeRange | None:
    """The time that a question restricts a search to, as seen from `now`; None for none.

    A day, week (Monday to Sunday), month or year counts as a whole; "since", "after", "before" and
    "until" leave one end open (the one in the future at `now`); two with "to" or "and" between them
    mean all in between. Of several times the first one counts.

    Raises:
        DatesMissing: a time is named and dateparser is not installed.
    """
    for phrase in time_phrases(text):
        interval, end = _phrase_interval(phrase, now), phrase.end
        if interval is None:
            continue
        last = range_end(text, phrase)
        joined = last and _joined(phrase, interval, last, now)
        if last and joined:
            interval, end = joined, last.end
        if interval[0] < interval[1]:
            start, stop = (moment.timestamp() for moment in interval)
            return TimeRange(start, stop, text[phrase.start : end].strip())
    return None


def _joined(first: TimePhrase, start: Interval, last: TimePhrase, now: datetime) -> Interval | None:
    """From one time to another; a day or month without a year is the one next to the other."""
    end, days = _phrase_interval(last, now), last.recurs_after_days
    if end is None:
        return None
    if first.recurs_after_days and last.has_year:
        start = _phrase_interval(first, end[0]) or start
    elif days and (end[1] <= start[0] or first.has_year):
        end = _phrase_interval(last, _later(start[0], timedelta(days=days))) or end
    return (start[0], end[1]) if start[0] < end[1] else None


def _phrase_interval(phrase: TimePhrase, now: datetime) -> Interval | None:
    interval = _last(phrase.duration, now) if phrase.duration else _period(phrase.core, now)
    if interval is None:
        return None
    start, end = interval
    after_now = _later(max(now, end), _MOMENT)
    return {
        "since": (start, after_now),
        "after": (end, after_now),
        "before": (_ALWAYS, start),
        "until": (_ALWAYS, end),
    }.get(phrase.bound, interval)


def _later(moment: datetime, by: timedelta) -> datetime:
    """moment + by, at most the end of the last year."""
    return moment + by if by < _FOREVER - moment else _FOREVER


def _last(duration: str, now: datetime) -> Interval | None:
    """The last "three days": from three days ago to now."""
    parsed = _parsed(f"{duration} ago", now)
    return None if parsed is None else (parsed[0], _later(now, _MOMENT))


def _period(words: str, now: datetime) -> Interval | None:
    """The day, week, month or year that some words name."""
    parsed = _parsed(re.sub(r"^past\b", "last", words), now)
    if parsed is None:
        return None
    moment, period = parsed
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "week":
        start, days = day - timedelta(days=day.weekday()), 7
    elif period == "month":
        start, days = day.replace(day=1), monthrange(day.year, day.month)[1]
    elif period == "year":
        start, days = day.replace(month=1, day=1), 365 + isleap(day.year)
    else:
        start, days = day, 1
    return start, _later(start, timedelta(days=days))


def _parsed(words: str, now: datetime) -> tuple[datetime, str] | None:
    """The moment that words name, and its period: "day", "week", "month" or "year"."""
    try:
        date = _date_parser()(
            languages=["en"],
            settings={
                "RELATIVE_BASE": now.astimezone(timezone.utc).replace(tzinfo=None),
                "PREFER_DATES_FROM": "past",
                "DATE_ORDER": "DMY",
                "TIMEZONE": "UTC",
            },
        ).get_date_data(words)
    except (ValueError, OverflowError):
        return None
    if date.date_obj is None:
        return None
    return date.date_obj.replace(tzinfo=timezone.utc), date.period


@cache
def _date_parser() -> Any:
    try:
        return import_module("dateparser.date").DateDataParser
    except ImportError:
        raise DatesMissing("dateparser is not installed; pip install 'salience[dates]'") from None

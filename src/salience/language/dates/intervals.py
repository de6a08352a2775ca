"""Stretches of time: days, months and years of the calendar."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from salience.language.dates.grammar import DateMention

Interval = tuple[datetime, datetime]
"""A stretch of time, its end not in it."""

ALWAYS = datetime(1, 1, 1, tzinfo=timezone.utc)
FOREVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
_LAST_YEAR = 9998  # the next one exists as a datetime, too
_MAX_LEAP_YEAR_GAP = 8  # years from a 29 February to the next one


def nearest(date: DateMention, moment: datetime, step: int) -> list[Interval]:
    """The last such date that had begun by a moment (step -1), or the first from then on (1).

    Empty beyond the years of the calendar. A day that its month never has stands for the month.
    """
    for year in range(moment.year, moment.year + step * (_MAX_LEAP_YEAR_GAP + 1), step):
        interval = exactly(year, date)
        if interval and (interval[0] - moment) * step >= timedelta(0):
            return [interval]
    return [] if date.day is None else nearest(date._replace(day=None), moment, step)


def in_year(year: int, date: DateMention) -> Interval:
    """A day or month of a year; the month for a day that it does not have."""
    return exactly(year, date) or month_of(year, date.month)


def exactly(year: int, date: DateMention) -> Interval | None:
    """A day or month of a year; None for one that it does not have."""
    if not 1 <= year <= _LAST_YEAR:
        return None
    first, after = month_of(year, date.month)
    if date.day is None:
        return first, after
    start = first + timedelta(days=date.day - 1)
    return (start, start + timedelta(days=1)) if start < after else None


def month_of(year: int, month: int) -> Interval:
    """A month of a year."""
    after = (year + month // 12, month % 12 + 1)
    return datetime(year, month, 1, tzinfo=timezone.utc), datetime(*after, 1, tzinfo=timezone.utc)


def year_of(year: int) -> Interval:
    """A whole year."""
    return month_of(year, 1)[0], month_of(year, 12)[1]


def later(moment: datetime, by: timedelta) -> datetime:
    """moment + by, at most the end of the last year."""
    return moment + by if by < FOREVER - moment else FOREVER

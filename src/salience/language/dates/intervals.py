"""Stretches of time: days, months and years of the calendar."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from salience.language.dates.grammar import DateMention

Interval = tuple[datetime, datetime]
"""A stretch of local time without its end."""

ALWAYS = datetime(1, 1, 1, tzinfo=timezone.utc)
FOREVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
_LAST_YEAR = 9998  # the next one exists as a datetime, too
_MAX_LEAP_YEAR_GAP = 8  # years from a 29 February to the next one


def wall_clock(now: datetime) -> datetime:
    """The time that the clocks of a zone show, to which days and weeks can be added."""
    return now.replace(tzinfo=timezone.utc, fold=0)


@lru_cache(maxsize=4096)  # questions ask about the same times
def seconds(moment: datetime, zone: tzinfo) -> float:
    """The instant at which the clocks of a zone show a moment, the first time if they do twice.

    A moment that they skip is counted on from before: 00:00 is the instant at which they change.
    """
    return (moment if moment in (ALWAYS, FOREVER) else moment.replace(tzinfo=zone)).timestamp()


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


@lru_cache(maxsize=4096)
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


def quarter_of(year: int, number: int) -> Interval:
    """A quarter of a year, 1 to 4."""
    return month_of(year, 3 * number - 2)[0], month_of(year, 3 * number)[1]


_FEASTS = {
    "christmas eve": (12, 24, 1),
    "christmas": (12, 24, 3),
    "boxing": (12, 26, 1),
    "new years eve": (12, 31, 1),
    "new year": (12, 31, 2),
    "valentine": (2, 14, 1),
    "halloween": (10, 31, 1),
}
"""The month, day and length in days of the feasts of a fixed date."""


def feast_of(year: int, name: str) -> Interval:
    """The days of a feast in a year, by its name in a question."""
    if name == "easter":
        return _days(_easter(year) - timedelta(2), 4)  # from Good Friday on
    if name == "thanksgiving":
        november = datetime(year, 11, 1, tzinfo=timezone.utc)
        return _days(november + timedelta((3 - november.weekday()) % 7 + 21))  # the fourth Thursday
    month, day, length = _FEASTS[name.replace("'", "")]
    return _days(datetime(year, month, day, tzinfo=timezone.utc), length)


def _easter(year: int) -> datetime:
    """Easter Sunday of the Gregorian calendar (the algorithm of Meeus, Jones and Butcher)."""
    century, of_century = divmod(year, 100)
    golden = year % 19
    leaps, rest = divmod(century, 4)
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - leaps - correction + 15) % 30
    four, year_rest = divmod(of_century, 4)
    weekday = (32 + 2 * rest + 2 * four - epact - year_rest) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return datetime(year, month, day + 1, tzinfo=timezone.utc)


def _days(first: datetime, count: int = 1) -> Interval:
    return first, later(first, timedelta(count))

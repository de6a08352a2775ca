"""The time a question asks about: "last Tuesday", "in March", "two weeks ago" as a stretch of time.

The phrases are spotted here and understood by dateparser, an optional dependency. All is in UTC;
what has no year or day of its own lies in the past.
"""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from datetime import datetime, timedelta, timezone
from functools import cache
from importlib import import_module
from typing import Any

from salience.errors import SalienceError
from salience.language.analysis_types import TimeRange
from salience.language.english import AMBIGUOUS_MONTHS, BETWEEN, MONTHS, NAMESAKE_MONTHS

Stretch = tuple[datetime, datetime]
_ALWAYS = datetime(1, 1, 1, tzinfo=timezone.utc)
_FOREVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
_NUMBER = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:hour|day|week|month|year)s?"
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_SURE = "|".join(sorted(set(MONTHS) - AMBIGUOUS_MONTHS, key=len, reverse=True))
_NAMESAKE = "|".join(sorted(NAMESAKE_MONTHS, key=len, reverse=True))
_ANY = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_IN = "in|during|of|by|from|for|around"
_TO = r"\s*(?:to|until|till|through|-|–)\s*"
_PHRASE = rf"""\b(?:(?P<bound>since|after|before|until)\s+)?(?P<what>
    (?P<span>(?:(?:in|over|during|within)\s+)?(?:the\s+)?(?:last|past)
        \s+(?P<count>{_NUMBER})\s+(?P<unit>{_UNIT}))
    |the\s+day\s+before\s+yesterday|yesterday|today|tonight|this\s+(?:morning|afternoon|evening)
    |last\s+night
    |{_NUMBER}\s+{_UNIT}\s+ago
    |(?:(?:last|this|on|past)\s+)?{_DAY}
    |(?:last|this|past)\s+(?:week|month|year)
    |{_YEAR}-\d\d-\d\d|\d{{1,2}}\.\d{{1,2}}\.{_YEAR}
    |(?:the\s+)?{_NTH}(?:\s+of)?\s+(?:{_ANY})\b\.?(?:,?\s+{_YEAR})?
    |(?:{_ANY})\b\.?\s+(?:{_NTH}\b(?!:)(?:,?\s+{_YEAR})?|{_YEAR})
    |(?:{_IN}|last|this|past)\s+(?:(?:early|mid|late)\s+)?(?:{_ANY})\b(?:\s+{_YEAR})?
    |(?:early|mid|late)\s+(?:{_ANY})\b(?:\s+{_YEAR})?
    |(?:the\s+|^)(?:{_NAMESAKE})\b(?!['’]s)
    |(?(bound)(?:{_ANY})|(?:{_SURE}))\b
    |(?:(?<=between\s)(?:{_ANY})|(?:{_ANY})(?={_TO}(?:{_ANY})\b))\b
    |(?:in|during|of)\s+{_YEAR}
"""
_WHEN = re.compile(rf"{_PHRASE})\b", re.IGNORECASE | re.VERBOSE)
_END = re.compile(rf"{_PHRASE}|(?:{_ANY}))\b", re.IGNORECASE | re.VERBOSE)  # after "to"
_RANGE = re.compile(rf"{_TO}|\s*(?P<and>and)\s*", re.IGNORECASE)
_LEADING = re.compile(
    rf"^(?:(?:{_IN}|on|the|early|mid|late)\s+"
    rf"|(?:last|this|past)\s+(?={_DAY}|(?:{_ANY})\b))",
    re.IGNORECASE,
)
_DATED = re.compile(rf"(?:{_ANY})\b.*\b{_YEAR}|{_YEAR}-|\.{_YEAR}", re.IGNORECASE)
_WEEKLY = re.compile(rf"(?:on\s+)?{_DAY}", re.IGNORECASE)
_YEARLY = re.compile(
    rf"(?:(?:{_IN}|the|early|mid|late)\s+)*(?:{_NTH}(?:\s+of)?\s+)?(?:{_ANY})\b\.?(?:\s+{_NTH})?",
    re.IGNORECASE,
)


class DatesMissing(SalienceError):
    """A question names a time, and the package that understands it is not installed."""


def asked_time(text: str, now: datetime) -> TimeRange | None:
    """The time that a question names as seen from `now`; None for none.

    A day, week (Monday to Sunday), month or year as a whole; "since", "after", "before" and "until"
    leave one end open (the one in the future at `now`); of two with "to" or "and" between them, all
    in between; else the first.

    Raises:
        DatesMissing: a time is named and dateparser is not installed.
    """
    for found in _WHEN.finditer(text):
        stretch, last = _stretch(found, now), found.end()
        if stretch is None:
            continue
        other = _other(found)
        joined = other and _joined(found, stretch, other, now)
        if other and joined:
            stretch, last = joined, other.end()
        if stretch[0] < stretch[1]:
            start, end = (at.timestamp() for at in stretch)
            return TimeRange(start, end, text[found.start() : last].strip())
    return None


def _other(found: re.Match[str]) -> re.Match[str] | None:
    """The other of two times. After "to", or "and" after "between", it may be a bare "May"."""
    text, start = found.string, found.start()
    to = _RANGE.match(text, found.end())
    if to is None:
        return None
    sure = to["and"] is None or BETWEEN.search(text[max(0, start - 12) : start].lower())
    return (_END if sure else _WHEN).match(text, to.end())


def _joined(
    first: re.Match[str], start: Stretch, last: re.Match[str], now: datetime
) -> Stretch | None:
    """From one time to another; of a day or month without a year, the one next to the other."""
    end, every = _stretch(last, now), _recurs(last)
    if end is None:
        return None
    if _recurs(first) and _DATED.search(last["what"]):
        start = _stretch(first, end[0]) or start
    elif every and (end[1] <= start[0] or _DATED.search(first["what"])):
        end = _stretch(last, _later(start[0], every)) or end
    return (start[0], end[1]) if start[0] < end[1] else None


def _recurs(found: re.Match[str]) -> timedelta | None:
    """How often what is named is again, if it is: a Monday every week, a May every year."""
    if _WEEKLY.fullmatch(found["what"]):
        return timedelta(days=7)
    return timedelta(days=365) if _YEARLY.fullmatch(found["what"]) else None


def _stretch(found: re.Match[str], now: datetime) -> Stretch | None:
    whole = _span(found, now) if found["span"] else _named(found["what"], now)
    if whole is None:
        return None
    start, end = whole
    ahead = _later(max(now, end), timedelta(seconds=1))
    return {
        "since": (start, ahead),
        "after": (end, ahead),
        "before": (_ALWAYS, start),
        "until": (_ALWAYS, end),
    }.get((found["bound"] or "").lower(), whole)


def _later(at: datetime, by: timedelta) -> datetime:
    """So much later, but not after the last year."""
    return at + by if by < _FOREVER - at else _FOREVER


def _span(found: re.Match[str], now: datetime) -> Stretch | None:
    """The last three days: from three days ago to now."""
    began = _parsed(f"{found['count']} {found['unit']} ago", now)
    return None if began is None else (began[0], _later(now, timedelta(seconds=1)))


def _named(words: str, now: datetime) -> Stretch | None:
    """The day, week, month or year that some words name."""
    previous = ""
    while previous != words:
        previous, words = words, _LEADING.sub("", words)
    parsed = _parsed(re.sub(r"^past\b", "last", words), now)
    if parsed is None:
        return None
    at, period = parsed
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
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
    """The moment that words name, and what it stands for: a day, week, month or year."""
    try:
        found = _parser()(
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
    if found.date_obj is None:
        return None
    return found.date_obj.replace(tzinfo=timezone.utc), found.period


@cache
def _parser() -> Any:
    try:
        return import_module("dateparser.date").DateDataParser
    except ImportError:
        raise DatesMissing("dateparser is not installed; pip install 'salience[dates]'") from None

"""The time a question asks about: "last Tuesday", "in March", "two weeks ago" as a stretch of time.

The phrases are spotted here and understood by dateparser, an optional dependency. All is in UTC;
what has no year or day of its own lies in the past.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import cache
from importlib import import_module
from typing import Any

from recollect.errors import RecollectError
from recollect.lexicon import AMBIGUOUS_MONTHS, MONTHS
from recollect.query import During

_ALWAYS = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NUMBER = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:hour|day|week|month|year)s?"
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_SURE = "|".join(sorted(set(MONTHS) - AMBIGUOUS_MONTHS, key=len, reverse=True))
_ANY = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_WHEN = re.compile(
    rf"""\b(?:(?P<bound>since|after|before|until)\s+)?(?P<what>
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
        |(?:in|last|this|past)\s+(?:(?:early|mid|late)\s+)?(?:{_ANY})\b(?:\s+{_YEAR})?
        |(?(bound)(?:{_ANY})|(?:{_SURE}))\b
        |(?:in|during|of)\s+{_YEAR}
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_RANGE = re.compile(r"\s*(?:and|to|until|till|through|-|–)\s*", re.IGNORECASE)
_LEADING = re.compile(
    rf"^(?:(?:in|on|of|the|early|mid|late)\s+|(?:last|this|past)\s+(?={_DAY}|(?:{_ANY})\b))",
    re.IGNORECASE,
)


class DatesMissing(RecollectError):
    """A question names a time, and the package that understands it is not installed."""


def asked_time(text: str, now: datetime) -> During | None:
    """The time that a question names as seen from `now`; None for none.

    A day, week (Monday to Sunday), month or year as a whole; "since", "after", "before" and "until"
    leave one end open (the one in the future at `now`); of two with "to" or "and" between them, all
    in between; else the first.

    Raises:
        DatesMissing: a time is named and dateparser is not installed.
    """
    for found in _WHEN.finditer(text):
        stretch = _stretch(found, now)
        if stretch is None:
            continue
        start, end = stretch
        last = found.end()
        until = _RANGE.match(text, last)
        other = until and _WHEN.match(text, until.end())
        reached = other and _stretch(other, now)
        if other and reached and reached[1] > start:
            end, last = reached[1], other.end()
        return During(start.timestamp(), end.timestamp(), text[found.start() : last].strip())
    return None


def _stretch(found: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    whole = _span(found, now) if found["span"] else _named(found["what"], now)
    if whole is None:
        return None
    start, end = whole
    ahead = max(now, end) + timedelta(seconds=1)
    return {
        "since": (start, ahead),
        "after": (end, ahead),
        "before": (_ALWAYS, start),
        "until": (_ALWAYS, end),
    }.get((found["bound"] or "").lower(), whole)


def _span(found: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    """The last three days: from three days ago to now."""
    began = _parsed(f"{found['count']} {found['unit']} ago", now)
    return None if began is None else (began[0], now + timedelta(seconds=1))


def _named(words: str, now: datetime) -> tuple[datetime, datetime] | None:
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
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=7)
    if period == "month":
        first = day.replace(day=1)
        return first, (first + timedelta(days=32)).replace(day=1)
    if period == "year":
        first = day.replace(month=1, day=1)
        return first, first.replace(year=first.year + 1)
    return day, day + timedelta(days=1)


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
        raise DatesMissing("dateparser is not installed; pip install 'recollect[dates]'") from None

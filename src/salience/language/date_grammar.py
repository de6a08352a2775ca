"""The grammar of dates in an English question: its parts, and where a text has a date or a time.

`mentioned_dates` finds calendar dates, in words ("5 May 2024", "from March to June") and in figures
("2024-05-31"), part by part. `time_phrases` finds whole phrases, also relative ones ("last
Tuesday", "two weeks ago"). Both are built of the same parts; `dates` says what they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from salience.language.english import AMBIGUOUS_MONTHS, MONTHS, NAMESAKE_MONTHS, STOP


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


# Parts

_MONTH = _any_of(MONTHS)
_CLEAR_MONTH = _any_of(MONTHS.keys() - AMBIGUOUS_MONTHS)
_NAMESAKE_MONTH = _any_of(NAMESAKE_MONTHS)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_PART = "early|mid|late"
_TO = r"\s*(?:to|until|till|through|-|–)\s*"
_BETWEEN = re.compile(r"\bbetween (?:the )?$", re.IGNORECASE)  # before the first of two dates
_BETWEEN_CHARS = len("between the ")

# Calendar dates, in lower case: a month or a year, and what stands around it

_MONTH_NAME = re.compile(rf"\b(?:{_MONTH})\b")
_DAY_BEFORE = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?(?: of)? $")
_DAY_BEFORE_CHARS = len("12th of ") + 1  # and the character before it, which is no digit
_DAY_AFTER = re.compile(r"\.?,? (\d{1,2})(?:st|nd|rd|th)?\b")
_YEAR_BEFORE = re.compile(rf"\b({_YEAR})\b,? $")
_YEAR_BEFORE_CHARS = len("2024, ") + 1
_YEAR_AFTER = re.compile(rf"(?:\.?,?(?: of)? |,)\b({_YEAR})\b")
_FIGURE_AFTER = re.compile(r",? \d")
_WORD_AFTER = re.compile(r" ([^\W\d_]+)\b")
_COUNTABLE_AFTER = re.compile(r" (\w{2,}s)\b")  # "2000 guests"

_TIME_WORD = f"in|since|during|until|till|through|{_PART}|last|next|past|every"
_PREPOSITION = "on|of|by|from|for|around|before|after|between"
_DETERMINER = "the|this|that|my|our|your|his|her|their"
_AFTER_TIME_WORD = re.compile(rf"\b(?:{_TIME_WORD}) $")  # hardly ever before a person
_AFTER_PREPOSITION = re.compile(rf"\b(?:{_PREPOSITION}) $")
_AFTER_DETERMINER = re.compile(rf"\b(?:{_DETERMINER}) $")
_AFTER_NUMBERED = re.compile(
    r"\b(?:room|flight|gate|order|ticket|invoice|customer|issue|version|port|page|line|row|seat|bus"
    r"|route|platform|apartment|apt|suite|locker|box|extension|code|pin|id|number|no\.?|nr\.?) $"
)  # these have numbers that are not years
_AFTER_YEAR_WORD = re.compile(
    rf"(?:^|\b(?:{_TIME_WORD}|{_PREPOSITION}|{_DETERMINER}|to|and|or) |'s )$"
)  # before a year rather than before a quantity
_MONTH_CONTEXT_CHARS = 40
_YEAR_CONTEXT_CHARS = 20

_LISTED = re.compile(r"\s*(?:[,/&]|,?\s(?:and|or)\s)\s*")  # between the months of a list
_RANGE_THE = rf"{_TO}(?:the )?"
_DATE_RANGE = re.compile(rf"{_RANGE_THE}|\s+(?P<and>and)\s+(?:the )?")
_BEFORE_RANGE = re.compile(rf"{_RANGE_THE}(?:{_MONTH})\b")
_AFTER_RANGE = re.compile(
    rf"(?:\b(?:{_MONTH}|\b{_YEAR}\b){_RANGE_THE}|\bbetween (?:\S+ ){{1,4}}and )$"
)

_UNIT_OF_QUANTITY = (
    "dollars?|bucks|euros?|pounds?|francs?|yen|usd|eur|gbp|chf|kg|kilos?|grams?|g|km|kilomet(?:er|re)s"
    "|miles|met(?:er|re)s|feet|ft|cm|mm|m|lit(?:er|re)s|watts?|kwh|hours|minutes|seconds|days|times"
    "|steps|words|calories|kcal|people|users|percent|[kmg]b"
)
_LONE_YEAR = re.compile(
    rf"(?<![\w$€£¥#])(?<!\d[.:])({_YEAR})\b(?![.:]\d|,\d{{3}}\b|%| ?(?:{_UNIT_OF_QUANTITY})\b)"
)  # no price, quantity or part of a longer number
_ISO_DATE = re.compile(rf"\b({_YEAR})-(\d\d)-(\d\d)\b")
_DAY_MONTH_YEAR = re.compile(
    rf"(?<![\w./])(\d{{1,2}})([./])(\d{{1,2}})\2({_YEAR}|(?<=/)\d\d)(?![\w/]|\.\d)"
)  # with dots the year has four figures: 3.11.14 is rather a version


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
def mentioned_dates(low: str) -> DateMentions:
    """The calendar dates of a folded text."""
    mentions = sorted([*_in_words(low), *_in_figures(low)], key=lambda mention: mention.start)
    ranges: list[tuple[DateMention, DateMention]] = []
    for mention in mentions:
        if ranges and ranges[-1][0] is ranges[-1][1] and _is_range(low, ranges[-1][0], mention):
            ranges[-1] = (ranges[-1][0], mention)
        else:
            ranges.append((mention, mention))
    starts, ends = [mention.start for mention in mentions], [mention.end for mention in mentions]
    gaps = zip([0, *ends], [*starts, len(low)], strict=True)
    numbers = (number for start, end in gaps for number in _LONE_YEAR.finditer(low, start, end))
    years = {int(number.group()) for number in numbers if _is_year(low, *number.span())}
    return DateMentions(tuple(ranges), frozenset(years))


def _in_words(low: str) -> Iterator[DateMention]:
    """The dates whose month is a word: "May", "5 May", "May 5th, 2024", "2024 May"."""
    previous_end = 0
    for match in _MONTH_NAME.finditer(low):
        name, (start, end) = match.group(), match.span()
        day = _DAY_BEFORE.search(low, max(0, start - _DAY_BEFORE_CHARS), start)
        day = day or _DAY_AFTER.match(low, end)
        if day:
            start, end = min(start, day.start()), max(end, day.end())
        if name in AMBIGUOUS_MONTHS and (not day or _is_quantity(low, name, day, end)):
            listed = previous_end and _LISTED.fullmatch(low, previous_end, start)
            if not ((listed and name in NAMESAKE_MONTHS) or _is_month(low, name, start, end)):
                continue
        year_from = max(previous_end, start - _YEAR_BEFORE_CHARS)
        year = _YEAR_AFTER.match(low, end) or _YEAR_BEFORE.search(low, year_from, start)
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


def _in_figures(low: str) -> Iterator[DateMention]:
    """Dates such as 2024-05-31, 31.5.2024 and 5/31/24."""
    for match in _DAY_MONTH_YEAR.finditer(low):
        day, month, year = map(int, match.group(1, 3, 4))
        if month > 12:
            day, month = month, day
        if 1 <= month <= 12 and day <= 31:
            yield DateMention(year if year > 99 else year + 2000, month, day or None, *match.span())
    for match in _ISO_DATE.finditer(low):
        year, month, day = map(int, match.groups())
        if 1 <= month <= 12:
            yield DateMention(year, month, day or None, *match.span())


def _is_quantity(low: str, name: str, day: re.Match[str], end: int) -> bool:
    """Test whether the number beside "may" or "march" counts something: "may 5 people come?"."""
    if name in NAMESAKE_MONTHS or not day.group().strip(" .,").isdigit():
        return False
    word = _WORD_AFTER.match(low, end)
    return word is not None and word.group(1) not in STOP


def _is_month(low: str, name: str, start: int, end: int) -> bool:
    """Test whether "may", "march" or "april" is a month by the words around it (and its day)."""
    before = low[max(0, start - _MONTH_CONTEXT_CHARS) : start]
    namesake, alone = name in NAMESAKE_MONTHS, low[start:end] == name
    if _AFTER_TIME_WORD.search(before):
        return True
    if (namesake or not alone) and _AFTER_DETERMINER.search(before):
        return True
    if namesake and low.startswith("'s", end):
        return False
    return any(
        (
            namesake and start == 0,
            _FIGURE_AFTER.match(low, end),
            _AFTER_PREPOSITION.search(before),
            _BEFORE_RANGE.match(low, end),
            _AFTER_RANGE.search(before),
        )
    )


def _is_year(low: str, start: int, end: int) -> bool:
    """Test whether a number is a year by the words around it."""
    before = low[max(0, start - _YEAR_CONTEXT_CHARS) : start]
    things = _COUNTABLE_AFTER.match(low, end)
    counts = things is not None and things.group(1) not in STOP
    if counts and not _AFTER_YEAR_WORD.search(before):
        return False
    return not _AFTER_NUMBERED.search(before)


def _is_range(low: str, first: DateMention, last: DateMention) -> bool:
    """Test whether "to", or "between" and "and", make one time of two dates."""
    joint = _DATE_RANGE.fullmatch(low, first.end, last.start)
    return joint is not None and (joint["and"] is None or _is_after_between(low, first.start))


def _is_after_between(low: str, start: int) -> bool:
    return _BETWEEN.search(low, max(0, start - _BETWEEN_CHARS), start) is not None


# Phrases, in any case: calendar dates in the order of words that leaves little doubt, and times
# relative to the day of the question

_NUMBER = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:hour|day|week|month|year)s?"
_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_IN = "in|during|of|by|from|for|around"
_PHRASE = rf"""\b(?:(?P<bound>since|after|before|until)\s+)?(?P<time>
    (?:(?:in|over|during|within)\s+)?(?:the\s+)?(?:last|past)\s+(?P<duration>{_NUMBER}\s+{_UNIT})
    |the\s+day\s+before\s+yesterday|yesterday|today|tonight|this\s+(?:morning|afternoon|evening)
    |last\s+night
    |{_NUMBER}\s+{_UNIT}\s+ago
    |(?:(?:last|this|on|past)\s+)?{_WEEKDAY}
    |(?:last|this|past)\s+(?:week|month|year)
    |{_YEAR}-\d\d-\d\d|\d{{1,2}}\.\d{{1,2}}\.{_YEAR}
    |(?:the\s+)?{_DAY}(?:\s+of)?\s+(?:{_MONTH})\b\.?(?:,?\s+{_YEAR})?
    |(?:{_MONTH})\b\.?\s+(?:{_DAY}\b(?!:)(?:,?\s+{_YEAR})?|{_YEAR})
    |(?:{_IN}|last|this|past)\s+(?:(?:{_PART})\s+)?(?:{_MONTH})\b(?:\s+{_YEAR})?
    |(?:{_PART})\s+(?:{_MONTH})\b(?:\s+{_YEAR})?
    |(?:the\s+|^)(?:{_NAMESAKE_MONTH})\b(?!['’]s)
    |(?(bound)(?:{_MONTH})|(?:{_CLEAR_MONTH}))\b
    |(?:(?<=between\s)(?:{_MONTH})|(?:{_MONTH})(?={_TO}(?:{_MONTH})\b))\b
    |(?:in|during|of)\s+{_YEAR}
"""
_FLAGS = re.IGNORECASE | re.VERBOSE
_TIME_PHRASE = re.compile(rf"{_PHRASE})\b", _FLAGS)
_LAST_OF_RANGE = re.compile(rf"{_PHRASE}|(?:{_MONTH}))\b", _FLAGS)
_PHRASE_RANGE = re.compile(rf"{_TO}|\s*(?P<and>and)\s*", re.IGNORECASE)
_LEADING = re.compile(
    rf"^(?:(?:{_IN}|on|the|{_PART})\s+|(?:last|this|past)\s+(?={_WEEKDAY}|(?:{_MONTH})\b))",
    re.IGNORECASE,
)
_DATED = re.compile(rf"(?:{_MONTH})\b.*\b{_YEAR}|{_YEAR}-|\.{_YEAR}", re.IGNORECASE)
_WEEKLY = re.compile(rf"(?:on\s+)?{_WEEKDAY}", re.IGNORECASE)
_YEARLY = re.compile(
    rf"(?:(?:{_IN}|the|{_PART})\s+)*(?:{_DAY}(?:\s+of)?\s+)?(?:{_MONTH})\b\.?(?:\s+{_DAY})?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A phrase that names a time, and where it stands.

    `time` is the phrase without its `bound` ("since", "after", "before", "until" or nothing);
    `duration` is the "two weeks" of "the last two weeks", else empty.
    """

    bound: str
    time: str
    duration: str
    start: int
    end: int

    @property
    def core(self) -> str:
        """The time without prepositions and the like: "march" for "in early March"."""
        shorter, core = self.time, ""
        while core != shorter:
            core, shorter = shorter, _LEADING.sub("", shorter)
        return core

    @property
    def has_year(self) -> bool:
        return _DATED.search(self.time) is not None

    @property
    def recurs_after_days(self) -> int | None:
        """Days until the same words name another time: a Monday every week, a May every year."""
        if _WEEKLY.fullmatch(self.time):
            return 7
        return 365 if _YEARLY.fullmatch(self.time) else None


def time_phrases(text: str) -> Iterator[TimePhrase]:
    """The phrases of a text that name a time, in order."""
    return map(_phrase, _TIME_PHRASE.finditer(text))


def range_end(text: str, first: TimePhrase) -> TimePhrase | None:
    """The phrase that "to", or "and", joins to another.

    After "to", or "and" after "between", it may be a bare "May".
    """
    joint = _PHRASE_RANGE.match(text, first.end)
    if joint is None:
        return None
    is_range = joint["and"] is None or _is_after_between(text, first.start)
    match = (_LAST_OF_RANGE if is_range else _TIME_PHRASE).match(text, joint.end())
    return _phrase(match) if match else None


def _phrase(match: re.Match[str]) -> TimePhrase:
    bound, duration = (match["bound"] or "").lower(), " ".join((match["duration"] or "").split())
    return TimePhrase(bound, match["time"], duration, match.start(), match.end())

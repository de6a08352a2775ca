"""The dates of a question in two readings: as texts word them, and as stretches of time.

As wording: `date_wordings`. As time: `past_interval`, the past time that a question
is about by its calendar dates, and `search_interval`, the time that it restricts the search to,
also by relative words such as "last Tuesday". Both are of the time zone of their moment; what has
no year or day of its own lies in the past. `grammar` says how a date is
recognised, `asked` how times are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone, tzinfo
from math import inf

from salience.language.analysis_types import NamedDates, TimeRange, Wording
from salience.language.dates.asked import AskedTime, asked_times
from salience.language.dates.grammar import DateMention, DateMentions, mentioned_dates
from salience.language.dates.intervals import (
    Interval,
    in_year,
    nearest,
    seconds,
    wall_clock,
    year_of,
)
from salience.language.dates.translation import month_forms, tomorrow_forms, weekday_forms
from salience.language.english import (
    AMBIGUOUS_MONTHS,
    ASKS_FORMER,
    MONTHS,
    NAMESAKE_MONTHS,
    USED_TO,
)
from salience.language.languages import language_of
from salience.language.tokens import fold, stem, without_bigrams, words

_MONTH_STEMS = {
    month: tuple(stem(name) for name in MONTHS if MONTHS[name] == month) for month in range(1, 13)
}
_MOSTLY_WORDS = frozenset(MONTHS[name] for name in AMBIGUOUS_MONTHS - NAMESAKE_MONTHS)
_DAY = 86_400
_WEEK = 7 * _DAY
_HOUR = 3_600
_ORDINAL_SUFFIXES = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


# As wording


def date_wordings(dates: NamedDates, this_year: int, language: str = "") -> tuple[Wording, ...]:
    """The wordings by which a text mentions the dates of a question: the finest that it names.

    A day is named by its month and number or by figures such as 2026-06-12 and 12.06.2026, a month
    by its name, a year by its number. May and March are mostly other words: they count as months
    beside a year that the question names. Figures are of the years that it names, else of this
    year or one next to it. Months have their names in English and in the language of the question.
    """
    years = tuple(map(str, sorted(dates.years)))
    others = month_forms(language)
    names = {
        month: (*_MONTH_STEMS[month], *(map(stem, others[month - 1]) if others else ()))
        for month in dates.months | {month for month, _ in dates.days}
    }
    if dates.days:
        near = years or tuple(str(this_year + offset) for offset in (-1, 0, 1))
        days: list[Wording] = []
        for month, day in sorted(dates.days):
            number = (str(day), f"{day:02}", f"{day}{_ORDINAL_SUFFIXES.get(day, 'th')}")
            days.append((names[month], number))
            days.append((near, (f"{month:02}",), (f"{day:02}",)))
        return tuple(days)
    if dates.months:
        clear = sorted(dates.months - _MOSTLY_WORDS)
        month_names = tuple(name for month in clear for name in names[month])
        mostly_words = sorted(dates.months & _MOSTLY_WORDS) if years else ()
        return (
            *([(month_names,)] if month_names else []),
            *((names[month], years) for month in mostly_words),
        )
    return ((years,),) if years else ()


def day_wordings(
    times: Sequence[AskedTime], zone: tzinfo, language: str = ""
) -> dict[str, Wording]:
    """The wordings of the days of at most a week: by the "weekday", and as "tomorrow".

    Whether a text means the day that is asked about, the day on which it was written tells.
    """
    numbers: set[int] = set()
    for start, end, _ in (time.readings[0] for time in times):
        if end - start <= _WEEK + _HOUR:  # the week in which the clocks are put back
            noons = range(int(start) + _DAY // 2, int(end), _DAY)
            days = noons or (start,)  # a night is of the day on which it begins
            numbers.update(datetime.fromtimestamp(each, zone).weekday() for each in days)
    if not numbers:
        return {}
    names = [name for number in sorted(numbers) for name in weekday_forms(language)[number]]
    tomorrow = tomorrow_forms(language)
    return {"weekday": (tuple(map(stem, names)),), "tomorrow": (tuple(map(stem, tomorrow)),)}


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
    local = wall_clock(now)
    past = [interval for interval in _intervals(dates, local) if interval[0] <= local]
    if not past:
        return None
    zone = now.tzinfo or timezone.utc
    return seconds(min(past)[0], zone), seconds(max(end for _, end in past), zone)


def _asks_former(folded: str) -> bool:
    tokens = words(folded)
    language = language_of(tokens if folded.isascii() else without_bigrams(tokens))
    if language is not None:
        return language.matches("asks_former", folded)
    if ASKS_FORMER.search(folded):
        return True
    return "used to" in folded and any(match["other"] is None for match in USED_TO.finditer(folded))


def _intervals(dates: DateMentions, now: datetime) -> Iterator[Interval]:
    years_in_dates = {date.year for ends in dates.ranges for date in ends if date.year is not None}
    years, lone_years = sorted(dates.years or years_in_dates), dates.years
    for first, last in dates.ranges:
        if first.year is not None:
            starts = [in_year(first.year, first)]
        elif last.year is not None:
            starts = nearest(first, in_year(last.year, last)[0], -1)
        else:
            starts = [in_year(year, first) for year in years] or nearest(first, now, -1)
            lone_years = frozenset()  # they are the years of this date
        for start in starts:
            yield from [start] if last is first else _until(start, last)
    for year in lone_years:
        yield year_of(year)


def _until(start: Interval, last: DateMention) -> Iterator[Interval]:
    """From one date to another, which has a year or is the next one after the first."""
    ends = nearest(last, start[0], 1) if last.year is None else [in_year(last.year, last)]
    for end in ends:
        yield min(start, end)[0], max(start, end)[1]


# As the time that a search keeps to


def search_interval(text: str, now: datetime) -> TimeRange | None:
    """The time that a question restricts a search to, as seen from `now`; None for none.

    Of several times the first one counts, of several readings the likeliest that has begun.
    """
    for time in asked_times(fold(text), now).times:
        past_readings = (reading for reading in time.readings if reading[0] <= now.timestamp())
        start, end, _ = next(past_readings, time.readings[0])
        words = text[time.place :][: len(time.words)]
        return TimeRange(start, end, words if fold(words) == time.words else time.words)
    return None

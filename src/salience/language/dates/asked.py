"""The times that a question asks about, as seen from its own day and in its own time zone.

A question names times by dates ("on 5 March", see `grammar`) or relative to its day ("last
Tuesday", "two weeks ago"). Bounds ("since"), ranges ("between ... and") and parts of a month
("early") change them. Other languages are read by the English words for theirs.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import chain
from typing import NamedTuple

from salience.language.analysis_types import NamedDates
from salience.language.dates.grammar import (
    AHEAD,
    BEHIND,
    BOUND_AFTER,
    BOUND_BEFORE,
    DATE_RANGE,
    DAYS_OF_MONTH,
    HALF_YEAR,
    MONTH_OF_DAYS,
    PART_BEFORE,
    PART_OF_DAY,
    RELATIVE_TIME,
    YEAR_AND_HALF,
    DateMention,
    is_after_between,
    may_name_time,
    mentioned_dates,
    named_dates,
)
from salience.language.dates.intervals import (
    ALWAYS,
    FOREVER,
    Interval,
    exactly,
    feast_of,
    later,
    month_of,
    nearest,
    quarter_of,
    seconds,
    wall_clock,
    year_of,
)
from salience.language.dates.translation import WEEKDAY_NAMES, in_english
from salience.language.english import DIGIT
from salience.language.tokens import words
from salience.lazily import regex

_OTHER_YEARS = 40  # before now that a day without a year may be in
_YEAR_DAYS = range(365, 367)
_OF_YEAR = 0.3  # what happened in a year is told at other times, too
_BESIDE = regex(r" (before|after) (?:(?:the|on) )*")
_LESS_SURE = 0.5  # another reading of the same words
_MOMENT = timedelta(seconds=1)  # added to now, so that what is written now lies in the interval
_BOUND_CHARS = 40
_NUMBERS = {
    word: value
    for value, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
} | {"a": 1, "an": 1, "a couple of": 2}
_DAY = timedelta(days=1)
_REWORDED = (
    (DAYS_OF_MONTH, r"\1 \4 \2 \3 \4"),
    (MONTH_OF_DAYS, r"\1 \2 \3 \1 \4"),
    (HALF_YEAR, "6 months"),
    (YEAR_AND_HALF, "18 months"),
)


class AskedTime(NamedTuple):
    """A time that a question asks about.

    `readings` are start <= t < end in seconds, each with how likely it is meant, in (0, 1]; the
    likeliest is the first. `is_open` tells that now lies in it, as in "today" and "this week", or
    before it. `words` are those by which the question names it, from `place` on.
    """

    readings: tuple[tuple[float, float, float], ...]
    is_open: bool
    words: str
    place: int


class AskedTimes(NamedTuple):
    """The times that a question asks about in order, their dates, and the words that name them.

    `dates` are those it names, and every day of a time of at most a week.
    """

    times: tuple[AskedTime, ...] = ()
    dates: NamedDates = NamedDates()
    words: frozenset[str] = frozenset()

    @property
    def past_interval(self) -> tuple[float, float] | None:
        """The first of the times that are over, from and until in seconds."""
        return next((time.readings[0][:2] for time in self.times if not time.is_open), None)

    @property
    def past(self) -> AskedTimes:
        """Without the times that now lies in or before."""
        times = tuple(time for time in self.times if not time.is_open)
        return self._replace(times=times) if times else AskedTimes()


_Times = Iterator[Interval]


class _Time(NamedTuple):
    """A time and where it stands in the text: its readings, and what else its words may mean.

    `again` gives the next such time from a moment on (step 1), or the last one before it (-1), for
    words that recur: a month without a year, a day of the week.
    """

    start: int
    end: int
    intervals: tuple[Interval, ...]
    again: Callable[[datetime, int], Interval | None] | None = None


def asked_times(folded: str, now: datetime, language: str = "") -> AskedTimes:
    """The times that a folded question asks about, as seen from `now` and in its time zone."""
    translated = in_english(folded, language)
    text = translated.text
    if not may_name_time(text):
        return AskedTimes()
    for pattern, wording in _REWORDED if "half" in text or DIGIT.search(text) else ():
        text = pattern.sub(wording, text)
    local = wall_clock(now)
    times = _bare_times(text, local)
    if times and AHEAD.search(text) and not BEHIND.search(text):
        times = [_ahead(time, local) for time in times]
    joined = [*_joined(text, times, local)]
    if not joined:
        return AskedTimes()
    dates = named_dates(text)
    days = dates.days.union(*(_days_of(time.intervals[0]) for time in joined))
    return AskedTimes(
        tuple(_asked_time(time, text, now, local) for time in joined),
        replace(dates, days=days),
        translated.words.union(words(" ".join(text[time.start : time.end] for time in joined))),
    )


def _ahead(time: _Time, now: datetime) -> _Time:
    """A time of words that recur as the next one from today on: "what's on Monday?"."""
    today = _midnight(now)
    coming = time.again(today, 1) if time.again else None
    if coming is None or time.intervals[0][1] > today:  # it is not over, as May in May
        return time
    others = tuple(each for each in time.intervals if each != coming)
    return time._replace(intervals=(coming, *others))


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _asked_time(time: _Time, text: str, now: datetime, local: datetime) -> AskedTime:
    is_open = time.intervals[0][1] > local
    return AskedTime(
        _readings(time.intervals, now, local), is_open, text[time.start : time.end], time.start
    )


def _days_of(interval: Interval) -> set[tuple[int, int]]:
    """The days of at most a week as (month, day); none of a longer time."""
    start, end = interval
    if end - start > 7 * _DAY:
        return set()
    count = -((start - end) // _DAY)
    return {(day.month, day.day) for day in (start + n * _DAY for n in range(count))}


def _readings(
    intervals: Sequence[Interval], now: datetime, local: datetime
) -> tuple[tuple[float, float, float], ...]:
    zone, until_now = now.tzinfo or timezone.utc, _now(local)
    ends = {until_now: now.timestamp() + _MOMENT.total_seconds()}  # clocks may show it twice
    return tuple(
        [
            (
                seconds(start, zone),
                ends[end] if end in ends and end < FOREVER else seconds(end, zone),
                (_LESS_SURE if place else 1.0)
                * (_OF_YEAR if (end - start).days in _YEAR_DAYS else 1.0),
            )
            for place, (start, end) in enumerate(intervals)
        ]
    )


def _bare_times(text: str, now: datetime) -> list[_Time]:
    """The times of a text in order, without what changes them; of two in one place, the longer."""
    candidates = sorted(
        (*_calendar(text, now), *_relative(text, now)), key=lambda time: (time.start, -time.end)
    )
    times: list[_Time] = []
    for time in (_part_of_day(text, time, now) for time in candidates):
        if not times or time.start >= times[-1].end:
            times.append(time)
        elif time.end > times[-1].end and time.start == times[-1].start:
            times[-1] = time
    return times


def _calendar(text: str, now: datetime) -> Iterator[_Time]:
    dates = mentioned_dates(text)
    mentions = dict.fromkeys(mention for ends in dates.ranges for mention in ends)
    readings: dict[tuple[int, int], list[DateMention]] = {}
    for mention in mentions:
        readings.setdefault((mention.start, mention.end), []).append(mention)
    years = sorted(dates.years)
    for (start, end), group in readings.items():
        intervals = tuple(chain.from_iterable([_of_mention(each, years, now) for each in group]))
        recurs = group[0].year is None and not years
        if intervals:
            yield _Time(start, end, intervals, _again(group[0]) if recurs else None)
    if not any(mention.year is None for mention in mentions):
        for year in years:
            place = text.find(str(year))
            yield _Time(place, place + 4, (year_of(year),))


def _of_mention(mention: DateMention, years: Sequence[int], now: datetime) -> list[Interval]:
    """The day or month of its year, of the years beside it, or of the last year; then of others."""
    last: list[Interval] = []
    if mention.year is None and not years:
        last = nearest(mention, now, -1)
        newest = last[0][0].year if last else now.year
        years_tried = [newest + 1, *range(newest - 1, newest - _OTHER_YEARS, -1)]
    else:
        years_tried = [mention.year] if mention.year is not None else [*years]
    readings = [exactly(year, mention) for year in years_tried]
    return [*last[:1], *filter(None, readings)]


def _again(mention: DateMention) -> Callable[[datetime, int], Interval | None]:
    return lambda moment, step: next(iter(nearest(mention, moment, step)), None)


def _relative(text: str, now: datetime) -> Iterator[_Time]:
    today = _midnight(now)
    for match in RELATIVE_TIME.finditer(text):
        time = _of_words(match, today, now)
        if time is not None and time.intervals:
            yield time


def _of_words(match: re.Match[str], today: datetime, now: datetime) -> _Time | None:
    """The time of a relative phrase."""
    place = match.span()
    try:
        if match["near"]:
            return _Time(*place, (_days(today, _NEAR[match["near"]]),))
        if match["duration"]:
            return _Time(*place, ((_before(now, match["duration"], match["unit"]), _now(now)),))
        if match["count"]:
            return _Time(*place, (_ago(today, match["count"], match["ago_unit"]),))
        if match["weekday"] or match["late_weekday"]:
            return _weekday(match, today)
        if match["whole"]:
            return _Time(*place, (_period(match["whole"], today, 0),))
        if match["period"]:
            step = _STEPS.get(match["which"], 0)
            return _Time(*place, (_period(match["period"], today, step),))
        if match["the_weekend"]:
            return _recurring(place, today, _weekends)
        if match["season"]:
            return _season(match, today)
        if match["quarter"]:
            return _named(match, "quarter", today)
        if match["feast"]:
            return _named(match, "feast", today)
        day = int(match["ordinal"])
        return _recurring(place, today, lambda year: _month_days(year, day))
    except (OverflowError, ValueError):  # beyond the years of the calendar
        return None


_NEAR = {
    "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0,
    "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1,
    "day after tomorrow": 2,
}  # fmt: skip
_PARTS_OF_DAY = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""The hours of parts of a day, from and to: a night ends past midnight."""


def _part_of_day(text: str, time: _Time, now: datetime) -> _Time:
    """A time whose words name the part of a day: that part if it has begun, else the whole day."""
    part = PART_OF_DAY.match(text, time.end) or PART_OF_DAY.search(text, time.start, time.end)
    if part is None:
        return time
    first, last = (timedelta(hours=hour) for hour in _PARTS_OF_DAY[part["part"]])
    parts = tuple(
        (start + first, later(start, last))
        for start, end in time.intervals
        if end - start == _DAY and start + first <= now
    )
    return time._replace(intervals=(*parts, *time.intervals))


_STEPS = {"last": -1, "past": -1, "previous": -1, "next": 1}


def _days(day: datetime, offset: int, count: int = 1) -> Interval:
    start = day + offset * _DAY
    return start, later(start, count * _DAY)


def _now(now: datetime) -> datetime:
    return later(now, _MOMENT)


def _count(words: str) -> int:
    return _NUMBERS.get(words) or int(words)


def _before(moment: datetime, count: str, unit: str) -> datetime:
    """The moment a number of days, weeks, months or years before another."""
    number, unit = _count(count), unit.rstrip("s")
    if unit in ("month", "year"):
        months = number * (12 if unit == "year" else 1)
        year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
        day = min(moment.day, monthrange(year, month + 1)[1])
        return moment.replace(year=year, month=month + 1, day=day)
    length = {"hour": timedelta(hours=1), "day": _DAY, "fortnight": 14 * _DAY}
    return moment - number * length.get(unit, 7 * _DAY)


def _ago(today: datetime, count: str, unit: str) -> Interval:
    """The day, week, month or year so long ago."""
    moment, unit = _before(today, count, unit), unit.rstrip("s")
    if unit in ("hour", "day"):
        return _days(moment, 0)
    return _period("week" if unit == "fortnight" else unit, moment, 0)


def _period(period: str, day: datetime, step: int) -> Interval:
    """The week (from Monday), weekend, month or year of a day, or the one before or after it."""
    monday = day - day.weekday() * _DAY
    if period == "week":
        return _days(monday, 7 * step, 7)
    if period == "weekend":
        return _days(monday, 7 * step + 5, 2)
    if period == "month":
        year, month = divmod(day.year * 12 + day.month - 1 + step, 12)
        return month_of(year, month + 1)
    if period == "quarter":
        year, quarter = divmod(day.year * 4 + (day.month - 1) // 3 + step, 4)
        return quarter_of(year, quarter + 1)
    return year_of(day.year + step)


def _weekday(match: re.Match[str], today: datetime) -> _Time:
    """A day of the week: of the week that is named, else the last one before today, or next."""
    number = WEEKDAY_NAMES.index(match["weekday"] or match["late_weekday"])
    week = match["of_week"] or match["in_week"]
    since_monday = today.weekday()
    if week or match["which_day"] == "next":
        offset = 7 * _STEPS.get(week or "next", 0) - since_monday + number
        return _Time(*match.span(), (_days(today, offset),))
    back = (since_monday - number) % 7
    if match["which_day"] == "this":
        return _Time(*match.span(), (_days(today, number - since_monday),))
    last = _days(today, -(back or 7))
    others = (_days(today, 0),) if not back else (_days(last[0], -7),) if match["which_day"] else ()

    def again(moment: datetime, step: int) -> Interval | None:
        start = _midnight(moment)
        offset = (number - start.weekday()) % 7
        return _days(start, offset if step > 0 else offset - 7)

    return _Time(*match.span(), (last, *others), again)


def _recurring(place: tuple[int, int], today: datetime, times: Callable[[int], _Times]) -> _Time:
    """The last of such times that has begun; `times` gives those around a year, in order."""

    def again(moment: datetime, step: int) -> Interval | None:
        if step > 0:
            return next((time for time in times(moment.year) if time[1] > moment), None)
        return max((time for time in times(moment.year) if time[0] <= moment), default=None)

    last = again(today, -1)
    return _Time(*place, (last,) if last else (), again)


def _season(match: re.Match[str], today: datetime) -> _Time:
    """A season of the northern half: the last that has begun, else as "this", "last", "next" say.

    "This" is the nearest. They begin in March, June, September and December.
    """
    first = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[match["season"]]
    time = _recurring(match.span(), today, lambda year: _seasons(year, first))
    around, which = [*_seasons(today.year, first)], match["which_season"]
    if which is None:
        return time
    if which == "this":
        nearest_one = min(around, key=lambda each: max(each[0] - today, today - each[1]))
        return time._replace(intervals=(nearest_one,))
    if which == "next":
        return _Time(*match.span(), (next(each for each in around if each[0] > today),))
    return _Time(*match.span(), ([each for each in around if each[1] <= today][-1],))


def _named(match: re.Match[str], kind: str, today: datetime) -> _Time:
    """A quarter or a feast: of the year that is named, else the last that has begun."""
    name, year = match[kind], match[f"{kind}_year"]

    def of(year: int) -> Interval:
        return feast_of(year, name) if kind == "feast" else quarter_of(year, _QUARTERS[name])

    if year:
        return _Time(*match.span(), (of(int(year)),))
    return _recurring(match.span(), today, lambda year: map(of, range(year - 1, year + 2)))


_QUARTERS = {
    name: number
    for number, word in enumerate(("first", "second", "third", "fourth"), 1)
    for name in (f"q{number}", f"{word} quarter")
}


def _seasons(year: int, first: int) -> _Times:
    for each in range(year - 2, year + 2):
        last, month = divmod(12 * each + first + 1, 12)
        yield month_of(each, first)[0], month_of(last, month + 1)[1]


def _weekends(year: int) -> _Times:
    day = datetime(year - 1, 12, 1, tzinfo=timezone.utc)
    saturday = day + (5 - day.weekday()) % 7 * _DAY
    return (_days(saturday, 7 * week, 2) for week in range(62))


def _month_days(year: int, day: int) -> _Times:
    for months in range(12 * year - 12, 12 * year + 24):
        interval = exactly(months // 12, DateMention(None, months % 12 + 1, day, 0, 0))
        if interval is not None:
            yield interval


def _joined(text: str, times: Sequence[_Time], now: datetime) -> Iterator[_Time]:
    """The times with their parts, ranges and bounds."""
    pending = [_part_of(text, time) for time in times]
    while pending:
        time = pending.pop(0)
        beside = pending and time.again and _BESIDE.fullmatch(text, time.end, pending[0].start)
        if beside and time.again:  # "the Friday before 10 January"
            following = pending.pop(0)
            step = -1 if beside[1] == "before" else 1
            interval = time.again(following.intervals[0][step > 0], step)
            if interval is not None:
                yield _Time(time.start, following.end, (interval,))
                continue
        joint = pending and DATE_RANGE.fullmatch(text, time.end, pending[0].start)
        if joint and (joint["and"] is None or is_after_between(text, time.start)):
            joined = _range(time, pending[0])
            if joined is not None:
                time = joined
                pending.pop(0)
                yield time
                continue
        yield _bounded(text, time, now)


def _range(first: _Time, last: _Time) -> _Time | None:
    """From one time to another; of two that recur, the second is the next after the first."""
    start, end = first.intervals[0], last.intervals[0]
    if first.again and not last.again:
        start = first.again(end[0], -1) or start
    elif last.again and (end[1] <= start[0] or not first.again):
        end = last.again(start[0], 1) or end
    if start[0] >= end[1]:
        return None
    return _Time(first.start, last.end, ((start[0], end[1]),))


def _part_of(text: str, time: _Time) -> _Time:
    """The first, second or last part of a month or a longer time, where the words say so."""
    part = PART_BEFORE.search(text, max(0, time.start - _BOUND_CHARS), time.start)
    if part is None:
        return time
    place = 0 if part["early"] else 1 if part["mid"] else 2

    def third(interval: Interval) -> Interval:
        start, end = interval
        days = (end - start).days
        cuts = [0, 10, 20, days] if days in range(28, 32) else [0, days // 3, 2 * days // 3, days]
        if days < 3:
            return interval
        return start + cuts[place] * _DAY, start + cuts[place + 1] * _DAY

    return _Time(part.start(), time.end, tuple(map(third, time.intervals)))


def _bounded(text: str, time: _Time, now: datetime) -> _Time:
    """The time from or up to the one named, after "since", "after", "before" or "until"."""
    before = BOUND_BEFORE.search(text, max(0, time.start - _BOUND_CHARS), time.start)
    after = None if before else BOUND_AFTER.match(text, time.end)
    match = before or after
    if match is None:
        return time
    start, end = time.intervals[0]
    if before and before["unit"]:  # "the week before 3 August"; much is told on the day itself
        count = before["count"].replace("the", "one")
        span = start - _before(start, count, before["unit"])
        interval = (start - span, end) if before["bound"] == "before" else (start, end + span)
        return _Time(before.start(), time.end, (interval,))
    until_now = _now(max(now, end))
    interval = {
        "since": (start, until_now),
        "after": (end, until_now),
        "before": (ALWAYS, start),
        "until": (ALWAYS, end),
    }[match["bound"]]
    place = (before.start() if before else time.start, after.end() if after else time.end)
    return _Time(*place, (interval,)) if interval[0] < interval[1] else time

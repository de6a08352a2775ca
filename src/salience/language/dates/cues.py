"""Cues of dates and times in a question: the patterns of `grammar`.

Calendar dates are matched against the folded question, phrases against its own text.
"""

from __future__ import annotations

from collections.abc import Iterable

from salience.language.cues import pattern_cue
from salience.language.english import AMBIGUOUS_MONTHS, MONTHS, NAMESAKE_MONTHS


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


# Parts

_MONTH = _any_of(MONTHS)
_CLEAR_MONTH = _any_of(MONTHS.keys() - AMBIGUOUS_MONTHS)
_NAMESAKE_MONTH = _any_of(NAMESAKE_MONTHS)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_PART = "early|mid|late"
_TO = r"\s*(?:to|until|till|through|-|–)\s*"
_RANGE = rf"{_TO}(?:(?:the|on|in) )*"
_TIME_WORD = f"in|since|during|until|till|through|{_PART}|last|next|past|every"
_PREPOSITION = "on|of|by|from|for|around|before|after|between"
_DETERMINER = "the|this|that|my|our|your|his|her|their"
_UNIT_OF_QUANTITY = (
    "dollars?|bucks|euros?|pounds?|francs?|yen|usd|eur|gbp|chf|kg|kilos?|grams?|g|km|kilomet(?:er|re)s"
    "|miles|met(?:er|re)s|feet|ft|cm|mm|m|lit(?:er|re)s|watts?|kwh|hours|minutes|seconds|days|times"
    "|steps|words|calories|kcal|people|users|percent|[kmg]b"
)
_COUNT = (
    r"(?:\d{1,3}|an?|a couple of|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
)
_UNIT = r"(?:hour|day|week|fortnight|month|year)s?"
_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_JOINT = r"\s*(and|to|until|till|through|-|–)\s*(?:(?:the|on) )*"

# Calendar dates

MONTH_NAME = pattern_cue(
    "month_name",
    "date: what may be the name of a month",
    rf"\b(?:{_MONTH})\b",
    catches="in sept",
    must_not_catch="marching",
)
DAY_BEFORE = pattern_cue(
    "day_before",
    "date: the day right before a month",
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?(?: of)? $",
    catches="on the 5th of ",
    must_not_catch="room 105 ",
)
DAY_AFTER = pattern_cue(
    "day_after",
    "date: the day right after a month",
    r"\.?,? (\d{1,2})(?:st|nd|rd|th)?\b",
    catches=" 5th",
    must_not_catch=" 2024",
)
YEAR_BEFORE = pattern_cue(
    "year_before",
    "date: the year right before a month",
    rf"\b({_YEAR})\b,? $",
    catches="in 2024, ",
    must_not_catch="in 2024 and ",
)
YEAR_AFTER = pattern_cue(
    "year_after",
    "date: the year right after a month, or after its day",
    rf"(?:\.?,?(?: of)? |,)\b({_YEAR})\b",
    catches=" of 2024",
    must_not_catch=" of 20240",
)
FIGURE_AFTER = pattern_cue(
    "figure_after",
    "date: a figure after what may be a month",
    r",? \d",
    catches=", 5 o'clock",
    must_not_catch=" five",
)
WORD_AFTER = pattern_cue(
    "word_after",
    "date: a word right after a number, which may count it",
    r" ([^\W\d_]+)\b",
    catches=" people",
    must_not_catch=", 2024",
)
COUNTABLE_AFTER = pattern_cue(
    "countable_after",
    "date: things after a number, which is then hardly a year",
    r" (\w{2,}s)\b",
    catches=" guests",
    must_not_catch=" goal",
)
AFTER_TIME_WORD = pattern_cue(
    "after_time_word",
    "date: right after a word that stands before a time, and hardly ever before a person",
    rf"\b(?:{_TIME_WORD}) $",
    catches="what happened in ",
    must_not_catch="what happened to ",
)
AFTER_PREPOSITION = pattern_cue(
    "after_preposition",
    "date: right after a preposition, which makes a month of may",
    rf"\b(?:{_PREPOSITION}) $",
    catches="due by ",
    must_not_catch="who ",
)
AFTER_DETERMINER = pattern_cue(
    "after_determiner",
    "date: right after a determiner, which makes a month of a name",
    rf"\b(?:{_DETERMINER}) $",
    catches="what broke in the ",
    must_not_catch="what does ",
)
AFTER_NUMBERED = pattern_cue(
    "after_numbered",
    "date: right after a thing that has a number, which is no year",
    r"\b(?:room|flight|gate|order|ticket|invoice|customer|issue|version|port|page|line|row|seat|bus"
    r"|route|platform|apartment|apt|suite|locker|box|extension|code|pin|id|number|no\.?|nr\.?) $",
    catches="who is in room ",
    must_not_catch="what happened in ",
)
AFTER_YEAR_WORD = pattern_cue(
    "after_year_word",
    "date: right after a word that stands before a year rather than before a quantity",
    rf"(?:^|\b(?:{_TIME_WORD}|{_PREPOSITION}|{_DETERMINER}|to|and|or) |'s )$",
    catches="ana's ",
    must_not_catch="did ",
)
LISTED = pattern_cue(
    "listed",
    "date: between the months of a list",
    r"\s*(?:[,/&]|,?\s(?:and|or)\s)\s*",
    catches="april or june",
    must_not_catch="april to june",
)
BETWEEN = pattern_cue(
    "between",
    "date: right before the first of two dates that and makes a range of",
    r"\bbetween (?:(?:the|on|in) )*$",
    catches="what happened between the ",
    must_not_catch="what happened on the ",
)
DATE_RANGE = pattern_cue(
    "date_range",
    "date: between the first and the last date of a range",
    rf"{_RANGE}|\s+(?P<and>and)\s+(?:(?:the|on|in) )*",
    catches=" until the ",
    must_not_catch=", ",
)
BEFORE_RANGE_END = pattern_cue(
    "before_range_end",
    "date: right before the last month of a range",
    rf"{_RANGE}(?:{_MONTH})\b",
    catches=" to june",
    must_not_catch=" and june",
)
AFTER_RANGE_START = pattern_cue(
    "after_range_start",
    "date: right after the first month or year of a range",
    rf"(?:\b(?:{_MONTH}|\b{_YEAR}\b){_RANGE}|\bbetween (?:\S+ ){{1,4}}and )$",
    catches="from march to ",
    must_not_catch="from anna to ",
)
LONE_YEAR = pattern_cue(
    "lone_year",
    "date: a year without a month; no price, quantity or part of a longer number",
    rf"(?<![\w$€£¥#])(?<!\d[.:])({_YEAR})\b(?![.:]\d|,\d{{3}}\b|%| ?(?:{_UNIT_OF_QUANTITY})\b)",
    catches="the summer 2023 trip",
    must_not_catch="what cost 2000 dollars?",
)
ISO_DATE = pattern_cue(
    "iso_date",
    "date: year, month and day in figures",
    rf"(?<!\d)({_YEAR})([-/])(\d\d?)\2(\d\d?)(?:\b|(?=t\d))",
    catches="on 2024-05-31",
    must_not_catch="from 2024-2025",
)
DAY_MONTH_YEAR = pattern_cue(
    "day_month_year",
    "date: day, month and year in figures; with dots the year has four of them",
    rf"(?<![\w./])(\d{{1,2}})([./])(\d{{1,2}})\2({_YEAR}|(?<=/)\d\d)(?![\w/]|\.\d)",
    catches="on 5/31/24",
    must_not_catch="python 3.11.14",
)

# What changes a date, and times relative to the day of the question

DAYS_OF_MONTH = pattern_cue(
    "days_of_month",
    "time: two days before the month that they share",
    rf"(?<![\d/.-]){_DAY}{_JOINT}{_DAY} (?:of )?({_MONTH})\b",
    catches="between the 5th and the 7th of march",
    must_not_catch="on 5 march",
)
MONTH_OF_DAYS = pattern_cue(
    "month_of_days",
    "time: two days behind the month that they share",
    rf"\b({_MONTH}) {_DAY}{_JOINT}{_DAY}\b(?![:\d]|\s*(?:of )?(?:{_MONTH})\b)",
    catches="march 5 to 7",
    must_not_catch="march 5 to april 7",
)
PART_BEFORE = pattern_cue(
    "part_before",
    "time: right before a time of which it takes a part",
    r"\b(?:the )?(?:(?P<early>early|beginning|start)|(?P<mid>mid|middle)|(?P<late>late|end))"
    r"(?:[- ](?:of|in|on|the|this))*[- ]+$",
    catches="at the beginning of ",
    must_not_catch="in ",
)
BOUND_BEFORE = pattern_cue(
    "bound_before",
    "time: right before a time that it leaves open at one end",
    rf"\b(?:(?P<count>{_COUNT}|the) (?P<unit>{_UNIT}) )?(?P<bound>since|after|before|until)"
    r"(?: (?:on|the))* $",
    catches="said since ",
    must_not_catch="said on ",
)
BOUND_AFTER = pattern_cue(
    "bound_after",
    "time: right after a time that it leaves open at one end, as other languages order words",
    r"\s*~(?P<bound>since|after|before|until)\b",
    catches=" ~since ",
    must_not_catch=" since ",
)
RELATIVE_TIME = pattern_cue(
    "relative_time",
    "time: a time relative to the day of the question",
    rf"""(?x)\b(?:
    (?P<near>day\ before\ yesterday|day\ after\ tomorrow|yesterday|today|tonight|tomorrow
        |this\ (?:morning|afternoon|evening)|last\ night)
    |(?:last|past)\ (?P<duration>{_COUNT})\ (?P<unit>{_UNIT})
    |(?P<count>{_COUNT})\ (?P<ago_unit>{_UNIT})\ ago
    |(?:(?P<which_day>last|this|past|next)\ )?(?P<weekday>{_WEEKDAY})
        (?:\ (?:of\ |in\ )?(?:the\ )?(?P<of_week>last|this|next)\ week)?
    |(?P<in_week>last|this|next)\ week(?:'s)?(?:\ on)?\ (?P<late_weekday>{_WEEKDAY})
    |(?P<which>last|this|past|previous|next)\ (?P<period>weekend|week|month|year)
    |(?<=of\ the\ )(?P<whole>week|month|year)
    |(?:(?<=on\ the\ )|(?<=since\ the\ )|(?<=before\ the\ )|(?<=after\ the\ )|(?<=until\ the\ )
        |(?<=between\ the\ )|(?<=and\ the\ )|(?<=to\ the\ )|(?<=by\ the\ ))
        (?P<ordinal>[12]?\d|3[01])(?:st|nd|rd|th)
        (?=\s*(?:$|[^\w\s]|(?:in|at|with|and|to|until|for|by|about|from|of\ (?:the|this)|this)\b))
    )\b""",
    catches="what did we discuss last tuesday?",
    must_not_catch="what do we do on tuesdays?",
)

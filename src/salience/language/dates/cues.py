"""Cues of dates and times in a question, the patterns of `grammar`: `tables/dates.txt`."""

from __future__ import annotations

from salience.language.cues import CueTable

_TABLE = CueTable("dates")

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
DAY_MONTH_YEAR = _TABLE.pattern("day_month_year")
DAYS_OF_MONTH = _TABLE.pattern("days_of_month")
MONTH_OF_DAYS = _TABLE.pattern("month_of_days")
PART_BEFORE = _TABLE.pattern("part_before")
BOUND_BEFORE = _TABLE.pattern("bound_before")
BOUND_AFTER = _TABLE.pattern("bound_after")
RELATIVE_TIME = _TABLE.pattern("relative_time")

"""Dates of a question: how they are recognised, how texts word them, what time they mean."""

from salience.language.dates.asked import AskedTime, AskedTimes, asked_times
from salience.language.dates.grammar import named_dates
from salience.language.dates.readings import (
    date_wordings,
    day_wordings,
    past_interval,
    search_interval,
)

__all__ = [
    "AskedTime",
    "AskedTimes",
    "asked_times",
    "date_wordings",
    "day_wordings",
    "named_dates",
    "past_interval",
    "search_interval",
]

"""Dates of a question: how they are recognised, how texts word them, what time they mean."""

from salience.language.dates.readings import (
    DatesMissing,
    date_terms,
    date_wordings,
    named_dates,
    past_interval,
    search_interval,
)

__all__ = [
    "DatesMissing",
    "date_terms",
    "date_wordings",
    "named_dates",
    "past_interval",
    "search_interval",
]

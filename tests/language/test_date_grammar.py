"""The texts that name a date, and those that only seem to."""

from __future__ import annotations

import pytest

from salience.language.analysis_types import NamedDates
from salience.language.dates import named_dates


def test_the_years_months_and_days_of_a_text() -> None:
    assert named_dates("in 2024 january") == NamedDates(frozenset({2024}), frozenset({1}))
    assert named_dates("on 2024-05-00 and 3 june") == NamedDates(
        frozenset({2024}), frozenset({5, 6}), frozenset({(6, 3)})
    )


def dates_of(text: str) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """The years, months and days of a text in lower case."""
    dates = named_dates(text)
    return sorted(dates.years), sorted(dates.months), sorted(dates.days)


@pytest.mark.parametrize(
    "text",
    [
        "what does jan like?",
        "where does april work?",
        "what is the name of april's dog?",
        "what do jan and april like?",
        "how may 5 people fit?",
        "which 3 may join?",
        "what broke with python 3.11.14?",
        "is 10.1.12.15 the gateway?",
        "is 10.1.12.2015 the gateway?",
        "what is in /logs/3/11/14/?",
        "the ratio of 45/10/24",
        "how did i spend 2000 dollars?",
        "what cost $2000?",
        "did 2000 guests come?",
        "who is in room 2012?",
        "where is order no. 2024?",
        "what does 2000,500 mean?",
        "is version 2.2019 out?",
    ],
)
def test_a_text_without_a_date(text: str) -> None:
    assert dates_of(text) == ([], [], [])


@pytest.mark.parametrize(
    ("text", "years", "months", "days"),
    [
        ("what did i do in april?", [], [4], []),
        ("what is due this june?", [], [6], []),
        ("plans for august", [], [8], []),
        ("june expenses", [], [6], []),
        ("what broke in the june release?", [], [6], []),
        ("in march, april or june", [], [3, 4, 6], []),
        ("what was in april's letter, in april?", [], [4], []),
        ("what did jan buy on 5 jan?", [], [1], [(1, 5)]),
        ("what broke in the may 5 release?", [], [5], [(5, 5)]),
        ("what did we do may 5 at work?", [], [5], [(5, 5)]),
        ("who came on may 5th, 2024?", [2024], [5], [(5, 5)]),
        ("from 31.5.2024-3.6.2024", [2024], [5, 6], [(5, 31), (6, 3)]),
        ("on 5/31/24", [2024], [5], [(5, 31)]),
        ("born 5.3.1999", [1999], [3], [(3, 5)]),
        ("on december 1,2023", [2023], [12], [(12, 1)]),
        ("the summer 2023 trip", [2023], [], []),
        ("the 2024 goals", [2024], [], []),
        ("2024 goals", [2024], [], []),
        ("was that 2019?", [2019], [], []),
    ],
)
def test_a_text_with_dates(
    text: str, years: list[int], months: list[int], days: list[tuple[int, int]]
) -> None:
    assert dates_of(text) == (years, months, days)

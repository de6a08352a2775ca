"""The dates that a question names, and the past time they stand for."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import Memory, Profile
from salience.language.analysis_types import NamedDates
from salience.language.dates import date_wordings, named_dates, past_interval
from salience.language.tokens import terms
from salience.ranking.signals import OnDate
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import MatchAll


def days(text: str, now: str) -> tuple[str, ...] | None:
    found = past_interval(text, datetime.fromisoformat(now).replace(tzinfo=timezone.utc))
    return found and tuple(
        datetime.fromtimestamp(t, timezone.utc).date().isoformat() for t in found
    )


@pytest.mark.parametrize(
    ("text", "now", "start", "end"),
    [
        # a year right before or after its month
        ("in 2024 January", "2025-06-01", "2024-01-01", "2024-02-01"),
        ("in May of 2024", "2026-06-01", "2024-05-01", "2024-06-01"),
        ("from December 2023 to February 2024", "2025-06-01", "2023-12-01", "2024-03-01"),
        ("from 28 Dec 2023 until 3.1.2024", "2025-06-01", "2023-12-28", "2024-01-04"),
        ("from 2022 to May 2024", "2025-06-01", "2022-01-01", "2024-06-01"),
        # ... elsewhere it is of all months that have none
        ("in 2023, in March and in May", "2025-06-01", "2023-03-01", "2023-06-01"),
        # one of two has a year
        ("from December to February 2024", "2025-06-01", "2023-12-01", "2024-03-01"),
        ("from December 2023 to February", "2025-06-01", "2023-12-01", "2024-03-01"),
        # none has one
        ("between November and January", "2024-02-10", "2023-11-01", "2024-02-01"),
        ("between November and January", "2024-12-10", "2024-11-01", "2025-02-01"),
        ("between January and March", "2024-02-10", "2024-01-01", "2024-04-01"),
        ("from March to May", "2024-02-10", "2023-03-01", "2023-06-01"),
        ("between the 5th of May and the 8th of June", "2024-02-10", "2023-05-05", "2023-06-09"),
        ("in March and in January", "2024-06-10", "2024-01-01", "2024-04-01"),
        ("in January and in November", "2024-02-10", "2023-11-01", "2024-02-01"),
        # days that are none
        ("on 2024-05-00", "2025-06-01", "2024-05-01", "2024-06-01"),
        ("on 00.05.2024", "2025-06-01", "2024-05-01", "2024-06-01"),
        ("on 30 February", "2025-06-01", "2025-02-01", "2025-03-01"),
        # days that few years have
        ("on February 29", "2025-06-01", "2024-02-29", "2024-03-01"),
        ("on February 29", "1904-02-01", "1896-02-29", "1896-03-01"),
        ("on February 29, 2025", "2025-06-01", "2025-02-01", "2025-03-01"),
    ],
)
def test_the_past_time(text: str, now: str, start: str, end: str) -> None:
    assert days(text, now) == (start, end)


@pytest.mark.parametrize("text", ["who may march?", "I march on", "in June 2031", "what is new?"])
def test_no_past_time(text: str) -> None:
    assert days(text, "2025-06-01") is None


def test_the_parts_of_dates() -> None:
    assert named_dates("in 2024 january") == NamedDates(frozenset({2024}), frozenset({1}))
    assert named_dates("on 2024-05-00 and 3 june") == NamedDates(
        frozenset({2024}), frozenset({5, 6}), frozenset({(6, 3)})
    )


def parts(text: str) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    found = named_dates(text)
    return sorted(found.years), sorted(found.months), sorted(found.days)


@pytest.mark.parametrize(
    "text",
    [  # in lower case, as they are read
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
def test_what_is_no_date(text: str) -> None:
    assert parts(text) == ([], [], [])


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
def test_what_is_a_date(
    text: str, years: list[int], months: list[int], days: list[tuple[int, int]]
) -> None:
    assert parts(text) == (years, months, days)


PIECES = st.sampled_from(
    ["2023", "2024", "29", "31", "0", "January", "February", "May", "march", "to", "and", "between",
     "-", ",", "of", "2024-02-30", "31.12.24", "12/31/2024", "the", "in"]
)  # fmt: skip


@given(
    st.lists(PIECES, max_size=12).map(" ".join),
    st.datetimes(timezones=st.just(timezone.utc)),
)
def test_any_dates_are_a_stretch_that_has_begun(text: str, now: datetime) -> None:
    found = past_interval(text, now)
    assert found is None or (found[0] < found[1] and found[0] <= now.timestamp())


def test_days_around_new_year_are_near_whatever_else_is_remembered() -> None:
    near = Profile("near", retrieve(MatchAll(), depth=None) >> score(OnDate("day")) >> cut())
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Eve.", id="eve", created_at="2023-12-30")
        memory.add("Before.", id="before", created_at="2023-12-28")
        [first, *_] = memory.search("on January 1", profile=near)
        assert (first.id, first.score) == ("eve", 0.6)
        memory.add("Epiphany.", id="after", created_at="2024-01-06")
        scores = {hit.id: hit.score for hit in memory.search("on January 1", profile=near)}
        assert scores == {"eve": 0.6, "before": 0.0, "after": 0.0}
        scores = {hit.id: hit.score for hit in memory.search("on January 1, 2023", profile=near)}
        assert scores["eve"] == 0.0


def test_what_is_of_the_very_day_comes_before_the_days_around_it() -> None:
    with Memory.open("ram://") as memory:
        days = [f"2026-02-{day:02d}" for day in range(1, 29)]
        memory.add_many([{"id": day, "content": "Pulse 64.", "created_at": day} for day in days])
        found = memory.search("What was the pulse on 20 February?")
        assert found.ids[0] == "2026-02-20"
        assert set(found.ids[1:3]) == {"2026-02-19", "2026-02-21"}


@pytest.mark.parametrize(
    ("question", "text", "parts"),
    [
        ("on 12 June", "Dentist on 12 June at 9:15", "month day"),
        ("on June 12th, 2026", "Dentist on Jun 12", "month day"),
        ("on 2026-06-12", "Dentist on the 12th of June", "month day"),
        ("on 12 June", "dentist 2026-06-12", "month day"),
        ("on 12 June", "dentist 12.06.2026", "month day"),
        ("on 12 June", "dentist 2019-06-12", ""),
        ("on 12 June 2019", "dentist 2019-06-12", "year month day"),
        ("on 1 February", "Paid on the 1st of February", "month day"),
        ("on 22 February", "Paid on February 22nd", "month day"),
        ("on 3 February", "Paid on February 03", "month day"),
        ("on 31 February", "Paid on February 31st", "month day"),
        ("on 12 June", "Dentist on 13 June", "month"),
        ("on 12 June", "Dentist on 12 July", ""),
        ("in June", "The rent goes up in June", "month"),
        ("in 2026", "The passport is good until June 2026", "year"),
        ("in June or in July", "Holidays begin in July", "month"),
        # words that are mostly not a month
        ("in May", "I may be late", ""),
        ("in May 2026", "I may be late", ""),
        ("in May 2026", "The rent goes up in May 2026", "year month"),
        ("on 5 May", "The fair is on 5 May", "month day"),
        ("on 5 March", "We march on", ""),
        ("what happened?", "Dentist on 12 June 2026", ""),
    ],
)
def test_what_a_text_names_of_the_dates_that_a_question_names(
    question: str, text: str, parts: str
) -> None:
    held = set(terms(text))
    wordings = date_wordings(named_dates(question.lower()), 2026)
    assert parts.split() == [
        part
        for part, ways in wordings.items()
        if any(all(held.intersection(word) for word in way) for way in ways)
    ]


PRESENT = [
    "Which tool is used to build images?",
    "Which tools are mostly used to build images?",
    "What’s used to build images?",
    "Is Kaniko used to build images?",
    "Is it used to test?",
    "Which tool do we use to build images?",
    "What is the command used to start it?",
    "Which key has Anna used to sign it?",
    "Did Tom get used to the noise?",
    "Which tool can be used to test?",
    "Why isn't it used to build images?",
]
FORMER = [
    "Where did I use to live?",
    "Where did Anna's brother use to live?",
    "What didn't she use to eat?",
    "Did he used to sing?",
    "Which tool used to build images?",
    "Where is the house that we used to live in?",
    "What is the firm Anna used to work for?",
    "Who is Tom's boss who used to sing?",
    "Is it used to test, as it used to be?",
    "What was it originally?",
]


@pytest.mark.parametrize("text", PRESENT)
def test_what_something_is_used_to_do_is_no_past(text: str) -> None:
    assert past_interval(text, datetime(2025, 6, 1, tzinfo=timezone.utc)) is None


@pytest.mark.parametrize("text", FORMER)
def test_what_once_was(text: str) -> None:
    now = datetime(2025, 6, 1, tzinfo=timezone.utc)
    assert past_interval(text, now) == (float("-inf"), now.timestamp())

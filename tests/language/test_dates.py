"""The two readings of dates: the wordings of texts, and the times that dates stand for."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import Memory, Profile
from salience.language.analysis_types import QueryAnalysis
from salience.language.dates import date_wordings, named_dates, past_interval, search_interval
from salience.language.tokens import terms
from salience.ranking.signals import OnDate
from salience.ranking.signals.vitality import DAY
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.candidates import Candidates
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll
from support.scoring import NOW


def iso_dates(interval: tuple[float, float] | None) -> tuple[str, ...] | None:
    return interval and tuple(
        datetime.fromtimestamp(seconds, timezone.utc).date().isoformat() for seconds in interval
    )


# The past time that a question is about


def past_days(text: str, now: str) -> tuple[str, ...] | None:
    moment = datetime.fromisoformat(now).replace(tzinfo=timezone.utc)
    return iso_dates(past_interval(text, moment))


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
    assert past_days(text, now) == (start, end)


@pytest.mark.parametrize("text", ["who may march?", "I march on", "in June 2031", "what is new?"])
def test_no_past_time(text: str) -> None:
    assert past_days(text, "2025-06-01") is None


PIECES = st.sampled_from(
    ["2023", "2024", "29", "31", "0", "January", "February", "May", "march", "to", "and", "between",
     "-", ",", "of", "2024-02-30", "31.12.24", "12/31/2024", "the", "in"]
)  # fmt: skip


@given(
    st.lists(PIECES, max_size=12).map(" ".join),
    st.datetimes(timezones=st.just(timezone.utc)),
)
def test_the_past_time_of_any_dates_has_begun(text: str, now: datetime) -> None:
    interval = past_interval(text, now)
    assert interval is None or (interval[0] < interval[1] and interval[0] <= now.timestamp())


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
def test_a_use_is_no_past_time(text: str) -> None:
    assert past_interval(text, datetime(2025, 6, 1, tzinfo=timezone.utc)) is None


@pytest.mark.parametrize("text", FORMER)
def test_a_former_state_is_all_the_past(text: str) -> None:
    now = datetime(2025, 6, 1, tzinfo=timezone.utc)
    assert past_interval(text, now) == (float("-inf"), now.timestamp())


# The time that a search keeps to


def search_days(text: str) -> tuple[str, ...] | None:
    interval = search_interval(text, NOW)
    return iso_dates((interval.start, interval.end)) if interval else None


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [  # seen from Tuesday, 10 March 2026, noon
        ("what did we discuss last Tuesday?", "2026-03-03", "2026-03-04"),
        ("on Tuesday", "2026-03-03", "2026-03-04"),
        ("this monday", "2026-03-09", "2026-03-10"),
        ("who called yesterday", "2026-03-09", "2026-03-10"),
        ("the day before yesterday", "2026-03-08", "2026-03-09"),
        ("3 days ago", "2026-03-07", "2026-03-08"),
        ("two weeks ago", "2026-02-23", "2026-03-02"),
        ("last week", "2026-03-02", "2026-03-09"),
        ("this week", "2026-03-09", "2026-03-16"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("decided in March", "2026-03-01", "2026-04-01"),
        ("in early May", "2025-05-01", "2025-05-11"),
        ("last june", "2025-06-01", "2025-07-01"),
        ("in December 2024", "2024-12-01", "2025-01-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("on March 5th, 2025", "2025-03-05", "2025-03-06"),
        ("the 5th of May", "2025-05-05", "2025-05-06"),
        ("2025-12-24", "2025-12-24", "2025-12-25"),
        ("24.12.2025", "2025-12-24", "2025-12-25"),
        ("between 1 March and 5 March", "2026-03-01", "2026-03-06"),
        ("the last two weeks", "2026-02-24", "2026-03-10"),
        ("since Monday", "2026-03-09", "2026-03-10"),
        ("after 2025-12-24", "2025-12-25", "2026-03-10"),
        ("before March", "0001-01-01", "2026-03-01"),
        ("until yesterday", "0001-01-01", "2026-03-10"),
        ("before 1950-01-01", "0001-01-01", "1950-01-01"),
        ("during 2023", "2023-01-01", "2024-01-01"),
        ("during March", "2026-03-01", "2026-04-01"),
        # of two, the one without a year is next to the other
        ("between January and May", "2026-01-01", "2026-06-01"),
        ("between May and March", "2025-05-01", "2026-04-01"),
        ("from March to May", "2026-03-01", "2026-06-01"),
        ("between Friday and Monday", "2026-03-06", "2026-03-10"),
        ("from Monday to Friday", "2026-03-09", "2026-03-14"),
        ("from December to February 2024", "2023-12-01", "2024-03-01"),
        ("from December 2023 to February", "2023-12-01", "2024-03-01"),
        ("from 1 January to 31 December 2024", "2024-01-01", "2025-01-01"),
        ("in January and may I ask", "2026-01-01", "2026-02-01"),
        # months that people are called, too
        ("due by April", "2025-04-01", "2025-05-01"),
        ("early June", "2025-06-01", "2025-06-11"),
        ("the June release", "2025-06-01", "2025-07-01"),
        ("June expenses", "2025-06-01", "2025-07-01"),
        ("from June to August", "2025-06-01", "2025-09-01"),
    ],
)
def test_the_time_that_a_search_keeps_to(text: str, start: str, end: str) -> None:
    assert search_days(text) == (start, end)


@pytest.mark.parametrize(
    "text",
    ["", "what is new?", "who said may be", "I march on", "31 february 2025", "at 10:15",
     "what does Jan like?", "April's job", "Where did June go?"],
)  # fmt: skip
def test_no_time_to_keep_to(text: str) -> None:
    assert search_days(text) is None


def test_the_words_of_the_time() -> None:
    interval = search_interval("What was said between 1 March and 5 March of it?", NOW)
    assert interval is not None
    assert interval.words == "1 March and 5 March"


@given(st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(timezone.utc)))
def test_yesterday_is_the_day_before_now(now: datetime) -> None:
    interval = search_interval("yesterday", now)
    assert interval is not None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    assert (interval.start, interval.end) == (
        (midnight - timedelta(days=1)).timestamp(),
        midnight.timestamp(),
    )


PHRASES = ["today", "yesterday", "this week", "this month", "this year", "on 3 January", "May",
           "last year", "the last 2 days", "2 days ago", "between December and May"]  # fmt: skip


@given(
    st.sampled_from(PHRASES),
    st.sampled_from(["", "since ", "after ", "before ", "until "]),
    st.sampled_from([datetime.min, datetime.min + timedelta(days=1), datetime.max]),
)
def test_times_at_the_ends_of_the_calendar(text: str, bound: str, now: datetime) -> None:
    interval = search_interval(bound + text, now.replace(tzinfo=timezone.utc))
    if interval is not None:
        assert interval.start < interval.end
        assert interval.to_dict()["words"]


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    for question in (text, f"{text} ago", f"last {text} 2025", f"since {text}"):
        interval = search_interval(question, NOW)
        assert interval is None or interval.start < interval.end


# In a search, and as wording


def test_a_time_fades_around_itself_and_in_other_years() -> None:
    near = Profile("near", retrieve(MatchAll(), depth=None) >> score(OnDate()) >> cut())
    days = ("2026-01-01", "2025-12-30", "2025-01-01", "2025-07-01")
    with Memory.open("ram://", embedder=None) as memory:
        memory.add_many([{"id": day, "content": "Eve.", "created_at": day} for day in days])

        def scores(question: str) -> list[float]:
            found = {h.id: h.score for h in memory.search(question, profile=near, now=NOW)}
            return [found[day] for day in days]

        beside = 0.3 * exp(-2 / 5)  # two days before, of five within which it fades
        assert scores("on January 1") == pytest.approx([1.0, beside, 0.5, 0.0], abs=1e-12)
        named = scores("on January 1, 2025")
        assert named == pytest.approx([0.0, 0.0, 1.0, 0.0], abs=1e-12)
        assert scores("what is new?") == [0.0] * 4


@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 9), st.sampled_from([0.5, 1.0]))),
    st.lists(st.none() | st.floats(20.0, 60.0), min_size=1),
    st.floats(0.1, 30.0),
)
def test_of_many_readings_of_a_time_the_best_counts(
    readings: list[tuple[int, int, float]], written: list[float | None], day: float
) -> None:
    times = tuple(
        (first * DAY * day, (first + days + 1) * DAY * day, likely)
        for first, days, likely in readings
    )
    created = np.array([np.nan if at is None else at * DAY * day for at in written])
    table = Candidates(np.arange(len(created)), {"created_at": created})

    def near(*times: tuple[float, float, float]) -> Any:
        query = Query("", ("default",), 0.0, reading=QueryAnalysis(asked_times=times))
        return OnDate().evaluate(query, table)

    each = [near(time) for time in times]
    assert near(*times).tolist() == np.max([np.zeros(len(created)), *each], axis=0).tolist()


def test_a_memory_of_the_day_comes_before_the_days_around_it() -> None:
    with Memory.open("ram://") as memory:
        days = [f"2026-02-{day:02d}" for day in range(1, 29)]
        memory.add_many([{"id": day, "content": "Pulse 64.", "created_at": day} for day in days])
        ids = memory.search("What was the pulse on 20 February?").ids
        assert ids[0] == "2026-02-20"
        assert ids[1:3] == ("2026-02-21", "2026-02-22")  # when much of it is told


@pytest.mark.parametrize(
    ("question", "text", "is_mentioned"),
    [
        ("on 12 June", "Dentist on 12 June at 9:15", True),
        ("on June 12th, 2026", "Dentist on Jun 12", True),
        ("on 2026-06-12", "Dentist on the 12th of June", True),
        ("on 12 June", "dentist 2026-06-12", True),
        ("on 12 June", "dentist 12.06.2026", True),
        ("on 12 June", "dentist 2019-06-12", False),
        ("on 12 June 2019", "dentist 2019-06-12", True),
        ("on 1 February", "Paid on the 1st of February", True),
        ("on 22 February", "Paid on February 22nd", True),
        ("on 3 February", "Paid on February 03", True),
        ("on 31 February", "Paid on February 31st", True),
        ("on 12 June", "Dentist on 13 June", False),
        ("on 12 June", "Dentist on 12 July", False),
        ("in June", "The rent goes up in June", True),
        ("in 2026", "The passport is good until June 2026", True),
        ("in June or in July", "Holidays begin in July", True),
        # words that are mostly not a month
        ("in May", "I may be late", False),
        ("in May 2026", "I may be late", False),
        ("in May 2026", "The rent goes up in May 2026", True),
        ("on 5 May", "The fair is on 5 May", True),
        ("on 5 March", "We march on", False),
        ("what happened?", "Dentist on 12 June 2026", False),
    ],
)
def test_the_finest_date_of_a_question_that_a_text_mentions(
    question: str, text: str, is_mentioned: bool
) -> None:
    stems = set(terms(text))
    ways = date_wordings(named_dates(question.lower()), 2026)
    assert any(all(stems.intersection(term) for term in way) for way in ways) == is_mentioned

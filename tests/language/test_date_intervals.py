from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.language.dates import search_interval
from support.scoring import NOW


def days(text: str, now: datetime = NOW) -> tuple[str, str] | None:
    found = search_interval(text, now)
    if found is None:
        return None
    start, end = (datetime.fromtimestamp(t, timezone.utc) for t in (found.start, found.end))
    return start.date().isoformat(), end.date().isoformat()


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [  # seen from Tuesday, 10 March 2026, noon
        ("what did we discuss last Tuesday?", "2026-03-03", "2026-03-04"),
        ("on Tuesday", "2026-03-03", "2026-03-04"),
        ("this monday", "2026-03-09", "2026-03-10"),
        ("who called yesterday", "2026-03-09", "2026-03-10"),
        ("the day before yesterday", "2026-03-08", "2026-03-09"),
        ("this morning", "2026-03-10", "2026-03-11"),
        ("3 days ago", "2026-03-07", "2026-03-08"),
        ("two weeks ago", "2026-02-23", "2026-03-02"),
        ("last week", "2026-03-02", "2026-03-09"),
        ("this week", "2026-03-09", "2026-03-16"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("decided in March", "2026-03-01", "2026-04-01"),
        ("in early May", "2025-05-01", "2025-06-01"),
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
        ("early June", "2025-06-01", "2025-07-01"),
        ("the June release", "2025-06-01", "2025-07-01"),
        ("June expenses", "2025-06-01", "2025-07-01"),
        ("from June to August", "2025-06-01", "2025-09-01"),
    ],
)
def test_the_time_a_question_names(text: str, start: str, end: str) -> None:
    assert days(text) == (start, end)


@pytest.mark.parametrize(
    "text",
    ["", "what is new?", "who said may be", "I march on", "31 february 2025", "at 10:15",
     "what does Jan like?", "April's job", "Where did June go?"],
)  # fmt: skip
def test_no_time_is_named(text: str) -> None:
    assert days(text) is None


def test_the_words_are_told() -> None:
    found = search_interval("What was said between 1 March and 5 March of it?", NOW)
    assert found is not None
    assert found.words == "1 March and 5 March"


@given(st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(timezone.utc)))
def test_it_goes_by_the_time_given(now: datetime) -> None:
    found = search_interval("yesterday", now)
    assert found is not None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    assert (found.start, found.end) == (
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
def test_at_the_ends_of_time(text: str, bound: str, now: datetime) -> None:
    found = search_interval(bound + text, now.replace(tzinfo=timezone.utc))
    if found is not None:
        assert found.start < found.end
        assert found.to_dict()["words"]


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    for asked in (text, f"{text} ago", f"last {text} 2025", f"since {text}"):
        found = search_interval(asked, NOW)
        assert found is None or found.start < found.end

"""Two hundred questions around midnight and the changes of the clocks, over twelve time zones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from itertools import cycle, islice
from zoneinfo import ZoneInfo

import pytest

from salience import Memory

CHANGES = {  # the days on which the clocks change, at midnight in some zones
    "America/Los_Angeles": ("2026-03-08", "2026-11-01"),
    "America/St_Johns": ("2026-03-08", "2026-11-01"),
    "America/Havana": ("2026-03-08", "2026-11-01"),
    "America/Santiago": ("2026-04-05", "2026-09-06"),
    "Atlantic/Azores": ("2026-03-29", "2026-10-25"),
    "Europe/Berlin": ("2026-03-29", "2026-10-25"),
    "Africa/Cairo": ("2026-04-24", "2026-10-30"),
    "Asia/Kolkata": ("2026-05-15", "2026-12-31"),  # none
    "Asia/Tokyo": ("2026-03-01", "2026-01-01"),  # none
    "Australia/Lord_Howe": ("2026-04-05", "2026-10-04"),
    "Pacific/Auckland": ("2026-04-05", "2026-09-27"),
    "Pacific/Kiritimati": ("2026-02-28", "2026-06-01"),  # none
}
UTC = timezone.utc
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
Holds = Callable[[datetime, datetime], bool]
CLOCKS = [(0.03 * HOUR, 0), (1.5 * HOUR, 0), (1.5 * HOUR, 1), (8 * HOUR, 0), (23.8 * HOUR, 0)]
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def days_ago(count: int) -> Holds:
    return lambda at, today: at.date() == (today - count * DAY).date()


def between(first: timedelta, last: timedelta) -> Holds:
    return lambda at, today: today + first <= at.replace(tzinfo=None) < today + last


def questions(now: datetime) -> Iterator[tuple[str, Holds]]:
    """What is asked at a local time, and the test of a memory's local time and today's midnight."""
    yield "yesterday", days_ago(1)
    yield "last night", between(-6 * HOUR, 6 * HOUR)
    yield "today", days_ago(0)
    yield "the day before yesterday", days_ago(2)
    yield f"on {WEEKDAYS[(now - 2 * DAY).weekday()]}", days_ago(2)
    yield f"on {now - DAY:%d %B %Y}", days_ago(1)
    yield "yesterday morning", between(-19 * HOUR, -12 * HOUR)
    yield f"on {WEEKDAYS[(now - 2 * DAY).weekday()]} night", between(-30 * HOUR, -18 * HOUR)
    yield "three days ago", days_ago(3)


def asked() -> Iterator[tuple[str, datetime, str, Holds]]:
    clocks = ((0, 5), (0, 40), (12, 0), (23, 55), (6, 30))
    for name, changes in CHANGES.items():
        zone, turn = ZoneInfo(name), cycle(range(9))
        moments = [
            datetime.fromisoformat(day).replace(hour=hour, minute=minute) + after * DAY
            for day in changes
            for after in (0, 1)
            for hour, minute in clocks
        ]
        for moment in islice(moments, 17):
            now = moment.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
            question, holds = [*questions(now)][next(turn)]
            yield name, now, question, holds


@pytest.mark.deep
def test_two_hundred_questions_over_twelve_zones_mean_the_days_of_their_zone() -> None:
    wrong, count = [], 0
    for name, now, question, holds in asked():
        zone, today = ZoneInfo(name), now.replace(tzinfo=None, hour=0, minute=0, second=0)
        with Memory("ram://", embedder=None, time_zone=name) as memory:
            told = [
                (today - back * DAY + clock).replace(tzinfo=zone, fold=fold).astimezone(UTC)
                for back in range(5)
                for clock, fold in CLOCKS
            ]
            told = [at for at in told if at <= now]
            items = [{"content": "I ate soup.", "created_at": at} for at in told]
            ids = memory.add_many(items, dedup=False).ids
            local = {id: at.astimezone(zone) for id, at in zip(ids, told, strict=True)}
            right = {id for id, at in local.items() if holds(at, today)}
            answer = memory.search(f"What did I eat {question}?", now=now.astimezone(UTC))
            count += 1
            if set(answer.ids[: min(len(right), 10)]) - right or not right:
                wrong.append((name, f"{now:%a %d %b %H:%M}", question, len(right)))
    assert count >= 200
    assert len(wrong) <= 0.03 * count, wrong

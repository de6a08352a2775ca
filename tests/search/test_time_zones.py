"""Whose day it is: the time zone of a call, of a memory, of the environment and of the system."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from salience import Memory
from salience.errors import InvalidInput
from support.asked import in_options


def test_the_zone_is_that_of_the_call_of_the_memory_of_now_or_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def first(zone: str | None = None, *, now: str = "2026-05-15T04:00:00Z", **call: Any) -> str:
        with Memory("ram://", embedder=None, time_zone=zone) as memory:
            for day, dish in (("13", "soup"), ("14", "tacos")):
                memory.add(f"I ate {dish}.", id=day, created_at=f"2026-05-{day}T12:00-07:00")
            memory.add("The lamp broke.", created_at="2026-05-14T19:00-07:00")
            id = memory.search("What did I eat yesterday?", now=now, **in_options(call)).ids[0]
            told = in_options({"references": False, **call})
            text = memory.get_context("lamp", now=now, **told).text
            assert f"- 2026-05-{'14' if id == '13' else '15'}: The lamp" in text
            return id

    assert first() == "14"  # by UTC, which is the zone of this machine here
    assert first("America/Los_Angeles") == "13"
    assert first("America/Los_Angeles", time_zone="UTC") == "14"
    assert first(now="2026-05-14T21:00:00-07:00") == "13"
    assert first("UTC", now="2026-05-14T21:00:00-07:00") == "14"
    assert first("America/Los_Angeles", now="2026-05-14T21:00:00") == "13"
    monkeypatch.setenv("SALIENCE_TIME_ZONE", "America/Los_Angeles")
    assert first() == "13"
    assert first("UTC") == "14"
    monkeypatch.setenv("SALIENCE_TIME_ZONE", "Mars/Olympus")
    with pytest.raises(InvalidInput, match=r"^SALIENCE_TIME_ZONE: there is no time zone"):
        first()


def test_a_clock_with_a_zone_tells_whose_day_it_is() -> None:
    zone = ZoneInfo("America/Los_Angeles")
    with Memory(
        "ram://", embedder=None, clock=lambda: datetime(2026, 5, 14, 21, tzinfo=zone)
    ) as memory:
        memory.add("I ate soup.", id="14", created_at="2026-05-14T12:00:00-07:00")
        memory.add("I ate tacos.", id="13", created_at="2026-05-13T12:00:00-07:00")
        assert memory.search("What did I eat yesterday?").ids[0] == "13"


def test_times_without_a_zone_are_those_of_the_memory() -> None:
    with Memory("ram://", embedder=None, time_zone="Asia/Tokyo") as memory:
        id = memory.add("The kiln is hot.", created_at="2026-05-14").id
        assert memory[id].created_at.isoformat() == "2026-05-13T15:00:00+00:00"
        assert (
            "- 2026-05-14: The kiln"
            in memory.get_context("kiln", options={"references": False}).text
        )
        assert memory.count(since="2026-05-14", until="2026-05-15") == 1
        assert memory.search("kiln", filters={"created_at": {"lt": "2026-05-14"}}).ids == ()
        memory.update(id, expires_at=datetime(2026, 7, 1))
        assert memory[id].expires_at == datetime(2026, 6, 30, 15, tzinfo=timezone.utc)
        other = memory.add("Rain.", created_at="2026-05-14T00:00", time_zone="+02:00").id
        assert memory[other].created_at == datetime(2026, 5, 13, 22, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("zone", "problem"),
    [
        ("europe/berln", "there is no time zone 'europe/berln'; did you mean Europe/Berlin?"),
        ("../../etc/passwd", "there is no time zone"),
        (3, "must be the name of a time zone, not int"),
    ],
)
def test_what_is_no_time_zone_is_named_with_a_remedy(zone: object, problem: str) -> None:
    with Memory("ram://", embedder=None) as memory:
        for call in (
            lambda: memory.search("soup", options={"time_zone": zone}),  # type: ignore[arg-type]
            lambda: memory.get_context("soup", options={"time_zone": zone}),  # type: ignore[arg-type]
            lambda: memory.add("soup", time_zone=zone),  # type: ignore[arg-type]
            lambda: Memory("ram://", time_zone=zone),  # type: ignore[arg-type]
        ):
            with pytest.raises(InvalidInput) as caught:
                call()
            assert str(caught.value).removeprefix("options.").startswith(f"time_zone: {problem}")


def test_the_command_line_reads_and_prints_in_the_zone_of_the_machine(tmp_path: object) -> None:
    env = {**os.environ, "SALIENCE_DB": f"{tmp_path}/t.db", "TZ": "America/Los_Angeles"}

    def salience(*arguments: str) -> str:
        command = [sys.executable, "-m", "salience", "--embedder", "none", *arguments]
        ran = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return ran.stdout

    for day, dish in (("14", "ramen"), ("13", "tacos")):
        salience("add", f"I ate {dish}.", "--created-at", f"2026-05-{day}T19:00:00-07:00")
    asked = ("context", "What did I eat yesterday?", "--now", "2026-05-14T21:00:00")
    assert "- 2026-05-13: I ate tacos" in salience(*asked).split("- ", 1)[1].join(("- ", ""))
    assert "2026-05-14 19:00" in salience("list")
    assert "2026-05-15 02:00" in salience("--time-zone", "UTC", "list")

"""Recorded searches: what is kept, what answers them, and what is made of them."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import Memory
from salience.cli import main
from salience.errors import InvalidInput
from salience.evaluation.searches import (
    compare_profiles,
    evaluate_log,
    mean_points,
    questions,
    read_searches,
    team_draft,
)
from salience.evaluation.tuning import read_questions
from salience.ranking import profiles
from salience.records.filters import parse_filter
from salience.testing import WordHashEmbedder

THINGS = ("kettle", "bicycle", "passport", "piano", "umbrella", "ladder")
START = datetime(2026, 5, 1, 9, tzinfo=timezone.utc)


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "searches.jsonl"


@pytest.fixture
def memory(tmp_path: Path, log: Path, clock: Clock) -> Any:
    with Memory.open(tmp_path / "memory.db", clock=clock, search_log=log) as memory:
        for thing in THINGS:
            memory.add(f"The {thing} is in room {THINGS.index(thing)}.", id=thing)
            memory.add(f"Nobody has ever liked the colour of that {thing}.", id=f"other {thing}")
        yield memory


def use(memory: Memory, clock: Clock, days: int = 6) -> None:
    """Days of questions, whose answers are used."""
    for _ in range(days):
        clock.pass_(days=1)
        for thing in THINGS:
            memory.search(f"Where is the {thing}?")
            clock.pass_(minutes=1)
            memory.feedback(thing, "useful")
            clock.pass_(minutes=1)
    memory.upkeep.flush()


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_line_says_what_was_asked_and_shown_and_no_text(
    memory: Memory, log: Path, clock: Clock
) -> None:
    result = memory.search("Where is the kettle?", filters={"kind": "note"}, limit=3)
    memory.search("Where is the piano?", touch=False)  # not a use
    memory.search("Where is the piano?", as_of=clock.now)
    memory.explain("Where is the piano?", "piano")
    [line] = lines(log)
    assert line.pop("ms") > 0.0
    assert line == {
        "search_id": result.search_id,
        "at": clock.now.timestamp(),
        "namespaces": ["default"],
        "query": "Where is the kettle?",
        "profile": "balanced",
        "ids": list(result.ids),
        "probability": result.probability,
        "filters": {"kind": "note"},
    }
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_environment_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "kept" / "searches.jsonl"
    monkeypatch.setenv("SALIENCE_SEARCH_LOG", str(log))
    with pytest.raises(InvalidInput, match="search_log"):
        Memory.open("ram://", embedder=None)
    log.parent.mkdir()
    with Memory.open("ram://", embedder=None) as memory:
        memory.for_namespace("other").search("What?\n\ud83c\udf4e")
        log.unlink()
        log.parent.rmdir()
        memory.search("What else?")  # it goes on, and says so
    assert "could not be recorded" in caplog.text


def test_a_hit_answers_the_last_search_that_showed_it_within_an_hour(
    memory: Memory, log: Path, clock: Clock
) -> None:
    first = memory.search("Where is the kettle?").search_id
    clock.pass_(minutes=20)
    second = memory.search("And the kettle's colour?").search_id
    clock.pass_(minutes=20)
    memory.feedback("kettle", "useful")
    memory.touch(["piano"])
    memory.feedback("other piano", "useful")
    clock.pass_(minutes=1)
    memory.feedback("other piano", "incorrect")
    third = memory.search("Where is the ladder?").search_id
    clock.pass_(minutes=61)
    memory.feedback("ladder", "useful")
    memory.upkeep.flush()
    [day] = questions(memory, read_searches(log))
    found = {query.id: set(query.relevant) for query in day.queries}
    assert found == {second: {"kettle", "piano"}}
    assert {first, third}.isdisjoint(found)
    memory.delete("kettle")
    [day] = questions(memory, read_searches(log))
    assert day.queries[0].relevant == ("piano",)


def test_searches_that_cannot_be_asked_again_are_left_out(memory: Memory, log: Path) -> None:
    memory.search("kettle", filters=parse_filter({"kind": "note"}))
    memory.search("kettle", namespaces=["default", "other"])
    memory.search("kettle")
    assert [search.filters for search in read_searches(log)] == [None]
    with pytest.raises(InvalidInput, match="nothing good was said"):
        questions(memory, read_searches(log))


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"search_id": "a", "at": 1e99}', "\udcff"])
def test_a_line_that_is_no_search_is_named(log: Path, line: str) -> None:
    log.write_bytes(line.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidInput, match=r"searches\.jsonl(, line 1, is no| cannot be read)"):
        read_searches(log)


def test_recorded_searches_are_measured_at_their_time(
    memory: Memory, log: Path, clock: Clock, tmp_path: Path
) -> None:
    use(memory, clock)
    memory.add("Where is the kettle? Where is the kettle?", id="later")
    url = tmp_path / "memory.db"
    before = memory.events(limit=1_000).cursor
    [outcome] = evaluate_log(log, url).outcomes
    assert outcome.queries == 36
    assert outcome.metrics["R@10"] == 1.0
    assert outcome.metrics["MRR"] == 1.0  # "later" was not there
    assert len({judged.conversation for judged in outcome.judged}) == 6
    balanced = profiles.get("balanced")
    learned = read_questions([], balanced, "default", ["lexical"], log=log, url=url)
    assert all(question.relevant.sum() == 1 for question in learned)
    assert memory.events(limit=1_000).cursor == before


def test_the_profile_that_finds_more_is_better(
    memory: Memory, log: Path, clock: Clock, tmp_path: Path
) -> None:
    use(memory, clock)
    url, good = tmp_path / "memory.db", profiles.get("balanced")
    same = compare_profiles(log, url, good, good)
    assert (same.wins, same.preference, same.better) == ((0, 0), 0.0, None)
    worst = profiles.get("composite").weighted({"similarity": 0.0})
    found = compare_profiles(log, url, good, worst)
    assert found.better == "balanced"
    assert found.high < 0.0
    assert found.wins[0] > 20


lists = st.lists(st.sampled_from("abcdefghijklmno"), unique=True, max_size=15)


@given(lists, lists, st.integers(0, 1023))
def test_an_interleaved_list_is_fair(first: list[str], second: list[str], seed: int) -> None:
    drafted = team_draft(first, second, seed)
    ids = [id for id, _ in drafted]
    assert len(set(ids)) == len(ids) == min(10, len({*first, *second}))
    for team, own in enumerate((first, second)):
        added = [id for id, by in drafted if by == team]
        assert added == sorted(added, key=own.index)
    points = mean_points(first, second, frozenset(first + second), random.Random(seed))
    assert sum(points) == len(ids)


def test_a_draft_by_hand() -> None:
    assert team_draft("abc", "adc", 0b00) == [("a", 0), ("d", 1), ("b", 0), ("c", 1)]
    assert team_draft("abc", "adc", 0b11) == [("a", 1), ("b", 0), ("d", 1), ("c", 0)]
    points = mean_points("ab", "cd", frozenset("ac"), random.Random(0))
    assert points == (1.0, 1.0)
    assert mean_points("ab", "cb", frozenset("a"), random.Random(0)) == (1.0, 0.0)


def test_the_commands(
    memory: Memory, log: Path, clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use(memory, clock)
    db = ["--db", str(tmp_path / "memory.db")]
    assert main([*db, "eval", "--log", str(log), "--profile", "balanced"]) == 0
    assert "searches · balanced · default" in capsys.readouterr().out
    assert main([*db, "ab", str(log), "balanced", "composite"]) == 0
    assert "36 searches of 6 days" in capsys.readouterr().out
    assert main([*db, "--json", "ab", str(log), "balanced", "balanced"]) == 0
    assert json.loads(capsys.readouterr().out)["better"] is None
    assert main([*db, "--json", "tune", "--log", str(log)]) in (0, 1)
    tuned = json.loads(capsys.readouterr().out)
    assert sum(fold["questions"] for fold in tuned["folds"]) == 36
    assert main(["eval", "talks", "--log", str(log)]) == 2
    assert main(["tune"]) == 3  # there is no store whose labels to learn from


def test_feedback_that_is_of_another_embedder_is_refused(
    memory: Memory, log: Path, clock: Clock, tmp_path: Path
) -> None:
    use(memory, clock, 1)
    with pytest.raises(Exception, match="vectors in this store"):
        compare_profiles(
            log,
            tmp_path / "memory.db",
            *[profiles.get("balanced")] * 2,
            embedder=WordHashEmbedder(),
        )

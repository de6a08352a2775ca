"""A simulated stretch of time: its zones, held against a calculation of their own from the log."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import pytest

from salience import Memory
from salience.engine.time_travel import as_of
from salience.errors import InvalidInput
from salience.lifecycle.zone_chart import draw_chart, vitality_curves
from salience.lifecycle.zone_history import ZONE_ORDER
from salience.lifecycle.zones import zones
from salience.records.events import Event
from salience.retrieval import operations
from salience.retrieval.plan import ask, drive
from simulated_year import BEGINS, Calendar, Setup, main, simulate

SMALL = Setup(memories=240, uses_a_day=12, days=75, seed=3)
RATES = {"entity": 0.1, "knowledge": 1.0, "episodic": 2.0, "activity": 3.0}


@pytest.fixture(scope="module")
def year() -> Iterator[tuple[Memory, Calendar]]:
    memory, clock = simulate(SMALL)
    yield memory, clock
    memory.close()


def log(memory: Memory) -> list[Event]:
    return list(drive(ask(operations.Events(memory.namespace)), memory._core.dispatcher.batch))


def days(since: datetime, now: datetime) -> float:
    return (now - since).total_seconds() / 86_400


def base_level(accesses: list[datetime], d: float, now: datetime) -> float:
    """Petrov's hybrid with the ten most recent accesses, as its paper writes it."""
    ages = sorted(max(days(at, now), 0.05 / 86_400) for at in accesses)
    near, n = ages[:10], len(ages)
    summed = sum(t**-d for t in near)
    if n > len(near):
        k, last = near[-1], ages[-1]
        if k == last:
            between = last**-d
        elif d == 1.0:
            between = math.log(last / k) / (last - k)
        else:
            between = (last ** (1 - d) - k ** (1 - d)) / ((1 - d) * (last - k))
        summed += (n - len(near)) * between
    return math.log(summed)


def plainly(events: list[Event], now: datetime) -> dict[str, float]:
    """Every memory's vitality, step by step from the formulas, without the engine."""
    accesses: dict[str, list[datetime]] = {}
    layer: dict[str, str] = {}
    links: dict[tuple[str, str], datetime] = {}
    boosts: dict[str, tuple[float, datetime]] = {}
    declared: dict[datetime, list[str]] = {}
    linked_by: dict[datetime, nx.Graph[str]] = {}
    graph: nx.Graph[str] = nx.Graph()
    for event in events:
        if event.at > now or event.id is None:
            continue
        if event.type == "write":
            accesses[event.id] = [event.at]
            layer[event.id] = event.payload["set"]["layer"]
        elif event.type == "link":
            links[event.id, event.payload["target"]] = event.at
            graph.add_edge(event.id, event.payload["target"])
        elif event.type in ("retrieval", "reference"):
            accesses[event.id].append(event.at)
            if event.type == "reference":
                declared.setdefault(event.at, []).append(event.id)
                linked_by.setdefault(event.at, graph.copy())
    for at, used in declared.items():
        lent: dict[str, float] = {}
        for id in used:
            if id not in linked_by[at]:
                continue
            near = nx.single_source_shortest_path_length(linked_by[at], id, cutoff=2)
            for other, hops in near.items():
                if hops:
                    lent[other] = 1 - (1 - lent.get(other, 0.0)) * (1 - 0.8 * 0.6**hops)
        for id, more in lent.items():
            old, since = boosts.get(id, (0.0, at))
            boosts[id] = (1 - (1 - old * 2 ** (-days(since, at) / 7)) * (1 - more), at)
    cuts = set(nx.articulation_points(graph))
    found = {}
    for id, times in accesses.items():
        incoming = [at for (_, target), at in links.items() if target == id]
        d = 0.5 * RATES[layer[id]] / (1 + 0.1 * min(len(incoming), 10))
        level = base_level(times, d, now)
        boost, since = boosts.get(id, (0.0, now))
        level += boost * 2 ** (-days(since, now) / 7)
        if incoming and days(max(incoming), now) <= 14:
            level += math.exp(-0.2 * days(max(incoming), now))
        found[id] = max(1 / (1 + math.exp(-level)), 0.5 if id in cuts else 0.0)
    return found


def zone(value: float) -> str:
    if value >= 0.6:
        return "active"
    if value >= 0.3:
        return "stale"
    return "fading" if value >= 0.1 else "dormant"


def test_zone_shares_are_those_of_the_formulas(year: tuple[Memory, Calendar]) -> None:
    memory, clock = year
    found = memory.inspect.zone_shares(points=16)
    assert found.times[0] == BEGINS
    assert found.times[-1] == clock.now
    assert found.times[1] - found.times[0] == timedelta(days=5)
    events = log(memory)
    for place, at in enumerate(found.times):
        expected = Counter(map(zone, plainly(events, at).values()))
        assert {n: found.counts[n][place] for n in ZONE_ORDER} == {
            n: expected[n] for n in ZONE_ORDER
        }, at
    assert found.totals[-1] == 240
    assert sum(found.uses) == sum(min(12, 240 * min(day + 1, 30) // 30) for day in range(75))
    assert all(found.counts[name][-1] for name in ZONE_ORDER)  # the year has some of each
    assert 0.02 < found.protected[-1] < 0.5


def test_vitality_is_that_of_the_formulas(year: tuple[Memory, Calendar]) -> None:
    memory, clock = year
    expected = plainly(log(memory), clock.now)
    found = {one.id: one.vitality for one in memory.inspect.zones()}
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_past_by_the_log_is_the_past_by_rewinding(year: tuple[Memory, Calendar]) -> None:
    memory, _ = year
    core = memory._core
    at = BEGINS + timedelta(days=31, hours=3)
    plan = as_of(zones((memory.namespace,), at.timestamp(), None), (memory.namespace,), at)
    rewound = drive(plan, core.dispatcher.batch)
    found = memory.inspect.zone_shares(since=at, until=at, points=1)
    assert {n: c[0] for n, c in found.counts.items() if c[0]} == dict(rewound.counts)
    assert found.protected == (rewound.protected,)


def test_what_is_said_to_be_used_before_it_was_written_counts_from_then_on() -> None:
    clock = Calendar()
    with Memory.open("ram://", embedder=None, clock=clock) as memory:
        memory.add("x", id="a")
        memory.touch("a", now=BEGINS - timedelta(days=1))
        clock.now += timedelta(days=1)
        found = memory.inspect.zone_shares(since=BEGINS - timedelta(hours=12), points=2)
        assert found.totals == (0, 1)
        assert found.uses == (0, 1)
        assert {n: c[1] for n, c in found.counts.items() if c[1]} == dict(
            memory.inspect.zones().counts
        )


def test_working_everything_out_anew_changes_nothing(year: tuple[Memory, Calendar]) -> None:
    memory, _ = year
    made = memory.upkeep.verify()
    assert made
    assert made.memories == 240


@pytest.mark.deep
def test_a_seed_gives_one_year_and_another_another() -> None:
    def shares(seed: int) -> object:
        memory, _ = simulate(Setup(memories=60, uses_a_day=4, days=20, seed=seed))
        with memory:
            return memory.inspect.zone_shares(points=5)

    assert shares(1) == shares(1)
    assert shares(1) != shares(2)


def test_what_is_to_come_is_without_use(year: tuple[Memory, Calendar]) -> None:
    memory, clock = year
    ahead = memory.inspect.zone_shares(
        since=clock.now, until=clock.now + timedelta(days=300), points=4
    )
    assert ahead.uses[1:] == (0, 0, 0)
    archived = ahead.counts["dormant"]
    assert list(archived) == sorted(archived)
    for arguments in ({"points": 0}, {"since": "2026-01-01", "until": "2025-01-01"}):
        with pytest.raises(InvalidInput):
            memory.inspect.zone_shares(**arguments)


def test_the_curves_are_the_formula() -> None:
    import numpy as np

    found = vitality_curves(np.array([0.5, 1.0, 30.0]))
    for layer, rate in RATES.items():
        expected = [1 / (1 + t ** (0.5 * rate)) for t in (0.5, 1.0, 30.0)]  # sigmoid(-d ln t)
        assert found[layer].tolist() == pytest.approx(expected)


@pytest.mark.deep
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_it_is_drawn(year: tuple[Memory, Calendar], tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    memory, clock = year
    shares = memory.inspect.zone_shares(until=clock.now + timedelta(days=30), points=20)
    path = draw_chart(shares, tmp_path / f"zones.{suffix}")
    if suffix == "png":
        assert path.read_bytes().startswith(b"\x89PNG")
    else:
        words = ElementTree.parse(path).getroot()
        assert words.tag.endswith("svg")
        again = draw_chart(shares, tmp_path / "again.svg")
        assert again.read_bytes() == path.read_bytes()


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        nothing = memory.inspect.zone_shares(points=3)
    assert nothing.totals == (0, 0, 0)
    for path in (tmp_path / "zones.txt", tmp_path / "nowhere" / "zones.png"):
        with pytest.raises(InvalidInput, match="out"):
            draw_chart(nothing, path)
    pytest.importorskip("matplotlib")
    assert draw_chart(nothing, tmp_path / "zones.png").exists()


def test_the_command_draws_it_and_derives_it_from_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "year.png"
    main(["--memories", "40", "--days", "10", "--uses", "3", "--out", str(picture)])
    told = capsys.readouterr().out
    assert "the same to the bit" in told
    assert str(picture) in told
    assert picture.stat().st_size > 10_000

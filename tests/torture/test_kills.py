"""A short form of the kills; `make torture` has a thousand on SQLite, two hundred on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.examples import examples
from torture.kills import on_sqlite
from torture.life import opened
from torture.postgres import Databases, on_postgres
from torture.tally import Tally, table


@pytest.mark.deep
def test_a_killed_process_leaves_whole_calls(tmp_path: Path) -> None:
    rounds = range(examples(16))
    tally = on_sqlite(rounds, 1, tmp_path, lambda _: None)
    assert tally.rounds == len(rounds)
    assert tally, table([tally])


@pytest.mark.deep
def test_a_killed_client_backend_or_server_leaves_whole_calls() -> None:
    tally = on_postgres(range(3), 1, lambda _: None)
    assert tally.rounds == 3
    assert tally, table([tally])


@pytest.mark.deep
def test_uses_that_were_flushed_survive_a_backend_and_the_server() -> None:
    with Databases() as databases:
        url = databases.copy("used")
        for number, kill in enumerate(
            [lambda: databases.kill_backend("used"), databases.kill_server]
        ):
            with opened(url) as memory:
                memory.touch("fact1", "reference")
                memory.upkeep.flush()
                kill()
            databases.wait()
            with opened(url) as memory:
                uses = [event for event in memory.history("fact1") if event.type == "reference"]
                assert len(uses) == number + 1


def test_a_finding_makes_a_tally_false() -> None:
    tally = Tally("kills", 1)
    assert tally
    tally.report("lost", "round 7")
    assert not tally
    assert tally.lost == 1
    assert "round 7" in table([tally])

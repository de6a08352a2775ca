"""Faults while a call runs: it fails with an error of the library, and the next call works."""

from __future__ import annotations

from pathlib import Path

import pytest

from salience.errors import StoreError
from salience.stores.embedded import EmbeddedStore
from salience.stores.sqlite.records import SqliteRecords
from support.examples import examples
from torture.faults import failing_writes, on_sqlite, some
from torture.life import LONG_AGO, found, opened
from torture.tally import table

SEED = 1


def test_upkeep_that_could_not_release_its_lock_does_not_keep_itself_out(tmp_path: Path) -> None:
    records = SqliteRecords(str(tmp_path / "memory.db"))
    with opened(EmbeddedStore(records), LONG_AGO) as memory:
        found(memory)
    records = SqliteRecords(str(tmp_path / "memory.db"))
    with opened(EmbeddedStore(records)) as memory:
        for n in (1, 2, 3):  # the lock is taken, and can be neither used nor released
            with failing_writes(records, n), pytest.raises(StoreError):
                memory.upkeep.maintain()
        assert memory.upkeep.maintain().steps


@pytest.mark.deep
def test_faults_at_every_statement_leave_nothing_or_all(tmp_path: Path) -> None:
    tallies = on_sqlite(some(examples(4, least=2), SEED), SEED, tmp_path, lambda _: None)
    assert all(tally.rounds for tally in tallies)
    assert all(tallies), table(tallies)

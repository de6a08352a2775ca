"""A change whose answer is lost is sent again, is done once, and gives what it would have given.

The connection is cut once the server has done the work, and with two workers the second request
reaches the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.records.record import MemoryRecord
from support.cutting_proxy import CuttingProxy, cutting_proxy
from support.real_server import real_server
from support.waiting import until


def uses(memory: Memory, id: str) -> int:
    """How often a memory was used, once the first use is written: any worker may do that."""
    memory.upkeep.flush()
    return until(lambda: memory[id].access_count)


NOTES = [{"id": f"n{n}", "content": f"Ana has {n} boats in harbour {n * 37}."} for n in range(9)]
Change = Callable[[Memory], Any]
CHANGES: dict[str, tuple[Change, Change | None]] = {
    # each with what it leaves behind, besides what it returns
    "add": (lambda m: m.add("Ben has a cello.", id="b").items[0].outcome, len),
    "add_many": (lambda m: m.add_many([{"id": "c", "content": "Eve has a kite."}]).ids, len),
    "update": (lambda m: m.update("n0", importance=0.9).version, lambda m: m["n0"].version),
    "update_if": (lambda m: m.update("n1", if_version=1, title="x").version, None),
    "feedback": (lambda m: m.feedback("n2", "useful").feedback_for, None),
    "promote": (lambda m: m.feedback("n2", "promote").memory_score, lambda m: m["n2"].memory_score),
    "reinforce": (
        lambda m: m.feedback("n2", "reinforce").strength,
        lambda m: len(m.history("n2").events),
    ),
    "pin": (lambda m: m.pin("n3", if_version=1).version, lambda m: m["n3"].pinned),
    "touch": (lambda m: m.touch("n4"), lambda m: uses(m, "n4")),
    "link": (lambda m: m.link("n4", "n5"), lambda m: len(m.history("n4").events)),
    "supersede": (lambda m: m.supersede("n5", "n6", if_version=1), lambda m: m["n5"].version),
    "archive": (lambda m: m.archive(["n6"]) is not None, lambda m: m["n6"].status),
    "unarchive": (lambda m: dict(m.unarchive(["n6"])), lambda m: m["n6"].status),
    "delete": (lambda m: m.delete("n7"), lambda m: m.get("n7")),
    "delete_if": (lambda m: m.delete("n8", if_version=1), lambda m: m.get("n8")),
    "delete_many": (lambda m: m.delete_many(["n0", "n7"]), len),
    "delete_all": (lambda m: m.delete_all({"id": "n1"}).memories, len),
    "delete_user": (lambda m: m.delete_user("ana").memories, len),
}


@contextmanager
def cut(workers: int, folder: Path) -> Iterator[tuple[Memory, CuttingProxy]]:
    """A memory behind a proxy that cuts connections."""
    options = ("--workers", str(workers), "--embedder", "none")
    with (
        real_server(folder / "memory.db", *options, log=folder / "log") as server,
        cutting_proxy(server) as proxy,
        Memory.open(proxy.url) as memory,
    ):
        yield memory, proxy


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="/proc tells whose a connection is")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_change_whose_answer_is_lost_is_done_once(workers: int, tmp_path: Path) -> None:
    with (
        cut(workers, tmp_path) as (memory, proxy),
        Memory("ram://", embedder=None) as embedded,
    ):
        for each in (memory, embedded):
            each.add_many(NOTES)
        for name, (change, left) in CHANGES.items():
            proxy.to_lose, proxy.answered[:] = 1, []
            assert _plain(change(memory)) == _plain(change(embedded)), name
            [(first, lost), (second, again)] = proxy.answered
            assert (lost, again) == (True, False), name
            assert (first != second) == (workers > 1), name
            if left is not None:
                assert _plain(left(memory)) == _plain(left(embedded)), name
        assert memory.upkeep.verify()


def _plain(value: Any) -> Any:
    """A value that does not depend on when and where it was made."""
    return value.id if isinstance(value, MemoryRecord) else value

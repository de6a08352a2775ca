"""Requests per second and milliseconds of `salience serve`, asked by another process.

    python benchmarks/serve.py                 100,000 memories, 20 seconds a row
    python benchmarks/serve.py --quick         2,000 memories, two seconds a row: does it run?
    python benchmarks/serve.py --only soak soak-writes --memories 10000 --seconds 600
    python benchmarks/serve.py --only kill

Each part starts servers of its own on the same synthetic chats and warms them:

    sqlite, sqlite-2, postgres   searches over 1, 8 and 32 connections; one worker, two, and one on
                                 a temporary PostgreSQL server
    beside, langgraph-memory,    the same at a size that others can load: salience, two stores of
    langgraph, mem0              LangGraph, and mem0 with a Qdrant in memory, behind FastAPI
    writes                       a search right after a write, and one right after a search
    soak, soak-writes            searches alone on 8 connections, and with a write in fifty that
                                 replaces a memory; the memory of the server each 30 seconds
    kill                         `kill -9` in a burst of writes: is every accepted one there?

In the table, "own" is the time of a request less the time of its search, as the server says it, in
the middle, where one connection searches alone. "Proc." is the processor time of the server for a
request, which tells more than the clock on a busy machine. "Loop" is how late 99 of 100 heartbeats
of the server's event loop were at most, "client" the part of one core that the sending process
took. Others run in an environment of their own, which is made in build/peers.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from salience import Memory
from salience.evaluation.synthetic_chats import queries, realistic
from salience.stores import build_indexes
from salience.testing.postgres import PostgresServer
from server_process import FOLDER, Server, end_of, figures_of, loop_p99_ms, start_load

PEERS_FOLDER = FOLDER.parent / "build" / "peers"
PEERS_PACKAGES = (
    *(f"{FOLDER.parent}[eval,server]", "langgraph-checkpoint-sqlite"),
    *("mem0ai", "qdrant-client"),
)
PEERS = ("langgraph-memory", "langgraph", "mem0")
_QUESTIONS = 2_000  # asked one after the other, then again
_WRITES = 50_000
_ADDED_AT_ONCE = 10_000
_REPLACED = 2_000  # memories that a soak replaces, again from the first
_SAMPLE_S = 30.0  # between two samples of the memory of a server
_COLUMNS = "{:44} {:>5} {:>6} {:>8} {:>8} {:>8} {:>7} {:>6} {:>7} {:>7} {:>6}  {} {}"
_TITLES = (
    *("", "conn.", "req/s", "p50", "p95", "p99"),
    *("own", "proc.", "loop", "client", "MB", "errors"),
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """The memories that are searched, and for how long each row is measured."""

    folder: Path
    memories: int
    peer_memories: int
    connections: Sequence[int]
    seconds: float

    @cached_property
    def items(self) -> list[dict[str, Any]]:
        """All memories; a part that takes fewer takes the first."""
        most = max(self.memories, self.peer_memories)
        return [{**item, "id": str(number)} for number, item in enumerate(realistic(most))]

    def searches(self, memories: int) -> list[Any]:
        """Requests that search, each about one of the first memories."""
        texts = queries(_QUESTIONS, self.items[:memories])
        return [["POST", "/v1/search", {"query": text, "limit": 10}] for text in texts]

    def writes(self) -> list[Any]:
        """Requests that add memories with the ids w0, w1, ..."""
        items = enumerate(realistic(_WRITES, seed=1))
        return [["POST", "/v1/memories", {**item, "id": f"w{number}"}] for number, item in items]

    def replacing(self, searches: Sequence[Any], one_write_in: int) -> list[Any]:
        """Requests that search, with a write in so many that replaces one of the memories."""
        requests: list[Any] = []
        others = cycle(searches)
        for number, (method, path, body) in enumerate(self.writes()[:_REPLACED]):
            id = str(number % self.memories)
            requests += islice(others, one_write_in - 1)
            requests.append([method, path, {**body, "id": id, "on_conflict": "replace"}])
        return requests

    def fill(self, url: str, memories: int) -> None:
        """Write the first memories into an empty store."""
        with Memory.open(url) as memory:
            for start in range(0, memories, _ADDED_AT_ONCE):
                memory.add_many(self.items[start : min(start + _ADDED_AT_ONCE, memories)])
        if not url.startswith("sqlite"):
            build_indexes(url)

    def file(self, memories: int) -> str:
        """The address of a new SQLite file that holds the first memories."""
        full = self.folder / f"{memories}.db"
        if not full.exists():
            self.fill(f"sqlite:///{full}", memories)
        copy = self.folder / f"copy-{time.monotonic_ns()}.db"
        with closing(sqlite3.connect(full)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return f"sqlite:///{copy}"

    def server(self, url: str, workers: int = 1) -> Server:
        """A server of salience on a store."""
        options = ("--db", url, "--port", "{port}", "--workers", str(workers))
        command = (str(Path(sys.executable).parent / "salience"), "serve", *options)
        return Server(command, self.folder / "server.log")


# Parts


def speed(name: str, server: Server, searches: Sequence[Any], bench: Bench) -> Iterator[Row]:
    """A row for each number of connections that search."""
    warm(server, searches, bench)
    for connections in bench.connections:
        before, processor_s = server.loop_lateness(), server.processor_s()
        load = end_of(start_load(server, searches, connections, bench.seconds))
        figures = figures_of(load)
        yield {
            "server": name,
            **figures,
            "processor_ms": (server.processor_s() - processor_s) * 1e3 / figures["requests"],
            "loop_p99_ms": loop_p99_ms(before, server.loop_lateness()),
            "rss_mb": server.rss_mb(),
        }


def warm(server: Server, searches: Sequence[Any], bench: Bench) -> None:
    """Search until every worker has what it searches in memory."""
    end_of(start_load(server, searches, 8, bench.seconds / 4))
    while server.ask_json("/v1/stats").get("being_read"):
        time.sleep(0.1)


def on_sqlite(bench: Bench, memories: int, workers: int = 1) -> Iterator[Row]:
    """Searches in a SQLite file."""
    name = f"SQLite, {memories:,}" + (f", {workers} workers" if workers > 1 else "")
    with bench.server(bench.file(memories), workers) as server:
        yield from speed(name, server, bench.searches(memories), bench)


def on_postgres(bench: Bench) -> Iterator[Row]:
    """Searches on a temporary PostgreSQL server, and those after a write."""
    with PostgresServer() as database:
        bench.fill(database.url, bench.memories)
        with bench.server(database.url) as server:
            name = f"PostgreSQL, {bench.memories:,}"
            yield from speed(name, server, bench.searches(bench.memories), bench)
            yield from after_writes(name, server, bench)


def on_peer(bench: Bench, name: str) -> Iterator[Row]:
    """Searches of another library."""
    python, memories = peers_python(), bench.peer_memories
    command = (str(python), str(FOLDER / "peer_server.py"), name, str(memories), "{port}")
    with Server(command, bench.folder / "server.log") as server:
        yield from speed(f"{name}, {memories:,}", server, bench.searches(memories), bench)


def writes(bench: Bench) -> Iterator[Row]:
    """Searches right after a write, in a SQLite file."""
    with bench.server(bench.file(bench.memories)) as server:
        warm(server, bench.searches(bench.memories), bench)
        yield from after_writes(f"SQLite, {bench.memories:,}", server, bench)


def after_writes(name: str, server: Server, bench: Bench) -> Iterator[Row]:
    """A write, a search and another search by turns, on one connection: a row for each of them."""
    searches = bench.searches(bench.memories)
    turns = [
        request
        for number, write in enumerate(bench.writes())
        for request in (write, *(searches[(2 * number + k) % len(searches)] for k in (0, 1)))
    ]
    load = end_of(start_load(server, turns, 1, bench.seconds))
    for place, kind in enumerate(("add", "search after it", "search after that")):
        at = [n for n, number in enumerate(load["accepted"]) if number % 3 == place]
        picked = {key: [load[key][n] for n in at] for key in ("took_ms", "server_ms")}
        yield {"server": f"{name}: {kind}", **figures_of({**load, **picked})}


def soak(bench: Bench, *, one_write_in: int = 0) -> Iterator[Row]:
    """Searches on 8 connections, with a write in so many if that is not 0; memory over time.

    A write replaces one of the memories, so that there are always as many.
    """
    searches = bench.searches(bench.memories)
    requests = bench.replacing(searches, one_write_in) if one_write_in else searches
    with bench.server(bench.file(bench.memories)) as server:
        warm(server, searches, bench)
        before, memory = server.loop_lateness(), [server.rss_mb()]
        process = start_load(server, requests, 8, bench.seconds)
        for _ in range(max(1, round(bench.seconds / _SAMPLE_S))):
            time.sleep(min(_SAMPLE_S, bench.seconds))
            memory.append(server.rss_mb())
        writes = f", a write in {one_write_in}" if one_write_in else ""
        yield {
            "server": f"SQLite, {bench.memories:,}{writes}: {bench.seconds:.0f} s",
            **figures_of(end_of(process)),
            "loop_p99_ms": loop_p99_ms(before, server.loop_lateness()),
            "rss_mb": memory[-1],
            "rss_mb_over_time": [round(mb, 1) for mb in memory],
        }


def kill(bench: Bench) -> Iterator[Row]:
    """`kill -9` in a burst of writes on 8 connections; how many accepted ones are missing."""
    url = bench.file(bench.memories)
    with bench.server(url, workers=2) as server:
        process = start_load(server, bench.writes(), 8, 2 * bench.seconds + 10)
        time.sleep(bench.seconds)
        with Memory.open(url) as memory:  # a slow machine has perhaps accepted none so far
            while memory.count() == bench.memories and process.poll() is None:
                time.sleep(0.05)
        server.kill()
        load = end_of(process)
    with Memory.open(url) as memory:
        kept = memory.get_many([f"w{number}" for number in load["accepted"]])
        problems = memory.upkeep.verify()
    yield {
        "server": "kill -9, two workers",
        **figures_of(load),
        "missing": sum(record is None for record in kept),
        "problems": len(problems),
    }


def peers_python() -> Path:
    """The Python of the environment of the others, which is made first where there is none."""
    python = PEERS_FOLDER / "bin" / "python"
    ready = PEERS_FOLDER / ".ready"
    if not ready.exists():
        shutil.rmtree(PEERS_FOLDER, ignore_errors=True)
        subprocess.run([_python_with_extensions(), "-m", "venv", PEERS_FOLDER], check=True)
        install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run([*install, *PEERS_PACKAGES], check=True)
        ready.touch()
    return python


def _python_with_extensions() -> str:
    """A Python whose SQLite loads extensions, which a store of LangGraph needs."""
    test = "import ensurepip, sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
    for python in (sys.executable, "/usr/bin/python3"):
        if not subprocess.run([python, "-c", test], capture_output=True, check=False).returncode:
            return python
    raise SystemExit("no Python here loads extensions of SQLite; leave the others out: --no-peers")


PARTS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "sqlite": lambda bench: on_sqlite(bench, bench.memories),
    "sqlite-2": lambda bench: on_sqlite(bench, bench.memories, workers=2),
    "postgres": on_postgres,
    "beside": lambda bench: on_sqlite(bench, bench.peer_memories),
    **{name: partial(on_peer, name=name) for name in PEERS},
    "writes": writes,
    "soak": soak,
    "soak-writes": partial(soak, one_write_in=50),
    "kill": kill,
}


def line(row: Row) -> str:
    """A row as a line of the table."""
    figures = (
        f"{row.get(name, math.nan):{form}}".replace("nan", "")
        for name, form in (
            ("per_s", ".0f"),
            *((f"p{percent}_ms", ".2f") for percent in (50, 95, 99)),
            *(("own_p50_ms", ".2f"), ("processor_ms", ".2f"), ("loop_p99_ms", ".1f")),
            *(("client_share", ".2f"), ("rss_mb", ".0f")),
        )
    )
    more = {k: row[k] for k in ("missing", "problems", "rss_mb_over_time") if k in row}
    return _COLUMNS.format(
        row["server"], row["connections"], *figures, row["errors"] or "none", more or ""
    )


def main() -> None:
    """Measure what the command line asks for; the table on stdout, as JSON where it is wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 memories, two seconds a row")
    parser.add_argument("--memories", type=int)
    parser.add_argument("--peer-memories", type=int, help="for the others and salience beside them")
    parser.add_argument("--seconds", type=float, help="of each row")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    options = parser.parse_args()
    measured: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="salience-serve-") as folder:
        bench = Bench(
            Path(folder),
            options.memories or (2_000 if options.quick else 100_000),
            options.peer_memories or (1_000 if options.quick else 10_000),
            options.connections,
            options.seconds or (2.0 if options.quick else 20.0),
        )
        print(_COLUMNS.format(*_TITLES, ""), flush=True)
        for part in options.only:
            if part in PEERS and options.no_peers:
                continue
            for row in PARTS[part](bench):
                measured.append(row)
                print(line(row), flush=True)
    if options.json:
        figures = [{k: None if v != v else v for k, v in row.items()} for row in measured]
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

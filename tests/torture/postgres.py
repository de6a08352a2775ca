"""Kills on PostgreSQL: of the client, of its backend, and of the whole server."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from salience.closing import Closing
from salience.testing.postgres import PostgresServer
from torture.kills import Victims, judge, planned, undisturbed
from torture.life import LONG_AGO, found, opened
from torture.tally import Tally
from torture.victim import Round

KINDS = ("client", "backend", "server")
_FIRST = "first"
_END_SECONDS = 30.0  # in which killed processes end, where somebody reaps them
_HANG_SECONDS = 300.0


class Databases(Closing):
    """A server with a database that others are copied from; `settings` are those of PostgreSQL."""

    def __init__(self, **settings: str) -> None:
        self.server = PostgresServer(**settings)
        try:
            [(folder,)] = self.ask("SHOW data_directory")
            self._pid_file = Path(folder) / "postmaster.pid"
            self.sockets = Path(self.ask("SHOW unix_socket_directories")[0][0])
            self.ask(f"CREATE DATABASE {_FIRST}")
            with opened(self.server.address(_FIRST), LONG_AGO) as memory:
                found(memory)
        except BaseException:
            self.server.close()
            raise

    def ask(self, statement: str) -> list[Any]:
        """The rows of a statement of the superuser."""
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def copy(self, name: str) -> str:
        """The address of a fresh copy of the first database."""
        self.ask(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self.ask(f"CREATE DATABASE {name} TEMPLATE {_FIRST}")
        return self.server.address(name)

    def kill_backend(self, name: str) -> None:
        """Kill a process that serves a database; the server then ends all others, and recovers."""
        rows = self.ask(f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}' LIMIT 1")
        for (pid,) in rows:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill_server(self) -> None:
        """Kill every process of the server, and start it again."""
        pid = int(self._pid_file.read_text().split()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        pids = [pid, *map(int, children)]
        for each in pids:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        until = time.monotonic() + _END_SECONDS
        while any(map(_runs, pids)) and time.monotonic() < until:
            time.sleep(0.01)
        # Where nobody reaps what has ended, its number seems to be alive.
        for lock in (self._pid_file, *self.sockets.glob(".s.PGSQL.*.lock")):
            lock.unlink(missing_ok=True)
        self.server.start()

    def wait(self) -> None:
        """Wait until the server takes connections again."""
        until = time.monotonic() + _HANG_SECONDS
        while True:
            try:
                self.ask("SELECT 1")
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self.server.close()


def _runs(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def on_postgres(rounds: Sequence[int], seed: int, progress: Callable[[Tally], None]) -> Tally:
    """Kill the client, its backend and the server in turn, during a call."""
    tally, victims = Tally("kills, PostgreSQL", seed), Victims()
    with Databases() as databases:
        for number in rounds:
            random = Random(f"{seed}/{number}")
            kind = KINDS[number % len(KINDS)]
            calls, at = planned(random)
            states, seconds, _ = undisturbed(databases.copy("whole"), calls)
            url = databases.copy("killed")
            others = {
                "client": None,
                "backend": lambda: databases.kill_backend("killed"),
                "server": databases.kill_server,
            }
            plan = Round(url, calls, at)
            reports = victims.kill(plan, random.uniform(0.0, 1.3) * seconds[at], others[kind])
            databases.wait()
            judge(tally, f"round {number}, {kind}", url, states, reports, plan)
            tally.rounds += 1
            progress(tally)
    return tally

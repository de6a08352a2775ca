"""`python -m torture`: every attack in full, for hours; the table at the end.

`--attacks kills faults` runs some of them, `--scale 0.1` a tenth of each, `--seed 7` other ones.
A run that is stopped prints the table of what it reached.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from salience.testing.postgres import PostgresServer
from torture import damage, doors, faults, fuzz, histories, kills, postgres
from torture.life import CALLS
from torture.tally import Tally, table

SQLITE_KILLS, POSTGRES_KILLS = 1_000, 200
HISTORY_SECONDS, PROCESSES, THREADS = 600.0, 8, 4
ARGUMENTS, FILES = 1_000_000, 50_000
FLIPS = 2_000
AT_DOORS = 1_000
_PROGRESS_SECONDS = 30.0


def attacks(
    scale: float,
    seed: int,
    folder: Path,
    tell: _Progress,
    kept: Path | None = None,
    only_rounds: Sequence[int] | None = None,
    only_calls: Sequence[str] | None = None,
) -> dict[str, Callable[[], list[Tally]]]:
    """The attacks by name; each is run by calling it.

    The kills are `only_rounds` of them, the faults those of `only_calls`, if these are given.
    """
    calls = CALLS[: max(1, round(scale * len(CALLS)))]
    if only_calls is not None:
        calls = [call for call in CALLS if call.name in only_calls]

    def rounds(count: int) -> int:
        return max(1, round(scale * count))

    def kill_rounds(count: int) -> Sequence[int]:
        return range(rounds(count)) if only_rounds is None else only_rounds

    def on_postgres() -> list[Tally]:
        with PostgresServer(max_connections="100") as server:
            return [_histories(server.url, "PostgreSQL")]

    def _histories(url: str, store: str) -> Tally:
        seconds = scale * HISTORY_SECONDS
        return histories.check(url, store, seconds, PROCESSES, THREADS, seed, kept)

    return {
        "kills": lambda: [kills.on_sqlite(kill_rounds(SQLITE_KILLS), seed, folder, tell)],
        "kills-postgres": lambda: [postgres.on_postgres(kill_rounds(POSTGRES_KILLS), seed, tell)],
        "faults": lambda: faults.on_sqlite(calls, seed, folder, tell),
        "faults-postgres": lambda: [faults.on_postgres(calls, seed, folder, tell)],
        "histories": lambda: [_histories(str(folder / "histories.db"), "SQLite")],
        "histories-postgres": on_postgres,
        "damage": lambda: [damage.on_sqlite(rounds(FLIPS), seed, folder, tell)],
        "doors": lambda: doors.all_of_them(rounds(AT_DOORS), seed, folder, tell),
        "arguments": lambda: [fuzz.on_memory(rounds(ARGUMENTS), seed, folder, tell)],
        "files": lambda: [fuzz.on_files(rounds(FILES), seed, folder, tell)],
    }


class _Progress:
    """Prints how far an attack is, twice a minute, and each finding at once."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PROGRESS_SECONDS
        self._told = 0
        self.tallies: list[Tally] = []

    def __call__(self, tally: Tally) -> None:
        if not self.tallies or tally is not self.tallies[-1]:
            self.tallies.append(tally)
            self._told = 0
        for finding in list(tally.findings.values())[self._told :]:
            print(f"  {tally.attack}: {finding}", file=sys.stderr, flush=True)
        self._told = len(tally.findings)
        if time.monotonic() > self._next:
            self._next = time.monotonic() + _PROGRESS_SECONDS
            found = sum(tally.times.values())
            print(f"  {tally.attack}: {tally.rounds:,} rounds, {found} findings", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the attacks that are named; 0 if all came to their end and nothing was found."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__.partition("\n")[0])
    parser.add_argument("--attacks", nargs="*", help="some of them, by name")
    parser.add_argument("--scale", type=float, default=1.0, help="the part of each to run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write histories as JSON lines")
    parser.add_argument("--rounds", nargs="*", type=int, help="some rounds of the kills, by number")
    names = [call.name for call in CALLS]
    parser.add_argument("--calls", nargs="*", choices=names, help="some calls of the faults")
    options = parser.parse_args(arguments)
    tallies: list[Tally] = []
    is_stopped = False
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        kept = options.keep and options.keep.absolute()  # before the folder changes
        tell = _Progress()
        only = (options.rounds, options.calls)
        known = attacks(options.scale, options.seed, Path(place), tell, kept, *only)
        unknown = set(options.attacks or ()) - known.keys()
        if unknown:
            parser.error(f"there is no {sorted(unknown)[0]!r}; name some of {', '.join(known)}")
        os.chdir(place)  # where hostile names may make files
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            for name in options.attacks or known:
                print(f"{name} ...", file=sys.stderr)
                begun = time.monotonic()
                tallies += known[name]()
                print(f"{name}: {time.monotonic() - begun:,.0f} s", file=sys.stderr)
        except KeyboardInterrupt:
            is_stopped = True
            print(f"{name}: stopped", file=sys.stderr)
            tallies += [told for told in tell.tallies if all(told is not each for each in tallies)]
    print(f"{datetime.now(timezone.utc):%Y-%m-%d}")
    print(table(tallies))
    return 1 if is_stopped or not all(tallies) else 0


if __name__ == "__main__":
    sys.exit(main())

"""The processor time of what is asked for the first time in a large namespace, and of it again.

    python benchmarks/firsts.py --memories 100000 --keep firsts.db ../before ../now

Each folder is a checkout, which answers in processes of its own, by turns; the file is written by
the one that runs this. Its namespaces: one of many memories with metadata and tags; one of as many
with 4,000 edits, 72 a day; one with ten hubs; one with a memory of 4,000 versions; and a small one,
in which all is asked before, so that no model or profile is loaded where it counts. Printed are
milliseconds of processor time: the first time, and the least of the times after it, both the least
of all rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from salience import Memory
from salience.evaluation.synthetic_chats import realistic

_EDITS, _VERSIONS, _HUBS = 4_000, 4_000, 10
_AT_ONCE = 5_000
_WORKER = """
import json, sys, time
from salience import Memory
from salience.errors import SalienceError

whole = Memory.open(f"sqlite:///{sys.argv[1]}", clock=lambda: NOW)
NOW, PAST, ASKED = "2026-09-01", "2026-03-01", "Which food did we talk about?"
NOTES = {"kind": "note"}
DAYS = iter([f"2026-06-{day}" for day in range(10, 30)])
CALLS = [
    ("a filter on metadata", "many", lambda m: m.search(ASKED, filters={"metadata.topic": "t7"})),
    ("tags()", "many", lambda m: m.tags()),
    ("a search with vitality", "many", lambda m: m.search(ASKED, profile="vitality")),
    ("count()", "many", lambda m: m.count()),
    ("count() of a kind", "many", lambda m: m.count(filters={"kind": "fact"})),
    ("stats()", "many", lambda m: m.stats()),
    ("a listing of 100", "many", lambda m: m.get_all(limit=100)),
    ("a listing of 100 of a kind", "many", lambda m: m.get_all(limit=100, filters=NOTES)),
    ("a search as of the past", "edited", lambda m: m.search(ASKED, as_of=PAST)),
    ("the same, a day on each time", "edited", lambda m: m.search(ASKED, as_of=next(DAYS))),
    ("activation with ten hubs", "hubs", lambda m: m.search("hub", profile="activation")),
    ("history of 4,000 versions", "versions", lambda m: m.history("m0")),
]
for _, _, call in CALLS:
    call(whole.for_namespace("few"))
took = {}
for name, namespace, call in CALLS:
    memory, each = whole.for_namespace(namespace), []
    memory.search(ASKED)
    for _ in range(4):
        began = time.process_time()
        call(memory)
        each.append((time.process_time() - began) * 1e3)
    took[name] = each[0], min(each[1:])
print(json.dumps(took))
"""


def write(path: Path, memories: int) -> None:
    """Write the namespaces."""
    day = datetime(2026, 1, 1, tzinfo=UTC)
    with Memory.open(f"sqlite:///{path}", clock=lambda: day) as whole:
        items = [
            {
                **item,
                "id": f"m{number}",
                "metadata": {"topic": f"t{number % 100}", "page": number, "seen": True},
                "tags": [f"tag {number % 500}", f"area {number % 7}"],
                "kind": "fact" if number % 50 == 0 else "note",
            }
            for number, item in enumerate(realistic(memories))
        ]
        hubs = [{"id": f"hub{number}", "content": f"hub {number}"} for number in range(_HUBS)]
        linked = [
            {**item, "links": [{"target": f"hub{number % _HUBS}", "type": "mentions"}]}
            for number, item in enumerate(items)
        ]
        for name, added in (
            ("many", items),
            ("edited", items),
            ("hubs", [*hubs, *linked]),
            ("versions", items[:1]),
            ("few", items[:20]),
        ):
            for first in range(0, len(added), _AT_ONCE):
                whole.for_namespace(name).add_many(added[first : first + _AT_ONCE], dedup=False)
        day = datetime(2026, 6, 1, tzinfo=UTC)
        for number in range(_EDITS):
            day += timedelta(minutes=20)
            text = f"{number} edited: {items[-number - 1]['content']}"
            whole.for_namespace("edited").update(f"m{number}", content=text)
        for number in range(_VERSIONS):
            whole.for_namespace("versions").update("m0", content=f"The text of version {number}.")


def asked(checkout: Path, path: Path) -> dict[str, tuple[float, float]]:
    """The first time of each call in a new process, and the least of the times after it."""
    answer = subprocess.run(
        [sys.executable, "-c", _WORKER, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(checkout.resolve() / "src")},
    )
    if answer.returncode:
        raise SystemExit(f"{checkout}: {answer.stderr}")
    took: dict[str, tuple[float, float]] = json.loads(answer.stdout)
    return took


def main() -> None:
    """Measure the checkouts named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a file to write to; used again if it exists")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="salience-"))
        path = options.keep or Path(folder, "firsts.db")
        if not path.exists():
            write(path, options.memories)
        rounds = [
            [asked(checkout, path) for checkout in options.checkouts] for _ in range(options.rounds)
        ]
    print("ms".ljust(30), *(f"{checkout.name:>20}" for checkout in options.checkouts))
    for name in rounds[0][0]:
        cells = []
        for at in range(len(options.checkouts)):
            first, again = (min(each[at][name][i] for each in rounds) for i in (0, 1))
            cells.append(f"{first:10.2f}{again:10.2f}")
        print(name.ljust(30), *cells)


if __name__ == "__main__":
    main()

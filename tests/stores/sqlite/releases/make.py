"""Writes a small file as the code of a revision makes it, as a script of SQL: make.py REVISION."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

_LIFE = """
import sys
from datetime import datetime, timedelta, timezone
from salience import Memory
from salience.access.keyring import Keyring
from salience.testing import WordHashEmbedder

url, now = sys.argv[1], datetime(2026, 1, 10, 12, tzinfo=timezone.utc)
settings = {"embedder": WordHashEmbedder(dimensions=8), "clock": lambda: now}
with Memory.open(url, **settings) as memory:
    memory.add_many([
        {"id": "lisbon", "content": "I moved to Lisbon in March.", "speaker": "Ana",
         "session_id": "monday", "user_id": "ana", "kind": "fact", "tags": ["Home"]},
        {"id": "cello", "content": "Ben has a cello.", "speaker": "Ben", "metadata": {"n": 1}},
        {"id": "rye", "content": "Ben bakes bread with rye on Sundays.", "title": "Bread",
         "importance": 0.75, "created_at": "2025-12-01"},
        {"id": "fever", "content": "Ana had a fever.", "user_id": "ana", "layer": "activity"},
        {"id": "gone", "content": "The parcel was left at the gate."},
        {"id": "cafe", "content": "The cafe\\u0301 opens at eight.", "kind": "note"},
        {"id": "long", "content": " ".join(
            f"In room {n} of the museum stands a clock of brass." for n in range(40)
        )},
    ])
    memory.add("Ana works at the bakery.", id="bakery", kind="fact")
    now += timedelta(days=1)
    memory.add("Ana works at the harbour.", id="harbour", kind="fact")
    memory.supersede("bakery", "harbour")
    memory.link("cello", "rye", "supports", 0.5)
    memory.update("cello", content="Ben has sold the cello.")
    memory.search("Where does Ana live?")
    memory.feedback("rye", "useful")
    memory.pin("lisbon")
    memory.archive("fever")
    memory.delete("gone")
    memory.for_namespace("other").add("The other namespace has a heron.", id="heron")
    memory.upkeep.flush()
with Keyring.open(url) as keys:
    keys.create("*", "memories:read", name="reader")
"""


def made_by(source: Path) -> str:
    """The script of the file that the code in a folder makes."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "memory.db")
        environment = {**os.environ, "PYTHONPATH": str(source), "SALIENCE_NATIVE": "0"}
        command = [sys.executable, "-c", _LIFE, f"sqlite:///{path}"]
        subprocess.run(command, check=True, env=environment, cwd=folder)
        with sqlite3.connect(path) as db:
            names = ("application_id", "user_version")
            states = [
                f"PRAGMA {name}={db.execute(f'PRAGMA {name}').fetchone()[0]};" for name in names
            ]
            return "\n".join([*states, *db.iterdump()]) + "\n"


def main(revision: str) -> None:
    """Write the file that a revision makes beside this one, under its short name."""
    here = Path(__file__).parent
    name = ["git", "rev-parse", "--short=8", revision]
    short = subprocess.run(name, check=True, cwd=here, capture_output=True, text=True)
    with TemporaryDirectory() as folder:
        archive = Path(folder, "source.tar")
        subprocess.run(
            ["git", "archive", "-o", archive, revision, "src"], check=True, cwd=here.parents[3]
        )
        subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
        script = made_by(Path(folder, "src"))
    (here / f"{short.stdout.strip()}.sql").write_text(script, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])

"""The JSON of the command line is `to_dict` of what the method of `Memory` returns."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run
from salience import Memory
from salience.lifecycle.zones import Zones

SAME: dict[str, tuple[list[str], Callable[[Memory], Any]]] = {
    "get": (["get", "bread"], lambda memory: memory.get("bread")),
    "list": (["list"], lambda memory: memory.get_all(limit=20)),
    "search": (
        ["search", "who bakes bread", "--no-touch"],
        lambda memory: memory.search("who bakes bread", touch=False, limit=5),
    ),
    "explain": (
        ["explain", "who bakes bread", "piano"],
        lambda memory: memory.explain("who bakes bread", "piano"),
    ),
    "compare": (
        ["compare", "bread", "--profile", "balanced", "--profile", "composite"],
        lambda memory: memory.inspect.compare("bread", ["balanced", "composite"]),
    ),
    "context": (
        ["context", "bread", "--no-touch"],
        lambda memory: memory.get_context("bread", touch=False),
    ),
    "history": (["history", "bread"], lambda memory: memory.history("bread")),
    "zones": (["zones"], lambda memory: lowest_first(memory.inspect.zones())),
    "verify": (["verify"], lambda memory: memory.upkeep.verify()),
    "audit": (["audit"], lambda memory: memory.upkeep.audit()),
    "prune": (["prune"], lambda memory: memory.upkeep.prune()),
    "consolidate": (["consolidate"], lambda memory: memory.upkeep.consolidate()),
    "maintain": (["maintain", "--dry-run"], lambda memory: memory.upkeep.maintain(dry_run=True)),
    **{name: ([name, "bread"], lambda memory: memory.get("bread")) for name in ("pin", "unpin")},
    "promote": (["feedback", "bread", "promote"], lambda memory: memory.get("bread")),
    "feedback": (["feedback", "bread", "useful"], lambda memory: memory.get("bread")),
    "update": (["update", "bread", "--set", "tags=rye"], lambda memory: memory.get("bread")),
}
_MOMENTARY = {"timings_ms", "search_id", "vitality", "last_accessed"}


@pytest.mark.parametrize("name", SAME)
def test_the_command_prints_the_mapping_of_the_method(
    name: str, notes: Run, tmp_path: Path
) -> None:
    arguments, call = SAME[name]
    printed = notes(*arguments, "--json").json
    with Memory.open(tmp_path / "memory.db") as memory:
        plain = call(memory).to_dict()
    assert shape(printed) == shape(plain)


PRINTING = """
import functools, json, sys, typer
from salience import Memory
from salience.cli import main
with Memory.open(sys.argv[1], embedder=None) as memory:
    for n, (tag, thing) in enumerate([("rye", "bread"), ("tuned", "piano"), ("late", "ferry")]):
        memory.add(f"Ana likes the {thing} of Lisbon.", id=thing, tags=[tag, "t", "u"],
                   metadata={"z": 1, "a": {"y": 2, "b": n}}, speaker="Ana",
                   created_at="2026-05-01", links=[{"target": "bread", "type": "mentions"}])
typer.main.get_command = functools.cache(typer.main.get_command)
for command in json.loads(sys.argv[2]):
    print(command, flush=True)
    main(["--db", sys.argv[1], "--embedder", "none", "--json", *command])
"""


@pytest.mark.deep
def test_keys_have_the_same_order_in_every_process(tmp_path: Path) -> None:
    others = ["stats", "tags", "entities", "doctor", "events", "links bread"]
    commands = [command for command, _ in SAME.values()] + [other.split() for other in others]

    def printed(seed: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", PRINTING, tmp_path / f"{seed}.db", json.dumps(commands)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    first, second = (_keys(printed(seed)) for seed in ("1", "2"))
    assert len(first) > 500
    assert first == second


def _keys(printed: str) -> list[str]:
    """All keys of some JSON in the order in which they were printed."""
    return re.findall(r'"([^"]*)": ', printed)


def lowest_first(zones: Zones) -> Zones:
    """The zones in the order in which the command shows them."""
    return replace(zones, memories=zones.memories[::-1])


def shape(value: Any, key: str = "") -> Any:
    """A value whose numbers, which depend on the time, are the names of their types."""
    if isinstance(value, dict):
        return {key: shape(item, key) for key, item in value.items() if key not in _MOMENTARY}
    if isinstance(value, list):
        return [shape(item, key) for item in value]
    return type(value).__name__ if isinstance(value, float) else value

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from salience.cli import main

NOTES = [
    {"id": "river", "content": "The river rose by two metres in March.", "speaker": "Ana"},
    {"id": "bread", "content": "Ben bakes bread with rye on Sundays.", "speaker": "Ben"},
    {"id": "piano", "content": "Ana's piano has to be tuned every year.", "tags": ["home"]},
]


@dataclass(frozen=True)
class Ran:
    """The output of a command, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]
_get_command = cache(typer.main.get_command)


@pytest.fixture(autouse=True, scope="module")
def commands_share_a_process() -> Iterator[None]:
    """What a process builds once is there for each command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", _get_command)
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("SALIENCE_DB", "SALIENCE_NAMESPACE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def notes(run: Run, tmp_path: Path) -> Run:
    """`run` where memory.db holds three notes."""
    file = tmp_path / "notes.jsonl"
    file.write_text("\n".join(map(json.dumps, NOTES)), encoding="utf-8")
    assert run("import", str(file)).code == 0
    return run

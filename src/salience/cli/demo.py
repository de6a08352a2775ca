"""The demo: an invented agent's memories, questions to them, and why each was recalled."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from salience.cli import output
from salience.cli.settings import Settings
from salience.embedders import StaticEmbedder, best_installed
from salience.evaluation import sample
from salience.search.cutoff import verdict

if TYPE_CHECKING:
    from salience.search.results import SearchResult

_QUESTION_ID = "q01"
_HITS = 3
_PARTS = 2  # of a group; all fits on a screen of 24 lines


def demo(settings: Settings) -> None:
    """Recall from nine months of an invented agent's memories, and show why.

    The memories go to a temporary file, or to the namespace "demo" of the store that --db names.
    """
    settings = demo_settings(settings)
    memories = sample.memories()
    question = next(q for q in sample.questions() if q["id"] == _QUESTION_ID)
    now = max(item["created_at"] for item in memories)
    load(settings)
    with settings.open() as memory:
        result = memory.search(
            question["text"], limit=_HITS, now=now, touch=False, explain=True, cut="auto"
        )
    output.degraded(result.degraded)
    if output.emitted(settings, {"db": settings.db, "result": result.to_dict()}):
        return
    _show(settings, len(memories), now, frozenset(question["relevant"]), result)


def demo_settings(settings: Settings) -> Settings:
    """Settings with a temporary file, or with the namespace `demo` in the store of --db.

    The environment names the store of the user's own memories, so it is left alone.
    """
    if settings.db_is_option:
        return replace(settings, namespace=settings.namespace or "demo")
    handle, path = tempfile.mkstemp(prefix="demo-", suffix=".db")
    os.close(handle)
    return replace(settings, db=path, namespace=None)


def load(settings: Settings) -> None:
    """Let the sample happen in a store: nine months of writing, using, judging and forgetting."""
    clock = sample.Clock()
    with settings.open(make=True, clock=clock) as memory:
        sample.live(memory, clock)


def _show(
    settings: Settings, count: int, now: str, relevant: frozenset[str], result: SearchResult
) -> None:
    from rich.text import Text

    from salience.cli import render

    console = output.console()
    console.print(
        f"{count} memories of an invented assistant are in {settings.db}.\n"
        f"It is asked on {now[:10]}; ✓ marks what answers the question:\n",
        markup=False,
    )
    console.print(Text.assemble((result.query, "bold yellow"), (f"  {_verdict(result)}", "dim")))
    console.print(
        render.hits(result.hits, console.width, settings.zone, ticked=relevant, lines=1, why=False)
    )
    first = result[0]
    assert first.explanation is not None
    console.print(Text(f"\nWhy {first.id} is the first:", style="bold"))
    console.print(render.score_parts(first.explanation, most=_PARTS))
    better = ", or install 'salience[multilingual]' and use --embedder auto"
    heading = f"\nTry next{better if isinstance(best_installed(), StaticEmbedder) else ''}:"
    console.print(Text(heading, style="bold"))
    where = f"--db {quote(settings.db or '')}"
    if settings.namespace:
        where += f" --namespace {quote(settings.namespace)}"
    for command in (
        f"search {where} {quote('Why did the disk run full?')}",
        f"explain {where} telemetry fact-retention",
        f"add {where} {quote('The stand-up moved to 9:30.')}",
    ):
        console.print(f"  {program()} {command}", soft_wrap=True, markup=False)


def _verdict(result: SearchResult) -> str:
    assert result.probability is not None
    return verdict(result.probability)


def program() -> str:
    """The command to type: its path where the shell would not find its name."""
    program = sys.argv[0]
    if shutil.which("salience") or os.path.basename(program) != "salience":
        return "salience"
    return quote(os.path.relpath(program))

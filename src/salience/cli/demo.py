"""The demo: an invented agent's memories, questions to them, and why each was recalled."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import defaultdict
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from salience.cli import output
from salience.cli.settings import Settings
from salience.engine.memory import Memory
from salience.evaluation import sample

if TYPE_CHECKING:
    from rich.console import Console

    from salience.search.results import SearchResult

_QUESTION_IDS = ("q01", "q05", "q13", "q19", "q29")
_HITS = 3  # shown for each question


def demo(settings: Settings) -> None:
    """Recall from nine months of an invented agent's memories, and show why."""
    settings = _demo_settings(settings)
    memories = sample.memories()
    questions = [question for question in sample.questions() if question["id"] in _QUESTION_IDS]
    now = max(item["created_at"] for item in memories)
    with settings.open(make=True) as memory:
        _load(memory, memories)
        results = [
            memory.search(question["text"], limit=_HITS, now=now, touch=False, explain=True)
            for question in questions
        ]
    output.degraded(dict.fromkeys(reason for result in results for reason in result.degraded))
    if settings.json:
        output.emit({"db": settings.db, "results": [result.to_dict() for result in results]})
        return
    _show(settings, len(memories), now, questions, results)


def _demo_settings(settings: Settings) -> Settings:
    """Settings with a temporary file, or with the namespace `demo` in the store that was given."""
    if settings.db:
        return replace(settings, namespace=settings.namespace or "demo")
    handle, path = tempfile.mkstemp(prefix="salience-demo-", suffix=".db")
    os.close(handle)
    return replace(settings, db=path)


def _load(memory: Memory, memories: list[dict[str, Any]]) -> None:
    links = defaultdict(list)
    for link in sample.links():
        links[link["source"]].append({key: link[key] for key in ("target", "type", "weight")})
    # A store that was given may hold them already; ids that are taken are left out.
    added = set(memory.add_many({**item, "links": links[item["id"]]} for item in memories).ids)
    for newer in (item["id"] for item in memories if item["id"] in added):
        for link in links[newer]:
            if link["type"] == "supersedes":
                memory.supersede(link["target"], newer)


def _show(
    settings: Settings,
    count: int,
    now: str,
    questions: list[dict[str, Any]],
    results: list[SearchResult],
) -> None:
    from rich.text import Text

    from salience.cli import render

    console = output.console()
    console.print(
        f"{count} memories of an assistant, written to {settings.db}. It is asked on {now[:10]}; "
        "✓ marks what answers the question.\n",
        markup=False,
    )
    for question, result in zip(questions, results, strict=True):
        console.print(Text(question["text"], style="bold yellow"))
        relevant = frozenset(question["relevant"])
        console.print(render.hits(result.hits, console.width, ticked=relevant))
    _explain(console, settings, results[0])


def _explain(console: Console, settings: Settings, result: SearchResult) -> None:
    from rich.text import Text

    from salience.cli import render

    first = result[0]
    assert first.explanation is not None
    console.print(Text(f"Why {first.id} is the first hit for “{result.query}”:", style="bold"))
    console.print(render.explanation(first.explanation))
    where = f"--db {quote(settings.db or '')}"
    if settings.namespace:
        where += f" --namespace {quote(settings.namespace)}"
    console.print(Text("\nTry next:", style="bold"))
    for command in (
        f"search {where} {quote('Why did the disk run full in July?')}",
        f"add {where} {quote('The stand-up moved to 9:30.')} --speaker Marit",
        f"explain {where} {quote(result.query)} {first.id}",
    ):
        console.print(f"  {_program()} {command}", soft_wrap=True, markup=False)


def _program() -> str:
    """The command to type: its path where the shell would not find its name."""
    program = sys.argv[0]
    if shutil.which("salience") or os.path.basename(program) != "salience":
        return "salience"
    return quote(os.path.relpath(program))

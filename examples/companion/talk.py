"""The conversation: recall, ask the model, show its sources, keep the turn."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, Protocol

from companion.model import Tools

PROMPT = (Path(__file__).parent / "prompt.md").read_text(encoding="utf-8")
_CITATION = re.compile(r"\[#([^\]\s]+)\]")


class Memories(Tools, Protocol):
    """Tools of a memory, with what the program itself asks of it."""

    async def recalled(self, said: str) -> str: ...
    async def keep(self, said: str, answered: str) -> None: ...
    async def source(self, id: str) -> str | None: ...


class Answering(Protocol):
    """A model, or whatever stands for one."""

    async def answer(self, messages: list[dict[str, Any]], tools: Tools) -> str: ...


async def talk(model: Answering, memories: Memories, user: str) -> None:
    """Answer each line that is typed, until there is no other."""
    system = PROMPT.format(user=user, today=date.today().isoformat())
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
    for said in _lines():
        recalled = await memories.recalled(said)
        messages.append({"role": "user", "content": f"{recalled}\n\n{said}".strip()})
        answered = await model.answer(messages, memories)
        print(await with_sources(answered, memories), flush=True)
        await memories.keep(said, _CITATION.sub("", answered))


async def with_sources(answered: str, memories: Memories) -> str:
    """An answer with numbers for its citations, and a line for each: a model cannot invent one."""
    numbers, notes = dict[str, str](), list[str]()
    for id in dict.fromkeys(_CITATION.findall(answered)):
        source = await memories.source(id)
        numbers[id] = f"[{len(notes) + 1}]" if source else "[no such memory]"
        notes += [f"  {numbers[id]} {source}"] if source else []
    return "\n".join([_CITATION.sub(lambda found: numbers[found[1]], answered), *notes])


def _lines() -> Iterator[str]:
    """The lines that are typed, those that are empty left out."""
    while True:
        if sys.stdin.isatty():
            print("> ", end="", flush=True)
        if not (line := sys.stdin.readline()):
            if sys.stdin.isatty():
                print()
            return
        if line.strip():
            yield line.strip()

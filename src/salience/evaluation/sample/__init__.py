"""An invented agent's nine months of memories: to try the library on, and to show how it recalls.

Everybody and everything in it is made up. The memories are plain dictionaries ready for
`Memory.add_many`; the links join them; the questions name the memories that answer them.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

__all__ = ["links", "memories", "questions"]


def memories() -> list[dict[str, Any]]:
    """The memories, oldest first: conversation turns, notes, facts, events and profile entries."""
    return _load("memories")


def links() -> list[dict[str, Any]]:
    """The links between the memories: `source`, `target`, `type` and `weight`."""
    return _load("links")


def questions() -> list[dict[str, Any]]:
    """Questions with the ids of the memories that answer them: `id`, `text`, `relevant`, `note`.

    `relevant` is ordered, the best answer first.
    """
    return _load("questions")


def _load(name: str) -> list[dict[str, Any]]:
    text = files(__package__).joinpath(f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]

"""An invented notebook: sixty facts, sixty questions that they answer and sixty that they do not.

Everybody and everything in it is made up. Facts and questions were written before any of them was
searched for, and none was changed afterwards. Questions are worded as one asks an assistant: whole
questions, keywords, by name, by topic, by another name for the same thing; six have several
answers. The unanswerable ones are near misses, which ask for something else of the same person or
thing (`attribute`) or the same of another (`other`), or have nothing to do with any fact.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from importlib.resources import files
from typing import Any

from salience.evaluation.datasets import Conversation
from salience.importers.conversation import Query

__all__ = ["load"]

_NOW = datetime(2026, 7, 10, 12, tzinfo=timezone.utc)


def load() -> Conversation:
    """The notebook; an unanswerable question has no `relevant` memories."""
    queries = [Query(**{**row, "relevant": tuple(row["relevant"])}) for row in _rows("questions")]
    return Conversation("notebook", tuple(_rows("facts")), tuple(queries), _NOW)


def _rows(name: str) -> list[dict[str, Any]]:
    text = files(__package__).joinpath(f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]

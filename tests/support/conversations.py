"""Memories and questions for oracles: the sample, synthetic texts, and any conversations named.

`SALIENCE_CONVERSATIONS` names folders of conversations (as `salience eval` takes them), separated
as in a PATH. Of each conversation every tenth question is asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from salience.evaluation import datasets, sample
from salience.evaluation.synthetic_chats import queries, realistic
from salience.records.validation import timestamp

VARIABLE = "SALIENCE_CONVERSATIONS"


@dataclass(frozen=True)
class Talk:
    """Memories, what is asked of them, and when."""

    items: tuple[dict[str, Any], ...]
    questions: tuple[str, ...]
    now: datetime


def _shipped() -> Talk:
    items = tuple(sample.memories())
    asked = tuple(question["text"] for question in sample.questions())
    return Talk(items, asked, _end(items))


def _synthetic() -> Talk:
    items = tuple(realistic(400, seed=3))
    return Talk(items, tuple(queries(12, items, seed=4)), _end(items))


def _end(items: tuple[dict[str, Any], ...]) -> datetime:
    latest = max(timestamp("created_at", item["created_at"]) for item in items)
    return latest + timedelta(hours=1)


def _named() -> Iterator[Any]:
    folders = [folder for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder]
    if not folders:
        reason = f"{VARIABLE} names no folder of conversations"
        yield pytest.param(None, id="conversations", marks=pytest.mark.skip(reason=reason))
    for folder in folders:
        for one in datasets.load(folder):
            items = tuple(dict(item) for item in one.memories)
            asked = tuple(query.text for query in one.queries[::10])
            yield pytest.param(Talk(items, asked, _end(items)), id=one.name)


TALKS = (
    pytest.param(_shipped(), id="sample"),
    pytest.param(_synthetic(), id="synthetic"),
    *_named(),
)

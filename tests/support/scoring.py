"""Fixtures for the tests of profiles: a fixed time, a memory on every store, cosines by design."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta, timezone
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from salience import Explanation, Memory
from salience.embedders import Embedder
from salience.embedders.protocol import EmbedderIdentity, Kind, Rows

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
STORES = ("ram", "sqlite")


class Designed:
    """A text that contains "cos=0.87" has that cosine with every query; others have 0."""

    identity = EmbedderIdentity("test", "designed", 2, "1")

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        rows = np.zeros((len(texts), 2), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            found = re.search(r"cos=(-?[0-9.]+)", text)
            cosine = 1.0 if kind == "query" else float(found.group(1)) if found else 0.0
            row[:] = cosine, math.sqrt(1.0 - cosine**2)
        return rows


def opened(store: str, folder: Path, embedder: str | Embedder | None, **options: Any) -> Memory:
    """A memory on a store, with a clock that stands still at NOW."""
    url = "ram://" if store == "ram" else f"sqlite:///{folder / 'memory.db'}"
    return Memory.open(url, embedder=embedder, clock=lambda: NOW, **options)


@contextmanager
def each_store(
    folder: Path, embedder: str | Embedder | None, **options: Any
) -> Iterator[list[Memory]]:
    """The same memory on every store."""
    with ExitStack() as held:
        yield [held.enter_context(opened(s, folder, embedder, **options)) for s in STORES]


def check_tree(node: Explanation) -> None:
    """Every sum and product in an explanation is made of its children, without rounding."""
    made = {"sum": operator.add, "product": operator.mul}
    for each in node:
        if each.how in made:
            value = reduce(made[each.how], (child.value for child in each.children))
            assert value == each.value or (math.isnan(value) and math.isnan(each.value))

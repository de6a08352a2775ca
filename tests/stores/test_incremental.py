"""Whatever happened before, three stores rank alike: to the last bit.

A memory that has seen every step, one that opens the file only now, and one in ram.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import Clock
from support.examples import examples
from support.steps import QUESTIONS, apply, steps


def seen(memory: Memory) -> list[Any]:
    ranked = [
        [(hit.id, hit.score) for hit in memory.search(question, touch=False, **options)]
        for question, options in QUESTIONS
    ]
    records = [record.to_dict() for record in memory.get_all()]
    return [*ranked, records, memory.get_all({"access_count": {"gt": 0}}).total]


@pytest.mark.deep
@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(steps, min_size=1, max_size=10))
def test_three_stores_rank_alike(taken: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        url = f"sqlite:///{Path(folder) / 'memory.db'}"

        def opened(at: str) -> Memory:
            return Memory.open(at, embedder=WordHashEmbedder(), clock=clock)

        follow(taken, clock, lambda: opened(url), opened("ram://"))


def follow(
    taken: list[tuple[Any, ...]], clock: Clock, opened: Callable[[], Memory], ram: Memory
) -> None:
    lasting = opened()
    try:
        for step in taken:
            if step[0] == "wait":
                clock.pass_(days=step[1])
            if step[0] == "reopen":
                lasting.close()
                lasting = opened()
            apply(lasting, step)
            apply(ram, step)
            expected = seen(ram)
            assert seen(lasting) == expected
            lasting.upkeep.flush()
            with opened() as fresh:
                assert seen(fresh) == expected
    finally:
        lasting.close()

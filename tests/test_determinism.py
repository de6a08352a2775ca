"""The same list everywhere: ids and scores, to the last bit."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncMemory, Memory, sample

NOW = "2026-10-01T08:00:00Z"
QUESTIONS = [question["text"] for question in sample.questions()]
PROFILES = ["balanced", "composite"]
Lists = list[list[tuple[str, float]]]

SCRIPT = """
import json, sys
from recollect import Memory, sample
from test_determinism import ranked
for url in sys.argv[1:]:
    with Memory.open(url) as memory:
        if not memory.get_all(limit=1).total:
            memory.add_many(sample.memories())
        print(json.dumps(ranked(memory)))
"""


def ranked(memory: Memory) -> Lists:
    """What each profile finds for each of the sample's questions."""
    return [
        [
            (hit.id, hit.score)
            for hit in memory.search(question, profile=profile, now=NOW, touch=False)
        ]
        for profile in PROFILES
        for question in QUESTIONS
    ]


@pytest.fixture(scope="module")
def expected() -> Lists:
    with Memory.open("ram://") as memory:
        memory.add_many(sample.memories())
        found = ranked(memory)
    assert all(len(hits) == 10 for hits in found)
    return found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("determinism") / "memory.db"
    with Memory.open(f"sqlite:///{path}") as memory:
        memory.add_many(sample.memories())
    return path


def test_two_stores_rank_alike(expected: Lists, file: Path) -> None:
    with Memory.open(f"sqlite:///{file}") as memory:
        assert ranked(memory) == expected
    with Memory.open("sqlite:///:memory:") as memory:
        memory.add_many(sample.memories())
        assert ranked(memory) == expected


def test_memories_added_one_at_a_time_rank_alike(expected: Lists) -> None:
    with Memory.open("ram://") as memory:
        for item in sample.memories():
            given = dict(item)
            memory.add(given.pop("content"), **given)
            memory.search("in between", limit=1, touch=False)
        assert ranked(memory) == expected


def test_sync_and_async_rank_alike(expected: Lists) -> None:
    async def collect() -> Lists:
        async with await AsyncMemory.open("ram://") as memory:
            await memory.add_many(sample.memories())
            found = []
            for profile in PROFILES:
                answers = await asyncio.gather(
                    *(
                        memory.search(question, profile=profile, now=NOW, touch=False)
                        for question in QUESTIONS
                    )
                )
                found += [[(hit.id, hit.score) for hit in answer] for answer in answers]
            return found

    assert asyncio.run(collect()) == expected


def test_every_process_ranks_alike(expected: Lists, file: Path) -> None:
    here = str(Path(__file__).parent)

    def answers(seed: int) -> list[Lists]:
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT, "ram://", f"sqlite:///{file}"],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": here},
            capture_output=True,
            text=True,
            check=True,
        )
        return [
            [[tuple(hit) for hit in hits] for hits in json.loads(line)]
            for line in ran.stdout.splitlines()
        ]

    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(answers, [*range(9), 4_294_967_295]):
            assert found == [expected, expected]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_limit_does_not_change_the_order(expected: Lists, profile: str) -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(sample.memories())
        ask: Callable[..., Any] = memory.search
        for question, hits in zip(
            QUESTIONS, expected[PROFILES.index(profile) * len(QUESTIONS) :], strict=False
        ):
            three = ask(question, profile=profile, now=NOW, touch=False, limit=3)
            assert [(hit.id, hit.score) for hit in three] == hits[:3]

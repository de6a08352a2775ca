"""The same hits everywhere: ids and scores, to the last bit."""

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
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy._core import _multiarray_umath as umath  # type: ignore[attr-defined]

from salience import AsyncMemory, Memory
from salience.evaluation import sample
from salience.ranking.profiles import BUILT_IN
from salience.testing.embedder import WordHashEmbedder
from support.examples import examples
from support.ranked import NOW, PROFILES, QUESTIONS, Lists, ranked

UNBOUNDED = ["balanced", "composite"]  # their candidates do not depend on the number of hits
TALK = 'the tea is in the blue tin that Ana bought in March for her "new" kitchen tea* 3'.split()

SCRIPT = """
import json, sys
from salience import Memory
from salience.evaluation import sample
from support.ranked import NOW, PROFILES, QUESTIONS, ranked
with Memory.open(sys.argv[1]) as memory:
    print(json.dumps(ranked(memory)))
with Memory.open("ram://") as memory:
    memory.add_many(sample.memories())
    for profile in PROFILES:
        for question in QUESTIONS[::6]:
            found = memory.search(question, profile=profile, now=NOW, touch=False, explain=True)
            for hit in found:
                print(json.dumps((hit.id, hit.score, hit.similarity, hit.explanation.to_dict())))
            print(profile, found.probability, *(hit.probability for hit in found))
    for item in memory.add_many([f"{item['content']} So." for item in sample.memories()]):
        print(item.outcome, item.similarity)
"""
_DISPATCHED = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
PROCESSORS: tuple[dict[str, str], ...] = (
    {"PYTHONHASHSEED": "0"},
    {
        "PYTHONHASHSEED": "4294967295",
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": " ".join(_DISPATCHED),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    },
)
"""Environments by which libraries take the processor for what it is, and for one of 2004."""


@pytest.fixture(scope="module")
def expected() -> Lists:
    with Memory.open("ram://") as memory:
        memory.add_many(sample.memories())
        lists = ranked(memory)
    assert all(len(hits) <= 10 for hits in lists)
    assert sum(map(len, lists)) > 9 * len(lists)
    return lists


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("determinism") / "memory.db"
    with Memory.open(f"sqlite:///{path}") as memory:
        memory.add_many(sample.memories())
    return path


@pytest.mark.deep
def test_two_stores_rank_alike(expected: Lists, file: Path) -> None:
    with Memory.open(f"sqlite:///{file}") as memory:
        assert ranked(memory) == expected


@pytest.mark.deep
def test_memories_added_one_at_a_time_rank_alike(expected: Lists) -> None:
    with Memory.open("ram://") as memory:
        for item in sample.memories():
            fields = dict(item)
            memory.add(fields.pop("content"), **fields)
            memory.search("in between", limit=1, touch=False)
        assert ranked(memory) == expected


def test_sync_and_async_rank_alike(expected: Lists) -> None:
    async def collect() -> Lists:
        async with await AsyncMemory.open("ram://") as memory:
            await memory.add_many(sample.memories())
            lists: Lists = []
            for profile in PROFILES:
                answers = await asyncio.gather(
                    *(
                        memory.search(question, profile=profile, now=NOW, touch=False)
                        for question in QUESTIONS
                    )
                )
                lists += [[(hit.id, hit.score) for hit in answer] for answer in answers]
            return lists

    assert asyncio.run(collect()) == expected


@pytest.fixture(scope="module")
def told(file: Path) -> list[str]:
    """What a process prints in each of `PROCESSORS`."""
    own = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    own["PYTHONPATH"] = str(Path(__file__).parents[1])

    def run(settings: dict[str, str]) -> str:
        return subprocess.run(
            [sys.executable, "-c", SCRIPT, f"sqlite:///{file}"],
            env={**own, **settings},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    with ThreadPoolExecutor(2) as pool:
        return [*pool.map(run, PROCESSORS)]


@pytest.mark.deep
def test_every_process_and_processor_tell_the_same(expected: Lists, told: list[str]) -> None:
    """Ranks; scores, explanations and probabilities; the cosines of what is written."""
    first, second = told
    lists, *rest = first.splitlines()
    assert [[tuple(hit) for hit in hits] for hits in json.loads(lists)] == expected
    assert len(rest) > 100
    assert first == second


@pytest.mark.parametrize("profile", UNBOUNDED)
def test_the_limit_does_not_change_the_order(expected: Lists, profile: str) -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(sample.memories())
        ask: Callable[..., Any] = memory.search
        for question, hits in zip(
            QUESTIONS, expected[PROFILES.index(profile) * len(QUESTIONS) :], strict=False
        ):
            three = ask(question, profile=profile, now=NOW, touch=False, limit=3)
            assert [(hit.id, hit.score) for hit in three] == hits[:3]


@settings(max_examples=examples(60))
@given(
    st.lists(st.lists(st.sampled_from(TALK), min_size=1, max_size=9), min_size=1, max_size=12),
    st.lists(st.sampled_from(TALK), min_size=1, max_size=5).map(" ".join),
    st.sampled_from(sorted(BUILT_IN)),
)
def test_searching_twice_without_touching_gives_the_same_bytes(
    texts: list[list[str]], question: str, profile: str
) -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder()) as memory:
        memory.add_many({"id": f"m{at}", "content": " ".join(t)} for at, t in enumerate(texts))

        def answer() -> bytes:
            result = memory.search(question, profile=profile, now=NOW, touch=False, explain=True)
            return json.dumps([hit.to_dict() for hit in result]).encode()

        assert answer() == answer()

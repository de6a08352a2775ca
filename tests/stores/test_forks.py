"""A memory that was opened before a fork serves both processes, and neither reads the other's."""

import subprocess
import sys

import pytest

from support.served import serve_memory

FORKING = """
import asyncio, os, signal, sys
from salience import AsyncMemory, Memory
url = sys.argv[1]

def asks(memory, own):
    return all(
        memory.get(own).id == own and memory.add(own * 9, id=f"{own}{turn}").id == f"{own}{turn}"
        for turn in range(30)
    )

async def awaits(memory, own):
    found = [(await memory.get(own)).id == own for _ in range(30)]
    return all(found) and [hit.id for hit in await memory.search(own + own, limit=1)] == [own]

memory = Memory.open(url)
memory.add_many([{"content": "aa", "id": "a"}, {"content": "bb", "id": "b"}])
memory.search("aa")

def ended(right):
    os._exit(0 if right else 1)

async def both():
    memory = await AsyncMemory.open(url)
    await memory.search("aa")
    if not (child := os.fork()):
        ended(asyncio.run(awaits(memory, "b")))
    return await awaits(memory, "a"), child

signal.alarm(60)
if sys.argv[2] == "awaited":
    right, child = asyncio.run(both())
elif child := os.fork():
    right = asks(memory, "a")
else:
    ended(asks(memory, "b"))
assert os.waitpid(child, 0)[1] == 0, "the copy read what its parent asked for"
assert right, "the parent read what the copy asked for"
memory.close()
"""


def fork(url: str, kind: str = "waiting") -> None:
    # Newer Pythons warn of any fork beside a thread, which is what this is about.
    quiet = ("-W", "ignore::DeprecationWarning")
    program = [sys.executable, *quiet, "-c", FORKING, url, kind]
    ran = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (ran.stderr, ran.returncode) == ("", 0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["waiting", "awaited"])
def test_a_memory_at_a_server(kind: str) -> None:
    with serve_memory("ram://", embedder=None) as memory:
        fork(memory.url, kind)


@pytest.mark.parametrize("kind", [pytest.param("waiting", marks=pytest.mark.deep), "awaited"])
def test_a_memory_on_postgresql(database: str, kind: str) -> None:
    fork(database, kind)

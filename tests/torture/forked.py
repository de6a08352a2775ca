"""A program that reads memories at a server on both sides of a fork, and counts wrong answers.

`python -m torture.forked URL KIND SEED READS ID...` prints them as JSON: the answers that were
right, and each that was not.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from random import Random

from salience import AsyncMemory, Memory


def main(url: str, kind: str, seed: str, reads: str, *ids: str) -> None:
    """Read memories whose content is their id, first in one process, then in two."""
    ask = _reader(url, kind)
    random = Random(seed)
    for id in random.sample(ids, 2):  # so that connections are open
        ask(id)
    source, target = os.pipe()
    child = os.fork()
    told = _told(ask, Random(f"{seed}/{child == 0}"), int(reads), ids)
    if child == 0:
        os.write(target, json.dumps(told).encode())
        os._exit(0)
    os.close(target)
    with open(source, "rb") as pipe:
        of_child = json.loads(pipe.read() or b'[0, ["the copy ended before it answered"]]')
    os.waitpid(child, 0)
    print(json.dumps([told[0] + of_child[0], told[1] + of_child[1]]))


def _reader(url: str, kind: str) -> Callable[[str], str | None]:
    if kind == "remote":
        memory = Memory(url)
        return lambda id: None if (record := memory.get(id)) is None else record.content
    loop, awaited = asyncio.new_event_loop(), AsyncMemory(url)

    def ask(id: str) -> str | None:
        record = loop.run_until_complete(awaited.get(id))
        return None if record is None else record.content

    return ask


def _told(
    ask: Callable[[str], str | None], random: Random, reads: int, ids: tuple[str, ...]
) -> tuple[int, list[str]]:
    right, wrong = 0, []
    for _ in range(reads):
        id = random.choice(ids)
        try:
            answer = ask(id)
        except Exception as problem:
            answer = f"{type(problem).__name__}: {problem}"
        if answer == id:
            right += 1
        else:
            wrong.append(f"{id} was answered with {answer}")
    return right, wrong


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A program that reads memories at a server on both sides of a fork, and counts wrong answers.

`python -m torture.forked URL SEED READS ID...` prints them as JSON: the answers that were
right, and each that was not.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from random import Random

from salience import Memory


def main(url: str, seed: str, reads: str, *ids: str) -> None:
    """Read memories whose content is their id, first in one process, then in two."""
    memory = Memory(url)

    def ask(id: str) -> str | None:
        return None if (record := memory.get(id)) is None else record.content

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

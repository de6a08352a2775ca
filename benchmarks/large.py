"""The recall that a namespace too large for a process loses: by its index, and by candidates.

    python benchmarks/large.py FOLDER... [--questions 6] [--profiles balanced composite]

Each folder is a set of conversations as `salience eval` takes them. All go into one namespace of a
new PostgreSQL server; the same questions are asked of a process that holds it and of one that holds
nothing.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from statistics import mean, median

from salience import Memory
from salience.evaluation import datasets
from salience.stores import build_indexes
from salience.stores.postgres import PostgresStore
from salience.testing.postgres import PostgresServer

Question = tuple[str, frozenset[str]]
"""The words, and the ids of the relevant memories."""
_NOW = 2e9
_LIMIT = 10


def fill(memory: Memory, folders: Sequence[str], each: int) -> list[Question]:
    """Write all conversations; some questions of each."""
    questions: list[Question] = []
    for folder in folders:
        for number, conversation in enumerate(datasets.load(folder)):
            own = f"{os.path.basename(folder)}-{number}-"
            items = [
                {
                    **item,
                    "id": own + item["id"],
                    "session_id": own + item["session_id"] if item.get("session_id") else None,
                }
                for item in conversation.memories
            ]
            memory.add_many(items, dedup=False)
            questions += [
                (query.text, frozenset(own + id for id in query.relevant))
                for query in conversation.queries[:each]
            ]
    return questions


def ask(
    memory: Memory, profile: str, questions: Sequence[Question]
) -> tuple[list[tuple[str, ...]], list[float]]:
    """The hits of each question, and its milliseconds."""
    memory.search("warm up", profile=profile, touch=False)
    hits, times = [], []
    for text, _ in questions:
        began = time.perf_counter()
        found = memory.search(text, profile=profile, limit=_LIMIT, touch=False, now=_NOW)
        times.append((time.perf_counter() - began) * 1e3)
        hits.append(found.ids)
    return hits, times


def report(way: str, questions: Sequence[Question], hits: list[tuple[str, ...]]) -> str:
    """The recall of a way."""
    judged = [
        len(relevant & set(ids)) / len(relevant)
        for (_, relevant), ids in zip(questions, hits, strict=True)
        if relevant
    ]
    return f"{way}: Recall@{_LIMIT} {mean(judged):.4f}"


def main() -> None:
    """Print both ways of each profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--questions", type=int, default=6)
    parser.add_argument("--profiles", nargs="+", default=["balanced"])
    given = parser.parse_args()
    with PostgresServer(fsync="off") as server, Memory.open(server.url) as held:
        questions = fill(held, given.folders, given.questions)
        print(f"{held.count():,} memories, {len(questions)} questions", flush=True)
        os.environ["SALIENCE_POSTGRES_MEMORY_MB"] = "0"
        began = time.perf_counter()
        build_indexes(server.url)
        print(f"indexes and statistics: {time.perf_counter() - began:.1f} s", flush=True)
        with Memory.open(PostgresStore(server.url, memory=0)) as large:
            for profile in given.profiles:
                exact, own_times = ask(held, profile, questions)
                found, times = ask(large, profile, questions)
                shared = mean(
                    len(set(a) & set(b)) / max(1, len(a)) for a, b in zip(exact, found, strict=True)
                )
                print(
                    f"{profile}: {report('index', questions, exact)}, {median(own_times):.1f} ms; "
                    f"{report('candidates', questions, found)}, {median(times):.1f} ms; "
                    f"{shared:.3f} of the hits shared",
                    flush=True,
                )


if __name__ == "__main__":
    main()

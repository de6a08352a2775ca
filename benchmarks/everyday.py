"""Recall of everyday stores, of `balanced` and of its two parts alone: cosine, and BM25.

    python everyday.py                                # the choice part, each store by itself
    python everyday.py --part train --others 300      # among 300 memories of other people, too
    python everyday.py --embedder minilm --gate       # ends with 1 where balanced is below a part
    python everyday.py --sets locomo realtalk --gate  # conversations in place of the stores
    python everyday.py --export sets                  # writes train and choice for calibrate

`corpus/README.md` describes the stores. The test part is for final figures only. With `--others`, a
store gets memories of its language and roles that no query of their own store needs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from salience import Memory
from salience.embedders import resolve
from salience.embedders.protocol import Kind, Rows
from salience.evaluation import datasets
from salience.ranking.expressions import Col
from salience.ranking.profile import Profile
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Lexical, Vector

CORPUS = Path(__file__).parent / "corpus"
DEPTH = 20
TOLERANCE = 0.01
COSINE = Profile("cosine", retrieve(Vector(), depth=DEPTH) >> score(Col("vector.score")) >> cut())
BM25 = Profile("bm25", retrieve(Lexical(), depth=DEPTH) >> score(Col("lexical.score")) >> cut())
Store = Mapping[str, Any]
Row = tuple[str, str, str, float, float, float]
"""Profile, group, kind, Recall@5, Recall@10 and the reciprocal rank."""


def read(part: str) -> list[Store]:
    """The stores of a part of the corpus."""
    text = (CORPUS / f"{part}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def others(store: Store, stores: Sequence[Store], count: int) -> list[dict[str, Any]]:
    """Memories of other stores of the same language and roles, which no query there needs."""
    found = []
    for other in stores:
        if other is store or (other["lang"], other["roles"]) != (store["lang"], store["roles"]):
            continue
        needed = {id for query in other["queries"] for id in query["relevant"]}
        needed |= {id for query in other["queries"] for id in query.get("outdated", ())}
        prefix = f"{other['name']}/"
        for memory in other["memories"]:
            if memory["id"] not in needed:
                moved = memory | {"id": prefix + memory["id"]}
                if "session" in memory:
                    moved["session"] = prefix + memory["session"]
                found.append(moved)
    random.Random(store["name"]).shuffle(found)
    return found[:count]


def items(memories: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Memories as `Memory.add_many` takes them."""
    names = {"text": "content", "session": "session_id"}
    return [{names.get(key, key): value for key, value in each.items()} for each in memories]


def asked_at(store: Store) -> str:
    """The day on which a store is asked: three days after its last memory."""
    last = max(memory["created_at"] for memory in store["memories"])
    return (date.fromisoformat(last[:10]) + timedelta(days=3)).isoformat()


class Once:
    """An embedder that embeds each text once, as stores share most of the others."""

    def __init__(self, model: Any) -> None:
        self._model, self._rows = model, dict[tuple[str, str], Any]()
        self.identity, self.knows = model.identity, model.knows

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Embed texts as the embedder does, each once."""
        new = [text for text in dict.fromkeys(texts) if (kind, text) not in self._rows]
        rows = self._model.embed(new, kind=kind)
        self._rows |= {(kind, text): row for text, row in zip(new, rows, strict=True)}
        return np.array([self._rows[kind, text] for text in texts]) if texts else rows


def measure(stores: Sequence[Store], embedder: str, count: int) -> Iterator[Row]:
    """A row for each query of some stores, and profile."""
    model = Once(resolve(embedder))
    for store in stores:
        told = [*store["memories"], *others(store, stores, count)]
        language = "en" if store["lang"] == "en" else "other languages"
        group = f"{language}, roles {store['roles']}"
        with Memory("ram://", embedder=model, dedup=False) as memory:
            memory.add_many(items(told))
            for query in store["queries"]:
                now, needed = query.get("at") or asked_at(store), set(query["relevant"])
                for row in _of_query(memory, query["text"], now, needed):
                    yield row[0], group, query["category"], *row[1:]


def measure_sets(folders: Sequence[str], embedder: str) -> Iterator[Row]:
    """A row for each query of some sets of conversations, and profile."""
    model = resolve(embedder)
    for folder in folders:
        group = Path(folder).resolve().name
        for member in datasets.load(folder):
            with Memory("ram://", embedder=model, time_zone="UTC") as memory:
                memory.add_many(member.memories)
                for query in member.queries:
                    needed = set(query.relevant)
                    for row in _of_query(memory, query.text, member.now, needed):
                        yield row[0], group, str(query.category), *row[1:]


def _of_query(
    memory: Memory, text: str, now: Any, needed: Set[str]
) -> Iterator[tuple[str, float, float, float]]:
    """Profile and measures of a query, unless nothing answers it."""
    for profile in ("balanced", COSINE, BM25) if needed else ():
        hits = memory.search(text, profile=profile, limit=DEPTH, now=now, touch=False)
        ranks = [rank for rank, id in enumerate(hits.ids, 1) if id in needed]
        recalls = [sum(rank <= k for rank in ranks) / len(needed) for k in (5, 10)]
        name = profile if isinstance(profile, str) else profile.name
        yield name, recalls[0], recalls[1], 1 / ranks[0] if ranks else 0.0


def mean(rows: Sequence[Row], column: int) -> float:
    """The mean of a measure."""
    return sum(float(row[column]) for row in rows) / max(len(rows), 1)


def report(rows: Sequence[Row], title: str) -> bool:
    """Print the measures of a group; True unless balanced is below one of its parts."""
    holds, own = True, [row for row in rows if row[0] == "balanced"]
    texts = []
    for name in ("balanced", "cosine", "bm25"):
        of_name = [row for row in rows if row[0] == name]
        figures = [mean(of_name, column) for column in (3, 4, 5)]
        texts.append(f"{name} {figures[0]:.3f} {figures[1]:.3f} {figures[2]:.3f}")
        below = (mean(own, column) < mean(of_name, column) - TOLERANCE for column in (4, 5))
        holds &= not any(below)
    print(f"{title:32} {len(own):5}  " + "   ".join(texts) + ("" if holds else "   below"))
    return holds


def export(folder: Path, count: int) -> None:
    """Write the stores of both parts, each among `count` memories of others, as conversations."""
    for part in ("train", "choice"):
        stores = read(part)
        (folder / part).mkdir(parents=True)
        for store in stores:
            told = [*store["memories"], *others(store, stores, count)]
            text = json.dumps({"memories": told, "queries": store["queries"]}, ensure_ascii=False)
            (folder / part / f"{store['name']}.json").write_text(text, encoding="utf-8")


def main() -> int:
    """Print Recall@5, Recall@10 and MRR by group and by kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", default="choice", choices=("train", "choice", "test"))
    parser.add_argument("--embedder", default="default")
    parser.add_argument("--others", type=int, default=0, help="memories of other people besides")
    parser.add_argument("--sets", nargs="+", help="measure these sets of conversations instead")
    parser.add_argument("--gate", action="store_true", help="end with 1 if balanced is below")
    parser.add_argument("--export", type=Path, help="write both parts as sets, among 150 others")
    arguments = parser.parse_args()
    if arguments.export:
        export(arguments.export, 150)
        return 0
    if arguments.sets:
        rows = list(measure_sets(arguments.sets, arguments.embedder))
    else:
        rows = list(measure(read(arguments.part), arguments.embedder, arguments.others))
    holds = report(rows, "all")
    for column in (1, 2):
        for title in sorted({str(row[column]) for row in rows}):
            of_title = report([row for row in rows if row[column] == title], title)
            holds &= of_title or column == 2 or not arguments.sets
    return 1 if arguments.gate and not holds else 0


if __name__ == "__main__":
    sys.exit(main())

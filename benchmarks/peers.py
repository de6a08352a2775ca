"""Recall and speed of other libraries beside salience, on the same texts with the same vectors.

In an environment of its own, whose Python has to load SQLite extensions (Debian's does):

    pip install '.[eval]' chromadb txtai torch==2.13.0 lancedb langgraph-checkpoint-sqlite \
        openmem-engine mem0ai qdrant-client
    python peers.py speed 10000
    python peers.py speed 10000 --vectors-given --only salience numpy chroma
    python peers.py recall locomo realtalk beam-100k

All run in this process, embedded, without a language model or a network, each with its own defaults
and the default embedder's vectors, which every question pays for unless `--vectors-given` makes
them before. The others are given "speaker: text"; what else a memory has, they have no use for.
`speed` asks every library the same questions, each of them once, in several rounds by turns, and
after each question adds one memory. It prints milliseconds of processor time, and their ratios to
those of the first library.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ["ANONYMIZED_TELEMETRY"] = "False"
os.environ["MEM0_TELEMETRY"] = "False"

import numpy as np

from salience import Memory, arithmetic
from salience.embedders import Embedder, Kind, StaticEmbedder
from salience.evaluation.datasets import load
from salience.evaluation.synthetic_chats import queries, realistic
from salience.retrieval.metrics import Metrics, mean, per_query

EMBEDDER: Embedder = StaticEmbedder()
ITEMS = 4_000  # written at once
Item = dict[str, Any]


class KnownVectors:
    """An embedder that makes the vector of a text once, so that it is there when it is timed."""

    def __init__(self, embedder: StaticEmbedder) -> None:
        self.identity = embedder.identity
        self._embedder = embedder
        self._known: dict[str, Any] = {}

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Any:
        """Unit rows of texts, float32 of shape (texts, dimensions)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])


class Library(ABC):
    """A memory library under measurement."""

    @abstractmethod
    def add(self, items: Sequence[Item]) -> None:
        """Write memories."""

    def ready(self) -> None:
        """Make what else a search needs, once all are written."""

    @abstractmethod
    def search(self, question: str, limit: int) -> list[str]:
        """The ids of the first hits, with their texts read."""

    def close(self) -> None:
        """Write what waits, before its folder goes."""


def said(item: Item) -> Item:
    """A memory for a library without speakers."""
    speaker = item.get("speaker")
    prefix = f"{speaker}: " if speaker else ""
    return {"id": item["id"], "content": prefix + item["content"]}


def embedded(texts: Sequence[str]) -> Any:
    """Unit vectors of texts, float32 of shape (texts, dimensions)."""
    return EMBEDDER.embed(list(texts))


class Salience(Library):
    """The default profile on SQLite."""

    def __init__(self, folder: Path) -> None:
        self.memory = Memory.open(f"sqlite:///{folder}/memory.db", embedder=EMBEDDER)

    def add(self, items: Sequence[Item]) -> None:
        self.memory.add_many(items, strict=True)

    def search(self, question: str, limit: int) -> list[str]:
        return [hit.id for hit in self.memory.search(question, limit=limit)]

    def close(self) -> None:
        self.memory.close()


class WithoutKernels(Salience):
    """The same searched by NumPy, without the kernels in C."""

    def search(self, question: str, limit: int) -> list[str]:
        kernels, arithmetic.native = arithmetic.native, None
        try:
            return super().search(question, limit)
        finally:
            arithmetic.native = kernels


class Chroma(Library):
    """Cosines, HNSW."""

    def __init__(self, folder: Path) -> None:
        import chromadb

        self.collection = chromadb.PersistentClient(str(folder)).create_collection(
            "memories", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )

    def add(self, items: Sequence[Item]) -> None:
        texts = [item["content"] for item in items]
        self.collection.add(
            ids=[item["id"] for item in items], embeddings=embedded(texts), documents=texts
        )

    def search(self, question: str, limit: int) -> list[str]:
        found = self.collection.query(query_embeddings=embedded([question]), n_results=limit)
        return list(found["ids"][0])


class Txtai(Library):
    """Cosines and BM25, weighed alike."""

    def __init__(self, folder: Path) -> None:
        from txtai import Embeddings

        self.index = Embeddings(method="external", transform=embedded, hybrid=True, content=True)

    def add(self, items: Sequence[Item]) -> None:
        self.index.upsert([(item["id"], item["content"], None) for item in items])

    def search(self, question: str, limit: int) -> list[str]:
        return [found["id"] for found in self.index.search(question, limit)]


class LanceDB(Library):
    """Cosines and BM25, reciprocal rank fusion."""

    def __init__(self, folder: Path) -> None:
        import lancedb

        self.base = lancedb.connect(str(folder))
        self.table: Any = None

    def add(self, items: Sequence[Item]) -> None:
        texts = [item["content"] for item in items]
        rows = [
            {"id": item["id"], "text": text, "vector": vector}
            for item, text, vector in zip(items, texts, embedded(texts), strict=True)
        ]
        if self.table is None:
            self.table = self.base.create_table("memories", rows)
        else:
            self.table.add(rows)

    def ready(self) -> None:
        from lancedb.index import FTS, IvfPq

        self.table.create_index("text", config=FTS())
        if self.table.count_rows() >= 50_000:  # below, its manual says, none is needed
            self.table.create_index("vector", config=IvfPq(distance_type="cosine"))

    def search(self, question: str, limit: int) -> list[str]:
        asked = self.table.search(query_type="hybrid").vector(embedded([question])[0])
        return [found["id"] for found in asked.text(question).limit(limit).to_list()]


class LangGraph(Library):
    """Cosines, by sqlite-vec."""

    def __init__(self, folder: Path) -> None:
        from langgraph.store.sqlite import SqliteStore

        base = sqlite3.connect(folder / "store.db", isolation_level=None, check_same_thread=False)
        self.store = SqliteStore(
            base,
            index={
                "dims": EMBEDDER.identity.dimensions,
                "embed": lambda texts: embedded(texts).tolist(),
                "fields": ["text"],
            },
        )
        self.store.setup()

    def add(self, items: Sequence[Item]) -> None:
        from langgraph.store.base import PutOp

        self.store.batch([PutOp(("m",), item["id"], {"text": item["content"]}) for item in items])

    def search(self, question: str, limit: int) -> list[str]:
        return [found.key for found in self.store.search(("m",), query=question, limit=limit)]


class OpenMem(Library):
    """BM25 and spreading activation."""

    def __init__(self, folder: Path) -> None:
        from openmem import MemoryEngine

        self.engine = MemoryEngine(str(folder / "memory.db"))
        self.ids: dict[str, str] = {}

    def add(self, items: Sequence[Item]) -> None:
        for item in items:
            self.ids[self.engine.add(item["content"]).id] = item["id"]

    def search(self, question: str, limit: int) -> list[str]:
        found = self.engine.recall(question, top_k=limit, token_budget=1_000_000)
        return [self.ids[each.memory.id] for each in found]


class Mem0(Library):
    """Cosines, by Qdrant in this process; without its BM25, whose model it would download."""

    def __init__(self, folder: Path) -> None:
        from mem0 import Memory as Mem0Memory

        os.environ.setdefault("OPENAI_API_KEY", "none is asked")
        size = EMBEDDER.identity.dimensions
        self.memory = Mem0Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {"path": str(folder / "vectors"), "embedding_model_dims": size},
                },
                "history_db_path": str(folder / "history.db"),
                "embedder": {"provider": "openai", "config": {"embedding_dims": size}},
            }
        )
        self.memory.vector_store._bm25_encoder = False

        class Embedder:
            @staticmethod
            def embed(text: str, action: str | None = None) -> list[float]:
                return list(embedded([text])[0].tolist())

            @staticmethod
            def embed_batch(texts: Sequence[str], action: str | None = None) -> list[list[float]]:
                return list(embedded(texts).tolist())

        self.memory.embedding_model = Embedder()

    def add(self, items: Sequence[Item]) -> None:
        for item in items:
            self.memory.add(item["content"], user_id="m", infer=False, metadata={"own": item["id"]})

    def search(self, question: str, limit: int) -> list[str]:
        found = self.memory.search(question, filters={"user_id": "m"}, top_k=limit)
        return [each["metadata"]["own"] for each in found["results"]]


OWN = ("salience", "numpy")
LIBRARIES: dict[str, Callable[[Path], Library]] = {
    "salience": Salience,
    "numpy": WithoutKernels,
    "chroma": Chroma,
    "txtai": Txtai,
    "lancedb": LanceDB,
    "langgraph": LangGraph,
    "openmem": OpenMem,
    "mem0": Mem0,
}


DEFAULT = [name for name in LIBRARIES if name != "numpy"]


def filled(name: str, folder: Path, items: Sequence[Item], speakers: bool = True) -> Library:
    """A library that holds some memories, ready to be asked."""
    folder.mkdir()
    library = LIBRARIES[name](folder)
    if speakers and name not in OWN:
        items = [said(item) for item in items]
    for start in range(0, len(items), ITEMS):
        library.add(items[start : start + ITEMS])
    library.ready()
    return library


def timed(call: Callable[[], Any]) -> float:
    """The milliseconds of processor time that a call takes, in all threads of this process."""
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1e3


def speed(
    names: Sequence[str], memories: int, rounds: int, asked: int, vectors_given: bool
) -> None:
    """Print the median milliseconds of a search and of an add of one memory, by library."""
    global EMBEDDER
    wanted = rounds * asked
    items = [{**item, "id": str(n)} for n, item in enumerate(realistic(memories + wanted))]
    opening, *questions = queries(1 + wanted, items[:memories])
    if vectors_given:
        EMBEDDER = KnownVectors(StaticEmbedder())
        embedded([*questions, *(said(item)["content"] for item in items[memories:])])
    took: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in names}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        libraries = {}
        for name in names:
            began = time.perf_counter()
            libraries[name] = filled(name, Path(folder, name), items[:memories])
            print(f"{name}: written in {time.perf_counter() - began:.1f} s", file=sys.stderr)
        for start in range(0, wanted, asked):
            for name, library in libraries.items():
                for _ in range(3):
                    library.search(opening, 10)
                for place in range(start, start + asked):
                    question, item = questions[place], items[memories + place]
                    added = [item if name in OWN else said(item)]
                    took[name][0].append(timed(partial(library.search, question, 10)))
                    took[name][1].append(timed(partial(library.add, added)))
        for library in libraries.values():
            library.close()
    first = [statistics.median(each) for each in took[names[0]]]
    for name, each in took.items():
        search, add = map(statistics.median, each)
        ratios = search / first[0], add / first[1]
        print(f"{name:12} search {search:8.2f} ({ratios[0]:.2f})  add {add:8.2f} ({ratios[1]:.2f})")


def recall(names: Sequence[str], sets: Sequence[str], speakers: bool) -> None:
    """Print recall of the first ten hits and the metrics beside it, by set."""
    for each in sets:
        conversations = load(each)
        for name in names:
            measured: list[Metrics] = []
            took: list[float] = []
            for one in conversations:
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                    library = filled(name, Path(folder, name), one.memories, speakers)
                    runs = {}
                    for number, query in enumerate(one.queries):
                        began = time.perf_counter()
                        runs[str(number)] = library.search(query.text, 20)
                        took.append((time.perf_counter() - began) * 1e3)
                    library.close()
                wanted = {str(n): query.relevant for n, query in enumerate(one.queries)}
                measured += per_query(wanted, runs).values()
            figures = mean(measured)
            shown = "  ".join(f"{metric} {value:.3f}" for metric, value in figures.items())
            print(f"{Path(each).name:12} {name:12} {shown}  {statistics.median(took):.2f} ms")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tasks = parser.add_subparsers(dest="task", required=True)
    measured = tasks.add_parser("speed")
    measured.add_argument("memories", type=int)
    measured.add_argument("--rounds", type=int, default=5)
    measured.add_argument("--questions", type=int, default=50)
    measured.add_argument("--vectors-given", action="store_true", help="no embedding is timed")
    found = tasks.add_parser("recall")
    found.add_argument("sets", nargs="+")
    found.add_argument("--texts-only", action="store_true", help="no speakers for the others")
    for task in (measured, found):
        task.add_argument("--only", nargs="+", choices=LIBRARIES, default=DEFAULT)
    given = parser.parse_args()
    print(f"salience searches by {arithmetic.KERNELS}", file=sys.stderr)
    if given.task == "speed":
        speed(given.only, given.memories, given.rounds, given.questions, given.vectors_given)
    else:
        recall(given.only, given.sets, not given.texts_only)


if __name__ == "__main__":
    main()

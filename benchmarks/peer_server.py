"""mem0 or a store of LangGraph behind the framework of `salience serve`: FastAPI on uvicorn.

    python benchmarks/peer_server.py mem0 10000 8421

`serve.py` starts it with the Python of the environment that it makes for it. It holds the same
texts as the server that it is measured beside, with the vectors of the same embedder, and says how
long each search took. Searches run in FastAPI's threads, as they do in mem0's own server.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Response
from pydantic import BaseModel

import peers
from peers import EMBEDDER, LangGraph, Mem0, embedded, filled
from salience.evaluation.synthetic_chats import realistic


class LangGraphInMemory(LangGraph):
    """Cosines, by NumPy."""

    def __init__(self, folder: Path) -> None:
        from langgraph.store.memory import InMemoryStore

        self.store = InMemoryStore(
            index={
                "dims": EMBEDDER.identity.dimensions,
                "embed": lambda texts: embedded(texts).tolist(),
                "fields": ["text"],
            }
        )


class Mem0InMemory(Mem0):
    """Cosines, by a Qdrant that holds its vectors in this process."""

    def __init__(self, folder: Path) -> None:
        from qdrant_client import QdrantClient

        super().__init__(folder)
        vectors = self.memory.vector_store
        vectors.client = QdrantClient(":memory:")
        vectors.create_col(EMBEDDER.identity.dimensions, on_disk=False)


SERVED = {"mem0": Mem0InMemory, "langgraph-memory": LangGraphInMemory, "langgraph": LangGraph}


class Question(BaseModel):
    """A search, as `salience serve` takes it."""

    query: str
    limit: int = 10


def hits(library: Any) -> Callable[[Question], Any]:
    """The search of a library, with everything that it says of a hit."""
    if isinstance(library, Mem0):
        memory = library.memory
        return lambda asked: memory.search(asked.query, filters={"user_id": "m"}, top_k=asked.limit)
    store = library.store
    return lambda asked: {
        "hits": [hit.dict() for hit in store.search(("m",), query=asked.query, limit=asked.limit)]
    }


def served(search: Callable[[Question], Any]) -> FastAPI:
    """An app that answers searches."""
    app = FastAPI()

    @app.get("/ready")
    def ready() -> dict[str, bool]:
        return {"ready": True}

    @app.post("/v1/search")
    def answer(question: Question, response: Response) -> Any:
        began = time.perf_counter()
        result = search(question)
        took_ms = (time.perf_counter() - began) * 1e3
        response.headers["Server-Timing"] = f"search;dur={took_ms:.3f}"
        return result

    return app


def main(name: str, memories: int, port: int) -> None:
    """Fill a library and serve it."""
    peers.LIBRARIES.update(SERVED)
    items = [{**item, "id": str(n)} for n, item in enumerate(realistic(memories))]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        library = filled(name, Path(folder, name), items)
        app = served(hits(library))
        uvicorn.run(app, port=port, loop="uvloop", http="httptools", log_level="warning")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

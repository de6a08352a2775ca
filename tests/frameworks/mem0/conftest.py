"""mem0 itself, without a network: its store in memory, and an embedder that both sides share."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# mem0 reads these when it is imported.
os.environ |= {
    "MEM0_TELEMETRY": "False",
    "MEM0_DIR": tempfile.mkdtemp(prefix="mem0-"),
    "OPENAI_API_KEY": "not used",
}

import mem0
import pytest
from qdrant_client import QdrantClient

from salience import Memory as Salience
from salience.integrations.mem0 import Memory
from salience.testing import WordHashEmbedder

DIMENSIONS = 256
NPM = Path(sys.prefix) / "npm"
NPM_PACKAGE = "mem0ai@3.3.1"


class SharedEmbedder:
    """An embedder for mem0 that gives the vectors of one of salience."""

    def __init__(self) -> None:
        self._embedder = WordHashEmbedder(DIMENSIONS)
        self.config = type("Config", (), {"embedding_dims": DIMENSIONS})()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        kind = "query" if memory_action == "search" else "document"
        return [float(x) for x in self._embedder.embed([text], kind=kind)[0]]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


@pytest.fixture
def theirs() -> Iterator[Any]:
    """mem0's own `Memory`."""
    client = QdrantClient(":memory:")
    config = {"client": client, "embedding_model_dims": DIMENSIONS, "collection_name": "test"}
    memory = mem0.Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": config},
            "history_db_path": ":memory:",
        }
    )
    memory.embedding_model = SharedEmbedder()
    yield memory
    memory.close()
    client.close()


@pytest.fixture
def ours() -> Iterator[Memory]:
    """The drop-in over salience."""
    with (
        Salience("ram://", embedder=WordHashEmbedder(DIMENSIONS)) as memory,
        Memory(memory) as drop_in,
    ):
        yield drop_in


@pytest.fixture(scope="session")
def npm_client() -> str:
    """The module of the published client for TypeScript, as its package holds it."""
    module = NPM / "node_modules" / "mem0ai" / "dist" / "index.mjs"
    if not module.exists():
        NPM.mkdir(exist_ok=True)
        (NPM / "package.json").write_text('{"private": true}')
        options = ("--no-audit", "--no-fund", "--legacy-peer-deps", "--ignore-scripts")
        subprocess.run(["npm", "install", *options, NPM_PACKAGE], cwd=NPM, check=True)
    return str(module)

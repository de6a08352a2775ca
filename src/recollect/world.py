"""The world that plans ask: a store and an embedder behind one `batch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recollect.embed import CachedEmbedder, Embedder
from recollect.errors import EmbedderError
from recollect.memory import Vector
from recollect.ops import Embed, Op
from recollect.stores.protocol import Store


class World:
    """Sends each operation of a batch to who can answer it."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self.store = store
        self.embedder = None if embedder is None else CachedEmbedder(embedder)

    @property
    def identity(self) -> str | None:
        """What makes the vectors, as text; None without an embedder."""
        return None if self.embedder is None else str(self.embedder.identity)

    def batch(self, ops: Sequence[Op]) -> list[Any]:
        """Answer every operation, in order."""
        if not any(isinstance(op, Embed) for op in ops):
            return list(self.store.batch(ops))
        return [
            self._embed(op) if isinstance(op, Embed) else self.store.batch([op])[0] for op in ops
        ]

    def _embed(self, op: Embed) -> list[Vector]:
        if self.embedder is None:
            raise EmbedderError("there is no embedder; open the store with one")
        rows = self.embedder.embed(op.texts, kind=op.kind)
        if op.kind == "document":
            # What the stores keep; see `memory.vector`.
            rows = rows.astype(np.float16).astype(np.float32)
        return list(rows)

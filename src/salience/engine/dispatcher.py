"""The world that plans ask: a store, an embedder and an extractor behind one `batch`."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from salience.embedders import CachedEmbedder, Embedder, EmbedderIdentity
from salience.engine.time_travel import snapshot_at
from salience.errors import EmbedderError, SalienceError
from salience.language.entities import RULES, EntityExtractor
from salience.records.record import Embedding
from salience.records.validation import texts
from salience.retrieval.operations import AsOf, Embed, Events, Extract, Op, ReadStats
from salience.retrieval.plan import drive, in_thread
from salience.stores.protocol import AwaitableStore, Store
from salience.write.items import WriteContext

_REWOUND_KEPT = 4  # past states that are kept ready


class Dispatcher:
    """Sends each operation of a batch to who can answer it."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        extractor: EntityExtractor | None = RULES,
        *,
        owns: bool = False,
    ) -> None:
        self.store = store
        self.extractor = extractor
        self._rewound: OrderedDict[Any, Store] = OrderedDict()
        self._rewinding = threading.Lock()
        self._owns = owns  # whether the embedder was made for this world, and ends with it
        self.embedder = None if embedder is None else CachedEmbedder(embedder)

    @property
    def identity(self) -> str | None:
        """What makes the vectors, as text; None without an embedder or while it cannot say."""
        known = self._identity()
        return None if known is None else str(known)

    @property
    def dimensions(self) -> int | None:
        """The length of the embedder's vectors; None without one or while it cannot say."""
        known = self._identity()
        return None if known is None else known.dimensions

    def _identity(self) -> EmbedderIdentity | None:
        try:
            return None if self.embedder is None else self.embedder.identity
        except Exception:  # such as a service that is down; what is asked of it later says so
            return None

    async def abatch(self, ops: Sequence[Op]) -> list[Any]:
        """`batch`, awaited: by a store that can, else in a thread, so that no event loop waits."""
        if not isinstance(self.store, AwaitableStore):
            return await in_thread(self.batch, ops)
        asked = [op for op in ops if not isinstance(op, (Embed, Extract, AsOf))]
        answers = iter(await self.store.abatch(asked)) if asked else iter(())
        return [
            await in_thread(self._own, op)
            if isinstance(op, (Embed, Extract, AsOf))
            else next(answers)
            for op in ops
        ]

    async def aclose(self) -> None:
        """`close`, awaited."""
        if isinstance(self.store, AwaitableStore):
            await self.store.aclose()
        await in_thread(self.close)

    def close(self) -> None:
        """Release the store, and an embedder of its own."""
        try:
            self.store.close()
        finally:
            self.release()

    def release(self) -> None:
        """Release an embedder of its own if that holds something; the store stays open."""
        release = getattr(self.embedder.inner, "close", None) if self.embedder else None
        if self._owns and release is not None:
            release()

    def batch(self, ops: Sequence[Op]) -> list[Any]:
        """Answer every operation, in order."""
        asked = [op for op in ops if not isinstance(op, (Embed, Extract, AsOf))]
        answers = iter(self.store.batch(asked)) if asked else iter(())
        return [
            self._own(op) if isinstance(op, (Embed, Extract, AsOf)) else next(answers) for op in ops
        ]

    def _own(self, op: Embed | Extract | AsOf) -> list[Any]:
        """The answer to what is not the store's to answer."""
        if isinstance(op, Embed):
            return self._embed(op)
        return self._extract(op) if isinstance(op, Extract) else self._as_of(op)

    def _as_of(self, op: AsOf) -> list[Any]:
        """Answers out of a store that holds what there was; the last few are kept."""
        ends = self.store.batch([Events(namespace, last=1) for namespace in op.namespaces])
        counts = self.store.batch([ReadStats(op.namespaces)])[0]["memories"]
        key = (op.namespaces, op.at, tuple(end[0].seq for end in ends if end), counts)
        with self._rewinding:
            if key not in self._rewound:
                dimensions = self.dimensions
                scope = WriteContext(
                    "", self.embedder is not None, self.identity, dimensions, op.at
                )
                self._rewound[key] = drive(snapshot_at(op.namespaces, op.at, scope), self.batch)
            self._rewound.move_to_end(key)
            while len(self._rewound) > _REWOUND_KEPT:
                self._rewound.popitem(last=False)
            store = self._rewound[key]
        past = Dispatcher(store, None, self.extractor)
        past.embedder = self.embedder
        return past.batch(op.ops)

    def _extract(self, op: Extract) -> list[tuple[str, ...]]:
        if self.extractor is None:
            return [()] * len(op.texts)
        return [texts("entities", self.extractor.extract(text)) for text in op.texts]

    def _embed(self, op: Embed) -> list[Embedding]:
        if self.embedder is None:
            raise EmbedderError("there is no embedder; open the store with one")
        try:
            rows = self.embedder.embed(op.texts, kind=op.kind)
        except SalienceError:
            raise
        except Exception as problem:  # an embedder may be anybody's code; words go on without it
            whose = type(self.embedder.inner).__name__
            raise EmbedderError(f"{whose}: {type(problem).__name__}: {problem}") from problem
        if op.kind == "document":
            # What the stores keep; see `memory.vector`.
            rows = rows.astype(np.float16).astype(np.float32)
        return list(rows)

"""The dispatcher: store, embedder and entity extractor behind one `batch`, and its trace."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any

import numpy as np

from salience.embedders import CachedEmbedder, Embedder, EmbedderIdentity
from salience.engine.options import LONGEST_PAUSE_SECONDS
from salience.engine.recovery import Recovery
from salience.engine.time_travel import Past, Unmovable
from salience.errors import EmbedderError, InvalidInput, SalienceError, shown
from salience.forks import renew_after_fork
from salience.language.entities import RULES, EntityExtractor
from salience.language.tokens import shorten
from salience.lazily import fields
from salience.ranking.expressions import Signal
from salience.records.record import Embedding
from salience.records.validation import texts
from salience.retrieval.operations import (
    AsOf,
    Embed,
    Extract,
    Op,
    Outside,
    Rerank,
)
from salience.retrieval.plan import drive, in_thread
from salience.retrieval.query import Query
from salience.stores.index_reader import INDEX_BUDGET
from salience.stores.protocol import Store
from salience.write.items import WriteContext

MAX_CHARACTERS = 40  # of a text
MAX_LISTED = 5  # elements of a list that are written out; of a longer one the number


def line_writer(trace: Any) -> Callable[[str], object]:
    """The function that takes each line of a trace.

    Raises:
        InvalidInput: `trace` is neither True, nor a stream, nor a function.
    """
    if callable(trace):
        return trace
    stream = sys.stderr if trace is True else trace
    if not hasattr(stream, "write"):
        raise InvalidInput("trace", f"is {shown(trace)}", "give True, a stream or a function")
    return lambda line: stream.write(f"{line}\n")


def trace_line(ops: Sequence[Op], elapsed_ms: float) -> str:
    """A batch as a line: its time, and the operations with their main arguments."""
    return f"{elapsed_ms:8.2f} ms  {'  '.join(map(_operation, ops))}"


def _operation(op: Op) -> str:
    """An operation with its main arguments: not its namespaces, nor what has its default.

    A field that its class leaves out of the `repr` is left out here, too.
    """
    arguments = (
        _argument(field.name, value)
        for field in fields(op)
        if field.repr
        and (value := getattr(op, field.name)) is not field.default
        and value is not None
    )
    return f"{type(op).__name__}({', '.join(filter(None, arguments))})"


def _argument(name: str, value: Any) -> str:
    """An argument in short; "" for one that says little."""
    if name.startswith("namespace") or isinstance(value, Query | Signal):
        return ""
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if isinstance(value, int | float):
        return f"{name}={value}"
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, Collection) and not isinstance(value, str):
        return _elements(name, value)
    return _name_of(value) or name


def _elements(name: str, values: Collection[Any]) -> str:
    """A few texts and routes by their names, or the number of other elements."""
    names = [_name_of(value) for value in values] if isinstance(values, tuple) else []
    if 0 < len(names) <= MAX_LISTED and all(names):
        return ", ".join(names)
    return f"{len(values)} {name.removesuffix('s') if len(values) == 1 else name}"


def _name_of(value: Any) -> str:
    """A text in quotes, cut short, or the name that a route has; "" for anything else."""
    if isinstance(value, str):
        return repr(shorten(value, MAX_CHARACTERS))
    return getattr(value, "name", "")


MAX_PASTS = 4  # kept ready, as long as they take no more bytes than indexes may
_PAST_LOCKS = 16  # the same namespaces have the same one; others seldom share it


class Dispatcher:
    """Sends each operation of a batch to the store, the embedder or the extractor."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        extractor: EntityExtractor | None = RULES,
        *,
        owns_embedder: bool = False,
        longest_pause: float = LONGEST_PAUSE_SECONDS,
    ) -> None:
        self.store = store
        self.extractor = extractor
        self._pasts: dict[Past, None] = {}  # the one used last is the last
        self._past_locks = [threading.Lock() for _ in range(_PAST_LOCKS)]
        self._owns_embedder = owns_embedder  # then it is closed with this
        # Threads for awaited searches; None when closed
        self.searchers: ThreadPoolExecutor | None = _searchers()
        renew_after_fork(self)
        self.embedder = None if embedder is None else CachedEmbedder(embedder)
        self.recovery = None
        if self.embedder is not None:
            self.recovery = Recovery(self.embedder, store, self.batch, longest_pause)

    def after_fork(self) -> None:
        """Take threads of its own, in the copy of a process."""
        if self.searchers is not None:
            self.searchers = _searchers()

    @property
    def identity(self) -> str | None:
        """The embedder's identity, as text; None without an embedder or while it cannot say."""
        identity = self._identity()
        return None if identity is None else str(identity)

    @property
    def dimensions(self) -> int | None:
        """The length of the embedder's vectors; None without one or while it cannot say."""
        identity = self._identity()
        return None if identity is None else identity.dimensions

    def _identity(self) -> EmbedderIdentity | None:
        if self.embedder is None or self.recovery is None or self.recovery.is_waiting:
            return None
        started = time.perf_counter()
        try:
            return self.embedder.identity
        except Exception as problem:  # a service may be down; the next request to it says so
            self.recovery.failed(problem, time.perf_counter() - started)
            return None

    def batch(self, ops: Sequence[Op]) -> list[Any]:
        """Answer every operation, in order."""
        if _OWN.keys().isdisjoint(map(type, ops)):
            return [*self.store.batch(ops)]
        for_store = [op for op in ops if type(op) not in _OWN]
        answers = iter(self.store.batch(for_store)) if for_store else iter(())
        return [_OWN[type(op)](self, op) if type(op) in _OWN else next(answers) for op in ops]

    def flush(self) -> None:
        """Write the accesses that are still queued."""
        self.store.flush()

    def close(self) -> None:
        """Release the store, and an embedder of its own."""
        try:
            if self.recovery is not None:
                self.recovery.close()
            self.store.close()
        finally:
            self.release()

    async def aclose(self) -> None:
        """`close`, awaited."""
        searchers, self.searchers = self.searchers, None
        try:
            await in_thread(self.close)
        finally:
            if searchers is not None:
                searchers.shutdown(wait=False)

    def release(self) -> None:
        """Release an embedder of its own if that holds something; the store stays open."""
        if self.recovery is not None:
            self.recovery.close()
        release = getattr(self.embedder.inner, "close", None) if self.embedder else None
        if self._owns_embedder and release is not None:
            release()

    def _rerank(self, op: Rerank) -> list[float]:
        from salience.rerankers.pipeline import limited

        return limited(op)

    def _outside(self, op: Outside) -> Any:
        return op.work()

    def _as_of(self, op: AsOf) -> list[Any]:
        """Answers out of a store that holds the past; the last few such stores are kept."""
        with self._past_locks[hash(op.namespaces) % _PAST_LOCKS]:
            chosen = self._past(op)
            chosen.plans.add(op.plan)
            self._pasts[chosen] = None
            size = 0
            for number, past in enumerate(reversed(list(self._pasts))):
                size += past.nbytes
                if number >= MAX_PASTS or (number and size > INDEX_BUDGET.limit):
                    self._pasts.pop(past, None)
        then = Dispatcher(chosen.store, None, self.extractor)
        then.embedder, then.recovery = self.embedder, self.recovery
        return then.batch(op.ops)

    def _past(self, op: AsOf) -> Past:
        """The past that an operation is about: a kept one, moved, or one that is built."""
        scope = WriteContext("", self.embedder is not None, self.identity, self.dimensions, op.at)
        of = op.namespaces, self.identity
        candidates = [past for past in list(self._pasts) if (past.namespaces, past.embedder) == of]
        free = [p for p in candidates if p.at == op.at or not p.plans - {op.plan}]
        for past in sorted(free, key=lambda past: abs(op.at - past.at)):
            self._pasts.pop(past, None)
            with suppress(Unmovable):
                if drive(past.move(op.at, scope), self.batch):
                    return past
                self._pasts[past] = None
        with suppress(Unmovable):
            past = Past(*of)
            past.copy(self.store)
            if drive(past.move(op.at, scope), self.batch):
                return past
        past = Past(*of)
        drive(past.move(op.at, scope), self.batch)
        return past

    def _extract(self, op: Extract) -> list[tuple[str, ...]]:
        if self.extractor is None:
            return [()] * len(op.texts)
        return [texts("entities", self.extractor.extract(text)) for text in op.texts]

    def _embed(self, op: Embed) -> list[Embedding]:
        if self.embedder is None or self.recovery is None:
            raise EmbedderError("there is no embedder; open the store with one")
        if self.recovery.is_waiting:
            raise EmbedderError(f"{self.recovery.problem}; it is retried in the background")
        started = time.perf_counter()
        try:
            rows = self.embedder.embed(op.texts, kind=op.kind)
        except Exception as problem:  # of any kind, in foreign code; a search goes on without it
            if isinstance(problem, SalienceError) and not isinstance(problem, EmbedderError):
                raise
            self.recovery.failed(problem, time.perf_counter() - started)
            if isinstance(problem, EmbedderError):
                raise
            name, kind = type(self.embedder.inner).__name__, type(problem).__name__
            raise EmbedderError(f"{name}: {kind}: {problem}", f"{name}: {kind}") from problem
        if self.recovery.problem is not None:
            self.recovery.answered()
        if op.kind == "document":
            # The stores keep half precision; see `salience.records.validation.vector`.
            rows = rows.astype(np.float16).astype(np.float32)
        return list(rows)


_OWN: Mapping[type[Op], Callable[[Dispatcher, Any], Any]] = {
    Embed: Dispatcher._embed,
    Extract: Dispatcher._extract,
    Rerank: Dispatcher._rerank,
    AsOf: Dispatcher._as_of,
    Outside: Dispatcher._outside,
}
"""The operations that the dispatcher answers itself; the store answers all others."""


def _searchers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(None, "salience-search")

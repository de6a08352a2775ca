"""`Memory`: opened over a store, with a module for each theme of its methods."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, Unpack

from salience.embedders import Embedder
from salience.engine.core import Core
from salience.engine.judgment_api import JudgmentApi
from salience.engine.lifecycle_api import LifecycleApi
from salience.engine.options import SETTINGS, Settings, takes
from salience.engine.search_api import SearchApi
from salience.engine.write_api import WriteApi
from salience.records.validation import boolean
from salience.retrieval.operations import ReadStats
from salience.retrieval.plan import ask
from salience.stores.protocol import Store


class Memory(WriteApi, SearchApi, JudgmentApi, LifecycleApi):
    """The memory of an agent: add to it, search it, ask why.

    Open one with `Memory.open`; it is safe to share between threads, and several processes may
    open the same file.
    """

    @classmethod
    @takes(Settings, defaults=SETTINGS)
    def open(cls, url: str | Store = "sqlite:///memory.db", **settings: Unpack[Settings]) -> Self:
        """Open (or make) the store of a URL.

        Args:
            url: `sqlite:///memory.db`, `sqlite:///:memory:`, `ram://`, `postgresql://...`, or a
                store.
            {options}

        Raises:
            InvalidInput: an argument is wrong.
            StoreError: the file cannot be used.
            EmbedderMismatch: the stored vectors come from another embedder.
        """
        return cls(Core.open(url, **settings))

    @property
    def namespace(self) -> str:
        """The namespace whose memories this sees."""
        return self._core.namespace

    def within(self, namespace: str) -> Self:
        """Give the memory of another namespace in the same store; closing either closes both."""
        return type(self)(self._core.within(namespace))

    def stats(self, *, everywhere: bool = False) -> dict[str, Any]:
        """Count memories, links and more in this namespace, or in all of them."""
        namespaces = () if boolean("everywhere", everywhere) else (self._core.namespace,)
        return self._run(ask(ReadStats(namespaces)))

    @staticmethod
    def reembed(
        url: str | Store = "sqlite:///memory.db",
        *,
        embedder: str | Embedder | None = None,
        missing: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Make the vectors of a whole store anew with an embedder; returns how many were made.

        If no embedder is named, the default one replaces its own vectors, and no other's. With
        `missing`, only memories stored without a vector get one. Searches go on meanwhile with the
        old vectors; a run that was broken off goes on where it was. Other processes that have the
        store open with another embedder have to open it again. `progress` is called with the number
        of vectors done, and of all.

        Raises:
            EmbedderMismatch: the vectors are another embedder's, and none was named to replace it.
        """
        return Core.reembed(url, embedder, missing, progress)

    def flush(self) -> None:
        """Write the accesses that are still queued."""
        self._core.dispatcher.flush()

    def close(self) -> None:
        """Write what is queued and release the store."""
        self._core.dispatcher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

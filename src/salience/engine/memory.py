"""Memory and AsyncMemory: the same methods over one core, which waits only in `drive`/`adrive`.

Each theme of methods is a module of its own, which both faces stand side by side in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from salience.embedders import Embedder
from salience.engine.core import Clock, Core
from salience.engine.judgment_api import AsyncLiving, Living
from salience.engine.lifecycle_api import AsyncUpkeep, Upkeep
from salience.engine.search_api import AsyncRecalling, Recalling
from salience.engine.write_api import AsyncWriting, Writing
from salience.language.entities import RULES, EntityExtractor
from salience.language.tokens import count_tokens
from salience.ranking.profiles import ProfileLike
from salience.retrieval.plan import in_thread
from salience.stores.protocol import Store
from salience.write.dedup import DedupPolicy


class Memory(Writing, Recalling, Living, Upkeep):
    """The memory of an agent: add to it, search it, ask why.

    Open one with `Memory.open`; it is safe to share between threads, and several processes may
    open the same file.
    """

    @classmethod
    def open(
        cls,
        url: str | Store = "sqlite:///memory.db",
        *,
        namespace: str = "default",
        embedder: str | Embedder | None = "default",
        profile: ProfileLike = "balanced",
        clock: Clock | None = None,
        count_tokens: Callable[[str], int] = count_tokens,
        entities: EntityExtractor | None = RULES,
        aliases: Mapping[str, str] | None = None,
        actor: str | None = None,
        dedup: DedupPolicy | bool | float | None = None,
    ) -> Self:
        """Open (or make) the store of a URL.

        Args:
            url: `sqlite:///memory.db`, `sqlite:///:memory:`, `ram://`, or a store.
            namespace: the tenant whose memories this sees; others are invisible.
            embedder: a name (see `salience.embedders.resolve`), an embedder, or None for words
            only. profile: how to rank when a search does not say: a name, the path of a JSON file,
                or what such a file holds.
            clock: gives the present; the system's clock by default.
            entities: finds what a text names, where `add` is not told; None for nothing.
            aliases: other names of entities, by the name that they stand for: {"JS": "JavaScript"}.
            dedup: how facts and notes are held against what is known when they are added: True,
                False, the cosine from which two say the same (0.92), or a `DedupPolicy`. By default
                those that bring no id of their own are.
            actor: who writes and uses memories through this, for their history.
            count_tokens: counts what a text takes of a token budget; ceil(characters / 4) unless
                another one is given.

        Raises:
            InvalidInput: an argument is wrong.
            StoreError: the file cannot be used.
            EmbedderMismatch: the stored vectors come from another embedder.
        """
        return cls(
            Core.open(
                url,
                namespace,
                embedder,
                profile,
                clock,
                count_tokens,
                entities,
                aliases,
                actor,
                dedup,
            )
        )

    @property
    def namespace(self) -> str:
        """The namespace that this sees."""
        return self._core.namespace

    def within(self, namespace: str) -> Self:
        """The memory of another namespace in the same store; closing either closes both."""
        return type(self)(self._core.within(namespace))

    def stats(self, *, everywhere: bool = False) -> dict[str, Any]:
        """Figures about this namespace, or about all of them."""
        return self._run(self._core.stats(everywhere))

    @staticmethod
    def reembed(
        url: str | Store = "sqlite:///memory.db",
        *,
        embedder: str | Embedder | None = None,
        missing: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Make the vectors of a whole store anew with an embedder; how many were made.

        Without a name it is the default one, whose own vectors alone are then made anew. With
        `missing`, only for memories that were kept without one. Searches go on meanwhile with the
        old vectors; broken off, it goes on where it was. Other processes that have the store open
        with another embedder have to open it again. `progress` is told how many are done, of how
        many.

        Raises:
            EmbedderMismatch: the vectors are another embedder's, and none was named to replace it.
        """
        return Core.reembed(url, embedder, missing, progress)

    def flush(self) -> None:
        """Write the accesses that are still queued."""
        self._core.world.store.flush()

    def close(self) -> None:
        """Write what is queued and release the store."""
        self._core.world.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncMemory(AsyncWriting, AsyncRecalling, AsyncLiving, AsyncUpkeep):
    """`Memory` for asyncio: the same methods, awaited; see there for what each does.

    A store on PostgreSQL is awaited, an embedded one works in a thread: the event loop never waits.
    """

    @classmethod
    async def open(
        cls,
        url: str | Store = "sqlite:///memory.db",
        *,
        namespace: str = "default",
        embedder: str | Embedder | None = "default",
        profile: ProfileLike = "balanced",
        clock: Clock | None = None,
        count_tokens: Callable[[str], int] = count_tokens,
        entities: EntityExtractor | None = RULES,
        aliases: Mapping[str, str] | None = None,
        actor: str | None = None,
        dedup: DedupPolicy | bool | float | None = None,
    ) -> Self:
        """See `Memory.open`."""
        opened = in_thread(
            Core.open,
            url,
            namespace,
            embedder,
            profile,
            clock,
            count_tokens,
            entities,
            aliases,
            actor,
            dedup,
        )
        return cls(await opened)

    @property
    def namespace(self) -> str:
        """The namespace that this sees."""
        return self._core.namespace

    def within(self, namespace: str) -> Self:
        """See `Memory.within`."""
        return type(self)(self._core.within(namespace))

    async def stats(self, *, everywhere: bool = False) -> dict[str, Any]:
        """See `Memory.stats`."""
        return await self._run(self._core.stats(everywhere))

    @staticmethod
    async def reembed(
        url: str | Store = "sqlite:///memory.db",
        *,
        embedder: str | Embedder | None = None,
        missing: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """See `Memory.reembed`."""
        return await in_thread(Core.reembed, url, embedder, missing, progress)

    async def flush(self) -> None:
        """See `Memory.flush`."""
        await in_thread(self._core.world.store.flush)

    async def close(self) -> None:
        """See `Memory.close`."""
        await self._core.world.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

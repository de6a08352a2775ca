"""`Memory`: opened over a store, with a module for each theme of its methods."""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Self, Unpack

from salience.api.parameters import NOT_GIVEN, with_options
from salience.display.function_calls import (
    Owner,
    Style,
    Tools,
)
from salience.display.result import short_repr
from salience.engine.core import Core, part
from salience.engine.judgment_api import JudgmentApi, LifecycleApi
from salience.engine.options import SETTINGS, Settings, check_names
from salience.engine.search_api import ReadApi, SearchApi
from salience.engine.transfer_api import TransferApi
from salience.engine.write_api import WriteApi
from salience.errors import InvalidInput
from salience.records.record import MemoryRecord
from salience.records.validation import boolean, integer, text
from salience.retrieval.operations import ReadStats
from salience.retrieval.plan import ask
from salience.search.request import Present, TimeZone
from salience.stores.address import Address, opened_by
from salience.stores.protocol import Store
from salience.write import reading

if TYPE_CHECKING:
    from salience.engine.inspect_api import Inspect, Labels
    from salience.engine.upkeep_api import Upkeep


class Memory(WriteApi, SearchApi, ReadApi, JudgmentApi, LifecycleApi, TransferApi):
    """The memory of an agent: add to it, search it, ask why.

    Open one with `Memory("agent.db")` or `Memory.open("agent.db")`.
    It is safe to share between threads, and several processes may open the same file.
    A wrong argument raises `InvalidInput`, which names it.
    """

    inspect: part[Inspect] = part("salience.engine.inspect_api:Inspect")
    labels: part[Labels] = part("salience.engine.inspect_api:Labels")
    upkeep: part[Upkeep] = part("salience.engine.upkeep_api:Upkeep")

    @with_options(Settings, defaults=SETTINGS)
    def __new__(cls, url: Address | Store | None = None, **settings: Unpack[Settings]) -> Self:
        return object.__new__(opened_by(cls, url))

    @with_options(Settings, defaults=SETTINGS)
    def __init__(self, url: Address | Store | None = None, **settings: Unpack[Settings]) -> None:
        """Open (or create) a store.

        Args:
            url: the path of a file, as "agent.db"; a URL: `sqlite:///agent.db`, `postgresql://...`,
                `ram://`; that of a server: `http://host:port`; or a store. By default the address
                in the environment's SALIENCE_DB, else memory.db.

        Raises:
            StoreError: the file cannot be used.
            EmbedderError: the embedder can never work; says what is missing.
            EmbedderMismatch: the stored vectors come from another embedder.
        """
        self._core = Core.open(url, **settings)

    @classmethod
    @with_options(Settings, defaults=SETTINGS)
    def open(cls, url: Address | Store | None = None, **settings: Unpack[Settings]) -> Self:
        """Open (or create) a store, as `Memory(...)` does.

        Args:
            url: the path of a file, a URL or a store.

        Raises:
            StoreError: the file cannot be used.
            EmbedderError: the embedder can never work; says what is missing.
            EmbedderMismatch: the stored vectors come from another embedder.
        """
        return cls(url, **settings)

    @classmethod
    def _over(cls, core: Core) -> Self:
        """The memory of a core that is open: closing either closes both."""
        memory = object.__new__(cls)
        memory._core = core
        return memory

    def __repr__(self) -> str:
        return shown_memory(self)

    @property
    def namespace(self) -> str:
        """The namespace that this memory reads and writes."""
        return self._core.namespace

    def for_namespace(
        self, namespace: str, *, actor: str | None = None, time_zone: TimeZone = None
    ) -> Self:
        """Return the memory of another namespace in the same store; closing either closes both.

        What is done through it was done by `actor`; by that of this memory if none is given, and
        so is its time zone.
        """
        return self._over(self._core.for_namespace(namespace, actor, time_zone))

    @property
    def time_zone(self) -> tzinfo:
        """The time zone of calls that give none, and of what is shown to people and models."""
        return self._core.searches.zone()

    @with_options(Owner, defaults=dict.fromkeys(Owner.__annotations__, NOT_GIVEN))
    def tools(
        self, style: Style = "openai", *, max_tokens: int = 2000, **owner: Unpack[Owner]
    ) -> Tools:
        """Return tools for a function-calling loop: search, add, update and delete memories.

        Args:
            style: "openai" (chat completions), "responses" (OpenAI's responses) or "anthropic".
            max_tokens: the most tokens of what a search gives.
        """
        return Tools(self, style, *tool_limits(owner, max_tokens))

    def __getitem__(self, id: str) -> MemoryRecord:
        """Get one memory by id, as `get` does; raises `NotFound` without it."""
        if (record := self.get(id)) is None:
            raise reading.not_found(id, self.namespace)
        return record

    def stats(self, *, everywhere: bool = False, as_of: Present = None) -> dict[str, Any]:
        """Count memories, links and more in this namespace, or in all of them.

        `kernels` names what computes a search: NumPy, or the module `salience_native`. Everywhere,
        `index_mb` is what the indexes of the store take in memory, and `index_limit_mb` what those
        of all stores of the process may take, by `SALIENCE_INDEX_BYTES`.

        Args:
            everywhere: count in all namespaces of the store.
            as_of: count what there was in this namespace at this time.
        """
        from salience.arithmetic import KERNELS  # imports NumPy

        namespaces = () if boolean("everywhere", everywhere) else (self._core.namespace,)
        figures = {**self._run(ask(ReadStats(namespaces))), "kernels": KERNELS}
        if as_of is None:
            return figures
        if not namespaces:
            raise InvalidInput("as_of", "is about one namespace", "leave out everywhere")
        past = self._run_at(ask(ReadStats(namespaces)), as_of)
        return past | {name: figures[name] for name in ("store", "embedder", "kernels")}

    def close(self) -> None:
        """Write queued accesses and release the store.

        Raises:
            StoreError: what was queued could not be written; says how many accesses are not
                counted. All is released nevertheless, and a second call does nothing.
        """
        self._core.dispatcher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def tool_limits(owner: Owner, max_tokens: int) -> tuple[dict[str, str], int]:
    """The checked arguments of `tools`."""
    check_names("Memory.tools", owner, Owner, "max_tokens")
    fields = {name: text(name, value) for name, value in owner.items()}
    return fields, integer("max_tokens", max_tokens, 1)


def shown_memory(memory: Any) -> str:
    """A memory as it is printed, open or not."""
    name, core = type(memory).__name__, vars(memory).get("_core")
    if core is None:
        return f"{name}(not open yet)"
    profile = core.searches.profile.name
    return short_repr(name, {"url": core.url, "namespace": core.namespace, "profile": profile})

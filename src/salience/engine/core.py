"""The settings that `Memory` and `AsyncMemory` share, the context of writes, and who runs plans."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime, timezone
from functools import cached_property
from pkgutil import resolve_name
from typing import Any, Generic, TypeVar, Unpack, cast, overload

from salience.embedders import (
    AUTO,
    BundledEmbedder,
    EmbedderLike,
    SentenceTransformerEmbedder,
    StaticEmbedder,
    best_installed,
    resolve,
)
from salience.embedders.static import known_words
from salience.engine import time_travel
from salience.engine.dispatcher import Dispatcher, line_writer, trace_line
from salience.engine.extraction import ExtractLike, FactFinder, finder_of
from salience.engine.options import SETTINGS, Settings, check_names
from salience.errors import EmbedderMismatch, InvalidInput, shown
from salience.language.entities import Aliases
from salience.language.spelling import Dictionary, english_words
from salience.language.tokens import count_tokens
from salience.ranking import profiles
from salience.records.filters import Filter, parse_filter
from salience.records.limits import Limits
from salience.records.record import MemoryRecord
from salience.records.time_zone import localized, own_zone, time_zone
from salience.records.validation import (
    boolean,
    callable_or_none,
    function,
    integer,
    mapping,
    namespace_name,
    number,
    optional_timestamp,
    present,
    text,
)
from salience.retrieval.operations import Op
from salience.retrieval.plan import Plan, T, drive
from salience.retrieval.turnstile import Turnstile, stop_if_cancelled
from salience.search.context import ContextRequest
from salience.search.recording import SearchRecorder, recorder_for
from salience.search.request import (
    Filters,
    Moment,
    SearchOptions,
    SearchRequest,
    SearchSettings,
    TimeZone,
    past_time,
    search_request,
)
from salience.stores import open_store
from salience.stores.address import Address, public_url, store_url
from salience.stores.protocol import Store
from salience.write.dedup import DedupPolicy
from salience.write.idempotency import Once, erased_once, once_only
from salience.write.items import SecretPolicy, WriteContext, secret_policy

K = TypeVar("K", covariant=True)
_DICTIONARY = Dictionary(english_words, known_words)  # of all memories of the process: read once
MAX_PAUSE_SECONDS = 3_600.0  # of an embedder that does not answer
MAX_TOKENS = 10**12  # of one text


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


class Core:
    """The dispatcher of a memory, and the settings of its searches and writes.

    `url` is where its store is, to be shown: without a password. A core with `once` is for one
    change, whose event keeps that key, so that it is not made again.
    """

    once: Once | None = None

    def __init__(
        self,
        url: str,
        dispatcher: Dispatcher,
        searches: SearchSettings,
        actor: str | None,
        dedup: DedupPolicy,
        trace: Callable[[str], object] | None,
        recorder: SearchRecorder | None = None,
        extract: FactFinder | None = None,
        secrets: SecretPolicy = "flag",
    ) -> None:
        self.url = url
        self.dispatcher = dispatcher
        self.searches = searches
        self.actor = actor
        self.dedup = dedup
        self.trace = trace
        self.recorder = recorder
        self.extract = extract
        self.secrets = secrets

    @classmethod
    def open(
        cls,
        url: Address | Store | None,
        *,
        replace_vectors: bool = False,
        **settings: Unpack[Settings],
    ) -> Core:
        """A core over a store, or over the one at an address.

        Raises:
            EmbedderMismatch: the stored vectors are another embedder's, and not to be replaced.
        """
        check_names("Memory.open", settings, Settings)
        values: dict[str, Any] = {**SETTINGS, **settings}
        _refuse_those_of_servers(settings)
        callable_or_none("clock", values["clock"])
        counter = function("count_tokens", values["count_tokens"])
        entities, embedder = values["entities"], values["embedder"]
        if entities is not None and not callable(getattr(entities, "extract", None)):
            raise InvalidInput("entities", f"is {shown(entities)}", "give what has extract(text)")
        profile, aliases = profiles.get(values["profile"]), values["aliases"]
        aliases = Aliases.of(None if aliases is None else mapping("aliases", aliases))
        pause = number("embedder_pause", values["embedder_pause"], MAX_PAUSE_SECONDS) or 0.0
        limits, slow_ms = Limits.of(values["limits"]), values["slow_search_ms"]
        recorder, extract = recorder_for(values["search_log"]), finder_of(values["extract"])
        is_auto = isinstance(embedder, str) and embedder == AUTO
        model = None if is_auto else resolve(embedder)
        if isinstance(model, BundledEmbedder | StaticEmbedder | SentenceTransformerEmbedder):
            model.check()
        shown_url = type(url).__name__ if isinstance(url, Store) else public_url(store_url(url))
        store = url if isinstance(url, Store) else open_store(url)
        try:
            stored = None if replace_vectors else store.embedder()
            if is_auto:
                model = best_installed(stored)
        except BaseException:
            if store is not url:
                store.close()
            raise
        dispatcher = Dispatcher(
            store,
            model,
            entities,
            owns_embedder=isinstance(embedder, str),
            longest_pause=pause,
        )
        try:
            identity = None if stored is None else dispatcher.identity
            if stored is not None and identity is not None and stored != identity:
                raise EmbedderMismatch(stored, identity)
            turnstile = getattr(store, "turnstile", None)
            searches = SearchSettings(
                namespace_name(values["namespace"]),
                profile,
                values["clock"] or _utc_now,
                None if dispatcher.embedder is None else lambda: dispatcher.identity,
                None if dispatcher.embedder is None else dispatcher.embedder.knows,
                counter if counter is count_tokens else _checked(counter),
                aliases,
                limits,
                number("slow_search_ms", slow_ms),
                turnstile.turn if isinstance(turnstile, Turnstile) else nullcontext,
                _DICTIONARY,
                own_zone(values["time_zone"]),
            )
            actor = None if values["actor"] is None else _actor(values["actor"])
            dedup = DedupPolicy.of(values["dedup"], DedupPolicy())
            trace = _line_writer(values["trace"])
            secrets = secret_policy(values["secrets"])
            return cls(
                shown_url, dispatcher, searches, actor, dedup, trace, recorder, extract, secrets
            )
        except BaseException:
            _release(dispatcher, url)
            raise

    @classmethod
    def reembed(
        cls,
        url: Address | Store | None,
        embedder: EmbedderLike | None,
        missing: bool,
        progress: Callable[[int, int], None] | None,
    ) -> int:
        """Re-embed a store; returns how many."""
        from salience.lifecycle.reembed import embed_missing, reembed

        callable_or_none("progress", progress)
        missing = boolean("missing", missing)
        # The vectors of another embedder are replaced only if a new embedder is named.
        replace_vectors = embedder is not None and not missing
        core = cls.open(url, embedder=embedder or "default", replace_vectors=replace_vectors)
        with released(core, url):
            identity = core.dispatcher.identity
            if identity is None:
                raise InvalidInput("embedder", "makes no vectors", "name one that does")
            perform = core.dispatcher.batch
            if missing:
                return drive(embed_missing(identity, progress), perform)
            return drive(reembed(identity, perform, progress), perform)

    @property
    def namespace(self) -> str:
        """The namespace that searches and writes are about."""
        return self.searches.namespace

    def for_namespace(
        self, namespace: str, actor: str | None = None, zone: TimeZone = None
    ) -> Core:
        """The same core for another namespace, and for another actor and time zone if given."""
        searches = replace(
            self.searches,
            namespace=namespace_name(namespace),
            time_zone=time_zone("time_zone", zone) or self.searches.time_zone,
        )
        return Core(
            self.url,
            self.dispatcher,
            searches,
            self.actor if actor is None else _actor(actor),
            self.dedup,
            self.trace,
            self.recorder,
            self.extract,
            self.secrets,
        )

    def finder(self, extract: ExtractLike, content: Any) -> FactFinder | None:
        """The finder of facts in what is added: as asked for, else its own for messages."""
        if extract is None and isinstance(content, (str, bytes)):
            return None
        is_own = extract is None or (extract is True and self.extract is not None)
        return self.extract if is_own else finder_of(extract)

    def time(self, name: str = "clock", value: Any = None) -> datetime:
        """The time that an argument gives; the present by default."""
        moment = self.searches.clock() if value is None else value
        return present(name, localized(moment, self.searches.zone()))

    def moment(self, name: str, value: Any) -> datetime | None:
        """A point in time that an argument gives, in the zone of the memory unless it has one."""
        return optional_timestamp(name, localized(value, self.searches.zone()))

    def filter(self, filters: Filters) -> Filter | None:
        """The condition of an argument; its times without a zone are in that of the memory."""
        return parse_filter(filters, zone=self.searches.zone())

    def batch(self, ops: Sequence[Op]) -> list[Any]:
        """Answer every operation, in order; with a line of the trace if that is on."""
        stop_if_cancelled()
        if self.trace is None:
            return self.dispatcher.batch(ops)
        started = time.perf_counter()
        try:
            return self.dispatcher.batch(ops)
        finally:
            self.trace(trace_line(ops, (time.perf_counter() - started) * 1e3))

    def write_context(self, zone: TimeZone = None) -> WriteContext:
        """The context of a write that happens now, in the time zone that it is given, if any is.

        Raises:
            InvalidInput: there is no such zone.
        """
        return WriteContext(
            self.namespace,
            self.dispatcher.embedder is not None,
            self.dispatcher.identity,
            self.dispatcher.dimensions,
            self.time(),
            self.actor,
            self.searches.limits,
            self.secrets,
            self.searches.zone(zone),
        )

    def request(self, query: str, **options: Unpack[SearchOptions]) -> SearchRequest:
        """A checked search request."""
        return search_request(query, self.searches, options)


class PlanRunner:
    """Runs plans over a core, for every theme of methods."""

    _core: Core

    def _run(self, plan: Plan[T], *, searches: bool = False) -> T:
        """Run a plan, which perhaps searches."""
        recovery, namespace = self._core.dispatcher.recovery, self._core.searches.namespace
        if recovery is not None and namespace not in recovery.namespaces:
            recovery.watch(namespace)
        if self._core.once is not None:
            guarded = erased_once if self._core.once.erases else once_only
            plan = guarded(plan, self._core.once, namespace)
        result = drive(plan, self._core.batch)
        return cast("T", result.in_effect()) if isinstance(result, MemoryRecord) else result

    def _run_at(self, plan: Plan[T], as_of: Moment) -> T:
        """Run a plan that reads the namespace, as it was at a time if one is given."""
        at = past_time(as_of, self._core.searches, self._core.searches.zone())
        if at is not None:
            plan = time_travel.as_of(plan, (self._core.namespace,), at)
        return self._run(plan)

    def _run_search(self, plan: Plan[T], request: SearchRequest | ContextRequest) -> T:
        """Run a plan that reads, in the past if the request is about that."""
        if request.as_of is not None:
            return self._run(time_travel.as_of(plan, request.namespaces, request.as_of))
        return self._run(plan, searches=True)


class Part(PlanRunner):
    """Methods of a memory under a name of their own, as those of `memory.inspect`."""

    def __init__(self, memory: Any) -> None:
        self._core = memory._core


class part(Generic[K]):  # noqa: N801 - used as a property is
    """A property that gives a part of a memory; asked of the class, the class of the part.

    A class that is given as "module:name" is imported when it is first asked for.
    """

    def __init__(self, kind: Callable[[Any], K] | str) -> None:
        self._given = kind

    @cached_property
    def _kind(self) -> Callable[[Any], K]:
        given = self._given
        return cast("Callable[[Any], K]", resolve_name(given)) if isinstance(given, str) else given

    @overload
    def __get__(self, memory: None, owner: type) -> type[K]: ...
    @overload
    def __get__(self, memory: object, owner: type) -> K: ...
    def __get__(self, memory: Any, owner: type) -> Any:
        return self._kind if memory is None else self._kind(memory)


def _actor(value: Any) -> str:
    return text("actor", value, limit=512)


def _checked(count: Callable[[str], int]) -> Callable[[str], int]:
    """A counter of tokens, refused with InvalidInput if it gives no whole number from 0."""
    return lambda text: integer("count_tokens", count(text), 0, MAX_TOKENS)


@contextmanager
def released(core: Core, source: Address | Store | None) -> Iterator[None]:
    """Release a core that was opened from `source` when the block ends."""
    try:
        yield
    finally:
        _release(core.dispatcher, source)


def _release(dispatcher: Dispatcher, source: Address | Store | None) -> None:
    """Close a store that was opened by its address; one that was given stays open."""
    if isinstance(source, Store):
        dispatcher.release()
    else:
        dispatcher.close()


def _refuse_those_of_servers(settings: Mapping[str, Any]) -> None:
    """Refuse the settings that only a memory at a server has."""
    for name in ("api_key", "timeout"):
        value, default = settings.get(name, SETTINGS[name]), SETTINGS[name]
        if value is not default and (type(value) is not type(default) or value != default):
            remedy = "leave it out, or give the address of a server, as http://host:port"
            raise InvalidInput(name, "is a setting for a server, and this is a store", remedy)


def _line_writer(trace: Any) -> Callable[[str], object] | None:
    """The function that takes each line of a trace; None if it is off."""
    if trace is None or trace is False:
        return None
    return line_writer(trace)

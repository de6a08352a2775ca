"""What both faces share: settings, and a plan for each thing one can ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from typing import Any

from salience.embedders import Embedder, resolve
from salience.engine.dispatcher import Dispatcher
from salience.engine.time_travel import as_of
from salience.errors import EmbedderMismatch, InvalidInput, shown
from salience.language.entities import NO_ALIASES, RULES, Aliases, EntityExtractor
from salience.language.tokens import count_tokens
from salience.lifecycle import spreading_boost
from salience.lifecycle import zones as zoning
from salience.lifecycle.reembed import reembed as reembedding
from salience.lifecycle.zones import Zones
from salience.ranking import profiles
from salience.ranking.profiles import ProfileLike
from salience.records.filters import Filter, fields_of, parse
from salience.records.record import Link, MemoryRecord
from salience.records.validation import (
    boolean,
    callable_or_none,
    integer,
    optional_text,
    text,
    texts,
    timestamp,
    unit,
)
from salience.retrieval import operations
from salience.retrieval.operations import Page
from salience.retrieval.plan import Plan, ask, drive
from salience.search import compare as comparing
from salience.search import explain as why
from salience.search import search as searching
from salience.search.compare import Comparison
from salience.search.context import Context, assemble
from salience.search.context.sections import sections_of
from salience.search.explain import ExplainReport
from salience.search.request import SearchRequest
from salience.search.request import request as search_request
from salience.search.results import SearchResult
from salience.stores import open_store
from salience.stores.protocol import Store
from salience.write import add, chat, items, judgments, update
from salience.write.chat import messages
from salience.write.dedup import DedupPolicy
from salience.write.outcomes import AddResult

Clock = Callable[[], datetime]
Filters = Mapping[str, Any] | Filter | None


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


class Core:
    """What both faces share: settings, and a plan for each thing one can ask."""

    def __init__(
        self,
        world: Dispatcher,
        namespace: str = "default",
        profile: ProfileLike = "balanced",
        clock: Clock | None = None,
        count_tokens: Callable[[str], int] = count_tokens,
        aliases: Aliases = NO_ALIASES,
        actor: str | None = None,
        dedup: DedupPolicy | bool | float | None = None,
    ) -> None:
        self.world = world
        self.namespace = text("namespace", namespace, limit=256)
        self.profile = profiles.get(profile)
        self.clock = clock or _utc_now
        self.count_tokens = count_tokens
        self.aliases = aliases
        self.actor = optional_text("actor", actor)
        self.dedup = DedupPolicy.of(dedup, DedupPolicy())

    @classmethod
    def open(
        cls,
        url: str | Store,
        namespace: str,
        embedder: str | Embedder | None,
        profile: ProfileLike,
        clock: Clock | None,
        count_tokens: Callable[[str], int] = count_tokens,
        entities: EntityExtractor | None = RULES,
        aliases: Mapping[str, str] | None = None,
        actor: str | None = None,
        dedup: DedupPolicy | bool | float | None = None,
        anew: bool = False,
    ) -> Core:
        """A core over the store of a URL; EmbedderMismatch where its vectors are another's."""
        if not isinstance(url, str) and not hasattr(url, "batch"):
            raise InvalidInput("url", f"must be text or a store, not {type(url).__name__}")
        callable_or_none("clock", clock)
        callable_or_none("count_tokens", count_tokens)
        if entities is not None and not callable(getattr(entities, "extract", None)):
            raise InvalidInput("entities", f"is {shown(entities)}", "give what has extract(text)")
        chosen, names = profiles.get(profile), Aliases.of(aliases)
        model = resolve(embedder)
        store = open_store(url) if isinstance(url, str) else url
        world = Dispatcher(store, model, entities, owns=isinstance(embedder, str))
        try:
            kept = None if anew else store.embedder()
            if kept is not None and world.identity is not None and kept != world.identity:
                raise EmbedderMismatch(kept, world.identity)
            return cls(world, namespace, chosen, clock, count_tokens, names, actor, dedup)
        except BaseException:
            cls._end(world, url)
            raise

    @staticmethod
    def _end(world: Dispatcher, url: str | Store) -> None:
        """Release a world that was opened for this; a store that was given stays open."""
        if isinstance(url, str):
            world.close()
        else:
            world.release()

    @classmethod
    def reembed(
        cls,
        url: str | Store,
        embedder: str | Embedder | None,
        missing: bool,
        progress: Callable[[int, int], None] | None,
    ) -> int:
        """Make the vectors of a store anew; how many."""
        callable_or_none("progress", progress)
        missing = boolean("missing", missing)
        # Nobody loses the vectors of an embedder without naming another.
        anew = embedder is not None and not missing
        core = cls.open(url, "default", embedder or "default", "balanced", None, anew=anew)
        try:
            if core.world.identity is None:
                raise InvalidInput("embedder", "makes no vectors", "name one that does")
            plan = reembedding(core.world.identity, missing=missing, progress=progress)
            return drive(plan, core.world.batch)
        finally:
            cls._end(core.world, url)

    def within(self, namespace: str) -> Core:
        """The same core for another namespace."""
        return Core(
            self.world,
            namespace,
            self.profile,
            self.clock,
            self.count_tokens,
            self.aliases,
            self.actor,
            self.dedup,
        )

    def scope(self) -> items.WriteContext:
        """Where and when a write happens."""
        return items.WriteContext(
            self.namespace,
            self.world.embedder is not None,
            self.world.identity,
            self.world.dimensions,
            timestamp("clock", self.clock()),
            self.actor,
        )

    def request(
        self,
        query: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: date | str | float | None = None,
        touch: bool = True,
        explain: bool = False,
        min_score: float | None = None,
        weights: Mapping[str, float] | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
        threshold: float | None = None,
        min_similarity: float | None = None,
        include_archived: bool = False,
        context: str | None = None,
    ) -> SearchRequest:
        """A checked search request."""
        chosen = self.profile if profile is None else profiles.get(profile)
        if namespaces is not None and (not isinstance(namespaces, list | tuple) or not namespaces):
            raise InvalidInput("namespaces", "must be a list of at least one namespace")
        return search_request(
            query,
            [text("namespaces", n, limit=256) for n in namespaces or (self.namespace,)],
            chosen,
            timestamp("now", self.clock() if now is None else now),
            limit=limit,
            filters=filters,
            min_score=min_score,
            embeds=self.world.embedder is not None,
            embedder=lambda: self.world.identity,
            touch=touch,
            explain=explain,
            token_budget=token_budget,
            count_tokens=self.count_tokens,
            aliases=self.aliases,
            threshold=threshold,
            min_similarity=min_similarity,
            include_archived=include_archived,
            context=context,
            weights=weights,
        )

    def search(self, asked: Mapping[str, Any]) -> Plan[SearchResult]:
        """A search, of the present or of the past."""
        at, rest = self._past(asked)
        request = self.request(**rest)
        plan = searching.search(request)
        return plan if at is None else as_of(plan, request.namespaces, at)

    def explain(
        self, asked: Mapping[str, Any], id: str, *, everywhere: bool
    ) -> Plan[ExplainReport]:
        """Why a memory is, or was, found for a query or not."""
        at, rest = self._past({**asked, "touch": False})
        request = self.request(**rest)
        everywhere = boolean("everywhere", everywhere)
        plan = why.explain(request, text("id", id), everywhere=everywhere)
        return plan if at is None else as_of(plan, request.namespaces, at)

    def _past(self, asked: Mapping[str, Any]) -> tuple[datetime | None, dict[str, Any]]:
        """The time to go back to, and what to ask there; one in the future is refused."""
        rest = {name: value for name, value in asked.items() if name != "as_of"}
        if asked["as_of"] is None:
            return None, rest
        at = timestamp("as_of", asked["as_of"])
        if at > timestamp("clock", self.clock()):
            raise InvalidInput("as_of", f"{at.isoformat()} is in the future", "leave it out")
        now = at if asked["now"] is None else asked["now"]
        return at, {**rest, "now": now, "touch": False}

    def compare(self, given: Sequence[ProfileLike], asked: Mapping[str, Any]) -> Plan[Comparison]:
        """One query under several profiles."""
        if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence):
            raise InvalidInput("profiles", "must be a list of profiles")
        chosen = [profiles.get(each) for each in given]
        at, rest = self._past({**asked, "touch": False})
        request = self.request(**rest)
        plan = comparing.compare(request, chosen)
        return plan if at is None else as_of(plan, request.namespaces, at)

    def context(
        self, query: str, counter: Callable[[str], int] | None, asked: Mapping[str, Any]
    ) -> Plan[Context]:
        """What matters, or mattered, for a query, written down within a budget."""
        at, rest = self._past(asked)
        rest["now"] = timestamp("now", self.clock() if rest["now"] is None else rest["now"])
        for name in ("touch", "references"):
            rest[name] = boolean(name, rest[name])
        counter = self.count_tokens if counter is None else counter
        plan = assemble(query, self.request, counter=counter, **rest)
        if at is None:
            return plan
        others = [section.namespace for section in sections_of(asked["sections"])]
        return as_of(plan, tuple({self.namespace, *filter(None, others)}), at)

    def add(
        self, content: str | Sequence[Mapping[str, Any]], fields: Mapping[str, Any]
    ) -> Plan[AddResult]:
        """Write one text, or the turns of a conversation; the first wrong one raises."""
        given = {name: value for name, value in fields.items() if value is not None}
        policy = DedupPolicy.of(given.pop("dedup", None), self.dedup)
        if isinstance(content, Sequence) and not isinstance(content, (str, bytes)):
            key = given.pop("idempotency_key", None)
            items = messages(content, given)
            if key is not None:
                items = [{**one, "idempotency_key": f"{key}#{i}"} for i, one in enumerate(items)]
        else:
            items = [{"content": content, **given}]
        return add.add(items, self.scope(), policy, strict=True)

    def add_many(
        self, items: Iterable[Any], strict: bool, dedup: Any, progress: Any
    ) -> Plan[AddResult]:
        """Write many items."""
        policy = DedupPolicy.of(dedup, self.dedup)
        told = callable_or_none("progress", progress)
        strict = boolean("strict", strict)
        return add.add(items, self.scope(), policy, strict=strict, progress=told)

    def add_chat(
        self, messages: Any, mode: str, facets: Any, fields: Mapping[str, Any]
    ) -> Plan[AddResult]:
        """Write messages as questions with their answers."""
        common = {name: value for name, value in fields.items() if value is not None}
        return chat.add_chat(messages, self.scope(), mode=mode, facets=facets, common=common)

    def zones(self, filters: Filters, now: date | str | float | None) -> Plan[Zones]:
        """How alive the memories are."""
        at = timestamp("now", self.clock() if now is None else now)
        return zoning.zones((self.namespace,), at.timestamp(), parse(filters))

    def list(self, filters: Filters, limit: int, cursor: str | None) -> Plan[Page]:
        """One page of the namespace."""
        most = integer("limit", limit, 1, 10_000)
        return ask(operations.ListRecords((self.namespace,), parse(filters), most, cursor))

    def get(self, id: str) -> Plan[MemoryRecord | None]:
        """One record."""
        return update.read(text("id", id), self.namespace)

    def delete_all(self, filters: Filters, namespace: str | None) -> Plan[int]:
        """Erase what a filter or a namespace names; nothing named is refused."""
        where = parse(filters)
        if namespace is None and not fields_of(where):
            raise InvalidInput(
                "filters",
                "nothing says what to erase",
                f'give filters, or namespace="{self.namespace}" to erase all of it',
            )
        chosen = self.namespace if namespace is None else text("namespace", namespace, limit=256)
        return ask(operations.Delete(chosen, where=where))

    def link(self, source: str, target: str, type: str, weight: float) -> Plan[None]:
        """Link two memories."""
        scope = self.scope()
        return update.link_all([items.link(scope, source, target, type, weight)], scope)

    def touch(self, ids: Any, use: str, session: Any, now: Any, utility: Any) -> Plan[None]:
        """Count a use of memories, and lend to those linked with them."""
        at = timestamp("now", self.clock() if now is None else now)
        scope = replace(self.scope(), now=at)
        worth = None if utility is None else unit("utility", utility)
        yield from judgments.touch(ids, use, at, session, scope)
        if worth is not None:
            yield from spreading_boost.spread_boost(texts("ids", ids), worth, scope)

    def stats(self, everywhere: bool) -> Plan[dict[str, Any]]:
        """Figures about the namespace, or about all of them."""
        return ask(
            operations.ReadStats(() if boolean("everywhere", everywhere) else (self.namespace,))
        )

    def links(self, id: str | None) -> Plan[Sequence[Link]]:
        """The links of one memory or of all."""
        return ask(operations.LinksOf(self.namespace, None if id is None else (text("id", id),)))

"""Memory and AsyncMemory: the same methods over one core, which waits only in `drive`/`adrive`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from types import TracebackType
from typing import Any

from recollect import chunks, ops, profiles, why, write
from recollect import compare as comparing
from recollect import search as searching
from recollect import zones as zoning
from recollect.compare import Comparison
from recollect.context import Context, Format, SectionLike, assemble
from recollect.embed import Embedder, resolve
from recollect.entities import NO_ALIASES, RULES, Aliases, EntityExtractor
from recollect.errors import EmbedderMismatch, InvalidInput
from recollect.facets import Facets, by_rules
from recollect.filters import Filter, fields_of, parse
from recollect.memory import AddResult, Link, MemoryRecord, moment, text
from recollect.ops import Page
from recollect.plan import Plan, T, adrive, ask, drive
from recollect.profiles import ProfileLike
from recollect.reembed import reembed as reembedding
from recollect.results import SearchResult
from recollect.stores import open_store
from recollect.stores.protocol import Store
from recollect.text import count_tokens
from recollect.why import Reason
from recollect.world import World
from recollect.zones import Zones

Clock = Callable[[], datetime]
Filters = Mapping[str, Any] | Filter | None


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


class Core:
    """What both faces share: settings, and a plan for each thing one can ask."""

    def __init__(
        self,
        world: World,
        namespace: str = "default",
        profile: ProfileLike = "balanced",
        clock: Clock | None = None,
        count_tokens: Callable[[str], int] = count_tokens,
        aliases: Aliases = NO_ALIASES,
    ) -> None:
        self.world = world
        self.namespace = text("namespace", namespace, limit=256)
        self.profile = profiles.get(profile)
        self.clock = clock or _utc_now
        self.count_tokens = count_tokens
        self.aliases = aliases

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
        anew: bool = False,
    ) -> Core:
        """A core over the store of a URL; EmbedderMismatch where its vectors are another's."""
        if not isinstance(url, str) and not hasattr(url, "batch"):
            raise InvalidInput("url", f"must be text or a store, not {type(url).__name__}")
        chosen, names = profiles.get(profile), Aliases.of(aliases)
        model = resolve(embedder)
        store = open_store(url) if isinstance(url, str) else url
        try:
            world = World(store, model, entities, owns=isinstance(embedder, str))
            kept = None if anew else store.embedder()
            if kept is not None and world.identity is not None and kept != world.identity:
                raise EmbedderMismatch(kept, world.identity)
            return cls(world, namespace, chosen, clock, count_tokens, names)
        except BaseException:
            if isinstance(url, str):
                store.close()
            raise

    @classmethod
    def reembed(
        cls,
        url: str | Store,
        embedder: str | Embedder,
        missing: bool,
        progress: Callable[[int, int], None] | None,
    ) -> int:
        """Make the vectors of a store anew; how many."""
        core = cls.open(url, "default", embedder, "balanced", None, anew=not missing)
        try:
            if core.world.identity is None:
                raise InvalidInput("embedder", "makes no vectors", "name one that does")
            plan = reembedding(core.world.identity, missing=missing, progress=progress)
            return drive(plan, core.world.batch)
        finally:
            if isinstance(url, str):
                core.world.close()

    def within(self, namespace: str) -> Core:
        """The same core for another namespace."""
        return Core(
            self.world, namespace, self.profile, self.clock, self.count_tokens, self.aliases
        )

    def scope(self) -> write.Scope:
        """Where and when a write happens."""
        return write.Scope(
            self.namespace,
            self.world.embedder is not None,
            self.world.identity,
            self.world.dimensions,
            moment("clock", self.clock()),
        )

    def request(
        self,
        query: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: datetime | str | float | None = None,
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
    ) -> searching.Request:
        """A checked search request."""
        chosen = self.profile if profile is None else profiles.get(profile)
        if namespaces is not None and (not isinstance(namespaces, list | tuple) or not namespaces):
            raise InvalidInput("namespaces", "must be a list of at least one namespace")
        return searching.request(
            query,
            [text("namespaces", n, limit=256) for n in namespaces or (self.namespace,)],
            chosen,
            moment("now", self.clock() if now is None else now),
            limit=limit,
            filters=filters,
            min_score=min_score,
            embeds=self.world.embedder is not None,
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

    def compare(self, given: Sequence[ProfileLike], asked: Mapping[str, Any]) -> Plan[Comparison]:
        """One query under several profiles."""
        if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence):
            raise InvalidInput("profiles", "must be a list of profiles")
        chosen = [profiles.get(each) for each in given]
        return comparing.compare(self.request(**asked, touch=False), chosen)

    def context(
        self, query: str, *, counter: Callable[[str], int] | None, now: Any, **given: Any
    ) -> Plan[Context]:
        """What matters for a query, written down within a budget."""
        present = moment("now", self.clock() if now is None else now)
        counted = counter or self.count_tokens
        return assemble(query, self.request, counter=counted, now=present, **given)

    def add(
        self, content: str | Sequence[Mapping[str, Any]], fields: Mapping[str, Any]
    ) -> Plan[AddResult]:
        """Write one text, or the turns of a conversation; the first wrong one raises."""
        given = {name: value for name, value in fields.items() if value is not None}
        if isinstance(content, Sequence) and not isinstance(content, (str, bytes)):
            items = write.messages(content, given)
        else:
            items = [{**given, "content": content}]
        return write.add(items, self.scope(), strict=True)

    def add_chat(
        self, messages: Any, mode: str, facets: Any, fields: Mapping[str, Any]
    ) -> Plan[AddResult]:
        """Write messages as questions with their answers."""
        common = {name: value for name, value in fields.items() if value is not None}
        return chunks.add_chat(messages, self.scope(), mode=mode, facets=facets, common=common)

    def zones(self, filters: Filters, now: datetime | str | float | None) -> Plan[Zones]:
        """How alive the memories are."""
        at = moment("now", self.clock() if now is None else now)
        return zoning.zones((self.namespace,), at.timestamp(), parse(filters))

    def list(self, filters: Filters, limit: int, cursor: str | None) -> Plan[Page]:
        """One page of the namespace."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 10_000:
            raise InvalidInput("limit", f"is {limit!r}", "give a whole number from 1 to 10,000")
        return ask(ops.List((self.namespace,), parse(filters), limit, cursor))

    def get(self, id: str) -> Plan[MemoryRecord | None]:
        """One record."""
        return write.read(text("id", id), self.namespace)

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
        return ask(ops.Delete(chosen, where=where))

    def link(self, source: str, target: str, type: str, weight: float) -> Plan[None]:
        """Link two memories."""
        scope = self.scope()
        return write.link_all([write.link(scope, source, target, type, weight)], scope)

    def links(self, id: str | None) -> Plan[Sequence[Link]]:
        """The links of one memory or of all."""
        return ask(ops.Neighbors(self.namespace, None if id is None else (text("id", id),)))

    def supersede(self, old: str, new: str) -> Plan[None]:
        """Link the new memory to the old one, which is superseded from now on."""
        scope = self.scope()
        yield from self.link(new, old, "supersedes", 1.0)
        values = {"status": "superseded", "updated_at": scope.now}
        yield from ask(ops.Patch(scope.namespace, old, values))


class Memory:
    """The memory of an agent: add to it, search it, ask why.

    Open one with `Memory.open`; it is safe to share between threads, and several processes may
    open the same file.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

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
    ) -> Memory:
        """Open (or make) the store of a URL.

        Args:
            url: `sqlite:///memory.db`, `sqlite:///:memory:`, `ram://`, or a store.
            namespace: the tenant whose memories this sees; others are invisible.
            embedder: a name (see `recollect.embed.resolve`), an embedder, or None for words only.
            profile: how to rank when a search does not say: a name, the path of a JSON file,
                or what such a file holds.
            clock: gives the present; the system's clock by default.
            entities: finds what a text names, where `add` is not told; None for nothing.
            aliases: other names of entities, by the name that they stand for: {"JS": "JavaScript"}.
            count_tokens: counts what a text takes of a token budget; ceil(characters / 4) unless
                another one is given.

        Raises:
            InvalidInput: an argument is wrong.
            StoreError: the file cannot be used.
            EmbedderMismatch: the stored vectors come from another embedder.
        """
        return cls(
            Core.open(url, namespace, embedder, profile, clock, count_tokens, entities, aliases)
        )

    def _run(self, plan: Plan[T]) -> T:
        return drive(plan, self._core.world.batch)

    @property
    def namespace(self) -> str:
        """The namespace that this sees."""
        return self._core.namespace

    def within(self, namespace: str) -> Memory:
        """The memory of another namespace in the same store; closing either closes both."""
        return type(self)(self._core.within(namespace))

    def add(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        speaker: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        kind: str | None = None,
        title: str | None = None,
        entities: Sequence[str] | None = None,
        created_at: datetime | str | float | None = None,
        id: str | None = None,
        vectors: Mapping[str, Sequence[float]] | None = None,
        links: Sequence[Mapping[str, Any]] = (),
        gist: str | None = None,
        tier: str | None = None,
        memory_nature: str | None = None,
        content_type: str | None = None,
        layer: str | None = None,
        relevance_score: float | None = None,
        memory_score: float | None = None,
        confidence: float | None = None,
        strength: float | None = None,
        decay_rate: float | None = None,
        expires_at: datetime | str | float | None = None,
        pinned: bool | None = None,
    ) -> AddResult:
        """Remember a text, or a list of chat messages as the turns of one session.

        `importance` is in [0, 1]; `created_at` is when it was said or happened (now by default);
        `vectors` by name replace the embedder's; `links` are `{"target", "type", "weight"}`.

        How it is ranked may further depend on its `tier` (short, medium, long), `memory_nature`
        (episodic, semantic), `content_type` (text, conversation, document, event, fact) and
        `layer` (episodic, knowledge, activity, entity); on `relevance_score`, `memory_score`,
        `confidence` and `strength` in [0, 1]; on a `decay_rate` per hour of its own. `gist` is
        what it comes down to, in words that are searched, too. From `expires_at` on it is not
        found any more; `pinned` exempts it from being archived.

        Raises:
            InvalidInput: names the argument that is wrong; nothing was written.
        """
        return self._run(self._core.add(content, _fields(locals())))

    def add_chat(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        mode: str = "chunks",
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        facets: Facets = by_rules,
    ) -> AddResult:
        """Remember a chat as questions with their answers, for the profile "multi_route".

        Messages of a session that is there already continue it: what an assistant says first goes
        on in the last chunk, and what the user says next makes that chunk found by it, too.

        Args:
            messages: `{"role", "content"}`, and perhaps `name`, `created_at`, `id`.
            mode: "chunks", or "hybrid" to keep the session as one memory besides.
            session_id: the session that they are of or continue; a new one if left out.
            agent_id: whose memory it is.
            user_id: who the user is.
            tags: of every chunk.
            facets: texts by facet (personal_info, preferences, events), a function that gives them
                from what user and assistant said, or None; by rules if left out.

        Raises:
            InvalidInput: names the argument that is wrong; nothing was written.
        """
        return self._run(self._core.add_chat(messages, mode, facets, _said(locals())))

    def add_many(
        self,
        items: Iterable[Mapping[str, Any] | str],
        *,
        strict: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> AddResult:
        """Remember many: texts, or mappings with the arguments of `add` as keys.

        Written in transactions of some thousand. A wrong item is REJECTED with its reason and the
        others are added; with `strict` it raises instead. `progress` is told how many are done.
        """
        return self._run(write.add(items, self._core.scope(), strict=strict, progress=progress))

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: datetime | str | float | None = None,
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
    ) -> SearchResult:
        """The memories that matter for a query, best first.

        Args:
            query: what is asked, in words.
            limit: how many hits at most, 1 to 1000.
            profile: how to rank, other than the default.
            filters: which memories may be found; see `recollect.filters`. Only active ones are,
                unless it says something of their `status`.
            now: the time to rank for, other than the present.
            touch: count an access of each hit (written within a second, never waited for).
            explain: give each hit its `explanation`.
            min_score: leave out hits below it; what a score means depends on the profile.
            threshold: another name for `min_score`.
            min_similarity: leave out memories whose cosine with the query is below it.
            include_archived: find archived memories, too.
            context: a variant of the profile, such as "identity", "knowledge", "episodic" or
                "activity" of "vitality"; by default that of the layer which `filters` ask for.
            weights: other weights for named parts of the profile's score.
            namespaces: search these instead of this one.
            token_budget: how many tokens the hits (and neighbors) may take together; one that does
                not fit is skipped for the next.

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        return self._run(searching.search(self._core.request(**_asked(locals()))))

    def explain(
        self,
        query: str,
        id: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: datetime | str | float | None = None,
        min_score: float | None = None,
        weights: Mapping[str, float] | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
        everywhere: bool = False,
    ) -> Reason:
        """Why a memory is returned for a query or not, and what would change it; touches nothing.

        The answer holds the tree of its score, where and by how much it missed if it is no hit,
        and for each part of the score the value that would turn the outcome. The arguments are
        those of `search`; with `everywhere` the memory is looked for in all namespaces.

        Raises:
            NotFound: there is no such memory.
        """
        request = self._core.request(**_asked(locals()), touch=False)
        return self._run(why.explain(request, text("id", id), everywhere=everywhere))

    def compare(
        self,
        query: str,
        profiles: Sequence[ProfileLike],
        *,
        limit: int = 10,
        filters: Filters = None,
        now: datetime | str | float | None = None,
        min_score: float | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
    ) -> Comparison:
        """One query under two or more profiles side by side; touches nothing.

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        return self._run(self._core.compare(profiles, _asked(locals())))

    def get_context(
        self,
        query: str,
        max_tokens: int = 2000,
        *,
        format: Format = "text",
        sections: Sequence[SectionLike] | None = None,
        counter: Callable[[str], int] | None = None,
        profile: ProfileLike | None = None,
        now: datetime | str | float | None = None,
        filters: Filters = None,
        references: bool = True,
        touch: bool = True,
    ) -> Context:
        """What matters for a query, written down to be read, in at most `max_tokens` tokens.

        Args:
            query: what is asked, in words.
            max_tokens: the budget; the text never takes more of it, as `counter` counts.
            format: "text", "markdown", "xml" or "messages".
            sections: names, mappings or `Section`s; see `recollect.context`. By default what is
                known of the user (memories of the kind "profile", never cut), then a search.
            counter: from text to tokens; ceil(characters / 4) unless the memory has its own.
            profile: how to rank, other than the default.
            now: the time to rank for, other than the present.
            filters: which memories may be in it, in every section.
            references: mark each memory with a short reference, [m:...], see `provenance`.
            touch: count an access of each memory that is in it.

        Raises:
            InvalidInput: names the argument that is wrong, or what a section needs that is never
                cut.
        """
        return self._run(self._core.context(**_asked(locals())))

    def get(self, id: str) -> MemoryRecord | None:
        """One memory by id, or None; looking is not an access."""
        return self._run(self._core.get(id))

    def get_all(
        self, filters: Filters = None, *, limit: int = 100, cursor: str | None = None
    ) -> Page:
        """One page of the memories that pass a filter, newest first, with their `total`.

        Pass the page's `cursor` to get the next one; it is None at the end.
        """
        return self._run(self._core.list(filters, limit, cursor))

    def update(self, id: str, **changes: Any) -> MemoryRecord:
        """Change fields of a memory by name; new words are embedded again.

        Raises:
            NotFound: there is no such memory.
            InvalidInput: names the field that is wrong.
        """
        return self._run(write.update(id, changes, self._core.scope()))

    def delete(self, id: str) -> bool:
        """Erase one memory with its vectors and links; whether there was one."""
        return self._run(write.delete(text("id", id), self._core.scope()))

    def delete_all(self, filters: Filters = None, *, namespace: str | None = None) -> int:
        """Erase what passes a filter, or (named expressly) a whole namespace; how many.

        Raises:
            InvalidInput: neither was given.
        """
        return self._run(self._core.delete_all(filters, namespace))

    def link(self, source: str, target: str, type: str = "mentions", weight: float = 1.0) -> None:
        """Link two memories: mentions, supports, contradicts, depends_on, same_as, supersedes.

        Raises:
            NotFound: one of them does not exist.
            InvalidInput: an unknown type, or a weight outside [0, 1].
        """
        self._run(self._core.link(source, target, type, weight))

    def supersede(self, old: str, new: str) -> None:
        """Let a memory take the place of an older one, which only few profiles still recall.

        Raises:
            NotFound: one of them does not exist.
        """
        self._run(self._core.supersede(old, new))

    def contradict(self, one: str, other: str) -> None:
        """Say that two memories contradict each other; recalled together, the weaker gives way.

        Raises:
            NotFound: one of them does not exist.
        """
        self._run(self._core.link(one, other, "contradicts", 1.0))

    def links(self, id: str | None = None) -> list[Link]:
        """The links from and to a memory, or all of the namespace."""
        return list(self._run(self._core.links(id)))

    def zones(self, filters: Filters = None, *, now: datetime | str | float | None = None) -> Zones:
        """How alive each memory is (active, stale, fading, archived), the liveliest first.

        A zone is a label worked out for a time, the present by default; nothing is moved.
        """
        return self._run(self._core.zones(filters, now))

    def stats(self, *, everywhere: bool = False) -> dict[str, Any]:
        """Figures about this namespace, or about all of them."""
        namespaces = () if everywhere else (self.namespace,)
        return self._run(ask(ops.Stats(namespaces)))

    @staticmethod
    def reembed(
        url: str | Store = "sqlite:///memory.db",
        *,
        embedder: str | Embedder = "default",
        missing: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Make the vectors of a whole store anew with an embedder; how many were made.

        With `missing`, only for memories that were kept without one. Searches go on meanwhile with
        the old vectors; broken off, it goes on where it was. Other processes that have the store
        open with another embedder have to open it again. `progress` is told how many are done, of
        how many.
        """
        return Core.reembed(url, embedder, missing, progress)

    def flush(self) -> None:
        """Write the accesses that are still queued."""
        self._core.world.store.flush()

    def close(self) -> None:
        """Write what is queued and release the store."""
        self._core.world.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncMemory:
    """`Memory` for asyncio: the same methods, awaited; see there for what each does.

    An embedded store works in a thread, so that the event loop never waits for it.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

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
    ) -> AsyncMemory:
        """See `Memory.open`."""
        opened = asyncio.to_thread(
            Core.open, url, namespace, embedder, profile, clock, count_tokens, entities, aliases
        )
        return cls(await opened)

    async def _run(self, plan: Plan[T]) -> T:
        return await adrive(plan, self._core.world.abatch)

    @property
    def namespace(self) -> str:
        """The namespace that this sees."""
        return self._core.namespace

    def within(self, namespace: str) -> AsyncMemory:
        """See `Memory.within`."""
        return type(self)(self._core.within(namespace))

    async def add(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        speaker: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        kind: str | None = None,
        title: str | None = None,
        entities: Sequence[str] | None = None,
        created_at: datetime | str | float | None = None,
        id: str | None = None,
        vectors: Mapping[str, Sequence[float]] | None = None,
        links: Sequence[Mapping[str, Any]] = (),
        gist: str | None = None,
        tier: str | None = None,
        memory_nature: str | None = None,
        content_type: str | None = None,
        layer: str | None = None,
        relevance_score: float | None = None,
        memory_score: float | None = None,
        confidence: float | None = None,
        strength: float | None = None,
        decay_rate: float | None = None,
        expires_at: datetime | str | float | None = None,
        pinned: bool | None = None,
    ) -> AddResult:
        """See `Memory.add`."""
        return await self._run(self._core.add(content, _fields(locals())))

    async def add_chat(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        mode: str = "chunks",
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        facets: Facets = by_rules,
    ) -> AddResult:
        """See `Memory.add_chat`."""
        return await self._run(self._core.add_chat(messages, mode, facets, _said(locals())))

    async def add_many(
        self,
        items: Iterable[Mapping[str, Any] | str],
        *,
        strict: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> AddResult:
        """See `Memory.add_many`."""
        scope = self._core.scope()
        return await self._run(write.add(items, scope, strict=strict, progress=progress))

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: datetime | str | float | None = None,
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
    ) -> SearchResult:
        """See `Memory.search`."""
        return await self._run(searching.search(self._core.request(**_asked(locals()))))

    async def explain(
        self,
        query: str,
        id: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: datetime | str | float | None = None,
        min_score: float | None = None,
        weights: Mapping[str, float] | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
        everywhere: bool = False,
    ) -> Reason:
        """See `Memory.explain`."""
        request = self._core.request(**_asked(locals()), touch=False)
        return await self._run(why.explain(request, text("id", id), everywhere=everywhere))

    async def compare(
        self,
        query: str,
        profiles: Sequence[ProfileLike],
        *,
        limit: int = 10,
        filters: Filters = None,
        now: datetime | str | float | None = None,
        min_score: float | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
    ) -> Comparison:
        """See `Memory.compare`."""
        return await self._run(self._core.compare(profiles, _asked(locals())))

    async def get_context(
        self,
        query: str,
        max_tokens: int = 2000,
        *,
        format: Format = "text",
        sections: Sequence[SectionLike] | None = None,
        counter: Callable[[str], int] | None = None,
        profile: ProfileLike | None = None,
        now: datetime | str | float | None = None,
        filters: Filters = None,
        references: bool = True,
        touch: bool = True,
    ) -> Context:
        """See `Memory.get_context`."""
        return await self._run(self._core.context(**_asked(locals())))

    async def get(self, id: str) -> MemoryRecord | None:
        """See `Memory.get`."""
        return await self._run(self._core.get(id))

    async def get_all(
        self, filters: Filters = None, *, limit: int = 100, cursor: str | None = None
    ) -> Page:
        """See `Memory.get_all`."""
        return await self._run(self._core.list(filters, limit, cursor))

    async def update(self, id: str, **changes: Any) -> MemoryRecord:
        """See `Memory.update`."""
        return await self._run(write.update(id, changes, self._core.scope()))

    async def delete(self, id: str) -> bool:
        """See `Memory.delete`."""
        return await self._run(write.delete(text("id", id), self._core.scope()))

    async def delete_all(self, filters: Filters = None, *, namespace: str | None = None) -> int:
        """See `Memory.delete_all`."""
        return await self._run(self._core.delete_all(filters, namespace))

    async def link(
        self, source: str, target: str, type: str = "mentions", weight: float = 1.0
    ) -> None:
        """See `Memory.link`."""
        await self._run(self._core.link(source, target, type, weight))

    async def supersede(self, old: str, new: str) -> None:
        """See `Memory.supersede`."""
        await self._run(self._core.supersede(old, new))

    async def contradict(self, one: str, other: str) -> None:
        """See `Memory.contradict`."""
        await self._run(self._core.link(one, other, "contradicts", 1.0))

    async def links(self, id: str | None = None) -> list[Link]:
        """See `Memory.links`."""
        return list(await self._run(self._core.links(id)))

    async def zones(
        self, filters: Filters = None, *, now: datetime | str | float | None = None
    ) -> Zones:
        """See `Memory.zones`."""
        return await self._run(self._core.zones(filters, now))

    async def stats(self, *, everywhere: bool = False) -> dict[str, Any]:
        """See `Memory.stats`."""
        namespaces = () if everywhere else (self.namespace,)
        return await self._run(ask(ops.Stats(namespaces)))

    @staticmethod
    async def reembed(
        url: str | Store = "sqlite:///memory.db",
        *,
        embedder: str | Embedder = "default",
        missing: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """See `Memory.reembed`."""
        return await asyncio.to_thread(Core.reembed, url, embedder, missing, progress)

    async def flush(self) -> None:
        """See `Memory.flush`."""
        await asyncio.to_thread(self._core.world.store.flush)

    async def close(self) -> None:
        """See `Memory.close`."""
        await asyncio.to_thread(self._core.world.close)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def _fields(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `add` that describe the memory."""
    return {n: v for n, v in arguments.items() if n not in ("self", "content")}


def _said(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `add_chat` that every chunk has."""
    return {n: arguments[n] for n in ("session_id", "agent_id", "user_id", "tags")}


_OWN = ("self", "id", "everywhere", "profiles")  # what is no argument of a search


def _asked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a search."""
    return {n: v for n, v in arguments.items() if n not in _OWN}

"""Methods that write: add, change and erase memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Unpack

from salience.api.parameters import Bounds, with_options
from salience.engine.core import PlanRunner
from salience.engine.extraction.adding import with_facts
from salience.engine.forgetting import Forget, forget_rule, requests_in, with_forgotten
from salience.engine.options import (
    UNCHANGED,
    MemoryChanges,
    MemoryFields,
    RecordFields,
    Session,
    Version,
    check_names,
    narrowed,
)
from salience.errors import InvalidInput
from salience.records.field_filters import FIELD_DEFAULTS, ID, IDS, OF_FIELD, FieldFilters
from salience.records.filters import filter_fields, of_person
from salience.records.record import MemoryRecord
from salience.records.validation import boolean, callable_or_none, namespace_name, text, texts
from salience.retrieval.erasure import Erased, ErasureReceipt
from salience.retrieval.operations import Delete
from salience.retrieval.plan import ask
from salience.search.recording import log_upkeep
from salience.search.request import Filters, Id, TimeZone
from salience.write import add, add_chat, chat, update
from salience.write.dedup import DedupLike, DedupPolicy
from salience.write.dedup.verdicts import NO_DEDUP
from salience.write.facets import Facets, by_rules
from salience.write.idempotency import Once
from salience.write.items import WriteContext
from salience.write.outcomes import AddResult
from salience.write.update import erase
from salience.write.upsert import OnConflict, conflict_rule

MESSAGES = Bounds(minItems=1, items={"$ref": "#/components/schemas/ChatMessage"})
CONTENT = Bounds(**OF_FIELD["content"].keywords, **MESSAGES.keywords)


class WriteApi(PlanRunner):
    """Add, change and erase memories."""

    @with_options(
        RecordFields, MemoryFields, defaults={"tags": (), "links": (), "on_conflict": "error"}
    )
    def add(
        self,
        content: Annotated[str | Mapping[str, Any] | Sequence[Mapping[str, Any]], CONTENT],
        **fields: Unpack[MemoryFields],
    ) -> AddResult:
        """Remember a text, or a list of chat messages as the turns of one session.

        A message is `{"role", "content"}`, and perhaps `name`, `created_at`, `id`. A mapping with
        `content` alone is a memory with its fields, as in `add_many`.

        A fact or note (not a turn of a session) is not added again if an active memory of the same
        `agent_id`, `user_id` and `speaker` says the same already; the outcome in the result tells
        (see `salience.write.outcomes.Added`). It is added, though, if it brings an `id` of its own,
        or a field whose value the other does not have (tags and metadata are merged, and the time
        of a fact makes no difference). With `dedup` True or a cosine it is compared even then, with
        False never. A text that differs in a number, date, name or negation is added, and
        so is a fact that contradicts another one; the outcome CONFLICTS names the other, and
        `remedy` the call that settles it.

        Args:
            content: a text, a mapping with a memory's fields, or chat messages.

        Raises:
            IdTaken: another memory has the id; nothing was written.
            InvalidInput: names the argument that is wrong; nothing was written.
        """
        check_names("Memory.add", fields, MemoryFields)
        content, fields = chat.one_or_many(content, fields)
        finder = self._core.finder(fields.pop("extract", None), content)
        policy = DedupPolicy.of(fields.pop("dedup", None), self._core.dedup)
        rule = conflict_rule(fields.pop("on_conflict", "error"))
        forget = forget_rule(fields.pop("forget", None))
        scope = self._core.write_context(fields.pop("time_zone", None))
        items, once = chat.items_of(content, fields)
        requests = requests_in(items)
        if requests and len(items) == 1:  # it says the same as what it asks to forget
            policy = NO_DEDUP
        plan = add.add(items, scope, policy, strict=True, on_conflict=rule, once=once)
        added = self._forgotten(requests, items, self._run(plan), forget, scope)
        if finder is None:
            return added
        request = self._core.request
        return self._run(with_facts(items, added, finder, scope, policy, request))

    def add_chat(
        self,
        messages: Annotated[Iterable[Mapping[str, Any]], MESSAGES],
        *,
        mode: Annotated[str, Bounds(enum=("chunks", "hybrid"))] = "chunks",
        session_id: Session = None,
        agent_id: Annotated[str | None, OF_FIELD["agent_id"]] = None,
        user_id: Annotated[str | None, OF_FIELD["user_id"]] = None,
        tags: Annotated[Sequence[str], OF_FIELD["tags"]] = (),
        facets: Facets = by_rules,
        idempotency_key: Annotated[str | None, ID] = None,
    ) -> AddResult:
        """Remember a chat as questions with their answers, for the profile "multi_route".

        Messages of a stored session continue it: the assistant's first words go into the last
        chunk, and the user's next words become one more way to find that chunk. So a chat leaves
        the same chunks whether it is added at once or bit by bit.

        Args:
            messages: `{"role", "content"}`, and perhaps `name`, `created_at`, `id`.
            mode: "chunks", or "hybrid" to keep the session as one memory besides.
            session_id: the session that they begin or continue; a new one by default.
            agent_id: the agent whose memory it is.
            user_id: the user who takes part.
            tags: the tags of every chunk.
            facets: texts by facet (personal_info, preferences, events), a function that gives them
                from what user and assistant said, or None; by rules by default.
            idempotency_key: a key of this write; a second one with it gives the first outcome.

        Raises:
            InvalidInput: names the argument that is wrong; nothing was written.
        """
        fields = {
            "session_id": session_id,
            "agent_id": agent_id,
            "user_id": user_id,
            "tags": tags,
        }
        common = {name: value for name, value in fields.items() if value is not None}
        scope = self._core.write_context()
        options = {"mode": mode, "facets": facets, "key": idempotency_key}
        plan = add_chat.add_chat(messages, scope, common=common, **options)
        return self._run(plan)

    def add_many(
        self,
        items: Iterable[Mapping[str, Any] | str],
        *,
        strict: bool = False,
        dedup: DedupLike = None,
        on_conflict: OnConflict = "error",
        progress: Callable[[int], None] | None = None,
        idempotency_key: Annotated[str | None, ID] = None,
        time_zone: TimeZone = None,
    ) -> AddResult:
        """Remember many items: texts, or mappings with the arguments of `add` as keys.

        The `content` of a mapping has to be text; `dedup` and `on_conflict` hold for all items.
        They are written in transactions of some thousand. A wrong item is REJECTED with its reason
        and the others are added.

        Args:
            items: texts, or mappings with the fields of a memory.
            strict: raise an error if an item is wrong, and add none.
            dedup: how they are compared with what is stored, as `add` has it.
            on_conflict: what to do if the id of one is taken, as `add` has it.
            progress: called with the number of items done.
            idempotency_key: a key of this write; a second one with it gives the first outcomes, and
                is refused if it has other items.
            time_zone: the zone of times that are given without one; that of the memory by default.
        """
        policy = DedupPolicy.of(dedup, self._core.dedup)
        rule = conflict_rule(on_conflict)
        progress = callable_or_none("progress", progress)
        strict = boolean("strict", strict)
        scope = self._core.write_context(time_zone)
        once = None
        if idempotency_key is not None:
            items = list(add.iterator_of(items))
            once = Once.of(idempotency_key, (items, dedup, rule))
        rules: dict[str, Any] = {"strict": strict, "on_conflict": rule, "progress": progress}
        requests = requests_in(items)
        added = self._run(add.add(items, scope, policy, **rules, once=once))
        return self._forgotten(requests, items, added, None, scope)

    def _forgotten(
        self,
        requests: Mapping[int, Sequence[str]],
        items: Any,
        added: AddResult,
        rule: Forget | None,
        scope: WriteContext,
    ) -> AddResult:
        """The outcomes with what the items ask to be forgotten, which is retired by the rule."""
        if not requests:
            return added
        plan = with_forgotten(requests, items, added, rule, scope, self._core.request)
        return self._run(plan, searches=True)

    @with_options(RecordFields, MemoryChanges, defaults=UNCHANGED)
    def update(self, /, id: Id, **changes: Any) -> MemoryRecord:
        """Change fields of a memory; omitted fields stay as they are.

        The fields that judgements set (`boost`, `review` and others) can be changed, too.

        Args:
            id: the id of the memory.

        Raises:
            NotFound: there is no such memory.
            VersionConflict: it has another version; nothing was changed.
        """
        if_version = changes.pop("if_version", None)
        return self._run(update.update(id, changes, self._core.write_context(), if_version))

    def delete(self, id: Id, *, if_version: Version = None) -> Erased:
        """Erase one memory with its vectors and links; 1 if there was one, else 0.

        What it had superseded or merged holds again; the answer names that as `restored`.

        Args:
            id: the id of the memory.
            if_version: erase it only if this is its version.

        Raises:
            VersionConflict: it has another version; it was not erased.
        """
        return self._run(update.delete(text("id", id), self._core.write_context(), if_version))

    def delete_many(self, ids: Annotated[Iterable[str], IDS]) -> Erased:
        """Erase memories by id; returns how many there were.

        Args:
            ids: the ids of the memories.

        Raises:
            InvalidInput: an id is not text; nothing was erased.
        """
        scope = self._core.write_context()
        op = Delete(scope.namespace, scope.erasing("delete"), texts("ids", ids, required=True))
        erasure = self._run(ask(op))
        log_upkeep(self._core.namespace, "erase", erasure.memories)
        return Erased(erasure.memories, erasure.restored)

    @with_options(FieldFilters, defaults=FIELD_DEFAULTS)
    def delete_all(
        self,
        filters: Filters = None,
        *,
        namespace: str | None = None,
        rewrite: bool = False,
        **fields: Unpack[FieldFilters],
    ) -> ErasureReceipt:
        """Erase the memories that pass a filter, or a whole namespace by name; returns a receipt.

        The receipt counts what was erased and says how that was checked; its `memories` is the
        number of memories. With `rewrite`, the whole file, or all tables of PostgreSQL, are
        rewritten afterwards, so that no trace is left of what was ever erased; others wait for it.

        Args:
            filters: a condition on what to erase.
            namespace: the namespace; this one by default.
            rewrite: rewrite the store afterwards.

        Raises:
            InvalidInput: nothing says what to erase.
            StoreError: not all of it was erased; or it is, but could not be rewritten; says why.
        """
        filters = narrowed("Memory.delete_all", filters, fields)
        where = self._core.filter(filters)
        if namespace is None and not filter_fields(where):
            raise InvalidInput(
                "filters",
                "nothing says what to erase",
                f'give filters, or namespace="{self._core.namespace}" to erase all of it',
            )
        if namespace is None:
            namespace = self._core.namespace
        erasing = self._core.write_context().erasing("delete_all")
        return self._erase(Delete(namespace_name(namespace), erasing, where=where), rewrite)

    def delete_user(
        self, user_id: Annotated[str, OF_FIELD["user_id"]], *, rewrite: bool = False
    ) -> ErasureReceipt:
        """Erase all memories of a person in this namespace, and their name elsewhere in it.

        Memories with this `user_id`, and those with this `speaker` that have no other user, go with
        their history, links and idempotency keys: what `{"person": user_id}` finds in a filter. The
        events of other memories no longer say that this user did something (their `actor`), or
        owned the memory before; the receipt counts them as `mentions`. Memories of others that
        have the name in their words stay; the receipt has their ids as `naming`.

        Args:
            user_id: the id or the name that the memories were added with.
            rewrite: True to rewrite the whole store afterwards, as in `delete_all`.

        Raises:
            InvalidInput: it is no id.
            StoreError: not all of it was erased; or it is, but could not be rewritten; says why.
        """
        user_id = text("user_id", user_id)
        where = of_person(user_id)
        scope = self._core.write_context()
        erasing = scope.erasing("forget_user").without_name(user_id)
        op = Delete(scope.namespace, erasing, None, where, user_id)
        return self._erase(op, rewrite)

    def _erase(self, op: Delete, rewrite: bool) -> ErasureReceipt:
        receipt = self._run(erase(op, rewrite=boolean("rewrite", rewrite)))
        log_upkeep(op.namespace, "erase", receipt.memories)
        return receipt

"""The methods of mem0 over a memory, once for both of its classes and for the server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

from salience.display.for_models import in_zone
from salience.engine.extraction import Extractor, Fact, Turn
from salience.engine.judgment_api import whole_history
from salience.engine.memory import Memory
from salience.errors import InvalidInput, shown
from salience.integrations.mem0.filters import (
    ENTITIES,
    checked_id,
    conditions,
    entity_filter,
    owner,
    without_identity,
)
from salience.integrations.mem0.shapes import (
    MemoryNotFoundError,
    ValidationError,
    expires_at,
    history_of,
    memory_of,
    messages_of,
)
from salience.lazily import dataclass
from salience.ranking.profiles import ProfileLike
from salience.records import validation
from salience.records.json_values import metadata_mapping
from salience.records.record import MemoryRecord
from salience.retrieval.erasure import Erased, ErasureReceipt
from salience.search.listing import MAX_PAGE
from salience.search.request import MAX_HITS
from salience.search.results import Hit, SearchResult
from salience.write.chat import message_text
from salience.write.outcomes import Added, AddResult

UNSET: Any = object()
"""For an argument that was not given, where None means something."""
PROCEDURAL = "procedural_memory"
_KNOWN = 10  # memories that the model is shown
_QUERY_CHARACTERS = 4_000
_EXCERPT_CHARACTERS = 500  # of each turn that a fact comes from
_NOT_EXTRACTED = (
    "infer: no model to extract facts is configured, so the messages were kept as they are; set "
    "SALIENCE_EXTRACTION_MODEL and SALIENCE_EXTRACTION_URL, or give infer=False"
)
_log = logging.getLogger(__name__)
_Render = Callable[[MemoryRecord], dict[str, Any]]


def told_of(answer: dict[str, Any], erased: Erased) -> dict[str, Any]:
    """An answer with the ids of what holds again after an erasure, if there is any."""
    return {**answer, "restored": list(erased.restored)} if erased.restored else answer


@dataclass(frozen=True)
class Calls:
    """The methods, with what they need besides a memory.

    memory: where they are.
    extractor: asks a model for the facts in messages; None to keep messages as they are.
    instructions: the wishes of the application for what is extracted.
    rerank_profile: the profile that ranks if a search asks to rerank.
    render: makes the mapping of a memory.
    once: an idempotency key, by which messages that are kept as they are are kept once.
    """

    memory: Memory
    extractor: Extractor | None = None
    instructions: str | None = None
    rerank_profile: ProfileLike | None = None
    render: _Render = memory_of
    once: str | None = None

    def add(
        self,
        messages: Any,
        ids: Mapping[str, Any],
        *,
        metadata: Mapping[str, Any] | None = None,
        at: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Add messages, or the facts in them.

        Raises:
            ValidationError, InvalidInput: an argument is wrong; nothing was written.
            ExtractionError: the model does not answer; nothing was written.
        """
        until = expires_at(expiration_date)
        fields = _Fields.of(owner(ids), metadata, at, until)
        if memory_type is not None and memory_type != PROCEDURAL:
            raise ValidationError(
                "memory_type",
                f"is {shown(memory_type)}",
                f'use "{PROCEDURAL}", or leave it out',
                "VALIDATION_002",
            )
        if not isinstance(messages, str | Mapping | list):
            raise ValidationError(
                "messages",
                f"must be str, dict, or list[dict], not {type(messages).__name__}",
                "give one of these",
                "VALIDATION_003",
            )
        turns, notes = _turns(messages)
        if memory_type == PROCEDURAL and "agent_id" in fields.ids:
            infer = True
        if not infer or self.extractor is None:
            if infer:
                _log.warning(_NOT_EXTRACTED)
                notes.append(_NOT_EXTRACTED)
            return _noted({"results": (_add_turns(self.memory, turns, fields, self.once))}, notes)
        if not turns:
            return _noted({"results": []}, notes)
        if memory_type == PROCEDURAL and "agent_id" in fields.ids:
            extractor = self.extractor
            text = extractor.procedure(turns, prompt)
            item = fields.item(text, metadata={"memory_type": PROCEDURAL}, session=False)
            results = _add_verbatim(self.memory, [item], None)
        else:
            results = self._add_facts(turns, fields, prompt)
        return _noted({"results": results}, notes)

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Get one memory; None if there is none."""
        record = self.memory.get(memory_id)
        return None if record is None else self.render(record)

    def get_all(
        self,
        filters: Mapping[str, Any] | None,
        *,
        top_k: int = 20,
        skip: int = 0,
        show_expired: bool = False,
        latest_only: bool = True,
    ) -> tuple[list[dict[str, Any]], int]:
        """List memories, the newest first, and tell how many there are in all."""
        _check_top_k(top_k)
        where = _visible(conditions(filters), show_expired, latest_only)
        records: list[MemoryRecord] = []
        cursor, count, last = None, 0, skip + max(top_k, 1)
        while True:
            page = self.memory.get_all(where, limit=min(last - count, MAX_PAGE), cursor=cursor)
            records += page.memories[max(skip - count, 0) :]
            cursor, count = page.cursor, count + len(page.memories)
            if cursor is None or count >= last or skip >= page.total:
                break
        return [self.render(record) for record in records[:top_k]], page.total

    def search(
        self,
        query: str,
        filters: Mapping[str, Any] | None,
        *,
        top_k: int = 20,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        latest_only: bool = True,
    ) -> dict[str, Any]:
        """Find memories, best first; `score` is the cosine with the query."""
        _check_threshold(threshold)
        _check_top_k(top_k)
        query = _checked_query(query)
        where = conditions(filters)
        if top_k == 0:
            return {"results": []}
        notes = []
        if top_k > MAX_HITS:
            notes.append(f"top_k: at most {MAX_HITS:,} are found")
        options: dict[str, Any] = {"limit": min(top_k, MAX_HITS), "explain": explain}
        if rerank and self.rerank_profile is not None:
            options["profile"] = self.rerank_profile
        elif rerank:
            notes.append("rerank: no profile for it is configured, so the usual one ranked")
        if reference_date is not None:
            options["now"] = reference_date
        status = {} if latest_only else _ANY_VERSION
        result = _search(self.memory, query, _and(where, status), options, threshold)
        hits = list(result.hits)
        if show_expired:
            past = _expired(self.memory, query, _and(where, status), options, threshold)
            hits = sorted([*hits, *past], key=lambda hit: -hit.score)[:top_k]
        if threshold is not None and (lacks := _lacks_vectors(result)):
            notes.append(f"threshold: not applied, as the scores are of words alone ({lacks})")
        return _noted(
            {"results": [self._hit(hit, result, explain, threshold) for hit in hits]}, notes
        )

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = UNSET,
        at: Any = None,
    ) -> dict[str, Any]:
        """Change the text, metadata or expiration of a memory.

        Raises:
            MemoryNotFoundError: there is no such memory.
            InvalidInput: there is nothing to change, or a value is wrong.
        """
        changes = changes_of(text, metadata, expiration_date, at)
        record = self.memory.get(memory_id)
        if record is None:
            raise MemoryNotFoundError(memory_id)
        self.memory.update(memory_id, **changes)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str, *, delete_linked: bool = False) -> dict[str, Any]:
        """Erase a memory; with `delete_linked` also those whose place it took, one by one.

        What it had replaced, and holds again, is in `restored`, if there is any.

        Raises:
            MemoryNotFoundError: there is no such memory.
        """
        linked = (_superseded_by(self.memory, memory_id)) if delete_linked else []
        erased = self.memory.delete(memory_id)
        if not erased:
            raise MemoryNotFoundError(memory_id)
        if linked:
            erased_older = self.memory.delete_many(linked)
            restored = {*erased.restored, *erased_older.restored}.difference(linked)
            erased = Erased(erased + erased_older, sorted(restored))
        return told_of({"message": "Memory deleted successfully!"}, erased)

    def delete_all(self, ids: Mapping[str, Any]) -> Erased:
        """Erase the memories of all the given ids together; how many there were.

        Raises:
            InvalidInput: no id was given.
        """
        where = {n: id for n in ENTITIES if (id := checked_id(ids.get(n), n)) is not None}
        if not where:
            problem = "at least one is required to delete all memories"
            raise InvalidInput(", ".join(ENTITIES), problem, "to delete all, call reset()")
        receipt: ErasureReceipt = self.memory.delete_all(conditions(where))
        return Erased(receipt.memories, receipt.restored)

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """List the changes of a memory; none of one that is not there."""
        record = self.memory.get(memory_id)
        if record is None:
            return []
        return history_of(record, whole_history(self.memory, memory_id))

    def reset(self) -> None:
        """Erase the whole namespace."""
        self.memory.delete_all(namespace=self.memory.namespace)

    def _hit(
        self, hit: Hit, search: SearchResult, explain: bool, threshold: float | None
    ) -> dict[str, Any]:
        """One result of a search."""
        result = {**self.render(hit.record), "score": _score(hit)}
        if explain:
            tree = hit.explanation
            result["score_details"] = {
                "semantic_score": hit.similarity,
                "final_score": result["score"],
                "threshold": threshold,
                "profile": search.profile,
                "profile_score": hit.score,
                "rank": hit.rank,
                "routes": dict(hit.routes),
                "explanation": None if tree is None else tree.to_dict(),
            }
        return result

    def _add_facts(
        self, turns: Sequence[Turn], fields: _Fields, prompt: str | None
    ) -> list[dict[str, Any]]:
        """Add the facts in some turns that are not known yet."""
        assert self.extractor is not None
        extractor = self.extractor
        text = "\n".join(turn.text for turn in turns)[:_QUERY_CHARACTERS]
        where = conditions(entity_filter(fields.ids))
        near = self.memory.search(text, filters=where, limit=_KNOWN, touch=False)
        contents = [hit.content for hit in near]
        today = in_zone(fields.created_at or datetime.now(timezone.utc), self.memory.time_zone)
        wishes = prompt or self.instructions
        facts: list[Fact] = extractor.facts(turns, known=contents, instructions=wishes, today=today)
        if not facts:
            return []
        items = [fields.item(f.text, _origin(f, turns, extractor.model), False) for f in facts]
        apart = {"within": ["app_id", "run_id"]}  # a fact of another run is not found in this one
        written: AddResult = self.memory.add_many(
            [{**item, "kind": "fact"} for item in items], strict=True, dedup=apart
        )
        results = []
        for fact, outcome in zip(facts, written, strict=True):
            results.append(_settled(self.memory, fact.text, outcome))
        return results


def changes_of(
    text: Any, metadata: Any, expiration_date: Any = UNSET, at: Any = None
) -> dict[str, Any]:
    """The changes of an update.

    Raises:
        InvalidInput: there is none, or a value is wrong.
    """
    changes: dict[str, Any] = {}
    if text is not None:
        validation.text("text", text)
        changes["content"] = text
    if metadata is not None:
        changes["metadata"] = metadata_mapping(without_identity(metadata, "update()"))
    if expiration_date is not UNSET:
        changes["expires_at"] = expires_at(expiration_date)
    if at is not None:
        changes["created_at"] = validation.timestamp("timestamp", at)
    if not changes:
        problem = "at least one of text, metadata, or expiration_date must be provided"
        raise InvalidInput("text", problem)
    return changes


@dataclass(frozen=True)
class _Fields:
    """The fields that all memories of one `add` share."""

    ids: Mapping[str, str]
    metadata: Mapping[str, Any]
    created_at: datetime | None
    expires_at: datetime | None

    @classmethod
    def of(
        cls,
        ids: Mapping[str, str],
        metadata: Mapping[str, Any] | None,
        at: Any,
        until: datetime | None,
    ) -> _Fields:
        data = without_identity({} if metadata is None else metadata, "add()")
        when = data.pop("created_at", None) if at is None else at
        return cls(
            ids,
            data,
            None if when is None else validation.timestamp("timestamp", when),
            until,
        )

    def item(
        self, content: str, metadata: Mapping[str, Any], session: bool, **more: Any
    ) -> dict[str, Any]:
        """An item of `add_many`; with `session` it is a turn of its run."""
        ids = dict(self.ids)
        run = ids.pop("run_id", None)
        app = ids.pop("app_id", None)
        labels = {
            **({} if app is None else {"app_id": app}),
            **({} if run is None or session else {"run_id": run}),
        }
        fields = {
            **ids,
            "session_id": run if session else None,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "metadata": {**self.metadata, **metadata, **labels},
            **more,
        }
        return {"content": content, **{n: v for n, v in fields.items() if v is not None}}


def _turns(messages: Any) -> tuple[list[Turn], list[str]]:
    """The messages to keep, and a note on each that is left out for what it lacks."""
    turns, notes = [], []
    for place, message in enumerate(messages_of(messages)):
        role = message.get("role")
        if not isinstance(role, str) or message.get("content") is None:
            notes.append(f"messages[{place}]: left out, as it has no role or no content")
            _log.warning(notes[-1])
        elif role != "system":
            text = message_text(message, f"messages[{place}]")
            if isinstance(message["content"], list | tuple) and not text.strip():
                notes.append(f"messages[{place}]: left out, as no part of it is text")
                continue
            name = message.get("name")
            turns.append(Turn(role, text, None if name is None else str(name)))
    return turns, notes


def _add_turns(
    memory: Memory, turns: Sequence[Turn], fields: _Fields, once: str | None
) -> list[dict[str, Any]]:
    """Add turns as they are."""
    items = [
        fields.item(turn.text, {"role": turn.role}, True, speaker=turn.name or turn.role)
        for turn in turns
    ]
    results = _add_verbatim(memory, items, once)
    return [
        {**result, "actor_id": turn.name, "role": turn.role}
        for result, turn in zip(results, turns, strict=True)
    ]


def _add_verbatim(
    memory: Memory, items: Sequence[Mapping[str, Any]], once: str | None
) -> list[dict[str, Any]]:
    """Add items as memories of their own, even if the same is there already."""
    if not items:
        return []
    places = range(len(items))
    ids = [uuid4() if once is None else uuid5(NAMESPACE_OID, f"{once} {at}") for at in places]
    identified = [{"id": str(id), **item} for id, item in zip(ids, items, strict=True)]
    options: Any = {"strict": True, "dedup": False, "idempotency_key": once}
    memory.add_many(identified, **options)
    return [{"id": i["id"], "memory": i["content"], "event": "ADD"} for i in identified]


def _origin(fact: Fact, turns: Sequence[Turn], model: str) -> dict[str, Any]:
    """The provenance of a fact, which is kept in its metadata: its turns, and who read them."""
    origin = fact.origin(model)
    origin["source"]["turns"] = [
        {"by": turn.name or turn.role, "said": turn.text[:_EXCERPT_CHARACTERS]}
        for turn in (turns[place] for place in fact.turns)
    ]
    return origin


def _settled(memory: Memory, text: str, outcome: Added) -> dict[str, Any]:
    """The event of a fact; a fact that contradicts an older one supersedes it."""
    if outcome.outcome == "ADDED":
        return {"id": outcome.id, "memory": text, "event": "ADD"}
    match = outcome.match or ""
    older = memory.get(match)
    previous = "" if older is None else older.content
    if outcome.settled_by is not None:
        old, new = outcome.settled_by
        memory.supersede(old, new)
        if new == match:  # the fact is about an earlier time
            return {"id": match, "memory": previous, "event": "NONE"}
        linked = {"previous_memory": previous, "linked_memory_ids": [old]}
        return {"id": new, "memory": text, "event": "UPDATE", **linked}
    if outcome.outcome == "MERGED":
        former = [event.payload.get("was", {}) for event in whole_history(memory, match)]
        was = [contents["content"] for contents in former if "content" in contents]
        before = {"previous_memory": was[-1]} if was else {}
        return {"id": match, "memory": previous, "event": "UPDATE", **before}
    return {"id": match, "memory": previous, "event": "NONE"}


def _search(
    memory: Memory,
    query: str,
    where: Mapping[str, Any],
    options: Mapping[str, Any],
    threshold: float | None,
) -> SearchResult:
    """Search with the threshold as the least cosine; without vectors, by words alone."""
    result: SearchResult = memory.search(
        query, filters=where, options={"min_similarity": threshold}, **options
    )
    if threshold is not None and _lacks_vectors(result):
        result = memory.search(query, filters=where, **options)
    return result


def _expired(
    memory: Memory,
    query: str,
    where: Mapping[str, Any],
    options: Mapping[str, Any],
    threshold: float | None,
) -> Sequence[Hit]:
    """Search what has expired, at a time when it had not."""
    expired = _and(where, {"expires_at": {"lte": options.get("now") or _now()}})
    if not (memory.count(expired)):
        return ()
    before = {**options, "now": _EARLIEST}
    result = _search(memory, query, expired, before, threshold)
    return result.hits


def _superseded_by(memory: Memory, memory_id: str) -> list[str]:
    """The ids of the memories whose place one has taken, and of those whose place these took."""
    ids: list[str] = []
    open_ids = [memory_id]
    while open_ids:
        source = open_ids.pop()
        links = memory.links(source)
        for link in links:
            is_older = link.type == "supersedes" and link.source == source
            if is_older and link.target not in (*ids, memory_id):
                ids.append(link.target)
                open_ids.append(link.target)
    return ids


def _visible(where: Mapping[str, Any], show_expired: bool, latest_only: bool) -> dict[str, Any]:
    """A filter without what has expired and what was superseded, unless it is asked for."""
    status = {"status": "active"} if latest_only else _ANY_VERSION
    unexpired = {} if show_expired else {"$not": {"expires_at": {"lte": _now()}}}
    return _and(where, status, unexpired)


_ANY_VERSION = {"status": {"in": ["active", "superseded"]}}
_EARLIEST = "1970-01-01"


def _and(*parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"$and": [part for part in parts if part]}


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()


def _lacks_vectors(result: SearchResult) -> str:
    """The reason why a search compared no vectors; empty if it did."""
    return next((lack for lack in result.degraded if lack.startswith("vector")), "")


def _score(hit: Hit) -> float:
    """The cosine; of a search by words alone s / (1 + s), s the score of the profile."""
    if hit.similarity is not None:
        return min(hit.similarity, 1.0)
    return max(hit.score, 0.0) / (1.0 + max(hit.score, 0.0))


def _noted(answer: dict[str, Any], notes: Iterator[str] | Sequence[str]) -> dict[str, Any]:
    """An answer with the notes on what was not done; without any, as mem0 has it."""
    return {**answer, "notes": list(notes)} if notes else answer


def _check_top_k(top_k: Any) -> None:
    if not isinstance(top_k, int) or isinstance(top_k, bool):
        raise InvalidInput("top_k", "must be a valid integer")
    if top_k < 0:
        raise InvalidInput("top_k", f"is {top_k}", "give a non-negative integer")


def _check_threshold(threshold: Any) -> None:
    if threshold is None:
        return
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise InvalidInput("threshold", "must be a valid number")
    if not 0.0 <= threshold <= 1.0:
        raise InvalidInput("threshold", f"is {threshold}", "give one between 0 and 1")


def _checked_query(query: Any) -> str:
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("query", "must be a non-empty string")
    return query.strip()

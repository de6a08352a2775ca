"""Adding messages to a session: its last chunk goes on, and new chunks follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, replace
from salience.records.events import CONTINUED
from salience.records.fields import CHAT_CHUNKS, CHUNK, SESSION_CHUNK, TURN_CHUNK
from salience.records.filters import And, Compare
from salience.records.record import Edit, MemoryRecord, new_id
from salience.records.validation import text
from salience.retrieval.operations import Collect, Events, Extract, ReadRecords
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll
from salience.write import embedding, items, reading
from salience.write.add import CHUNK_ITEMS, add, checked_items
from salience.write.chat import (
    LABELS,
    ChatMessage,
    Mode,
    Side,
    chunk_fields,
    chunk_items,
    messages_within,
    parse_messages,
    session_item,
)
from salience.write.chunk import WriteRules, write_with_edits
from salience.write.dedup import NO_DEDUP
from salience.write.facets import FACETS, Facets, by_rules, parse_facets
from salience.write.idempotency import SAME_KEY, Once, key_reused, session_of
from salience.write.items import BORDERS_KEY
from salience.write.outcomes import Added, AddResult


def add_chat(
    messages: Any,
    scope: items.WriteContext,
    *,
    mode: Any = "chunks",
    facets: Any = by_rules,
    key: Any = None,
    common: Mapping[str, Any],
) -> Plan[AddResult]:
    """The plan of adding messages to a session; they continue one that exists.

    A conversation leaves the same chunks whether it is added in one call or in several. Repeating
    an idempotency `key` adds nothing and gives the outcomes of the first time.
    """
    mode_value: object = mode
    if not isinstance(mode_value, str) or mode_value not in ("chunks", "hybrid"):
        raise InvalidInput("mode", f"is {shown(mode)}", "use chunks or hybrid")
    facets, parsed = parse_facets(facets), parse_messages(messages)
    if not parsed:
        raise InvalidInput("messages", "have no text of a user or an assistant")
    facets_name = "a function" if callable(facets) else facets
    once = None if key is None else Once.of(key, (parsed, mode, facets_name, common))
    common = {"session_id": new_id() if once is None else session_of(once.key), **common}
    text("session_id", common["session_id"])
    for _ in range(reading.MAX_ATTEMPTS):
        done = yield from _done(once, scope)
        continuations, fresh = yield from _continuations(
            parsed, common["session_id"], scope, mode, facets, done
        )
        edits: list[Edit] = []
        problems: dict[str, None] = {}
        for continuation in continuations:
            edit, problem = yield from _continued(continuation, scope)
            edits.append(edit if once is None else _noted(edit, once))
            problems |= {problem: None} if problem else {}
        chunks = chunk_items(fresh, common, mode, facets)
        goes_on = SESSION_CHUNK in {*(done or ()), *(each.record.kind for each in continuations)}
        if mode == "hybrid" and not goes_on:
            chunks.insert(0, session_item(parsed, common, facets))
        checked = yield from checked_items(chunks[:CHUNK_ITEMS], scope, strict=True)
        if once is not None:
            checked = once.keyed(checked)
        written = yield from write_with_edits(checked, scope, WriteRules(NO_DEDUP, True), edits)
        if written is None:  # others have added to the session meanwhile
            continue
        problems |= {written.problem: None} if written.problem else {}
        further = chunks[CHUNK_ITEMS:]
        rest = yield from add(further, scope, NO_DEDUP, strict=True, once=once, first=CHUNK_ITEMS)
        updated = [*(done or {}).values(), *(Added(edit.record.id, "UPDATED") for edit in edits)]
        degraded = dict.fromkeys([*problems, *rest.degraded])
        return AddResult((*written.outcomes, *rest.items, *updated), tuple(degraded))
    raise reading.contention_error(continuations[0].record.id)


def _noted(edit: Edit, once: Once) -> Edit:
    """An edit with a key of its own, to recognise it by."""
    key = f"{once.key}#{edit.record.kind}"
    return replace(edit, note={**edit.note, "key": key, "body": once.body, "outcome": "UPDATED"})


def _done(once: Once | None, scope: items.WriteContext) -> Plan[dict[str, Added] | None]:
    """The outcomes of the edits made with a key, by kind; None if there are none."""
    if once is None:
        return None
    keys = tuple(f"{once.key}#{place}" for place in (0, CHUNK, *CHAT_CHUNKS))
    events = yield from ask(Events(scope.namespace, keys=keys))
    if any(event.payload.get("body") != once.body for event in events):
        raise key_reused()
    edits = [event for event in events if event.payload["outcome"] == "UPDATED"]
    kinds = [event.payload["key"].rpartition("#")[2] for event in edits]
    return (
        {k: Added(e.id, "UPDATED", SAME_KEY) for k, e in zip(kinds, edits, strict=True)}
        if events
        else None
    )


def _continuations(
    parsed: Sequence[ChatMessage],
    session_id: str,
    scope: items.WriteContext,
    mode: Mode,
    facets: Facets,
    done: Mapping[str, Added] | None,
) -> Plan[tuple[list[_Continuation], Sequence[ChatMessage]]]:
    """The chunks of a session that messages continue, and the messages that begin new ones.

    Chunks of kinds that are `done` already are not continued again.
    """
    first_user = (at for at, message in enumerate(parsed) if message.side == "user")
    first = next(first_user, len(parsed))  # the assistant's words before belong to the last chunk
    if done is not None:
        return [], parsed[0 if done.keys() <= {SESSION_CHUNK} else first :]
    last, whole = yield from _open_chunks(session_id, mode, scope)
    further = parsed[: 0 if last is None else first]
    fresh = parsed[len(further) :]
    continuations: list[_Continuation] = []
    if last is not None:
        following = fresh[0].text if fresh else ""
        # Facets that are given are those of the new chunks; an extractor reads the whole chunk.
        chunk_facets = facets if callable(facets) else None
        continuations.append(_Continuation(last, further, following, chunk_facets))
    if whole is not None:
        continuations.append(_Continuation(whole, parsed, "", facets))
    return continuations, fresh


def _open_chunks(
    session_id: Any, mode: Mode, scope: items.WriteContext
) -> Plan[tuple[MemoryRecord | None, MemoryRecord | None]]:
    """The last chunk of a session and its session chunk, None if there is none."""
    kinds = (TURN_CHUNK, SESSION_CHUNK) if mode == "hybrid" else (CHUNK,)
    where = And((Compare("session_id", "eq", session_id), Compare("kind", "in", kinds)))
    query = Query("", (scope.namespace,), scope.now.timestamp(), where=where)
    chunks = yield from ask(Collect(query, (MatchAll(),), None, ("kind", "position")))
    order = chunks.floats("position").argsort().tolist()
    latest = {chunks["kind"][at]: at for at in order}
    records = yield from ask(ReadRecords(chunks.rows[[latest[kind] for kind in latest]]))
    record_of = dict(zip(latest, records, strict=True))
    return record_of.get(kinds[0]), record_of.get(SESSION_CHUNK)


@dataclass(frozen=True)
class _Continuation:
    """A chunk as it was read, its further messages, and the next text of the user after it."""

    record: MemoryRecord
    further: Sequence[ChatMessage]
    following: str
    facets: Facets


def _continued(continuation: _Continuation, scope: items.WriteContext) -> Plan[tuple[Edit, str]]:
    """The edit of a chunk with its further messages, and why vectors are missing, if any are."""
    record, further = continuation.record, continuation.further
    following = continuation.following
    texts: dict[str, str | None] = {"next_user": following} if following else {}
    if further:
        item = chunk_fields([*_messages_of(record, further), *further], continuation.facets)
        [entities] = yield from ask(Extract((item["content"],)))
        record = replace(
            record,
            content=item["content"],
            metadata=_continued_metadata(record.metadata, item["metadata"], continuation.facets),
            entities=entities,
            updated_at=scope.now,
        )
        if continuation.facets is not None:  # those that the whole does not have any more
            texts |= dict.fromkeys(f"facet_{name}" for name in FACETS)
        texts |= item["vector_texts"]
    record = items.with_vector_texts(record, texts)
    if further:
        texts |= items.content_texts(record)
    vector_of, problem = yield from embedding.embed_to_keep(filter(None, texts.values()), scope)
    vectors = {name: vector_of[words] for name, words in texts.items() if words in vector_of}
    stale = tuple(sorted(texts))
    return Edit(record, vectors, CONTINUED, was=continuation.record, stale=stale), problem


def _continued_metadata(
    old: Mapping[str, Any], new: Mapping[str, Any], facets: Facets
) -> dict[str, Any]:
    """The metadata of a chunk that goes on: the ids of all turns, and the facets of the whole."""
    rest = {k: v for k, v in old.items() if k != "facets" or facets is None}
    turns = [*old.get("turns", ()), *new.get("turns", ())]
    return {**rest, **new, **({"turns": turns} if turns else {})}


def _messages_of(record: MemoryRecord, further: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The messages of a chunk, by their borders.

    A chunk written before borders were kept, or edited since, is split at the labels in use.
    """
    messages = messages_within(record.content, record.metadata.get(BORDERS_KEY))
    return _parse_chunk(record.content, further) if messages is None else messages


def _parse_chunk(content: str, further: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The messages of a chunk, from its content and the labels in use; the inverse of `str`."""
    sides: dict[str, Side] = {label: side for side, label in LABELS.items()}
    sides |= {message.label: message.side for message in further}
    labels = "|".join(re.escape(label) for label in sorted(sides))
    starts = [match.start() for match in re.finditer(rf"^(?:{labels}): ", content, re.MULTILINE)]
    ends = [*starts, len(content) + 1]
    messages = []
    if ends[0] > 0:  # it begins with a label that is not in use any more
        messages.append(ChatMessage("user", "", content[: ends[0] - 1]))
    for start, end in zip(starts, ends[1:], strict=True):
        label, _, words = content[start : end - 1].partition(": ")
        messages.append(ChatMessage(sides[label], label, words))
    return messages

"""Chunks: a conversation as questions with their answers, and as whole sessions.

A chunk is one exchange: messages of the user with the answer of the assistant. Its vectors are
`content` (all of it), `user`, `asst`, `next_user` (the next message of the user, once there is
one) and `facet_<name>` (see `salience.write.facets`). In the mode "hybrid" the session is a memory,
too, which the chunks of its turns support; see the profile "multi_route".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal

from salience.errors import InvalidInput, shown
from salience.language.english import ASSISTANT, USER
from salience.records.fields import SESSION_CHUNK, TURN_CHUNK
from salience.records.filters import And, Compare
from salience.records.record import Draft, MemoryRecord, new_id
from salience.records.validation import text
from salience.retrieval.operations import Extract, FetchColumns, Put, ReadRecords, SearchRoute
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll
from salience.write import embedding, items, reading
from salience.write.add import add
from salience.write.dedup import NO_DEDUP
from salience.write.facets import Facets, by_rules, facets_of
from salience.write.facets import parse_facets as checked_facets
from salience.write.outcomes import Added, AddResult

CHUNK = "chunk"
Mode = Literal["chunks", "hybrid"]
ItemMode = Literal["chunks", "hybrid", "sides"]
Side = Literal["user", "asst"]
SIDES = ("user", "asst", "next_user")
"""The vectors of the text of each side, and of the next message of the user."""
_LABELS: dict[Side, str] = {"user": "User", "asst": "Assistant"}
_SESSION_FIELDS = ("agent_id", "user_id", "tags", "created_at")


@dataclass(frozen=True)
class ChatMessage:
    """One message: its side, the label before it in a chunk, text, time and id."""

    side: Side
    label: str
    text: str
    at: Any = None
    id: str | None = None

    def __str__(self) -> str:
        return f"{self.label}: {self.text}" if self.label else self.text


def parse_messages(messages: Any) -> list[ChatMessage]:
    """The messages of a chat, each `{"role", "content"}` and perhaps `name`, `created_at`, `id`.

    Messages without text and those of a system or a tool are left out.

    Raises:
        InvalidInput: names the message that is wrong.
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise InvalidInput("messages", "must be a list of chat messages")
    parsed = []
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise InvalidInput(
                f"messages[{i}]", "is no chat message", 'write {"role": "user", "content": "..."}'
            )
        side = _side(message["role"])
        words = "" if side is None else message_text(message, f"messages[{i}]")
        if side is not None and words.strip():
            label = str(message.get("name") or _LABELS[side])
            parsed.append(
                ChatMessage(side, label, words, message.get("created_at"), _id(message.get("id")))
            )
    return parsed


def _id(value: Any) -> str | None:
    return None if value is None else str(value)


def _side(role: str) -> Side | None:
    folded = role.casefold()
    return "user" if folded in USER else "asst" if folded in ASSISTANT else None


def split_exchanges(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """The messages in exchanges: each message of the user begins one."""
    exchanges: list[list[ChatMessage]] = []
    for message in messages:
        if message.side == "user" or not exchanges:
            exchanges.append([])
        exchanges[-1].append(message)
    return exchanges


def text_of_side(messages: Sequence[ChatMessage], side: Side) -> str:
    """The text of all messages of one side."""
    return "\n".join(message.text for message in messages if message.side == side)


def chunk_fields(messages: Sequence[ChatMessage], facets: Facets) -> dict[str, Any]:
    """The fields of one chunk, as `Memory.add_many` takes them."""
    user, assistant = text_of_side(messages, "user"), text_of_side(messages, "asst")
    aspects = facets_of(facets, user, assistant)
    texts = {"user": user, "asst": assistant} | {f"facet_{n}": t for n, t in aspects.items()}
    metadata: dict[str, Any] = {"facets": aspects} if aspects else {}
    if any(message.id for message in messages):
        metadata["turns"] = [message.id for message in messages if message.id]
    return {
        "content": "\n".join(map(str, messages)),
        "vector_texts": {name: words for name, words in texts.items() if words.strip()},
        "metadata": metadata,
    }


def chunk_items(
    messages: Sequence[ChatMessage], common: Mapping[str, Any], mode: Mode, facets: Facets
) -> list[dict[str, Any]]:
    """The chunks of one session; the user's text of each is `next_user` of the one before."""
    items: list[dict[str, Any]] = []
    for exchange in split_exchanges(messages):
        item = {
            **common,
            **chunk_fields(exchange, facets),
            "kind": TURN_CHUNK if mode == "hybrid" else CHUNK,
        }
        if exchange[0].at is not None:
            item["created_at"] = exchange[0].at
        if items and exchange[0].side == "user":
            items[-1]["vector_texts"]["next_user"] = text_of_side(exchange, "user")
        items.append(item)
    return items


def session_item(
    messages: Sequence[ChatMessage], common: Mapping[str, Any], facets: Facets
) -> dict[str, Any]:
    """The item of a whole session."""
    item = {**common, **chunk_fields(messages, facets), "kind": SESSION_CHUNK}
    if messages[0].at is not None:
        item["created_at"] = messages[0].at
    return item


def chunks_from_turns(
    items: Iterable[Mapping[str, Any]], mode: ItemMode = "chunks", facets: Facets = by_rules
) -> Iterator[dict[str, Any]]:
    """Chunks from the turns of conversations, as `Memory.add_many` takes both.

    A turn is an item with texts as `session_id`, `speaker` and `content`; others pass as they are.
    If the speakers are not called user and assistant, the first one of a session is the user. The
    ids of the turns are kept as `metadata.turns`, and the id of a chunk is made of the first one,
    so that it is the same each time.

    In the mode "sides" every turn stays a memory of its own, with the vector of its side; the turn
    before one of the user also has a vector of that next text (`next_user`).
    """
    if mode == "sides":
        yield from _sided(items)
        return
    sessions: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        if _is_turn(item):
            sessions.setdefault(item["session_id"], []).append(item)
        else:
            yield item if isinstance(item, dict) else dict(item)
    for name, turns in sessions.items():
        common = {"session_id": name, **{k: turns[0][k] for k in _SESSION_FIELDS if k in turns[0]}}
        first = turns[0]["speaker"]
        messages = [
            ChatMessage(
                _side_of(turn["speaker"], first),
                turn["speaker"],
                turn["content"],
                turn.get("created_at"),
                _id(turn.get("id")),
            )
            for turn in turns
        ]
        whole = [session_item(messages, common, facets)] if mode == "hybrid" else []
        for item in (*whole, *chunk_items(messages, common, mode, facets)):
            first_turn = next(iter(item["metadata"].get("turns", ())), None)
            yield {**item, "id": f"{item['kind']}:{first_turn}"} if first_turn else item


def _is_turn(item: Mapping[str, Any]) -> bool:
    return all(isinstance(item.get(name), str) for name in ("session_id", "speaker", "content"))


def _sided(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items in their order, turns with the texts of their vectors."""
    copies = [copy(item) if isinstance(item, dict) else dict(item) for item in items]
    first: dict[str, str] = {}
    before: dict[str, dict[str, str]] = {}  # the texts of the last turn, by session
    for item in copies:
        if not _is_turn(item):
            continue
        name, speaker = item["session_id"], item["speaker"]
        side = _side_of(speaker, first.setdefault(name, speaker))
        if side == "user" and name in before:
            before[name]["next_user"] = item["content"]
        before[name] = item["vector_texts"] = {side: item["content"]}
    return copies


def _side_of(speaker: str, first: str) -> Side:
    """The side of a speaker in a session that `first` began."""
    return _side(speaker) or ("user" if speaker == first else "asst")


def add_chat(
    messages: Any,
    scope: items.WriteContext,
    *,
    mode: Any = "chunks",
    facets: Any = by_rules,
    common: Mapping[str, Any],
) -> Plan[AddResult]:
    """The plan of adding messages to a session; they continue one that exists.

    A conversation leaves the same chunks whether it is added in one call or in several.
    """
    given: object = mode
    if not isinstance(given, str) or given not in ("chunks", "hybrid"):
        raise InvalidInput("mode", f"is {shown(mode)}", "use chunks or hybrid")
    facets, found = checked_facets(facets), parse_messages(messages)
    if not found:
        raise InvalidInput("messages", "have no text of a user or an assistant")
    common = {"session_id": new_id(), **common}
    text("session_id", common["session_id"])
    last, whole = yield from _open(common["session_id"], mode, scope)
    further: list[ChatMessage] = []  # what the assistant goes on to say in the last chunk
    if last is not None:
        begin = next((i for i, each in enumerate(found) if each.side == "user"), len(found))
        further = found[:begin]
    fresh = found[len(further) :]
    going_on: list[_GoingOn] = []
    if last is not None:
        going_on.append(_GoingOn(last, further, fresh[0].text if fresh else "", None))
    if whole is not None:
        going_on.append(_GoingOn(whole, found, "", facets))
    lacks = dict[str, None]()
    continued = []
    for each in going_on:  # all of it before anything is written
        put, lack = yield from _continued(each, scope)
        continued.append(put)
        lacks[lack] = None
    items = chunk_items(fresh, common, mode, facets)
    if mode == "hybrid" and whole is None:
        items.insert(0, session_item(found, common, facets))
    added = yield from add(items, scope, NO_DEDUP, strict=True)
    for each, put in zip(going_on, continued, strict=True):
        yield from _replaced(each, put, scope)
    updated = (Added(each.record.id, "UPDATED") for each in going_on)
    degraded = dict.fromkeys([*added.degraded, *(lack for lack in lacks if lack)])
    return AddResult((*added.items, *updated), tuple(degraded))


def _open(
    session_id: Any, mode: Mode, scope: items.WriteContext
) -> Plan[tuple[MemoryRecord | None, MemoryRecord | None]]:
    """The last chunk of a session and its session chunk, where they are there already."""
    kinds = (TURN_CHUNK, SESSION_CHUNK) if mode == "hybrid" else (CHUNK,)
    where = And((Compare("session_id", "eq", session_id), Compare("kind", "in", kinds)))
    query = Query("", (scope.namespace,), scope.now.timestamp(), where=where)
    ranking = yield from ask(SearchRoute(MatchAll(), query, None))
    columns = yield from ask(FetchColumns(ranking.rows, ("kind", "position")))
    order = sorted(range(len(ranking.rows)), key=lambda at: columns["position"][at])
    latest = {columns["kind"][at]: at for at in order}
    records = yield from ask(ReadRecords(ranking.rows[[latest[kind] for kind in latest]]))
    found = dict(zip(latest, records, strict=True))
    return found.get(kinds[0]), found.get(SESSION_CHUNK)


@dataclass(frozen=True)
class _GoingOn:
    """A chunk as it was read, what was said further, and what the user said after it."""

    record: MemoryRecord
    further: Sequence[ChatMessage]
    following: str
    facets: Facets


def _replaced(each: _GoingOn, put: Put, scope: items.WriteContext) -> Plan[None]:
    """Write a chunk that goes on; go on from what it is now if others have changed it meanwhile."""
    for _ in range(reading.MAX_ATTEMPTS):
        if not (yield from ask(put)):
            return
        record = yield from reading.read_record(each.record.id, scope.namespace)
        if record is None:
            raise reading.not_found(each.record.id, scope.namespace)
        each = replace(each, record=record)
        put, _ = yield from _continued(each, scope)
    raise reading.contention_error(each.record.id)


def _continued(each: _GoingOn, scope: items.WriteContext) -> Plan[tuple[Put, str]]:
    """The write of a chunk with what was said further, and what it had to be done without."""
    record, further = each.record, each.further
    texts: dict[str, str] = {"next_user": each.following} if each.following else {}
    if further:
        item = chunk_fields([*_read(record.content, further), *further], each.facets)
        [entities] = yield from ask(Extract((item["content"],)))
        turns = [*record.metadata.get("turns", ()), *item["metadata"].pop("turns", ())]
        metadata = {**record.metadata, **item["metadata"], **({"turns": turns} if turns else {})}
        record = replace(
            record,
            content=item["content"],
            metadata=metadata,
            entities=entities,
            updated_at=scope.now,
        )
        texts |= item["vector_texts"]
    record = items.with_vector_texts(record, texts)
    if further:
        texts["content"] = items.embedded_text(record)
    made, lack = yield from embedding.embed_texts(texts.values(), scope)
    changed = {name: made[words] for name, words in texts.items() if words in made}
    put = Put(
        (Draft(record, changed),),
        replace=True,
        was=each.record,
        stale=tuple(sorted(texts)),
        embedder=scope.embedder,
        actor=scope.actor,
    )
    return put, lack


def _read(content: str, further: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The messages of a chunk's content, by the labels in use; the inverse of writing them."""
    sides: dict[str, Side] = {label: side for side, label in _LABELS.items()}
    sides |= {each.label: each.side for each in further}
    marks = "|".join(re.escape(label) for label in sorted(sides))
    begins = [found.start() for found in re.finditer(rf"^(?:{marks}): ", content, re.MULTILINE)]
    ends = [*begins, len(content) + 1]
    found = []
    if ends[0] > 0:  # it begins with a label that is not in use any more
        found.append(ChatMessage("user", "", content[: ends[0] - 1]))
    for start, end in zip(begins, ends[1:], strict=True):
        label, _, words = content[start : end - 1].partition(": ")
        found.append(ChatMessage(sides[label], label, words))
    return found


_OWN = ("created_at", "id")


def message_items(content: Sequence[Any], common: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One item for each chat message `{"role", "content"}`, in one session.

    The speaker is the message's `name` or else its `role`, and its `created_at` and `id` are those
    of the memory; messages without text are left out.

    Raises:
        InvalidInput: names the message that is wrong.
    """
    session = common.get("session_id") or new_id()
    if common.get("id") is not None:
        raise InvalidInput("id", "cannot name several messages", "leave it out")
    # Each turn is given the same, so what can be read only once is read here.
    common = {n: list(each) if isinstance(each, Iterator) else each for n, each in common.items()}
    items = []
    for i, message in enumerate(content):
        if not isinstance(message, Mapping) or "role" not in message:
            raise InvalidInput(
                f"content[{i}]", "is no chat message", 'write {"role": "user", "content": "..."}'
            )
        said = message_text(message, f"content[{i}]")
        if said.strip():
            speaker = common.get("speaker") or message.get("name") or message["role"]
            own = {name: message[name] for name in _OWN if message.get(name) is not None}
            items.append(
                {**common, **own, "content": said, "speaker": speaker, "session_id": session}
            )
    if not items:
        raise InvalidInput("content", "has no message with text")
    return items


def message_text(message: Mapping[str, Any], name: str) -> str:
    """The text of a chat message, "" where it has none.

    Raises:
        InvalidInput: its content is something else; the message goes by `name`.
    """
    said = message.get("content")
    if said is None or isinstance(said, str):
        return said or ""
    if not isinstance(said, list | tuple) or not all(isinstance(p, str | Mapping) for p in said):
        raise InvalidInput(name, "has a content that is no text", "give text, or a list of parts")
    # Of the parts, as multimodal chat has them, images and the like have no text.
    texts = (part if isinstance(part, str) else part.get("text") for part in said)
    return "\n".join(text for text in texts if isinstance(text, str))


def items_of(content: Any, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The items that `Memory.add` writes: one of a text, or one for each chat message.

    Fields that are None are left out; each message gets an idempotency key of its own.
    """
    fields = {name: value for name, value in fields.items() if value is not None}
    if not isinstance(content, Sequence) or isinstance(content, (str, bytes)):
        return [{"content": content, **fields}]
    key = fields.pop("idempotency_key", None)
    items = message_items(content, fields)
    if key is None:
        return items
    return [{**item, "idempotency_key": f"{key}#{i}"} for i, item in enumerate(items)]

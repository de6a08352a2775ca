"""Memories and conversations as JSON, one object a line, in an array, or as a document."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from salience.importers import jsonl
from salience.importers._entries import EMPTY, Ids, documents, time
from salience.importers._source import FLAT, ImportProblem, Item, Job, Place, moment, text
from salience.importers.shapes import at, role, said
from salience.lazily import regex
from salience.records.events import ACCESSES
from salience.records.fields import FIELDS
from salience.records.limits import STATUSES

_ALIASES = {
    "text": "content",
    "memory": "content",
    "session": "session_id",
    "timestamp": "created_at",
    "name": "speaker",
    "role": "speaker",
}
# Names that chats have for fields, which others may mean otherwise: they count where they fit.
_FITTING = {
    **dict.fromkeys(("message", "value", "body", "parts"), "content"),
    **dict.fromkeys(
        ("sessionId", "sessionID", "conversation_id", "conversationId", "thread_id", "threadId"),
        "session_id",
    ),
    **dict.fromkeys(("createdAt", "create_time", "date", "time", "ts", "sent_at"), "created_at"),
    **dict.fromkeys(("sender", "from", "author"), "speaker"),
    **dict.fromkeys(("messageId", "message_id", "uuid"), "id"),
}
_BOOKKEEPING = frozenset(("namespace", "updated_at", "version", *ACCESSES))
_INACTIVE = frozenset(STATUSES) - {"active"}  # other texts are no status
_FIELDS = (*(name for name in FIELDS if name not in {*_BOOKKEEPING, "status"}), "links")
_TIMES = {name for name, field in FIELDS.items() if field.type == "time"}
_RANKS = {name: rank for rank, name in enumerate((*_FIELDS, *_ALIASES, *_FITTING))}
_LISTS = ("messages", "conversation", "conversations", "turns")  # of messages
LISTING = regex(
    rb'\s*\{\s*("(total|cursor)"\s*:[^,]*,\s*)*"memories"\s*:\s*\[\s*(\]|\{'
    + FLAT.encode()
    + rb'"content"\s*:)'
)
"""The start of what `salience list --json` prints."""


def read(path: Place, job: Job) -> Iterator[Item]:
    """Yield the memories of a file with a JSON object in each line, in an array, or as a whole.

    The array may be in what `salience list --json` prints.

    An object has the fields of a memory, or their aliases: `text` or `memory` for `content`,
    `session` for `session_id`, `timestamp` for `created_at`, `name` or `role` for `speaker`, and
    where their values fit the names that chats have (`sender`, `createdAt`, `conversationId`).
    Other keys go to the metadata, except for those that a store counts by itself. The `status` of a
    memory that is not active (see `salience.records.limits.STATUSES`) is passed on: `add_many`
    refuses it, `Memory.update` sets it. An object with a list of `messages` (`conversation`,
    `conversations`, `turns`) gives a turn for each message that has text, all in one session, and
    so does an array of nothing but messages. An item without content gets its place as its id, as
    it will be refused.

    Raises:
        ImportProblem: the document is broken; a line is not a JSON object, unless it is left out.
    """
    ids = Ids()
    for place, document in documents(path, job):
        for position, entry in _entries(place, document):
            try:
                yield from _items(path, position, entry, ids)
            except ImportProblem as problem:
                job.left_out(problem)


def _entries(place: str, document: Any) -> Iterator[tuple[str, Any]]:
    listed = document.get("memories") if isinstance(document, dict) else None
    if isinstance(listed, list) and "content" not in document:
        numbered = list(enumerate(listed, start=1))
        if document.get("order") == "newest":
            numbered.reverse()  # what was written first is written first again
        yield from ((f"item {number}", entry) for number, entry in numbered)
        return
    if isinstance(document, list) and not place and not is_conversation(document):
        yield from ((f"item {number}", entry) for number, entry in enumerate(document, start=1))
        return
    yield place or "line 1", document


def is_conversation(entries: Any) -> bool:
    """Test whether a list is of messages, each by a role, which are of no session of their own."""
    return (
        isinstance(entries, list)
        and bool(entries)
        and all(
            isinstance(entry, dict)
            and isinstance(entry.get("role"), str)
            and bool({"content", "parts"} & entry.keys())
            and not {"session_id", "session", "id"} & entry.keys()
            for entry in entries
        )
    )


def messages_of(entry: Any) -> list[Any] | None:
    """The messages of an object that is a conversation; None for any other."""
    if is_conversation(entry):
        return list(entry)
    lists = (entry.get(name) for name in _LISTS) if isinstance(entry, dict) else ()
    return next((messages for messages in lists if isinstance(messages, list)), None)


def is_field(name: str) -> bool:
    """Test whether a key is that of a field, or one of its aliases."""
    return name in _FIELDS or name in _ALIASES or name in _FITTING


def is_content(name: str) -> bool:
    """Test whether a key is that of the text of a memory."""
    return name == "content" or {**_ALIASES, **_FITTING}.get(name) == "content"


def _items(path: Place, place: str, entry: Any, ids: Ids) -> list[Item]:
    """The memories of one entry: an element of an array, or the document of a line."""
    messages = messages_of(entry)
    if messages is not None:
        shared = entry if isinstance(entry, dict) else {}
        shared = {name: value for name, value in shared.items() if value is not messages}
        return list(_turns(path, place, shared, messages, ids))
    if not isinstance(entry, dict):
        problem = f"not a JSON object but {type(entry).__name__}"
        raise _problem(path, place, problem, 'write it as {"content": "..."}')
    item = item_of(entry, place)
    if "content" not in item:
        stem = getattr(path, "stem", "")
        item.setdefault("id", f"{stem}:{place.partition(' ')[2]}")
    return [item]


def _problem(path: Place, place: str, problem: str, remedy: str) -> ImportProblem:
    kind, _, number = place.partition(" ")
    if kind == "line":
        return ImportProblem(path, problem, remedy, line=int(number))
    return ImportProblem(path, f"{place}: {problem}", remedy)


def item_of(entry: dict[str, Any], place: str) -> Item:
    """The memory of a mapping with its fields, or their aliases; other keys are metadata."""
    namespace = entry.get("namespace")
    item = Item({}, place, namespace=None if namespace is None else str(namespace))
    extra: dict[str, Any] = {}
    # Of two names for a field the first one counts, and the other is an extra.
    for key in sorted(entry, key=lambda key: _RANKS.get(key, len(_RANKS))):
        value = entry[key]
        name = key if key in _FIELDS else _ALIASES.get(key)
        if name is None and key in _FITTING:
            name, value = _fitted(_FITTING[key], value, item)
        if name in _TIMES:
            value = moment(value)
        if value is None or key in _BOOKKEEPING or (key, value) == ("status", "active"):
            continue
        if key == "status" and isinstance(value, str) and value in _INACTIVE:
            name = key
        if name is None or name in item:
            extra[key] = entry[key]
        elif name == "content":
            if content := said(value):
                item["content"] = content
        else:
            item[name] = value
    if extra:
        item["metadata"] = {**extra, **_mapping(item.get("metadata"))}
    return item


def _fitted(field: str, value: Any, item: Item) -> tuple[str | None, Any]:
    """The field of a key that may mean something else, and its value; no field if it does."""
    if field in item:
        return None, value
    if field == "content":
        fitted: Any = said(value)
    elif field == "created_at":
        fitted = time(value.get("created") if isinstance(value, dict) else value)
    elif field == "speaker":
        fitted = at(value, "name|role") if isinstance(value, dict) else value
    else:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        fitted = str(value) if is_number else value
    fits = fitted not in EMPTY and (field == "created_at" or isinstance(fitted, str))
    return (field, fitted) if fits else (None, value)


def _mapping(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"metadata": value}


def _turns(
    path: Place, place: str, entry: dict[str, Any], messages: list[Any], ids: Ids
) -> Iterator[Item]:
    """The messages of a conversation, each with the fields that the conversation has."""
    shared = item_of(entry, place)
    name = shared.pop("id", None)
    turns = []
    for number, message in enumerate(messages, start=1):
        if not isinstance(message, dict):
            problem = f"message {number} is not a JSON object but {type(message).__name__}"
            raise _problem(path, place, problem, 'write it as {"role": "user", "content": "..."}')
        turn = item_of(message, f"{place}, message {number}")
        if "content" in turn:  # else a call of a tool, or an empty answer
            turns.append(turn)
    session = str(shared.get("session_id") or name or ids.session(turns))
    for turn in turns:
        item = {"kind": "turn", **shared, **turn, "session_id": session}
        if "from" in messages[0] and isinstance(turn.get("speaker"), str):
            item["speaker"] = role(turn["speaker"])
        id = turn.get("id")
        if id is None:
            item["id"] = ids.turn(session, turn)
        elif isinstance(id, int) or (isinstance(id, str) and id.isdigit()):
            item["id"] = f"{session}:{id}"  # numbered within the conversation
        metadata = {**_mapping(shared.get("metadata")), **_mapping(turn.get("metadata"))}
        yield Item(
            {**item, "metadata": metadata} if metadata else item,
            turn.place,
            namespace=turn.namespace or shared.namespace,
        )


# Tables: CSV whose columns are named

_COLUMNS = {
    "highlight": "content",
    "quote": "content",
    "note": "note",
    "book title": "title",
    "highlighted at": "created_at",
}


_PAIRS = (("question", "answer"), ("front", "back"), ("prompt", "response"))


def read_csv(place: Place, job: Job) -> Iterator[Item]:
    """Yield the rows of a table whose first line names the columns, by what these are called.

    A row is like an object of JSON lines, in whatever case its keys are; the columns of highlights
    (Readwise) are known, too, and `told.columns` names others. Where a row has a question and an
    answer (front and back of a card, prompt and response), its text is both. All others are
    metadata. A row goes by what it says, its title and its time.

    Raises:
        ImportProblem: no column has the text; names those that there are.
    """
    assert isinstance(place, Path)
    source = text(place)
    try:
        dialect: Any = csv.Sniffer().sniff(source[:10_000], ",;\t|")
    except csv.Error:
        dialect = csv.excel
    rows = csv.reader(StringIO(source), dialect, strict=False)
    try:
        names = [name.strip() for name in next(rows, [])]
        pair = _pair(names) if "content" not in job.columns else None
        text_names = names if pair is None else [name for name in names if name not in pair]
        columns = _columns(place, text_names, job.columns, is_text_known=pair is not None)
        columns |= dict(zip(pair, pair, strict=True)) if pair is not None else {}
        ids = Ids()
        for row in rows:
            where = f"line {rows.line_num}"
            if not any(row):
                continue
            if len(row) > len(names):
                problem = f"has {len(row)} values for {len(names)} columns"
                job.left_out(
                    ImportProblem(place, problem, "put quotes around it", line=rows.line_num)
                )
                continue
            entry = {columns[n]: v for n, v in zip(names, row, strict=False) if n and v.strip()}
            if pair is not None:
                entry["content"] = "\n".join(entry.pop(n) for n in pair if n in entry)
            item = jsonl.item_of(entry, where)
            if isinstance(item.get("tags"), str):
                item["tags"] = [tag.strip() for tag in item["tags"].split(",") if tag.strip()]
            item.setdefault("kind", "note")
            item.setdefault("id", ids.of(*map(item.get, ("content", "title", "created_at"))))
            yield item
    except csv.Error as problem:
        raise ImportProblem(
            place, f"is not a table: {problem}", "save it as CSV", line=rows.line_num
        ) from None


def _pair(names: Sequence[str]) -> list[str] | None:
    """The columns of a question and its answer, which are one memory; None without them."""
    lower = {name.casefold(): name for name in names}
    columns = ([lower.get(part) for part in pair] for pair in _PAIRS)
    return next(([question, answer] for question, answer in columns if question and answer), None)


def _columns(
    place: Path, names: Sequence[str], mapped: Mapping[str, str], *, is_text_known: bool
) -> dict[str, str]:
    """The field, or the key of metadata, that each column has."""
    for field, column in mapped.items():
        if column not in names:
            problem = f"has no column {column!r} for {field}: it has {', '.join(names)}"
            raise ImportProblem(place, problem, "name one of these")
    lower = {name: name.casefold() for name in names}
    columns = {
        name: _COLUMNS.get(low, low if jsonl.is_field(low) else name) for name, low in lower.items()
    }
    columns |= {column: field for field, column in mapped.items()}
    if not is_text_known and not any(jsonl.is_content(field) for field in columns.values()):
        problem = f"no column of {', '.join(names) or 'none'} is known to be the text"
        raise ImportProblem(place, problem, "name it as --map content=COLUMN")
    return columns

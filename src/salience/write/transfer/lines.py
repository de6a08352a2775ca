"""Lines of an export: one JSON object each, written and read.

The first is the header, `{"salience": "export", "version": 1, ...}`. A line with a `namespace`
begins that, with its number of memories, its notes and the events that happened to all of them. A
line with a `memory` has its fields (those that are not the defaults), and its `events`, `links`,
`vectors` and `former_vectors`, if there are any. The last line, `end`, counts them all, and has a
digest of all lines before.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from salience.display.result import PLAIN_TYPES, to_json
from salience.errors import InvalidInput, shown
from salience.records.events import Event, EventType, check_payload
from salience.records.fields import FIELDS
from salience.records.limits import Limits
from salience.records.record import (
    ACCESSES_KEPT,
    BLANK,
    EMPTY,
    LINK_TYPES,
    Embedding,
    Link,
    MemoryRecord,
)
from salience.records.validation import (
    integer,
    optional_text,
    optional_timestamp,
    storable,
    text,
    timestamp,
    unit,
)
from salience.retrieval.operations import WORK_NOTES
from salience.retrieval.questions import check_question_note
from salience.write.embedding import MISSING_NOTE
from salience.write.items import CHECKS, check_field
from salience.write.transfer.parts import FormerVector, Outline, Part, copied_notes

FORMAT, VERSION = "export", 1
_DEFAULTS = vars(BLANK)
_DERIVED = ("updated_at", "added_at", "accesses")  # from the time of creation
_STORED_DEFAULTS = [(n, object() if n in _DERIVED else _DEFAULTS[n]) for n in FIELDS]
_SCALARS = PLAIN_TYPES | {float}
_EVENT_TYPES = frozenset(get_args(EventType)) - {"erase"}  # a tombstone is of its store
_NUMBERS = {
    name: int if field.whole else float for name, field in FIELDS.items() if field.type == "number"
}
_MAX_SEQ = 2**62
_ENCODED = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
Fields = Mapping[str, Any]


def dump(line: Fields) -> str:
    """A line as it is written."""
    return _ENCODED(line) + "\n"


def header_line(vectors: bool, embedder: str | None) -> dict[str, Any]:
    """The first line; it names the embedder of the vectors that it says to have."""
    line = {"salience": FORMAT, "version": VERSION, "vectors": vectors}
    return {**line, "embedder": embedder} if vectors else line


def namespace_line(source: Outline) -> dict[str, Any]:
    """The line that begins a namespace."""
    line: dict[str, Any] = {"namespace": source.namespace, "memories": len(source.rows)}
    if source.notes:
        line["notes"] = dict(source.notes)
    if source.events:
        line["events"] = [_event_fields(event) for event in source.events]
    return line


def memory_line(part: Part) -> dict[str, Any]:
    """The line of a memory."""
    line: dict[str, Any] = {"memory": _record_fields(part.record)}
    if part.events:
        line["events"] = [_event_fields(event) for event in part.events]
    if part.links:
        line["links"] = [
            {
                "target": link.target,
                "type": link.type,
                "weight": float(link.weight),
                "created_at": to_json(link.created_at),
            }
            for link in part.links
        ]
    if part.vectors:
        line["vectors"] = {name: _packed(part.vectors[name]) for name in sorted(part.vectors)}
    if part.former:
        line["former_vectors"] = [
            [seq, name, _packed(vector)]
            for seq, name, vector in sorted(part.former, key=lambda each: each[:2])
        ]
    return line


def _record_fields(record: MemoryRecord) -> dict[str, Any]:
    """The fields of a record that a reader cannot derive."""
    values = vars(record)
    fields = {}
    for name in [name for name, default in _STORED_DEFAULTS if values[name] != default]:
        value = values[name]
        if name in _DERIVED and value == _derived(name, record.created_at):
            continue
        if name in _NUMBERS and value is not None:
            value = _NUMBERS[name](value)
        fields[name] = value if type(value) is str else _sorted(to_json(value))
    return fields


def _derived(name: str, created_at: Any) -> Any:
    """The value of a field that a line does not have."""
    if name in _DERIVED:
        return (created_at,) if name == "accesses" else created_at
    return _DEFAULTS[name]


def _event_fields(event: Event) -> dict[str, Any]:
    fields = {"seq": event.seq, "type": event.type, "at": to_json(event.at)}
    who = {"actor": event.actor, "session": event.session}
    fields.update((name, value) for name, value in who.items() if value is not None)
    return {**fields, "payload": _sorted(event.payload)} if event.payload else fields


def _sorted(value: Any) -> Any:
    """JSON with the keys of all mappings in order, which differs between stores."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, (list, tuple)) else value


def _packed(vector: Embedding) -> str:
    """A vector as base64 of its float16 numbers, which is how stores keep it."""
    return b64encode(vector.astype("<f2").tobytes()).decode()


def parsed(raw: bytes) -> dict[str, Any]:
    """The JSON object of a line."""
    try:
        line = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        raise InvalidInput("line", f"is not JSON: {problem}", "export again") from None
    if not isinstance(line, dict):
        raise InvalidInput("line", f"is not a JSON object but {type(line).__name__}")
    if b"\\u" in raw:  # an escape may be of what no store can keep
        _check_texts(line)
    return line


def _check_texts(value: Any) -> None:
    if isinstance(value, str):
        storable("line", value)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_texts(key)
            _check_texts(item)
    elif isinstance(value, list):
        for item in value:
            _check_texts(item)


def check_header(line: Fields) -> None:
    """Refuse a file that is not an export, or one of a newer version."""
    if line.get("salience") != FORMAT:
        raise InvalidInput("line", "is not the header of an export", "give a file of `export`")
    version = line.get("version")
    if version != VERSION:
        raise InvalidInput(
            "version", f"is {shown(version)}, not {VERSION}", "upgrade salience to read it"
        )


def notes_of(line: Fields) -> dict[str, str]:
    """The notes of the line of a namespace."""
    notes = line.get("notes", {})
    if not isinstance(notes, dict) or not all(isinstance(value, str) for value in notes.values()):
        raise InvalidInput("notes", "must be a mapping of texts")
    if working := sorted(notes.keys() & set(WORK_NOTES)):
        raise InvalidInput(f"notes.{working[0]}", "is of a process at work", "leave it out")
    copied = copied_notes(notes)
    for key, value in copied.items():
        if key != MISSING_NOTE:
            check_question_note(key, value)
    return copied


def events_of(line: Fields, id: str | None, limits: Limits) -> tuple[Event, ...]:
    """The events of a line, all of the memory `id`."""
    return tuple(_event(each, id, limits) for each in _mappings(line, "events"))


def _event(fields: Fields, id: str | None, limits: Limits) -> Event:
    _check_keys("events", fields, ("seq", "type", "at", "actor", "session", "payload"))
    kind, payload = fields.get("type"), fields.get("payload", {})
    if not isinstance(kind, str) or kind not in _EVENT_TYPES or not isinstance(payload, dict):
        raise InvalidInput("events", f"{shown(dict(fields))} is no event")
    try:
        check_payload(kind, payload)
    except (ValueError, TypeError, AttributeError) as problem:
        raise InvalidInput("events", f"{shown(dict(fields))}: {problem}") from None
    _check_values(payload, limits)
    return Event(
        fields["type"],
        id,
        timestamp("events.at", fields.get("at")),
        optional_text("events.actor", fields.get("actor")),
        optional_text("events.session", fields.get("session")),
        payload or EMPTY,
        integer("events.seq", fields.get("seq"), 1, _MAX_SEQ),
    )


def _check_values(payload: Fields, limits: Limits) -> None:
    """Refuse values of fields in a payload that no memory can have had, and links to no id."""
    for part in ("set", "was"):
        for name, value in payload.get(part, EMPTY).items():
            try:
                if value is not None:  # which was not set, or is erased
                    _field(name, value, limits)
            except InvalidInput as wrong:
                path = f"events.{part}.{wrong.field}"
                raise InvalidInput(path, wrong.problem, wrong.remedy) from None
    for name in ("target", "link"):
        optional_text(f"events.{name}", payload.get(name))
    unit("events.weight", payload.get("weight"))


def part_of(line: Fields, namespace: str, limits: Limits) -> Part:
    """The memory of a line."""
    _check_keys("line", line, ("memory", "events", "links", "vectors", "former_vectors"))
    record = _record(line["memory"], namespace, limits)
    vectors, former = line.get("vectors", {}), line.get("former_vectors", [])
    if not isinstance(vectors, dict) or not isinstance(former, list):
        raise InvalidInput("vectors", "must be a mapping, and former_vectors a list")
    return Part(
        record,
        {text("vectors", name): _unpacked(name, packed) for name, packed in vectors.items()},
        tuple(_link(each, record) for each in _mappings(line, "links")),
        events_of(line, record.id, limits),
        tuple(map(_former, former)),
    )


def _record(fields: Any, namespace: str, limits: Limits) -> MemoryRecord:
    if not isinstance(fields, dict):
        raise InvalidInput("memory", f"must be a mapping, not {type(fields).__name__}")
    _check_keys("memory", fields, FIELDS)
    for name in ("id", "content", "created_at"):
        if name not in fields:
            raise InvalidInput(f"memory.{name}", "is missing")
    created_at = timestamp("memory.created_at", fields["created_at"])
    values = {
        name: _field(name, fields[name], limits) if name in fields else _derived(name, created_at)
        for name in FIELDS
    }
    return MemoryRecord.from_values({**_DEFAULTS, **values, "namespace": namespace})


def _field(name: str, value: Any, limits: Limits) -> Any:
    """The checked value of a field."""
    if name in CHECKS:
        return check_field(name, value, limits)
    if FIELDS[name].whole:
        return integer(name, value, 0)
    if FIELDS[name].type == "text":
        return optional_text(name, value)
    if name == "accesses":
        if not isinstance(value, list) or len(value) > ACCESSES_KEPT:
            raise InvalidInput(name, f"must be a list of at most {ACCESSES_KEPT} times")
        return tuple(timestamp(name, moment) for moment in value)
    return timestamp(name, value) if name == "updated_at" else optional_timestamp(name, value)


def _link(fields: Fields, record: MemoryRecord) -> Link:
    _check_keys("links", fields, ("target", "type", "weight", "created_at"))
    weight = unit("links.weight", fields.get("weight"))
    if fields.get("type") not in LINK_TYPES or weight is None:
        raise InvalidInput("links", f"{shown(dict(fields))} is no link")
    return Link(
        record.namespace,
        record.id,
        text("links.target", fields.get("target")),
        fields["type"],
        weight,
        timestamp("links.created_at", fields.get("created_at")),
    )


def _former(each: Any) -> FormerVector:
    if not isinstance(each, list) or len(each) != 3:
        raise InvalidInput("former_vectors", f"{shown(each)} is no former vector")
    seq, name, packed = each
    return integer("former_vectors", seq, 1, _MAX_SEQ), text("name", name), _unpacked(name, packed)


def _unpacked(name: str, packed: Any) -> Embedding:
    try:
        vector = np.frombuffer(b64decode(packed, validate=True), dtype="<f2").astype(np.float32)
    except (TypeError, ValueError):
        vector = np.zeros(0, dtype=np.float32)
    if not vector.size or not np.isfinite(vector).all():
        raise InvalidInput(f"vectors.{name}", "is not base64 of finite float16 numbers")
    return vector


def _mappings(line: Fields, name: str) -> Sequence[Fields]:
    value = line.get(name, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise InvalidInput(name, "must be a list of mappings")
    return value


def _check_keys(name: str, fields: Fields, known: Collection[str]) -> None:
    unknown = fields.keys() - set(known)
    if unknown:
        raise InvalidInput(
            f"{name}.{min(unknown)}", "is not known", "it may be of a newer version of salience"
        )

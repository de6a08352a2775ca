"""Encoding of records as the plain values that stores keep: numbers, text, JSON text, bytes."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime, timezone
from functools import cache, lru_cache, partial
from math import isfinite
from operator import itemgetter, lt
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from salience.errors import EmbedderMismatch, InvalidInput
from salience.language import passages
from salience.language.features import FEATURES, features, greeted
from salience.language.tokens import indexed_words, term_ids, text_key, words
from salience.records.events import CONTINUED, STATE
from salience.records.fields import FIELDS, LEXICAL
from salience.records.record import BLANK, Draft, Edit, Embedding, MemoryRecord, recent, value_at
from salience.retrieval.operations import Put, is_unchanged
from salience.retrieval.vector_sets import VectorSets

TERMS = (*(f"terms.{name}" for name in LEXICAL), "terms.passages")
"""The stored values that are terms, eight bytes each."""
OF_TEXTS = ("features", "passages", *TERMS)
"""The columns of an index that follow from the texts of a memory alone."""
FEATURES_BYTES = 4 * len(FEATURES)
DAMAGES = (ValueError, TypeError, OverflowError, KeyError, OSError, struct.error)
"""The errors that damaged values raise."""
EVENT_FIELDS = (*STATE, "metadata")
"""The fields that an event may change."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_JSON_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
LAST_SECOND = 253_402_300_799.0  # the last second of the year 9999: a fraction more rounds to 10000


def encode(name: str, value: Any) -> Any:
    """A field's stored value: times in seconds, lists and metadata as JSON, empty ones None."""
    encoder = _ENCODER_BY_TYPE.get(FIELDS[name].type)
    return value if encoder is None or value is None else encoder(value)


def decode(name: str, value: Any) -> Any:
    """A field's value in a record, from the stored one."""
    decoder = _DECODER_BY_FIELD[name]
    return value if decoder is None or (decoder is _in_utc and value is None) else decoder(value)


def pack_times(times: Sequence[float]) -> bytes:
    """Times in seconds as bytes: float64, in their order."""
    return struct.pack(f"<{len(times)}d", *times)


def unpack_times(packed: bytes | None) -> tuple[float, ...]:
    """The times of `packed`."""
    return struct.unpack(f"<{len(packed) // 8}d", packed) if packed else ()


def add_accesses(packed: bytes | None, times: Sequence[float]) -> bytes:
    """Packed access times with more of them added."""
    return pack_times(recent(unpack_times(packed), times))


def metadata_values(values: Iterable[str | None], key: str) -> list[Any]:
    """One value out of each of some stored metadata (see `record.value_at`)."""
    return [None if m is None else value_at(m, key) for m in _decode_all(values)]


def list_values(values: Iterable[str | None]) -> list[tuple[str, ...]]:
    """Lists as the index has them, from the stored ones, many of them equal."""
    values = list(values)
    distinct = [*dict.fromkeys(values)]
    decoded = zip(distinct, _decode_all(distinct), strict=True)
    lists = {value: tuple(items) if value else () for value, items in decoded}
    return [lists[value] for value in values]


def _decode_all(values: Iterable[str | None]) -> list[Any]:
    """The JSON of many texts, None for no text; parsed at once, in a third of the time."""
    texts = [value or "null" for value in values]
    decoded: list[Any] = json.loads(f"[{','.join(texts)}]")
    if len(decoded) != len(texts):
        raise ValueError("JSON with more than one value")
    return decoded


def index_value_of(stored: Mapping[str, Any], name: str) -> Any:
    """A value of a memory as the index has it and filters compare it, from the `stored` values."""
    if name.startswith("metadata."):
        return metadata_values([stored["metadata"]], name.removeprefix("metadata."))[0]
    value = stored[name]
    return _decode_list(value) if name in FIELDS and FIELDS[name].type == "list" else value


def column(name: str, values: list[Any]) -> list[Any]:
    """The values of a column as an index has them, from the stored ones."""
    if name.startswith("metadata."):
        return metadata_values(values, name.removeprefix("metadata."))
    if name in FIELDS and FIELDS[name].type == "list":
        return list_values(values)
    check_column(name, values)
    return values


def check_column(name: str, values: Iterable[Any]) -> None:
    """Raise a TypeError or ValueError if an index cannot hold these stored values."""
    kind = FIELDS[name].type if name in FIELDS else _OTHER_TYPES.get(name, name.partition(".")[0])
    types = _COLUMN_TYPES.get(kind)
    if types is not None and not types.issuperset(map(type, values)):
        raise TypeError(f"{name} of another type")
    if kind in ("times", "terms") and any(n % 8 for n in set(map(len, filter(None, values)))):
        raise ValueError(f"{name} cut short")
    if kind == "passages" and not all(value.startswith("[[") for value in values if value):
        raise ValueError(f"{name} that are none")
    if kind == "features" and {FEATURES_BYTES} != set(map(len, values)):
        raise ValueError(f"{name} cut short")


def sift(
    columns: Mapping[str, list[Any]],
    names: Iterable[str],
    derive: Callable[[int], Mapping[str, Any]],
) -> dict[str, Any]:
    """Convert the columns of some names, value by value (see `ChangeFeed.load`).

    Values that follow from the texts of a memory are recomputed if damaged, missing or of another
    version; `derive` does so for a row. A memory with other damage is left out.
    """
    sound: dict[str, list[Any]] = {name: [] for name in columns}
    damaged: dict[int, str | None] = {}
    for values in zip(*columns.values(), strict=True):
        memory = dict(zip(columns, values, strict=True))
        try:
            memory |= _converted(memory, names, derive)
        except DAMAGES:
            damaged[memory["row"]] = str(memory["id"]) if "id" in memory else None
            continue
        for name, value in memory.items():
            sound[name].append(value)
    return {**sound, "damaged": damaged}


def _converted(
    memory: Mapping[str, Any],
    names: Iterable[str],
    derive: Callable[[int], Mapping[str, Any]],
) -> dict[str, Any]:
    """The values of one memory by name."""
    converted: dict[str, Any] = {}
    for name in names:
        try:
            [converted[name]] = column(name, [memory[name]])
        except DAMAGES:
            if name not in OF_TEXTS:
                raise
            converted[name] = derive(memory["row"])[name]
    return converted


def derived_of(texts: Mapping[str, Any]) -> dict[str, Any]:
    """The values that follow from a memory's texts, given as stored by the names in LEXICAL."""
    values = {name: decode(name, texts[name]) for name in LEXICAL}
    if type(values["content"]) is not str:
        raise TypeError("content of another type")
    record = MemoryRecord("", "", created_at=_EPOCH, updated_at=_EPOCH, **values)
    return encode_draft(Draft(record, {}))


def check_rows(rows: Sequence[Any]) -> None:
    """Raise a TypeError or ValueError if these are not row numbers, ascending."""
    if not {int}.issuperset(map(type, rows)):
        raise TypeError("row of another type")
    if not all(map(lt, rows, rows[1:])):
        raise ValueError("rows out of order")


@lru_cache(maxsize=4096)
def _decode_list(value: str | None) -> tuple[str, ...]:
    return tuple(json.loads(value)) if value else ()


_in_utc = partial(datetime.fromtimestamp, tz=timezone.utc)


def _decode_times(value: bytes | None) -> tuple[datetime, ...]:
    return tuple(map(_in_utc, np.frombuffer(value or b"", "<f8").tolist()))


def _seconds(moment: datetime) -> float:
    return min((moment - _EPOCH).total_seconds(), LAST_SECOND)


def _decode_json(value: str | None) -> Any:
    mapping = json.loads(value) if value else {}
    if not isinstance(mapping, dict):
        raise TypeError("no mapping")
    return mapping


def _encode_json(value: Any) -> str | None:
    return _JSON_ENCODER(value) if value else None


def _encode_times(times: Iterable[datetime]) -> bytes:
    return pack_times([_seconds(each) for each in times])


_DECODER_BY_TYPE: dict[str, Callable[[Any], Any]] = {
    "time": _in_utc,
    "times": _decode_times,
    "list": _decode_list,
    "json": _decode_json,
}
_ENCODER_BY_TYPE: dict[str, Callable[[Any], Any]] = {
    "time": _seconds,
    "times": _encode_times,
    "list": _encode_json,
    "json": _encode_json,
}
_OTHER_TYPES = {"sequence": "number", "attribute_key": "number", "greets": "text"}
_COLUMN_TYPES: dict[str, set[type]] = {
    "number": {float, int, type(None)},
    "time": {float, int, type(None)},
    "times": {bytes, type(None)},
    "features": {bytes},
    "terms": {bytes, type(None)},
    "passages": {str, type(None)},
    "text": {str, type(None)},
}
_ENCODED_FIELDS = [
    (n, _ENCODER_BY_TYPE[f.type]) for n, f in FIELDS.items() if f.type in _ENCODER_BY_TYPE
]
_DECODER_BY_FIELD = {name: _DECODER_BY_TYPE.get(field.type) for name, field in FIELDS.items()}
_FIELD_VALUES = itemgetter(*FIELDS)
_NEVER_NONE = frozenset(("id", "content", "kind", "status"))


def encode_draft(draft: Draft) -> dict[str, Any]:
    """The values that a store keeps of a record: its fields, features and terms."""
    record = draft.record
    values = vars(record).copy()
    for name, encoder in _ENCODED_FIELDS:
        value = values[name]
        values[name] = None if value is None else encoder(value)
    content_words = words(record.content)
    derived = draft.known
    values["features"] = derived.get("features") or feature_bytes(record.content, content_words)
    values["greets"] = greeted(record.content) if record.session_id else None
    values["text_key"] = None if record.session_id else text_key(record.content)
    states = "attribute_key" not in derived
    values["attribute_key"] = attribute_key(record.content) if states else derived["attribute_key"]
    for name in LEXICAL:
        value = getattr(record, name)
        text = value if isinstance(value, str) else " ".join(value or ())
        values[f"terms.{name}"] = term_bytes(text, content_words if name == "content" else None)
    values["passages"], values["terms.passages"] = passage_values(record.title, record.content)
    return values


@cache
def deriver() -> int | None:
    """The number of the program that computes what memories are found by; None if unknown.

    It is a checksum of its files: the same files compute the same, so no version has to be kept.
    """
    number, folder = 0, Path(__file__).parents[1] / "language"
    try:
        for path in (Path(__file__), *sorted(folder.rglob("*.py")), *sorted(folder.rglob("*.txt"))):
            number = crc32(path.read_bytes(), number)
    except OSError:  # a package without files
        return None
    return number


def passage_values(title: str | None, content: str) -> tuple[str | None, bytes | None]:
    """The passages of a long text as stored, and the terms of all, one passage after the other.

    The passages are JSON: a list of start, end, headings and the number of terms of each. A short
    text has neither.
    """
    spans = passages.SPLITTER.split(content)
    if not spans:
        return None, None
    texts = (passages.passage_text(span, title, content) for span in spans)
    terms = [term_ids(indexed_words(text)) for text in texts]
    borders = [[*span, len(part)] for span, part in zip(spans, terms, strict=True)]
    return _JSON_ENCODER(borders), np.concatenate(terms).tobytes()


def attribute_key(content: str) -> int | None:
    """The key of the attribute that a text states, if it states one."""
    from salience.language.statements import statement_of  # not before there is a fact

    statement = statement_of(content)
    return None if statement is None else statement.key


def feature_bytes(content: str, said: list[str]) -> bytes:
    """The features of a text with these words, as stored."""
    return np.array(features(content, said), dtype=np.float32).tobytes()


def term_bytes(text: str | None, said: list[str] | None = None) -> bytes | None:
    """The terms of a text as stored, None where it has none; its words may be given."""
    terms = indexed_words(text, said) if text else ()
    return term_ids(terms).tobytes() if terms else None


def record_of(namespace: str, values: Mapping[str, Any]) -> MemoryRecord:
    """The record of stored values by field name; other keys are ignored."""
    return decode_record(namespace, dict(zip(FIELDS, _FIELD_VALUES(values), strict=True)))


def decode_record(namespace: str, values: dict[str, Any]) -> MemoryRecord:
    """The record of stored values by field; fields not given are blank."""
    id = values["id"]
    try:
        for name, decoder in _decoders(tuple(values), tuple(map(type, values.values()))):
            values[name] = decoder(values[name])
    except DAMAGES as problem:
        raise ValueError(f"of the memory {id!r}: {problem}") from problem
    if len(values) < len(FIELDS):
        values = {**vars(BLANK), **values}
    values["namespace"] = namespace
    return MemoryRecord.from_values(values)


@lru_cache(maxsize=1024)
def _decoders(
    names: tuple[str, ...], types: tuple[type, ...]
) -> list[tuple[str, Callable[[Any], Any]]]:
    """The decoders, where there is one, of stored values of these types; they check the values."""
    decoders: list[tuple[str, Callable[[Any], Any]]] = []
    for name, stored in zip(names, types, strict=True):
        field = FIELDS[name]
        if field.type == "text":
            if stored is not str and (stored is not type(None) or name in _NEVER_NONE):
                raise TypeError(f"{name} of another type")
        elif field.type == "number":
            if stored not in (int, type(None)):
                decoders.append((name, partial(_number, name)))
        elif field.type == "json" and stored is type(None):
            decoders.append((name, partial(dict.fromkeys, ())))  # which is given None, gives {}
        elif field.type != "time" or stored is not type(None):
            decoders.append((name, _DECODER_BY_TYPE[field.type]))
    return decoders


def _number(name: str, number: Any) -> float:
    if type(number) is not float or not isfinite(number) or (FIELDS[name].whole and number % 1):
        raise TypeError(f"{name} that is no {'whole ' * FIELDS[name].whole}number")
    return number


def conflicting_ids(
    op: Put, old: Mapping[tuple[str, str], Mapping[str, Any]], keys: Set[tuple[str, str]]
) -> tuple[str, ...]:
    """The ids in the way of drafts, and of idempotency keys.

    They are new ids that are taken or occur twice, edited memories that are gone or have changed,
    and ids whose key is used. `old` are the stored values by namespace and id, `keys` are the used
    keys with their namespaces.
    """
    conflicts = [id for namespace, key, id in op.keys if (namespace, key) in keys]
    written: set[tuple[str, str]] = set()
    for draft in op.drafts:
        namespace, id = draft.record.namespace, draft.record.id
        values = old.get((namespace, id))
        if isinstance(draft, Edit):
            now = None if values is None else record_of(namespace, values)
            if now is None or (draft.was is not None and not is_unchanged(now, draft.was)):
                conflicts.append(id)
        elif values is not None or (namespace, id) in written:
            conflicts.append(id)
        written.add((namespace, id))
    return tuple(dict.fromkeys(conflicts))


def decode_state(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that events may change, as in records, from the stored values."""
    return {name: decode(name, values[name]) for name in EVENT_FIELDS}


def succession(
    new: Mapping[str, Any], old: Mapping[str, Any], note: Mapping[str, Any]
) -> dict[str, Any]:
    """The stored version of a memory that replaces another, and its accesses: none is lost.

    The edit counts as one if it changes the content, unless its note says that a chat goes on.
    """
    times = [t for t in (new["last_accessed"], old["last_accessed"]) if t is not None]
    most = max(old, new, key=lambda kept: int(kept["access_count"] + kept["write_count"]))
    is_access = new["content"] != old["content"] and not CONTINUED.items() <= note.items()
    fresh = (new["updated_at"],) if is_access else ()
    return {
        "version": old["version"] + 1,
        "access_count": most["access_count"],
        "write_count": most["write_count"] + is_access,
        "last_accessed": max(times, default=None),
        "accesses": add_accesses(most["accesses"], fresh),
    }


def split_vectors(edit: Edit, had: Iterable[str], sets: VectorSets) -> tuple[list[str], list[str]]:
    """The stored names of the vectors that an edited memory keeps, and that its history keeps.

    Vectors of the set beside come from the same words as stale ones and are dropped with them. The
    vectors of passages are stale if that of the whole text is.
    """
    stay, gone = [], []
    for stored in had:
        name = sets.searched_name(stored)
        if name is None:
            if not edit.stale:
                stay.append(stored)
            continue
        is_stale = name in edit.stale or ("content" in edit.stale and passages.is_vector_name(name))
        if not is_stale and name not in edit.vectors:
            stay.append(stored)
        else:
            gone.append(stored)
    return stay, gone


def check_vectors(
    op: Put, embedder: str | None, dimensions: Callable[[str, Iterable[str]], dict[str, int]]
) -> None:
    """Refuse vectors that could not be compared with the stored ones.

    Raises:
        EmbedderMismatch: the stored vectors come from another embedder.
        InvalidInput: a vector is not as long as the namespace's others of its name.
    """
    names: dict[str, set[str]] = {}
    for draft in op.drafts:
        names.setdefault(draft.record.namespace, set()).update(draft.vectors)
    if None not in (embedder, op.embedder) and embedder != op.embedder and any(names.values()):
        raise EmbedderMismatch(str(embedder), str(op.embedder))
    sizes = {namespace: dimensions(namespace, sorted(names[namespace])) for namespace in names}
    for draft in op.drafts:
        for name, vector in draft.vectors.items():
            size = sizes[draft.record.namespace].setdefault(name, len(vector))
            if size != len(vector):
                raise InvalidInput(
                    f"vectors.{name}", f"has {len(vector)} dimensions where {size} are kept"
                )


def sound_vectors(blobs: Sequence[bytes]) -> list[bytes | None]:
    """Vectors of one name, None for those that are not bytes of the most frequent length."""
    sizes = Counter(len(blob) for blob in blobs if type(blob) is bytes and blob)
    if len(sizes) == 1 and sizes.total() == len(blobs) and not next(iter(sizes)) % 2:
        return list(blobs)
    most = max((size for size in sizes if not size % 2), key=sizes.__getitem__, default=0)
    return [blob if type(blob) is bytes and len(blob) == most else None for blob in blobs]


def decode_vector(blob: bytes) -> Embedding:
    """The vector of `vector_bytes`."""
    return np.frombuffer(blob, dtype="<f2").astype(np.float32)


def encode_vector(vector: Embedding) -> bytes:
    """A vector as stored: float16, which is exact after `validation.vector`."""
    return vector.astype(np.float16).tobytes()

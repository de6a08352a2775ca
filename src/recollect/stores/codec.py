"""Between a record and the plain values a store keeps: numbers, text, JSON text, bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

import numpy as np

from recollect.features import features, greeted
from recollect.fields import FIELDS, LEXICAL
from recollect.memory import Draft, MemoryRecord, Vector, recent
from recollect.text import term_ids, words

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def encode(name: str, value: Any) -> Any:
    """A field's value as kept: times in seconds, lists and metadata as JSON, empty ones as None."""
    if value is None:
        return None
    kind = FIELDS[name].type
    if kind == "time":
        return (value - _EPOCH).total_seconds()
    if kind == "times":
        return packed([(each - _EPOCH).total_seconds() for each in value])
    if kind in ("list", "json"):
        return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else None
    return value


def decode(name: str, value: Any) -> Any:
    """A field's value as records have it."""
    kind = FIELDS[name].type
    if kind == "list":
        return _list(value)
    if kind == "json":
        return json.loads(value) if value else {}
    if kind == "times":
        return tuple(datetime.fromtimestamp(each, tz=timezone.utc) for each in unpacked(value))
    if value is None:
        return None
    if kind == "time":
        return datetime.fromtimestamp(value, tz=timezone.utc)
    return value


def packed(times: Sequence[float]) -> bytes:
    """Times in seconds as kept: float64, the first first."""
    return np.array(times, dtype="<f8").tobytes()


def unpacked(kept: bytes | None) -> tuple[float, ...]:
    """The times of `packed`."""
    return tuple(np.frombuffer(kept or b"", dtype="<f8").tolist())


def accessed(kept: bytes | None, times: Sequence[float]) -> bytes:
    """Kept access times with more of them counted in."""
    return packed(recent(unpacked(kept), times))


def indexed(name: str, value: Any) -> Any:
    """A field's kept value as the index has it: as kept, but lists as tuples."""
    return _list(value) if FIELDS[name].type == "list" else value


def metadata_value(value: str | None, key: str) -> Any:
    """One value out of kept metadata, lists as tuples; a dotted key goes into nested mappings."""
    found: Any = json.loads(value) if value else {}
    if isinstance(found, dict) and key in found:
        found = found[key]
    else:
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    return tuple(found) if isinstance(found, list) else found


@lru_cache(maxsize=4096)
def _list(value: str | None) -> tuple[str, ...]:
    return tuple(json.loads(value)) if value else ()


def stored(draft: Draft) -> dict[str, Any]:
    """Everything a store keeps of a record: its fields, features and terms."""
    record = draft.record
    found = {name: encode(name, getattr(record, name)) for name in FIELDS}
    said = words(record.content)
    found["features"] = np.array(features(record.content, said), dtype=np.float32).tobytes()
    found["greets"] = greeted(record.content) if record.session_id else None
    for name in LEXICAL:
        value = getattr(record, name)
        if name != "content":
            said = words(value if isinstance(value, str) else " ".join(value or ()))
        found[f"terms.{name}"] = term_ids(said).tobytes() if said else None
    return found


def record(namespace: str, kept: Mapping[str, Any]) -> MemoryRecord:
    """The record of kept values by field name; other keys are ignored."""
    return MemoryRecord(namespace=namespace, **{name: decode(name, kept[name]) for name in FIELDS})


def vector_bytes(vector: Vector) -> bytes:
    """A vector as kept: float16, which holds it exactly after `memory.vector`."""
    return vector.astype(np.float16).tobytes()

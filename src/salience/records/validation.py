"""Validation: each value that enters a record is checked here, and becomes what stores keep."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Any, TypeVar

import numpy as np

from salience.display.result import to_json
from salience.errors import InvalidInput, shown
from salience.records.fields import FIELDS
from salience.records.record import EMPTY, Embedding

F = TypeVar("F")
MAX_METADATA_DEPTH = 64  # levels of lists and mappings
JSON_INTEGERS = range(-(2**63), 2**64)  # every JSON reader can be trusted with these
_EXACT_YEARS = range(1700, 2240)  # their seconds since 1970 hold microseconds as float64
_LARGEST_NUMBER = 1e300  # beyond it a sum might overflow


def text(name: str, value: Any, *, limit: int | None = None) -> str:
    """`value` as text that every store can keep, or InvalidInput naming the field `name`."""
    if not isinstance(value, str):
        raise InvalidInput(name, f"must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(name, "is empty", "give it some text")
    limit = limit or (FIELDS[name].limit if name in FIELDS else None)
    if limit is not None and len(value) > limit:
        raise InvalidInput(
            name, f"has {len(value):,} characters, more than {limit:,}", "split it into parts"
        )
    return storable(name, value)


def storable(name: str, value: str) -> str:
    """Text as it is; InvalidInput if it has a NUL or half a character, which no store can keep."""
    if "\0" in value:
        raise InvalidInput(name, "contains a NUL character", 'remove it: text.replace("\\0", "")')
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise InvalidInput(
            name,
            f"has a lone surrogate at position {problem.start}, which is not a character",
            'repair it: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")',
        ) from None
    return value


def optional_text(name: str, value: Any) -> str | None:
    """`text`, or None when there is none."""
    return None if value is None else text(name, value)


def choice(name: str, value: Any, *, required: bool = False) -> str | None:
    """One of the texts that the field `name` allows, or None unless `required`.

    InvalidInput otherwise.
    """
    allowed = FIELDS[name].choices
    if (value is None and not required) or (isinstance(value, str) and value in allowed):
        return value
    others = "" if required else ", or None"
    raise InvalidInput(name, f"is {shown(value)}", f"use one of {', '.join(allowed)}{others}")


def native(value: Any) -> Any:
    """A NumPy number or boolean as Python's own; anything else as it is."""
    is_number = isinstance(value, np.generic) and value.dtype.kind in "biuf"
    return value.item() if is_number else value


def boolean(name: str, value: Any) -> bool:
    """True or False; InvalidInput for anything else (the text "false" is true to Python)."""
    value = native(value)
    if value is True or value is False:
        return value
    raise InvalidInput(name, f"is {shown(value)}", "use True or False")


def integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """A whole number in [minimum, maximum], of any integer type; InvalidInput otherwise."""
    try:
        whole = operator.index(value)
    except TypeError:
        whole = minimum - 1
    if isinstance(value, bool) or whole < minimum or (maximum is not None and whole > maximum):
        limits = f"from {minimum}" if maximum is None else f"from {minimum} to {maximum:,}"
        raise InvalidInput(name, f"is {shown(value)}", f"give a whole number {limits}")
    return whole


def number(name: str, value: Any, maximum: float | None = None) -> float | None:
    """A finite number in [0, maximum] or None; the default maximum is that of the field `name`.

    InvalidInput otherwise.
    """
    value = native(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInput(name, f"must be a number, not {type(value).__name__}")
    if maximum is None and name in FIELDS:
        maximum = FIELDS[name].maximum
    if not 0.0 <= value <= (_LARGEST_NUMBER if maximum is None else maximum):
        limits = "0 or more" if maximum is None else f"between 0 and {maximum:g}"
        raise InvalidInput(name, f"is {shown(value)}", f"give a finite number, {limits}")
    return float(value)


def finite(value: float) -> bool:
    """Test whether a number is finite, and small enough for sums of such numbers to be."""
    return -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER


def unit(name: str, value: Any) -> float | None:
    """A number in [0, 1] or None; InvalidInput otherwise (NaN and infinity included)."""
    return number(name, value, 1.0)


def flag(name: str, value: Any) -> float | None:
    """1.0 for True or 1, 0.0 for False or 0, None for None; InvalidInput otherwise."""
    value = native(value)
    if value is None:
        return None
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return float(value)
    raise InvalidInput(name, f"is {shown(value)}", "use True or False")


def callable_or_none(name: str, value: F | None) -> F | None:
    """A function, or None; InvalidInput otherwise."""
    if value is not None and not callable(value):
        raise InvalidInput(name, f"is {shown(value)}", "give a function, or leave it out")
    return value


def timestamp(name: str, value: Any) -> datetime:
    """A point in time in UTC from a datetime, a date, ISO 8601 text or seconds since 1970.

    A datetime without a zone is taken as UTC, a date as its first moment in UTC. Stores keep
    seconds as float64, which cannot tell microseconds apart outside of the years 1700 to 2239:
    there it is rounded down to a whole second.
    """
    value = native(value)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InvalidInput(
                name, f"{shown(value)} is not a date", "write it as 2026-05-31T14:00:00Z"
            ) from None
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, bool) or not isinstance(value, (datetime, int, float)):
        raise InvalidInput(
            name,
            "must be a datetime, a date, ISO 8601 text or seconds since 1970, not "
            f"{type(value).__name__}",
        )
    if not isinstance(value, datetime):
        try:
            value = datetime.fromtimestamp(value, tz=timezone.utc)
        except (ValueError, OverflowError, OSError):
            raise InvalidInput(
                name,
                f"{shown(value)} is not a point in time",
                "give seconds since 1970; divide milliseconds by 1000",
            ) from None
    if value != value:  # pandas.NaT is a datetime, but no time
        raise InvalidInput(name, f"is {shown(value)}, which is no time", "give one, or None")
    try:
        moment = (
            value.replace(tzinfo=timezone.utc)
            if value.tzinfo is None
            else value.astimezone(timezone.utc)
        )
    except (OverflowError, ValueError):
        raise InvalidInput(name, f"{value} is out of range") from None
    if type(moment) is not datetime:  # pandas.Timestamp has nanoseconds, which stores do not keep
        moment = datetime.combine(moment.date(), moment.timetz())
    return moment if moment.year in _EXACT_YEARS else moment.replace(microsecond=0)


def optional_timestamp(name: str, value: Any) -> datetime | None:
    """`timestamp`, or None when there is none."""
    return None if value is None else timestamp(name, value)


def texts(name: str, value: Any) -> tuple[str, ...]:
    """A tuple of distinct texts in the order given; one string counts as one text."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = (value,)
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise InvalidInput(name, f"must be a list of texts, not {type(value).__name__}")
    distinct = dict.fromkeys(text(name, item, limit=512) for item in value)
    # A set comes in another order in every process.
    return tuple(sorted(distinct) if isinstance(value, (set, frozenset)) else distinct)


def metadata_mapping(value: Any) -> Mapping[str, Any]:
    """Metadata that JSON can hold: text keys, finite numbers, no NUL; InvalidInput otherwise."""
    if value is None:
        return EMPTY
    if not isinstance(value, Mapping):
        raise InvalidInput("metadata", f"must be a mapping, not {type(value).__name__}")
    return {k: json_value(f"metadata.{k}", v) for k, v in _keys("metadata", value)}


def _keys(path: str, value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if not isinstance(key, str) or not key:
            raise InvalidInput(path, f"has the key {shown(key)}", "use non-empty text keys")
        text(path, key, limit=512)
        yield key, item


def json_value(path: str, value: Any, depth: int = 0) -> Any:
    """`value` in types that JSON has; InvalidInput naming the `path` of what it cannot hold."""
    if depth > MAX_METADATA_DEPTH:
        raise InvalidInput(
            path, f"is nested more than {MAX_METADATA_DEPTH} levels deep", "make it flatter"
        )
    value = native(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value not in JSON_INTEGERS:
            raise InvalidInput(path, "is a whole number of more than 64 bits", "write it as text")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(path, f"is {value}", "use a finite number or None")
        return value
    if isinstance(value, str):
        return storable(path, value)
    if isinstance(value, datetime):
        return to_json(timestamp(path, value))
    if isinstance(value, Mapping):
        return {k: json_value(f"{path}.{k}", v, depth + 1) for k, v in _keys(path, value)}
    if isinstance(value, set | frozenset):
        # A set comes in another order in every process.
        return sorted((json_value(path, item, depth + 1) for item in value), key=json.dumps)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [json_value(path, item, depth + 1) for item in value]
    raise InvalidInput(
        path,
        f"{type(value).__name__} cannot be kept as JSON",
        "make it text, a number, a list or a mapping",
    )


def vector(name: str, value: Any, dimensions: int | None = None) -> Embedding:
    """`value` scaled to unit length at half precision, float32 of shape (dimensions,).

    The stores keep half precision; rounding here makes all of them rank alike.
    A zero vector stays zero, and has similarity 0 with everything.

    Raises:
        InvalidInput: not a flat list of finite numbers, or of another length.
    """
    try:
        raw = np.asarray(value)
    except ValueError:  # rows of unequal length
        raise InvalidInput(name, "must be one flat list of numbers") from None
    if raw.ndim != 1 or raw.size == 0:
        raise InvalidInput(name, f"must be one flat list of numbers, not of shape {raw.shape}")
    if raw.dtype.kind not in "iuf":
        raise InvalidInput(name, "must be a list of numbers")
    array = raw.astype(np.float64)
    if dimensions is not None and array.size != dimensions:
        raise InvalidInput(
            name,
            f"has {array.size} dimensions where {dimensions} are kept",
            "use vectors of the embedder that the store was made with",
        )
    if not np.isfinite(array).all():
        raise InvalidInput(name, "contains NaN or infinity")
    largest = float(np.abs(array).max())
    if largest > 0.0:
        array = array / largest  # a tiny or huge vector would under- or overflow in the norm
        array = array / np.linalg.norm(array)
    return array.astype(np.float16).astype(np.float32)

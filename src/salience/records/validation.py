"""Validation: each value that enters a record is checked here, and becomes what stores keep."""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime, time, timezone
from itertools import islice
from os import fsencode, fspath
from typing import Any, TypeVar

import numpy as np

from salience.arithmetic import lengths
from salience.errors import InvalidInput, shown
from salience.records.fields import FIELDS
from salience.records.limits import DEFAULT_LIMITS
from salience.records.record import Embedding

F = TypeVar("F")
MAX_DIMENSIONS = 65_536  # of a vector
MAX_IDS = 1_000_000  # in one call
MAX_TAG_CHARACTERS = 512
MAX_NAMESPACE_CHARACTERS = 256
VERBATIM = frozenset({"content", "title", "gist"})
"""The fields whose text is kept as it is given, to the bit."""
_EXACT_YEARS = range(1700, 2240)  # their seconds since 1970 hold microseconds as float64
_PRESENT_YEARS = range(100, 9900)
_DAY_DIGITS = 8  # of a day without hyphens
LARGEST_NUMBER = 1e300  # beyond it a sum might overflow
EXACT_SCALARS = frozenset({str, int, float, bool, type(None), datetime})
_EXACT_TYPES = EXACT_SCALARS | {dict, list, tuple}


def native(value: Any) -> Any:
    """Python's own value of what stands for one; anything else as it is.

    That is a number, boolean, text or time of NumPy, an array of no dimensions with one of them,
    and a value of a class that is derived from text or a number, such as a member of an Enum.
    """
    if type(value) in _EXACT_TYPES:
        return value
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = _of_numpy(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__index__(value)
    return float.__float__(value) if isinstance(value, float) else value


def _of_numpy(value: Any) -> Any:
    """The value of a scalar of NumPy or an array of no dimensions."""
    kind = value.dtype.kind
    if kind == "f":
        return float(value)
    if kind == "M":  # its own unit may be nanoseconds, which are no datetime
        moment = value.astype("M8[us]").item()
        return moment if isinstance(moment, datetime) else value
    return value.item() if kind in "biuUO" else value


def text(name: str, value: Any, *, limit: int | None = None) -> str:
    """`value` as text that every store can keep, or InvalidInput naming the field `name`.

    It has at most `limit` characters, by default as many as the field `name` takes, and is
    `composed`.
    """
    value = native(value)
    if type(value) is not str:
        raise InvalidInput(name, f"must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(name, "is empty", "give it some text")
    value = composed(name, value)
    limit = limit or (FIELDS[name].limit if name in FIELDS else None) or DEFAULT_LIMITS.text
    if len(value) > limit:
        raise InvalidInput(
            name, f"has {len(value):,} characters, more than {limit:,}", "split it into parts"
        )
    return storable(name, value)


def composed(name: str, value: str) -> str:
    """A text in the normal form NFC, so that a name is one value however it is encoded.

    What a memory says (`VERBATIM`) stays as it is, and so do the texts of further vectors.
    """
    if value.isascii() or name in VERBATIM or name.startswith("vector_texts."):
        return value
    return unicodedata.normalize("NFC", value)


def composed_json(name: str, value: Any) -> Any:
    """Stored JSON with its names in the normal form NFC: keys, and texts outside of metadata.

    A key stays as it is where another one has that form already.
    """
    is_kept = name in ("metadata", "key")  # what a memory says, and keys of idempotency
    if isinstance(value, str):
        return value if is_kept else composed(name, value)
    if isinstance(value, list):
        return [composed_json(name, item) for item in value]
    if isinstance(value, dict):
        forms = {key: composed("key", key) for key in value}
        return {
            key if form in value else form: composed_json(name if is_kept else key, value[key])
            for key, form in forms.items()
        }
    return value


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


def namespace_name(value: Any, name: str = "namespace") -> str:
    """The name of a namespace, or a pattern of names; InvalidInput otherwise."""
    return text(name, value, limit=MAX_NAMESPACE_CHARACTERS)


def choice(name: str, value: Any, *, required: bool = False) -> str | None:
    """One of the texts that the field `name` allows, or None unless `required`.

    InvalidInput otherwise.
    """
    allowed = FIELDS[name].choices
    word = native(value)
    if (word is None and not required) or (type(word) is str and word in allowed):
        return word
    alternative = "" if required else ", or None"
    raise InvalidInput(name, f"is {shown(value)}", f"use one of {', '.join(allowed)}{alternative}")


def boolean(name: str, value: Any) -> bool:
    """True or False; InvalidInput for anything else (the text "false" is true to Python)."""
    value = native(value)
    if value is True or value is False:
        return value
    raise InvalidInput(name, f"is {shown(value)}", "use True or False")


def integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """A whole number in [minimum, maximum], of any integer type; InvalidInput otherwise."""
    try:
        number = operator.index(native(value))
    except Exception:  # of any kind, in a type from outside
        number = minimum - 1
    if isinstance(value, bool) or number < minimum or (maximum is not None and number > maximum):
        limits = f"from {minimum}" if maximum is None else f"from {minimum} to {maximum:,}"
        raise InvalidInput(name, f"is {shown(value)}", f"give a whole number {limits}")
    return number


def number(name: str, value: Any, maximum: float | None = None) -> float | None:
    """A finite number in [0, maximum] or None; the default maximum is that of the field `name`.

    InvalidInput otherwise.
    """
    value = native(value)
    if value is None:
        return None
    if type(value) is not float and type(value) is not int:
        raise InvalidInput(name, f"must be a number, not {type(value).__name__}")
    if maximum is None and name in FIELDS:
        maximum = FIELDS[name].maximum
    if not 0.0 <= value <= (LARGEST_NUMBER if maximum is None else maximum):
        limits = "0 or more" if maximum is None else f"between 0 and {maximum:g}"
        raise InvalidInput(name, f"is {shown(value)}", f"give a finite number, {limits}")
    return float(value)


def finite(value: float) -> bool:
    """Test whether a number is finite, and small enough for sums of such numbers to be."""
    return -LARGEST_NUMBER <= value <= LARGEST_NUMBER


def unit(name: str, value: Any) -> float | None:
    """A number in [0, 1] or None; InvalidInput otherwise (NaN and infinity included)."""
    return number(name, value, 1.0)


def flag(name: str, value: Any) -> float | None:
    """1.0 for True or 1, 0.0 for False or 0, None for None; InvalidInput otherwise."""
    value = native(value)
    if value is None:
        return None
    if type(value) in (bool, int, float) and value in (0, 1):
        return float(value)
    raise InvalidInput(name, f"is {shown(value)}", "use True or False")


def function(name: str, value: F) -> F:
    """A function; InvalidInput otherwise."""
    if not callable(value):
        raise InvalidInput(name, f"is {shown(value)}", "give a function")
    return value


def callable_or_none(name: str, value: F | None) -> F | None:
    """A function, or None; InvalidInput otherwise."""
    if value is not None and not callable(value):
        raise InvalidInput(name, f"is {shown(value)}", "give a function, or leave it out")
    return value


def file_path(name: str, value: Any) -> str:
    """A path of a file, of text or a path object; InvalidInput otherwise."""
    try:
        path = fspath(value)
        path = str.__str__(path)  # a type from outside may give another text as its own
        is_usable = bool(path.strip()) and b"\0" not in fsencode(path)
    except Exception:  # of any kind, in a type from outside
        is_usable = False
    if not is_usable:
        raise InvalidInput(name, f"is {shown(value)}", "give the path of a file")
    return path


def timestamp(name: str, value: Any) -> datetime:
    """A point in time in UTC from a datetime, a date, ISO 8601 text or seconds since 1970.

    A datetime without a zone is taken as UTC, a date as its first moment in UTC. Stores keep
    seconds as float64, which cannot tell microseconds apart outside of the years 1700 to 2239:
    there it is rounded down to a whole second.
    """
    value = native(value)
    if type(value) is str:
        written = value.strip()
        try:
            # Of more digits Python takes the ninth for the "T" between date and time.
            if written.isdecimal() and len(written) != _DAY_DIGITS:
                raise ValueError
            value = datetime.fromisoformat(written)
        except ValueError:
            raise InvalidInput(
                name, f"{shown(value)} is not a date", "write it as 2026-05-31T14:00:00Z"
            ) from None
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time.min)
    elif type(value) is int or type(value) is float:
        try:
            value = datetime.fromtimestamp(value, tz=timezone.utc)
        except (ValueError, OverflowError, OSError):
            raise InvalidInput(
                name,
                f"{shown(value)} is not a point in time",
                "give seconds since 1970; divide milliseconds by 1000",
            ) from None
    if not isinstance(value, datetime):
        raise InvalidInput(
            name,
            "must be a datetime, a date, ISO 8601 text or seconds since 1970, not "
            f"{type(value).__name__}",
        )
    if value != value:  # pandas.NaT is a datetime, but no time
        raise InvalidInput(name, f"is {shown(value)}, which is no time", "give one, or None")
    if type(value) is not datetime:  # pandas.Timestamp has nanoseconds, which stores do not keep
        value = datetime.combine(datetime.date(value), datetime.timetz(value))
    return _in_utc(name, value)


def _in_utc(name: str, value: datetime) -> datetime:
    """A time in UTC, without microseconds where stores do not keep them."""
    try:
        moment = (
            value.replace(tzinfo=timezone.utc)
            if value.tzinfo is None
            else value.astimezone(timezone.utc)
        )
    except Exception:  # out of range, or of any kind in a time zone from outside
        raise InvalidInput(name, "has no time in UTC", "give one of the years 1 to 9999") from None
    return moment if moment.year in _EXACT_YEARS else moment.replace(microsecond=0)


def present(name: str, value: Any) -> datetime:
    """`timestamp` of a time that is taken for the present: years are added to it and taken away."""
    moment = timestamp(name, value)
    if moment.year not in _PRESENT_YEARS:
        limits = f"{_PRESENT_YEARS.start} to {_PRESENT_YEARS.stop - 1}"
        raise InvalidInput(name, f"is in the year {moment.year}", f"give one of the years {limits}")
    return moment


def optional_timestamp(name: str, value: Any) -> datetime | None:
    """`timestamp`, or None when there is none."""
    return None if value is None else timestamp(name, value)


def mapping(name: str, value: Any) -> dict[Any, Any]:
    """A mapping as a dict; InvalidInput otherwise."""
    if type(value) is dict:
        return value
    if not isinstance(value, Mapping):
        raise InvalidInput(name, f"must be a mapping, not {type(value).__name__}")
    try:
        return dict(value)
    except Exception as problem:  # of any kind, in a type from outside
        raise InvalidInput(name, f"cannot be read: {type(problem).__name__}") from problem


def elements(name: str, value: Any, maximum: int) -> list[Any]:
    """A list of the elements of a collection, at most `maximum`; InvalidInput otherwise.

    Text and mappings are no collections here.
    """
    value = native(value)
    try:
        is_list = not isinstance(value, str | bytes | bytearray | Mapping)
        listed = list(islice(value, maximum + 1)) if is_list else None
    except Exception:  # of any kind, in a type from outside
        listed = None
    if listed is None:
        raise InvalidInput(name, f"must be a list, not {type(value).__name__}")
    if len(listed) > maximum:
        raise InvalidInput(name, f"has more than {maximum:,} elements", "give fewer at a time")
    return listed


def texts(
    name: str, value: Any, *, count: int = MAX_IDS, required: bool = False
) -> tuple[str, ...]:
    """A tuple of at most `count` distinct texts in the order given; one string is one text.

    None is none of them, unless they are `required`.
    """
    if value is None and not required:
        return ()
    listed = [value] if isinstance(value := native(value), str) else elements(name, value, count)
    distinct = dict.fromkeys(text(name, item, limit=MAX_TAG_CHARACTERS) for item in listed)
    # A set comes in another order in every process.
    return tuple(sorted(distinct) if isinstance(value, (set, frozenset)) else distinct)


def vector(name: str, value: Any, dimensions: int | None = None) -> Embedding:
    """`value` scaled to unit length at half precision, float32 of shape (dimensions,).

    The stores keep half precision; rounding here makes all of them rank alike.
    A zero vector stays zero, and has similarity 0 with everything.

    Raises:
        InvalidInput: not a flat list of finite numbers, or of another length.
    """
    try:
        size = len(value) if hasattr(value, "__len__") else 0
        raw = np.asarray(value if size <= MAX_DIMENSIONS else ())
    except Exception:  # rows of unequal length, or of any kind in a type from outside
        raise InvalidInput(name, "must be one flat list of numbers") from None
    if size > MAX_DIMENSIONS:
        raise InvalidInput(name, f"has {size:,} dimensions, more than {MAX_DIMENSIONS:,}")
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
        array = array / lengths(array)
    return array.astype(np.float16).astype(np.float32)

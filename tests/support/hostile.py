"""Values as a program may pass them by accident or in malice: none is what it looks like."""

from __future__ import annotations

import enum
import itertools
import math
from collections import OrderedDict, UserDict, deque
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from support.bad_input import HUGE, LONE, NO_TIME


class Word(str):
    """A text that says otherwise in every way it can."""

    def __str__(self) -> str:
        return "something else"

    def __repr__(self) -> str:
        raise RuntimeError("not to be shown")

    def __format__(self, spec: str) -> str:
        return "something else"


class Colour(str, enum.Enum):  # noqa: UP042 - its str() is not its value
    RED = "red"


class Level(enum.IntEnum):
    ONE = 1


class Ratio(float):
    def __float__(self) -> float:
        return math.nan

    def __mul__(self, other: Any) -> Any:
        raise RuntimeError("not to be multiplied")


class Count(int):
    def __int__(self) -> int:
        return -1

    def __index__(self) -> int:
        raise RuntimeError("not to be counted")


class Late(datetime):
    """A time that goes its own way."""

    def timestamp(self) -> float:
        raise RuntimeError("no")

    def astimezone(self, tz: Any = None) -> Late:
        return self


class NoZone(tzinfo):
    def dst(self, at: datetime | None) -> None:
        return None

    def tzname(self, at: datetime | None) -> str:
        return "nowhere"

    def utcoffset(self, at: datetime | None) -> timedelta:
        raise RuntimeError("nowhere")


class Broken(Mapping[str, Any]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")

    def __len__(self) -> int:
        return 1


class Unread:
    """A collection that cannot be read, nor shown."""

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no")


def shared(levels: int = 40) -> dict[str, Any]:
    """A mapping of a few objects that is walked in 2^levels steps."""
    value: Any = {"a": 1}
    for _ in range(levels):
        value = {"a": value, "b": value}
    return value


def circular_list() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def circular_dict() -> dict[str, Any]:
    value: dict[str, Any] = {"kind": "note"}
    value["and"] = [value]
    value["k"] = value
    return value


def circular_array() -> Any:
    value = np.array(None, dtype=object)
    value[()] = value
    return value


HOSTILE: list[Callable[[], Any]] = [
    lambda: None,
    lambda: Word("apple"),
    lambda: Word(""),
    lambda: Word("taken"),
    lambda: Colour.RED,
    lambda: np.str_("apple"),
    lambda: np.str_("taken"),
    lambda: np.array("apple"),
    lambda: np.array("taken", dtype=object),
    lambda: np.bytes_(b"apple"),
    lambda: b"apple",
    lambda: bytearray(b"apple"),
    lambda: LONE,
    lambda: "nul\0",
    lambda: " ",
    lambda: "apple",
    lambda: "taken",
    lambda: "2026-01-01",
    lambda: Level.ONE,
    lambda: Count(1),
    lambda: Ratio(0.5),
    lambda: np.float64(0.5),
    lambda: np.float16(0.5),
    lambda: np.longdouble(0.5),
    lambda: np.int8(1),
    lambda: np.uint64(2**64 - 1),
    lambda: np.bool_(True),
    lambda: np.array(True),
    lambda: np.array(1),
    lambda: np.array(0.5),
    lambda: np.array([0.5]),
    lambda: np.array([[0.5]]),
    lambda: np.array(["apple", "taken"]),
    lambda: np.array([]),
    lambda: np.datetime64("2026-01-01T00:00:00.123456789"),
    lambda: np.datetime64("NaT"),
    lambda: np.datetime64(2**62, "s"),
    lambda: np.timedelta64(1, "s"),
    lambda: True,
    lambda: 0,
    lambda: 1,
    lambda: -1,
    lambda: 0.5,
    lambda: HUGE,
    lambda: -HUGE,
    lambda: math.nan,
    lambda: -math.inf,
    lambda: 5e-324,
    lambda: 1e308,
    lambda: 1j,
    lambda: Decimal("0.5"),
    lambda: Fraction(1, 2),
    lambda: NO_TIME,
    lambda: datetime.min,
    lambda: datetime.max,
    lambda: datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    lambda: datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
    lambda: datetime(2026, 1, 1, tzinfo=NoZone()),
    lambda: Late(2026, 1, 1, tzinfo=timezone.utc),
    lambda: date(2026, 1, 1),
    lambda: date.min,
    lambda: timedelta(1),
    list,
    lambda: (),
    dict,
    lambda: set(),
    lambda: ["apple"],
    lambda: ("taken", Word("apple"), Colour.RED),
    lambda: {"apple", "taken"},
    lambda: frozenset({Word("apple")}),
    lambda: deque(["apple"]),
    lambda: [1.0, [2.0]],
    lambda: [[1.0], [2.0, 3.0]],
    lambda: [None],
    lambda: [np.array(1), Count(2)],
    lambda: range(10**12),
    lambda: iter(["apple"]),
    lambda: itertools.repeat("apple"),
    lambda: itertools.count(),
    lambda: itertools.repeat({}),
    lambda: itertools.repeat({"role": "user", "content": "apple"}),
    circular_list,
    circular_dict,
    circular_array,
    shared,
    lambda: [shared(20)] * 3,
    lambda: {"k": shared()},
    lambda: {Word("k"): Word("apple"), "n": Level.ONE, "f": Ratio(0.5), "c": Colour.RED},
    lambda: {"k": np.array(1), "l": [np.str_("x"), np.array("y")], "t": datetime(2026, 1, 1)},
    lambda: {Colour.RED: 1},
    lambda: {1: 2},
    lambda: {None: None},
    lambda: {"content": [0.5, 0.5]},
    lambda: {"image": np.ones((2, 2))},
    lambda: {"image": [1.0, [2.0]]},
    lambda: {Word("image"): (1, 2, 3)},
    lambda: {"kind": Word("note")},
    lambda: {"tags": {"in": itertools.repeat("x")}},
    lambda: {"id": {"in": range(10**12)}},
    lambda: {"metadata.k": shared()},
    lambda: {"created_at": {"gte": datetime.min}},
    lambda: {"or": [{"kind": "note"}] * 200_000},
    lambda: {"role": "user", "content": Word("apple")},
    lambda: [{"role": Word("user"), "content": Word("apple"), "id": Count(3), "name": Colour.RED}],
    lambda: [{"role": "user", "content": circular_list()}],
    lambda: {"target": "taken", "type": Word("mentions")},
    lambda: [{"target": np.str_("taken"), "type": np.str_("mentions"), "weight": np.float32(1)}],
    lambda: OrderedDict(content=Word("apple")),
    lambda: MappingProxyType({"content": "apple", "tags": itertools.repeat("apple")}),
    lambda: UserDict({"content": "apple"}),
    Broken,
    Unread,
    lambda: object(),
    lambda: object,
    lambda: len,
    lambda: lambda *_: Word("apple"),
    lambda: lambda *_: math.nan,
    lambda: lambda: Late(2026, 1, 1),
    lambda: NotImplemented,
    lambda: ...,
    lambda: Path("apple"),
    lambda: memoryview(b"apple"),
    lambda: slice(1),
    lambda: type("Int", (), {"__index__": lambda self: True})(),
    lambda: type("Any", (), {"__getattr__": lambda self, name: self})(),
    lambda: "x" * 1_000_001,
    lambda: "k" * 600,
]
"""Makers of values, since some can be read only once."""

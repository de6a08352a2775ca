"""Importing Memory makes no more than it needs; what it makes later is what it would have made."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

import salience
from salience import lazily
from salience.errors import SalienceError
from support.waiting import HANG_SECONDS

_COUNTED = """
import re, sys, numpy, sqlite3
import salience
from salience import lazily
from salience.errors import SalienceError
made = {"patterns": [], "classes": []}
def compile(text, flags=0, compile=re.compile):
    place = sys._getframe(1)
    while place.f_globals["__name__"] in ("salience.lazily", "functools"):
        place = place.f_back
    if "salience" in place.f_globals["__name__"]:
        made["patterns"].append(place.f_globals["__name__"])
    return compile(text, flags)
def write(part, write=lazily._Unwritten._write):
    made["classes"].append(part._cls.__name__)
    write(part)
re.compile, lazily._Unwritten._write = compile, write
"""
CLASSES = 40
"""The most data classes whose methods are written when Memory is imported."""


def counted(program: str) -> str:
    """What a new process prints at the end of a program, with `made` counted from its start."""
    run = [sys.executable, "-c", _COUNTED + program]
    return subprocess.run(
        run, capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    ).stdout


def test_importing_memory_compiles_no_pattern_but_that_by_which_tables_are_read() -> None:
    read = counted("from salience import Memory; print(*made['patterns'])")
    assert {*read.split()} <= {"salience.language.cues"}


def test_importing_memory_writes_few_data_classes_and_makes_no_profile() -> None:
    read = counted(
        "from salience import Memory; from salience.ranking.profiles import BUILT_IN; "
        "print(len(BUILT_IN), *BUILT_IN._made); print(*made['classes'])"
    )
    profiles, classes = read.splitlines()
    assert profiles == "10"
    assert len(classes.split()) <= CLASSES


def test_a_search_makes_the_profile_that_it_ranks_by() -> None:
    program = (
        "from salience import Memory; from salience.ranking.profiles import BUILT_IN\n"
        "with Memory('ram://') as memory:\n"
        "    memory.search('tea', touch=False); print(*BUILT_IN._made)"
    )
    assert counted(program) == "balanced\n"


def _declared(dataclass: Callable[..., Any]) -> list[Any]:
    """The same classes by either decorator."""

    @dataclass(frozen=True)
    class Point:
        """A point."""

        unit: ClassVar[str] = "m"
        x: float
        y: float = 0.0
        tags: list[str] = dataclasses.field(default_factory=list, compare=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x")

    @dataclass(frozen=True)
    class Named(Point):
        """A point with a name."""

        name: str = "?"
        hidden: int = dataclasses.field(default=3, repr=False)
        y: float = 1.0

        def __repr__(self) -> str:
            return f"<{self.name}>"

    @dataclass
    class Changing:
        """One that changes."""

        count: int
        _: dataclasses.KW_ONLY
        last: int = 7

    @dataclass(frozen=True, eq=False)
    class Itself:
        """Equal to itself alone."""

        of: int

    return [Point, Named, Changing, Itself]


@pytest.mark.parametrize("at", range(4))
def test_a_class_made_later_is_as_one_made_at_once(at: int) -> None:
    later, now = _declared(lazily.dataclass)[at], _declared(dataclasses.dataclass)[at]
    assert "Unwritten" in repr(vars(later)["__init__"])
    assert str(inspect.signature(later)) == str(inspect.signature(now))
    assert later.__init__.__qualname__.split(".")[-2:] == [later.__name__, "__init__"]
    assert later.__match_args__ == now.__match_args__
    assert [str(field) for field in dataclasses.fields(later)] == [
        str(field) for field in dataclasses.fields(now)
    ]
    for name, value in vars(now).items():
        if not callable(value) and not name.startswith("__"):
            assert vars(later)[name] == value
    one, other = later(1), now(1)
    assert repr(one).split(".")[-1] == repr(other).split(".")[-1]
    assert (one == later(1)) is (other == now(1))
    assert (one == later(2)) is (other == now(2)) is False
    assert one != other
    hashes = [getattr(each, "__hash__") is None for each in (one, other)]  # noqa: B009
    assert hashes[0] is hashes[1]
    assert dataclasses.asdict(one) == dataclasses.asdict(other)
    first = dataclasses.fields(later)[0].name
    assert getattr(dataclasses.replace(one, **{first: 5}), first) == 5
    assert vars(copy.copy(one)) == vars(one)
    if later.__dataclass_params__.frozen:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, first, 2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(one, first)


def test_a_frozen_class_of_the_standard_library_may_come_of_one_made_later() -> None:
    base = _declared(lazily.dataclass)[0]
    derived: Any = dataclasses.dataclass(frozen=True)(
        type("Derived", (base,), {"__annotations__": {"z": "float"}, "z": 2.0})
    )
    assert (derived(1).x, derived(1).y, derived(1).z) == (1, 0.0, 2.0)
    with pytest.raises(ValueError, match="x"):
        derived(-1)


def test_threads_that_use_a_class_first_find_it_whole() -> None:
    for _ in range(20):
        kind = _declared(lazily.dataclass)[1]
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(kind, range(16)))
        assert [each.x for each in made] == list(range(16))


def test_a_pattern_is_compiled_when_it_is_first_matched() -> None:
    texts: list[str] = []

    def text() -> str:
        texts.append("(a+)b")
        return texts[-1]

    late = lazily.regex(text, re.I)
    assert not texts
    match = late.match("AAb")
    assert match is not None
    assert match[1] == "AA"
    assert late.sub("", "aabc") == "c"
    assert (late.pattern, late.flags & re.I, texts) == ("(a+)b", re.I, ["(a+)b"])
    assert lazily.regex("x").fullmatch("x")
    assert copy.copy(late).search("ab")
    assert pickle.loads(pickle.dumps(lazily.regex("x"))).search("x")


def test_every_data_class_and_pattern_of_the_package_can_be_made() -> None:
    for module in pkgutil.walk_packages(salience.__path__, "salience."):
        if module.name.split(".")[-1] in ("__main__", "_extra"):
            continue
        try:
            members = vars(importlib.import_module(module.name))
        except (ImportError, SalienceError):  # of an integration that is not installed
            continue
        for value in list(members.values()):
            if isinstance(value, lazily._Pattern):
                assert value.pattern is not None
            elif isinstance(value, type) and dataclasses.is_dataclass(value):
                made = value.__init__, value.__repr__, value.__eq__
                assert all(map(callable, made))
                assert not any(isinstance(part, lazily._Unwritten) for part in vars(value).values())

"""Patterns, modules and data classes that are made or loaded when they are first used.

Most programs use few of them, and to make all would be half of the time in which Memory is
imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import (
    MISSING,
    Field,
    FrozenInstanceError,
    asdict,
    field,
    fields,
    is_dataclass,
    replace,
)
from dataclasses import dataclass as stdlib_dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, AnyStr, cast

__all__ = ["Module", "asdict", "dataclass", "field", "fields", "regex", "replace"]


def regex(text: AnyStr | Callable[[], AnyStr], flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled when it is first matched.

    A function gives the text of one that is read from a file or put together.
    """
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: Any, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        """A method or attribute of the compiled pattern, kept as one of this object."""
        if name.startswith("__"):  # asked by `copy` and others of every object
            raise AttributeError(name)
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value

    @cached_property
    def _compiled(self) -> re.Pattern[Any]:
        text, flags = self._given
        return re.compile(text() if callable(text) else text, flags)


class Module:
    """A module that is imported when one of its names is first asked for."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """`dataclasses.dataclass` without slots, whose methods are written when one is first read.

        Only what refuses to change a frozen object is shared, and there from the beginning.
        """
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        annotated = vars(cls).get("__annotations__", {})
        values = {name: value for name, value in vars(cls).items() if name in annotated}
        for name, value in values.items():
            if not isinstance(value, Field):
                continue
            if value.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value.default)
        names = ["dataclass_fields", "dataclass_params", "match_args"]
        names += [name for name in ("init", "repr") if options.get(name, True)]
        names += ["eq", "hash"] if options.get("eq", True) else []
        for name in (f"__{name}__" for name in names):
            if vars(cls).get(name) is None:
                setattr(cls, name, _Unwritten(cls, name, values, options))
        if options.get("frozen"):
            cls.__setattr__ = cls.__delattr__ = _refuse
        return cls


def _refuse(instance: object, name: str, value: object = None) -> None:
    raise FrozenInstanceError(f"{type(instance).__name__}.{name} cannot be changed")


class _Unwritten:
    """A part of a data class that the standard library writes when it is first read."""

    def __init__(
        self, cls: type, name: str, values: Mapping[str, Any], options: Mapping[str, Any]
    ) -> None:
        self._cls, self._name, self._given, self._options = cls, name, values, options

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if vars(self._cls)[self._name] is self:
            self._write()
        value = vars(self._cls)[self._name]
        return value.__get__(instance, owner) if hasattr(value, "__get__") else value

    def _write(self) -> None:
        """Copy all from a class of the same fields: threads that do so at once write the same.

        What makes an object is written apart from what compares and shows it, as most are only
        made.
        """
        bases = [base for base in reversed(self._cls.__mro__[1:]) if is_dataclass(base)]
        inherited: dict[str, Any] = {field.name: field for base in bases for field in fields(base)}
        body = {
            name: copy(value) if isinstance(value, Field) else value
            for name, value in (inherited | dict(self._given)).items()
        }
        body["__annotations__"] = {name: field.type for name, field in inherited.items()}
        body["__annotations__"] |= vars(self._cls).get("__annotations__", {})
        for name in ("__doc__", "__module__", "__post_init__", "__qualname__"):
            if hasattr(self._cls, name):
                body[name] = getattr(self._cls, name)
        is_shown = self._name in _SHOWING
        options = dict(self._options)
        if is_shown:
            options |= {"init": False, "unsafe_hash": bool(options.pop("frozen", False))}
            options["unsafe_hash"] &= options.get("eq", True)
        else:
            options |= {"repr": False, "eq": False, "order": False}
        written: type = stdlib_dataclass(**options)(type(self._cls.__name__, (), body))
        for name, value in list(vars(self._cls).items()):
            if isinstance(value, _Unwritten) and (name in _SHOWING) == is_shown:
                setattr(self._cls, name, vars(written)[name])


_SHOWING = {"__repr__", "__eq__", "__hash__"}

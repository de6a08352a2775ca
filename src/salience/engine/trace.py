"""A trace: a line for each batch of operations that a plan asks for, with the time it takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from salience.errors import InvalidInput, shown
from salience.language.tokens import shorten
from salience.ranking.expressions import Signal
from salience.retrieval.operations import Op
from salience.retrieval.query import Query

MAX_CHARACTERS = 40  # of a text
MAX_LISTED = 5  # elements of a list that are written out; of a longer one the number


def line_writer(trace: Any) -> Callable[[str], object]:
    """The function that takes each line of a trace.

    Raises:
        InvalidInput: `trace` is neither True, nor a stream, nor a function.
    """
    if callable(trace):
        return trace
    stream = sys.stderr if trace is True else trace
    if not hasattr(stream, "write"):
        raise InvalidInput("trace", f"is {shown(trace)}", "give True, a stream or a function")
    return lambda line: stream.write(f"{line}\n")


def trace_line(ops: Sequence[Op], elapsed_ms: float) -> str:
    """A batch as a line: its time, and the operations with their main arguments."""
    return f"{elapsed_ms:8.2f} ms  {'  '.join(map(_operation, ops))}"


def _operation(op: Op) -> str:
    """An operation with its main arguments: not its namespaces, nor what has its default.

    A field that its class leaves out of the `repr` is left out here, too.
    """
    arguments = (
        _argument(field.name, value)
        for field in fields(op)
        if field.repr
        and (value := getattr(op, field.name)) is not field.default
        and value is not None
    )
    return f"{type(op).__name__}({', '.join(filter(None, arguments))})"


def _argument(name: str, value: Any) -> str:
    """An argument in short; "" for one that says little."""
    if name.startswith("namespace") or isinstance(value, Query | Signal):
        return ""
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if isinstance(value, int | float):
        return f"{name}={value}"
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, Collection) and not isinstance(value, str):
        return _elements(name, value)
    return _named(value) or name


def _elements(name: str, values: Collection[Any]) -> str:
    """A few texts and routes by their names, or the number of other elements."""
    names = [_named(value) for value in values] if isinstance(values, tuple) else []
    if 0 < len(names) <= MAX_LISTED and all(names):
        return ", ".join(names)
    return f"{len(values)} {name.removesuffix('s') if len(values) == 1 else name}"


def _named(value: Any) -> str:
    """A text in quotes, cut short, or the name that a route has; "" for anything else."""
    if isinstance(value, str):
        return repr(shorten(value, MAX_CHARACTERS))
    return getattr(value, "name", "")

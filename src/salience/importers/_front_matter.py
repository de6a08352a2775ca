"""The front matter of a note: YAML between two rules at its beginning."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from salience.importers._source import ImportProblem

_MAX_FRONT_MATTER_VALUES = 100_000
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def divided(file: Path, source: str) -> tuple[dict[str, Any], str]:
    """The front matter and the body of a note."""
    front_matter = _FRONT.match(source)
    if not front_matter:
        return {}, source
    try:
        yaml = import_module("yaml")
    except ImportError:
        raise ImportProblem(
            file, "has front matter, which needs PyYAML", "pip install 'salience[import]'"
        ) from None
    try:
        if "*" in front_matter[1]:  # there may be aliases, which a few lines can nest without end
            _check_size(yaml.compose(front_matter[1], yaml.SafeLoader))
        front = _json(yaml.safe_load(front_matter[1]))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or str(problem)
        line = 2 + mark.line if mark else 1
        if (
            isinstance(problem, ValueError)
            and (wrong := _wrong_value(yaml, front_matter[1])) is not None
        ):
            line, reason = 2 + wrong.start_mark.line, f"{wrong.value}: {reason}"
        raise ImportProblem(
            file,
            f"the front matter is not YAML: {reason}",
            "repair it, or put quotes around the value",
            line=line,
        ) from None
    if front is None:
        return {}, source[front_matter.end() :]
    if not isinstance(front, dict):  # two rules around a paragraph
        return {}, source
    return front, source[front_matter.end() :]


def _wrong_value(yaml: Any, source: str) -> Any:
    """The first value that looks like a date or a number and is none (2026-13-45)."""
    loader = yaml.SafeLoader(source)
    nodes = [loader.get_single_node()]
    seen: set[int] = set()
    while nodes:
        node = nodes.pop()
        if id(node) in seen or node is None:
            continue
        seen.add(id(node))
        if isinstance(node.value, list):
            parts = (part if isinstance(part, tuple) else (part,) for part in node.value)
            nodes += reversed([*chain.from_iterable(parts)])
            continue
        try:
            loader.construct_object(node)
        except ValueError:
            return node
        except yaml.YAMLError:
            continue
    return None


def _check_size(root: Any) -> None:
    """Refuse a YAML node of too many values once its aliases are written out."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 0  # until it is known: an alias may be within what it stands for
            within = node.value if isinstance(node.value, list) else ()
            parts = chain.from_iterable(p if isinstance(p, tuple) else (p,) for p in within)
            sizes[id(node)] = 1 + sum(map(size, parts))
        return sizes[id(node)]

    if root is not None and size(root) > _MAX_FRONT_MATTER_VALUES:
        raise ValueError(f"its aliases stand for more than {_MAX_FRONT_MATTER_VALUES:,} values")


def _json(value: Any) -> Any:
    """A YAML value in types that JSON has."""
    if isinstance(value, dict):
        return {str(key): _json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_json(part) for part in value]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**64:  # larger ones are kept as text
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)

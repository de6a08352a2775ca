"""Nodes of a profile in the notation of a call: `group_max(vector.score, session_id)`."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache
from typing import Any


@cache
def snake_case(name: str) -> str:
    """The name of a class as that of a function: `session_first` for SessionFirst."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def call_text(node: Any) -> str:
    """A dataclass as a call of its name in snake_case with its fields, without those of None."""
    values = (getattr(node, field.name) for field in fields(node))
    arguments = ", ".join(_argument(value) for value in values if value is not None)
    return f"{snake_case(type(node).__name__)}({arguments})"


def _argument(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(_argument(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Settings of the tools: what a model is offered, whoever serves it and however."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from salience.errors import InvalidInput, shown

MIN_TOKENS = 200
"""The smallest budget of an answer."""
MIN_MOST_TOKENS = 1_000
"""The smallest limit that a configuration may set for all answers."""
DEFAULT_TOKENS = 2_000
_MOST_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The settings of the tools.

    tools: sets and names of tools, see `salience.mcp.tools.SETS`, as "core" or "core,get_history".
    max_tokens: the most tokens that any answer takes, whatever a model asks for.
    instructions: a text for the model, behind what it is told in any case.

    Raises:
        InvalidInput: a setting is out of its range.
    """

    tools: str = "core"
    max_tokens: int = 10_000
    instructions: str = ""

    def __post_init__(self) -> None:
        value = self.max_tokens
        if type(value) is not int or not MIN_MOST_TOKENS <= value <= _MOST_TOKENS:
            remedy = f"give a whole number from {MIN_MOST_TOKENS:,} to {_MOST_TOKENS:,}"
            raise InvalidInput("max_tokens", f"is {shown(value)}", remedy)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **options: Any) -> Self:
        """The settings that options give, else SALIENCE_MCP_<NAME>, else defaults.

        Raises:
            InvalidInput: a value cannot be read, or is out of its range.
        """
        values: dict[str, Any] = {}
        for field in fields(cls):
            text = environment.get(f"SALIENCE_MCP_{field.name.upper()}")
            value = options.get(field.name)
            if value is not None:
                values[field.name] = value
            elif text:
                values[field.name] = _whole(field.name, text) if field.type == "int" else text
        return cls(**values)


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(name, f"is {shown(text)}", "give a whole number") from None

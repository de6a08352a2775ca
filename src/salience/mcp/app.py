"""The view of an explanation, for programs that show views of tools (MCP Apps)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Self
from urllib.parse import quote, unquote

import salience
from salience.display.for_models import one_line
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, fields
from salience.records.record import MemoryRecord

EXPLANATION = "ui://salience/explanation.html"
APP_TYPE = "text/html;profile=mcp-app"
EXPLANATION_META: dict[str, Any] = {"ui": {"resourceUri": EXPLANATION}}
"""The `_meta` of a tool whose structured content the view shows."""
EXTENSION = "io.modelcontextprotocol/ui"


@cache
def explanation_page() -> str:
    """One HTML page that needs nothing else; it asks the program that shows it for the result."""
    style = files("salience.display").joinpath("style.css").read_text(encoding="utf-8")
    page = files("salience.mcp").joinpath("explanation.html").read_text(encoding="utf-8")
    return page.replace("/* style */", style).replace("{version}", salience.__version__)


# Addresses of memories: those of resources, and those that a reader may follow

PROFILE = "salience://profile"
_MEMORY = "salience://memory/"
TEMPLATE = f"{_MEMORY}{{id}}"
_WEB = ("https://", "http://")


def uri_of(id: str) -> str:
    """The address of the resource of a memory."""
    return _MEMORY + quote(id, safe="")


def id_of(uri: str) -> str | None:
    """The id in the address of a memory; None for any other address."""
    start, sign, rest = uri.partition(_MEMORY)
    return unquote(rest) if sign and not start and rest else None


def address_of(record: MemoryRecord) -> str:
    """The page that a memory comes from, if its source is one, else the address of its resource."""
    source = record.metadata.get("source")
    if isinstance(source, str) and source.startswith(_WEB):
        return one_line(source, 2_000)
    return uri_of(record.id)


# Settings of the tools, for every way to serve them

MIN_TOKENS = 200
"""The smallest budget of an answer."""
MIN_MOST_TOKENS = 1_000
"""The smallest limit that a configuration may set for all answers."""
DEFAULT_TOKENS = 2_000
_MOST_TOKENS = 1_000_000


@dataclass(frozen=True)
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
        """The settings that options give, else SALIENCE_MCP_<NAME>, else defaults."""
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

"""The view of an explanation, for programs that show views of tools (MCP Apps)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import salience

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

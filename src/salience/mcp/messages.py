"""Messages as clients send them, made such that each request can be answered.

Half of an emoji, as a text has that was cut in the middle, is no Unicode: the protocol's parser
refuses the whole message, and nobody answers it.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from mcp_types import CallToolResult, TextContent, jsonrpc_message_adapter
from pydantic import ValidationError

from salience.access import Scope
from salience.display.for_models import clean, whole
from salience.errors import AccessDenied, NotFound, SalienceError, ServerBusy


def answerable(message: str) -> str:
    """A message with U+FFFD for each half of a character.

    A request whose other parts are wrong keeps its id and its method, so that its refusal has the
    id. A text that is not JSON is returned as it is.
    """
    try:
        jsonrpc_message_adapter.validate_json(message, by_name=False)
    except ValidationError:
        return _repaired(message)
    return message


def _repaired(message: str) -> str:
    try:
        value: Any = json.loads(message)
    except (ValueError, RecursionError):
        return message
    if isinstance(value, dict) and "id" in value and not value.keys() & {"result", "error"}:
        if not isinstance(value.get("params", {}), dict):
            del value["params"]
        value |= {"jsonrpc": "2.0", "method": str(value.get("method", ""))}
    return whole(json.dumps(value, ensure_ascii=False))


# Errors as a model reads them: what is wrong, and what to do about it

_log = logging.getLogger(__name__)


def error_text(error: Exception) -> str:
    """The words of an error; what nobody raised on purpose goes into the log alone."""
    if isinstance(error, SalienceError):
        return str(error)
    _log.error("a tool failed", exc_info=error)
    return "the memory failed for a reason that its log tells; trying again may not help"


def refusal(error: Exception, words: str) -> CallToolResult:
    """The result of a call that failed: an error that the model sees, and can act on."""
    return _failed(f"{words}{_remedy(error)}")


def scope_missing(tool: str, scope: Scope) -> CallToolResult:
    """The result of a call of a tool that the caller may not use."""
    return _failed(
        f"{tool} needs the scope {scope}, which the key does not have; do without it, and tell the "
        f"user: salience keys create --scope {scope} makes a key that has it"
    )


def _remedy(error: Exception) -> str:
    """A remedy for errors that have none of their own."""
    if isinstance(error, NotFound):
        return "; take an id from search_memories or list_memories"
    if isinstance(error, ServerBusy):
        return f"; try again in {error.retry_after:g} s"
    if isinstance(error, AccessDenied):
        return "; this is for the user to settle"
    return ""


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=clean(text))], is_error=True)

"""Messages as clients send them, made such that each request can be answered.

Half of an emoji, as a text has that was cut in the middle, is no Unicode: the protocol's parser
refuses the whole message, and nobody answers it.
"""

from __future__ import annotations

import json
from typing import Any

from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from salience.display.for_models import whole


def answerable(message: str) -> str:
    """A message with U+FFFD for each half of a character.

    A request whose other parts are wrong keeps its id and its method, so that its refusal has the
    id. A text that is no JSON is returned as it is.
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

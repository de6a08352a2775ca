"""Cursors of listings, which have the newest memory first, and equally new ones by id."""

from __future__ import annotations

import base64
import json

from salience.errors import InvalidInput
from salience.records.validation import finite, storable

Place = tuple[float, str]
"""A memory's place in a listing: -created_at, in seconds since 1970, and its id."""


def encode_cursor(last: Place) -> str:
    """The cursor of a page whose last memory is at this place."""
    return base64.urlsafe_b64encode(json.dumps(last).encode()).decode()


def parse_cursor(cursor: str | None) -> Place | None:
    """The place of a cursor, None without one.

    Raises:
        InvalidInput: it does not come from a listing.
    """
    if cursor is None:
        return None
    try:
        created, id = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        if not finite(created):
            raise ValueError("no time")
        return float(created), storable("cursor", id)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise InvalidInput(
            "cursor", "is not one of this listing", "pass on .cursor of the page before"
        ) from None

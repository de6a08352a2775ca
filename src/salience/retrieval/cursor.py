"""Cursors of listings: the place of the last memory, and the order, as text."""

from __future__ import annotations

import base64
import json

from salience.errors import InvalidInput, shown
from salience.records.validation import finite
from salience.retrieval.operations import Order, Place

_MAX_SEQUENCE = 2**63 - 1  # that every store can compare


def encode_cursor(order: Order, place: Place) -> str:
    """The cursor of a listing whose last memory so far has this place."""
    return base64.urlsafe_b64encode(json.dumps([order, *place]).encode()).decode()


def parse_cursor(cursor: str | None, order: Order) -> Place | None:
    """The place of a cursor, None without one.

    Raises:
        InvalidInput: it does not come from a listing, or from one in another order.
    """
    if cursor is None:
        return None
    try:
        own_order, created, sequence = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        if own_order not in ("newest", "oldest") or not finite(created):
            raise ValueError("no place")
        if type(sequence) is not int or not 0 <= sequence <= _MAX_SEQUENCE:
            raise ValueError("no place")
        place = Place(float(created), sequence)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise InvalidInput(
            "cursor", "is not one of a listing", "pass on .cursor of the page before"
        ) from None
    if own_order != order:
        raise InvalidInput(
            "cursor",
            f"comes from a listing with the {own_order} first",
            f"give order={shown(own_order)} with it",
        )
    return place

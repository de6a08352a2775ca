"""Cursors of listings: the place of the last memory, name or event, as text."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

from salience.errors import InvalidInput, shown
from salience.records.validation import finite, storable
from salience.retrieval.operations import Order, Place

_MAX_SEQUENCE = 2**63 - 1  # that every store can compare
_DAMAGED = (ValueError, TypeError, AttributeError, RecursionError)


def encode_cursor(order: Order, place: Place) -> str:
    """The cursor of a listing whose last memory so far has this place."""
    return _encode(order, *place)


def encode_name_cursor(folded: str) -> str:
    """The cursor of a listing of names whose last so far is this one, case-folded."""
    return _encode("names", folded)


def encode_event_cursor(seq: int) -> str:
    """The cursor of events whose last so far has this place in the log."""
    return _encode("events", seq)


class ZonePlace(NamedTuple):
    """The place of a memory among zones: their time in seconds, its vitality, its id."""

    now: float
    vitality: float
    id: str


def encode_zone_cursor(now: float, vitality: float, id: str) -> str:
    """The cursor of zones at a time whose last memory so far has this vitality and id."""
    return _encode("zones", now, vitality, id)


def parse_zone_cursor(cursor: str | None) -> ZonePlace | None:
    """The place of a cursor among zones, None without one.

    Raises:
        InvalidInput: it does not come from a page of zones.
    """
    if cursor is None:
        return None
    try:
        kind, now, vitality, id = _decode(cursor)
        if kind != "zones" or not finite(now) or not finite(vitality):
            raise ValueError("no place")
        return ZonePlace(float(now), float(vitality), storable("cursor", id))
    except _DAMAGED:
        raise _refused("cursor", "a page of zones") from None


def encode_search_cursor(line: int) -> str:
    """The cursor of recorded searches that go on with this line, backwards."""
    return _encode("searches", line)


def parse_search_cursor(cursor: str | None) -> int | None:
    """The line of a cursor of recorded searches, None without one.

    Raises:
        InvalidInput: it does not come from a page of searches.
    """
    return None if cursor is None else _parse_whole(cursor, "searches")


def _parse_whole(cursor: str, kind: str, field: str = "after") -> int:
    """The whole number of a cursor of a kind; InvalidInput, about a field, otherwise."""
    try:
        cursor_kind, number = _decode(cursor)
        if cursor_kind != kind or type(number) is not int or not 0 <= number <= _MAX_SEQUENCE:
            raise ValueError("no place")
    except _DAMAGED:
        raise _refused(field, f"a page of {kind}") from None
    return number


def parse_name_cursor(cursor: str | None) -> str:
    """The name of a cursor, "" without one.

    Raises:
        InvalidInput: it does not come from a listing of names.
    """
    if cursor is None:
        return ""
    try:
        kind, folded = _decode(cursor)
        if kind != "names" or type(folded) is not str:
            raise ValueError("no name")
        return storable("cursor", folded)
    except _DAMAGED:
        raise _refused("cursor", "a listing of names") from None


def parse_event_cursor(cursor: str | None, field: str = "after") -> int:
    """The place in the log that a cursor stands for, 0 without one.

    Raises:
        InvalidInput: about a field; it does not come from a page of events.
    """
    return 0 if cursor is None else _parse_whole(cursor, "events", field)


def parse_cursor(cursor: str | None, order: Order) -> Place | None:
    """The place of a cursor, None without one.

    Raises:
        InvalidInput: it does not come from a listing, or from one in another order.
    """
    if cursor is None:
        return None
    try:
        cursor_order, created, sequence = _decode(cursor)
        if cursor_order not in ("newest", "oldest") or not finite(created):
            raise ValueError("no place")
        if type(sequence) is not int or not 0 <= sequence <= _MAX_SEQUENCE:
            raise ValueError("no place")
        place = Place(float(created), sequence)
    except _DAMAGED:
        raise _refused("cursor", "a listing") from None
    if cursor_order != order:
        raise InvalidInput(
            "cursor",
            f"comes from a listing with the {cursor_order} first",
            f"give order={shown(cursor_order)} with it",
        )
    return place


def _encode(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


def _decode(cursor: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(cursor.encode()))


def _refused(field: str, source: str) -> InvalidInput:
    return InvalidInput(field, f"is not one of {source}", "pass on .cursor of the page before")

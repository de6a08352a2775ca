"""Time zones: whose day it is where a question says "yesterday", and where a date is shown.

What is stored is an instant, in UTC. A zone is chosen once for each call, by `zone_of`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone, tzinfo
from typing import Any

from salience.errors import InvalidInput, shown
from salience.records.validation import native

TIME_ZONE_VARIABLE = "SALIENCE_TIME_ZONE"
"""The environment variable with the time zone of a memory that is opened without one."""
UTC = timezone.utc


def time_zone(name: str, value: Any) -> tzinfo | None:
    """A time zone from its IANA name, as Europe/Berlin, or its offset, as +02:00; None for None.

    Raises:
        InvalidInput: there is no such zone; `name` says where it was given.
    """
    value = native(value)
    if value is None or isinstance(value, tzinfo):
        return value
    if not isinstance(value, str):
        problem = f"must be the name of a time zone, not {type(value).__name__}"
        raise InvalidInput(name, problem, "write it as Europe/Berlin or UTC")
    if value.upper() == "UTC":
        return UTC
    if value.removeprefix("UTC")[:1] in ("+", "-"):  # as Python writes one without a name
        with suppress(ValueError):
            return datetime.fromisoformat(f"2000-01-01T00:00{value.removeprefix('UTC')}").tzinfo
    from zoneinfo import ZoneInfo, available_timezones  # reads files: only if there is a zone

    try:
        return ZoneInfo(value)
    except (LookupError, ValueError, OSError):
        from difflib import get_close_matches

        zones = {zone.lower(): zone for zone in available_timezones()}
        nearest = get_close_matches(value.lower(), zones, 1)
        remedy = "write one as Europe/Berlin or UTC"
        if nearest:
            remedy = f"did you mean {zones[nearest[0]]}?"
        elif not zones:
            remedy = "this machine has no time zones; install tzdata"
        raise InvalidInput(name, f"there is no time zone {shown(value)}", remedy) from None


def own_zone(value: Any) -> tzinfo | None:
    """The zone with which a memory is opened, by default that of the environment, if any."""
    if value is None:
        return time_zone(TIME_ZONE_VARIABLE, os.environ.get(TIME_ZONE_VARIABLE) or None)
    return time_zone("time_zone", value)


def zone_of(moment: Any, *chosen: tzinfo | None) -> tzinfo:
    """The zone of a call: the first that was chosen, else that of its present, else the system's.

    `moment` is the present as it was given, a datetime or ISO 8601 text. One in UTC is an instant
    like any other, and names no zone.
    """
    for zone in chosen:
        if zone is not None:
            return zone
    moment = native(moment)
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.strip())
        except ValueError:
            return system_zone()  # the reader of the time says what is wrong
    zone = getattr(moment, "tzinfo", None)
    return system_zone() if zone is None or str(zone) == "UTC" else zone


def localized(value: Any, zone: tzinfo) -> Any:
    """A time that is given without a zone, as one of this zone; anything else as it is."""
    if zone is UTC:
        return value  # as every reader takes it
    moment = native(value)
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.strip())
        except ValueError:
            return value
        if value.strip().isdecimal() and len(value.strip()) != len("20260514"):
            return value
    elif isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if isinstance(moment, datetime) and moment.tzinfo is None and moment == moment:
        return moment.replace(tzinfo=zone)
    return value


def system_zone() -> tzinfo:
    """The zone of this machine, with its changes to and from summer time."""
    import time

    return UTC if not time.timezone and not time.daylight else _SYSTEM


class _System(tzinfo):
    """The zone of this machine by the C library, which knows the TZ of the environment."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None if moment is None else _by_system(moment).utcoffset()

    def tzname(self, moment: datetime | None) -> str | None:
        return None if moment is None else _by_system(moment).tzname()

    def dst(self, moment: datetime | None) -> timedelta | None:
        return None

    def fromutc(self, moment: datetime) -> datetime:
        local = moment.replace(tzinfo=UTC).astimezone()
        first = local.replace(tzinfo=self, fold=0)
        return first if first.utcoffset() == local.utcoffset() else first.replace(fold=1)


def _by_system(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=None).astimezone()
    except (OverflowError, ValueError, OSError):  # beyond the years that it knows
        return moment.replace(tzinfo=UTC)


_SYSTEM = _System()

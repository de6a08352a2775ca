"""The commands `keys ...`: keys for the doors of a store."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Annotated

import typer

from salience.access import SCOPES, Keyring, NewKey
from salience.access.plans import MAX_OVERLAP
from salience.cli import output
from salience.cli.settings import Settings
from salience.errors import InvalidInput, shown
from salience.lazily import regex
from salience.records.access_key import AccessKey
from salience.stores.address import remote_scheme

if TYPE_CHECKING:
    from salience.remote.keys import RemoteKeys

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = regex(r"(\d{1,6})([mhdw])")


def create(
    settings: Settings,
    namespace: list[str] | None = None,
    scope: Annotated[list[str] | None, typer.Option(help=", ".join(SCOPES))] = None,
    expires: str | None = None,
    name: str | None = None,
    time_zone: str | None = None,
) -> None:
    """Create a key and print it once."""
    scopes = [part.strip() for listed in scope or () for part in listed.split(",") if part.strip()]
    if not scopes:
        raise InvalidInput("--scope", "is missing", f"give some of {','.join(SCOPES)}")
    if not namespace:
        raise InvalidInput("--namespace", "is missing", "give a name, ana/* or *")
    with _opened(settings) as keys:
        created = keys.create(
            namespace, scopes, expires_at=_end(expires), name=name, time_zone=time_zone
        )
    _show_secret(settings, created)


def list_(settings: Settings) -> None:
    """List all keys, oldest first, without their secrets."""
    settings.require()
    with _opened(settings) as keys:
        listed = keys.list()
    if output.emitted(settings, [key.to_dict() for key in listed]):
        return
    if not listed:
        output.nothing("there are no keys; `salience keys create` makes one")
    from rich.console import Group
    from rich.text import Text

    from salience.cli import render

    rows = render.entries(id=8)
    for key in listed:
        uses = (
            "never used"
            if key.last_used is None
            else f"used {render.when(key.last_used, settings.zone)}"
        )
        about = " · ".join(filter(None, (key.name, _end_of(key), uses, key.time_zone)))
        rows.add_row(Text(key.id, "bold"), Group(Text(_access(key)), Text(about, "dim")))
    output.console().print(rows)


def rotate(
    settings: Settings, key_id: str, overlap: str = "0m", expires: str | None = None
) -> None:
    """Give a key a new secret and print it once."""
    settings.require()
    with _opened(settings) as keys:
        seconds = _duration("--overlap", overlap)
        rotated = keys.rotate(key_id, overlap=seconds, expires_at=_end(expires))
    _show_secret(settings, rotated)


def revoke(settings: Settings, key_id: str) -> None:
    """Revoke a key for good."""
    settings.require()
    with _opened(settings) as keys:
        revoked = keys.revoke(key_id)
    line = f"{revoked.id} is revoked; servers notice it within seconds"
    output.tell(settings, revoked, line)


def _opened(settings: Settings) -> Keyring | RemoteKeys:
    """The keys of a store, or of the server at the address."""
    if remote_scheme(settings.url):
        from salience.remote.keys import RemoteKeys

        return RemoteKeys.open(settings.url)
    return Keyring.open(settings.url)


def _show_secret(settings: Settings, new: NewKey) -> None:
    """Print a new secret to stdout, and all else about it to stderr."""
    if output.emitted(settings, new):
        return
    print(new.text)
    key = new.key
    output.note(
        f"{key.id} has {', '.join(key.namespaces)}: {', '.join(key.scopes)}; {_end_of(key)}"
    )
    if key.former_until is not None:
        output.note(f"the secret before is valid until {key.former_until:%Y-%m-%d %H:%M} UTC")
    output.note("this is the only time that it is shown; keep it where others cannot read it")


def _access(key: AccessKey) -> str:
    """The namespaces and scopes of a key."""
    return f"{', '.join(key.namespaces)}: {', '.join(key.scopes)}"


def _end_of(key: AccessKey) -> str:
    """The end of a key in words."""
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d %H:%M}"
    if key.expires_at is None:
        return "never expires"
    verb = "expires" if key.expires_at > datetime.now(timezone.utc) else "expired"
    return f"{verb} {key.expires_at:%Y-%m-%d %H:%M}"


def _end(expires: str | None) -> datetime | str | None:
    """The time that an option gives: from now on, or as it is."""
    if expires is None or _DURATION.fullmatch(expires) is None:
        return expires
    try:
        return datetime.now(timezone.utc) + _duration("--expires", expires)
    except OverflowError:
        raise InvalidInput("--expires", f"is {shown(expires)}", "leave it out for never") from None


def _duration(option: str, text: str) -> timedelta:
    """A length of time such as 90d."""
    match = _DURATION.fullmatch(text)
    if match is None:
        remedy = f"write it as 30m, 12h, 90d or 4w, at most {MAX_OVERLAP.days}d"
        raise InvalidInput(option, f"is {shown(text)}", remedy)
    return timedelta(**{_UNITS[match[2]]: int(match[1])})

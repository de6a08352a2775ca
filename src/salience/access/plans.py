"""Plans that make, rotate, revoke and read keys."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from zlib import crc32

from salience.access.principal import parse_patterns, parse_scopes
from salience.display.result import Result
from salience.errors import InvalidInput, NotFound, StoreError, shown
from salience.lazily import dataclass, regex, replace
from salience.records.access_key import AccessKey
from salience.records.time_zone import time_zone
from salience.records.validation import optional_timestamp, text
from salience.retrieval.operations import PutKey, ReadKeys
from salience.retrieval.plan import Plan, ask

# The text of a key, as its owner presents it: `sal_<id>_<secret>_<checksum>`

PREFIX = "sal"
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ID_CHARACTERS, _SECRET_CHARACTERS, _CHECK_CHARACTERS = 8, 43, 6  # the secret has 256 bits
_FORM = regex(
    rf"({PREFIX}_([0-9A-Za-z]{{{_ID_CHARACTERS}}})_([0-9A-Za-z]{{{_SECRET_CHARACTERS}}}))"
    rf"_([0-9A-Za-z]{{{_CHECK_CHARACTERS}}})"
)


class KeyText(NamedTuple):
    """The parts of a key that mean something."""

    id: str
    secret: str

    def __str__(self) -> str:
        body = f"{PREFIX}_{self.id}_{self.secret}"
        return f"{body}_{_checksum(body)}"

    def __repr__(self) -> str:  # that may come into a log
        return f"{type(self).__name__}({self.id!r})"

    @property
    def digest(self) -> str:
        """The hash of the secret that a store keeps.

        The secret is random, so no slow hash has to protect it.
        """
        return sha256(self.secret.encode()).hexdigest()

    @classmethod
    def random(cls, id: str | None = None) -> KeyText:
        """A new key, or a new secret for the key of an id."""
        return cls(id or _random(_ID_CHARACTERS), _random(_SECRET_CHARACTERS))

    @classmethod
    def parse(cls, text: str) -> KeyText | None:
        """The parts of a text; None if it is no key, or a mistyped one."""
        form = _FORM.fullmatch(text)
        if form is None or form[4] != _checksum(form[1]):
            return None
        return cls(form[2], form[3])


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _checksum(body: str) -> str:
    """CRC-32 in base 62."""
    number, digits = crc32(body.encode()), ""
    for _ in range(_CHECK_CHARACTERS):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits


MAX_NAME_CHARACTERS = 256
MAX_OVERLAP = timedelta(days=366)
_ATTEMPTS = 20  # at a change while others change the same key


@dataclass(frozen=True, repr=False)
class NewKey(Result):
    """A key with its text, the secret that its owner presents: it cannot be read again."""

    _shown = ("key",)

    text: str
    key: AccessKey


def create(
    namespaces: Any, scopes: Any, expires_at: Any, name: Any, now: datetime, zone: Any = None
) -> Plan[NewKey]:
    """The plan of making a key."""
    patterns, allowed = parse_patterns(namespaces), parse_scopes(scopes)
    end = _end(expires_at, now)
    name = None if name is None else text("name", name, limit=MAX_NAME_CHARACTERS)
    zone = None if time_zone("time_zone", zone) is None else str(zone)
    for _ in range(_ATTEMPTS):
        secret = KeyText.random()
        key = AccessKey(secret.id, secret.digest, patterns, allowed, now, end, name, time_zone=zone)
        if (yield from ask(PutKey(key))):
            return NewKey(str(secret), key)
    raise StoreError("no id is free for a new key; try again")


def rotate(id: Any, overlap: timedelta, expires_at: Any, now: datetime) -> Plan[NewKey]:
    """The plan of giving a key another secret; the one before ends after the overlap.

    Raises:
        NotFound: there is no such key.
        InvalidInput: an argument is wrong; or the key is revoked, or has expired and gets no later
            end.
    """
    check_overlap(overlap)
    end = _end(expires_at, now)
    secret = KeyText.random()

    def rotated(key: AccessKey) -> AccessKey:
        later = key.expires_at if end is None else end
        if key.revoked_at is not None:
            raise InvalidInput("id", f"the key {key.id} is revoked", "create another one")
        if later is not None and later <= now:
            remedy = "give expires_at, or create another one"
            raise InvalidInput("id", f"the key {key.id} has expired", remedy)
        former_until = min(now + overlap, key.expires_at or now + overlap)
        return replace(
            key,
            digest=secret.digest,
            former_digest=key.digest,
            former_until=former_until,
            expires_at=later,
        )

    key = yield from _change(id, rotated)
    return NewKey(str(KeyText(key.id, secret.secret)), key)


def check_overlap(overlap: timedelta) -> None:
    """Refuse an overlap of two secrets that is no time, or too long, with InvalidInput."""
    if not isinstance(overlap, timedelta) or not timedelta() <= overlap <= MAX_OVERLAP:
        remedy = f"give a time from 0 to {MAX_OVERLAP.days} days"
        raise InvalidInput("overlap", f"is {shown(overlap)}", remedy)


def revoke(id: Any, now: datetime) -> Plan[AccessKey]:
    """The plan of ending a key for good; one that is revoked stays as it is.

    Raises:
        NotFound: there is no such key.
    """
    return (yield from _change(id, lambda key: replace(key, revoked_at=key.revoked_at or now)))


def read(id: Any) -> Plan[AccessKey]:
    """The plan of reading a key by its id.

    Raises:
        NotFound: there is no such key.
    """
    keys = yield from ask(ReadKeys((text("id", id),)))
    if not keys:
        raise no_key(id)
    return keys[0]


def no_key(id: str) -> NotFound:
    """The error for an id that no key has."""
    return NotFound(f"there is no key {shown(id)}; `salience keys list` shows the ids")


def _change(id: Any, change: Callable[[AccessKey], AccessKey]) -> Plan[AccessKey]:
    """Replace a key by what it becomes, as it is when it is replaced."""
    for _ in range(_ATTEMPTS):
        key = yield from read(id)
        changed = change(key)
        if changed == key:
            return key
        changed = replace(changed, version=key.version + 1)
        if (yield from ask(PutKey(changed))):
            return changed
    raise StoreError(f"the key {shown(id)} keeps changing; try again")


def _end(expires_at: Any, now: datetime) -> datetime | None:
    """The time at which a key ends, later than now; None for never."""
    end = optional_timestamp("expires_at", expires_at)
    if end is not None and end <= now:
        raise InvalidInput(
            "expires_at", f"is {end.isoformat()}, which is past", "give a later time"
        )
    return end

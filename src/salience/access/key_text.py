"""The text of a key, as its owner presents it: `sal_<id>_<secret>_<checksum>`.

The checksum finds a typing error before anything is looked up; it keeps nobody out.
"""

from __future__ import annotations

import re
import secrets
import string
from hashlib import sha256
from typing import NamedTuple
from zlib import crc32

PREFIX = "sal"
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ID_CHARACTERS, _SECRET_CHARACTERS, _CHECK_CHARACTERS = 8, 43, 6  # the secret has 256 bits
_FORM = re.compile(
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

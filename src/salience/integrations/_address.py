"""The address of a memory in a configuration that is written down."""

from __future__ import annotations

import os
from typing import Any

from salience.errors import InvalidInput
from salience.stores.address import public_url


def written_address(memory: Any) -> str:
    """The address that an adapter was given, to be kept in a file that others may read.

    Raises:
        InvalidInput: an open memory was given, or an address with a password.
    """
    if not isinstance(memory, str | os.PathLike):
        problem = "was given open, and no configuration can hold it"
        raise InvalidInput("memory", problem, "give its address")
    address = os.fspath(memory)
    scheme, _, rest = address.partition("://")
    names, _, options = rest.partition("?")
    if rest and scheme != "sqlite" and (":" in names.rpartition("@")[0] or "password" in options):
        problem = f"is an address with a password ({public_url(address)})"
        raise InvalidInput("memory", problem, "leave it out, and set PGPASSWORD")
    return address

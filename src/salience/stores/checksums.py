"""Checksums of stored rows, by which damage that the disk did is told from what was written."""

from __future__ import annotations

from typing import Any
from zlib import crc32


def checksum(*values: Any) -> int:
    """The CRC-32 of stored values, in their order.

    Text counts in UTF-8, a number as Python writes it, bytes as they are; None is left out, so that
    a column that a later schema adds changes no checksum while it is empty.
    """
    encoded = [
        value
        if type(value) is bytes
        else value.encode()
        if type(value) is str
        else repr(float(value) if isinstance(value, float) else int(value)).encode()
        for value in values
        if value is not None
    ]
    return crc32(b"\x1f".join(encoded))

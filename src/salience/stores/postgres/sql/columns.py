"""Values of memories between the server's types and those of `salience.stores.codec`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from salience.records.fields import FIELDS
from salience.stores import codec
from salience.stores.postgres.wire.types import float_list

WHOLE_NUMBERS = tuple(name for name, field in FIELDS.items() if field.whole)
"""The fields that are whole numbers, which the server keeps as `double precision`."""


def codec_values_of(values: Sequence[Any]) -> dict[str, Any]:
    """Values as read, in the order of the fields, as `codec` has them."""
    return codec_values(dict(zip(FIELDS, values, strict=True)))


def codec_values(values: dict[str, Any]) -> dict[str, Any]:
    """Values as read, by name, as `codec` has them: JSON for lists, bytes for times."""
    converted = dict(values)
    for name in ("tags", "entities"):
        converted[name] = codec.encode(name, tuple(values[name])) if values[name] else None
    converted["accesses"] = codec.pack_times(float_list(values["accesses"]))
    for name in WHOLE_NUMBERS:
        converted[name] = int(values[name])
    return converted

"""Values of memories between the server's types and those of `salience.stores.codec`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from salience.records.fields import FIELDS
from salience.stores import codec
from salience.stores.postgres.wire.types import float_list


def codec_values_of(values: Sequence[Any]) -> dict[str, Any]:
    """Values in the order of the fields, as `codec` has them."""
    return codec_values(dict(zip(FIELDS, values, strict=True)))


def codec_values(kept: dict[str, Any]) -> dict[str, Any]:
    """Kept values as `codec` has them: JSON for lists, bytes for times."""
    found = dict(kept)
    for name in ("tags", "entities"):
        found[name] = codec.encode(name, tuple(kept[name])) if kept[name] else None
    found["accesses"] = codec.pack_times(float_list(kept["accesses"]))
    found["access_count"] = int(kept["access_count"])
    return found

"""Filter fields from outside the package: names for keys of the metadata, with a type.

    register_filter_field("project", FilterField("project_name", "text"))
    memory.search("the deadline", filters={"project": "apollo"})

A filter that is parsed compares the key of the metadata instead, so that every store supports it.
"""

from __future__ import annotations

from typing import Literal

from salience.errors import InvalidInput
from salience.extensions import Registry
from salience.lazily import dataclass
from salience.records.fields import FIELDS


@dataclass(frozen=True)
class FilterField:
    """A key of the metadata, and what its values are compared with: text, numbers or anything."""

    key: str
    type: Literal["text", "number", "json"] = "json"


_TAKEN = ("and", "or", "not", "person", "states")
_FIELDS = Registry[FilterField]("filter_fields")


def register_filter_field(name: str, field: FilterField) -> None:
    """Give a key of the metadata a name of its own in filters.

    Raises:
        InvalidInput: the name means something in filters already.
    """
    if name in FIELDS or name.startswith(("$", "metadata")) or name in _TAKEN:
        raise InvalidInput("filter_fields", f"{name!r} already has a meaning", "choose another")
    _FIELDS.register(name, field)


def registered_filter_field(name: str) -> FilterField | None:
    """The filter field of a name, registered or from an entry point; None for none."""
    return _FIELDS.get(name)

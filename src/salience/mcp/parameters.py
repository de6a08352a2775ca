"""Parameters that several tools share, and the filter that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from salience.api.docstrings import descriptions
from salience.engine.options import MemoryFields, RecordFields
from salience.mcp.tool import Texts
from salience.records.fields import FIELDS
from salience.records.validation import optional_timestamp

_MEANINGS = descriptions(RecordFields) | descriptions(MemoryFields)


def meaning(name: str, **limits: Any) -> Any:
    """The description of a field of a memory, which says how a time is written."""
    means, sign, rest = _MEANINGS[name].partition(";")
    if name in FIELDS and FIELDS[name].type == "time":
        means = f"{means.removesuffix('.')} (ISO 8601)" + ("" if sign else ".")
    return Field(description=means + sign + rest, **limits)


Id = Annotated[str, Field(description="The id of the memory, as other tools give it.")]
Query = Annotated[str, Field(description="What is asked, in words: a question, or a few terms.")]
Tags = Annotated[Texts | None, Field(description="Only memories that have all of these tags.")]
Kind = Annotated[
    str | None,
    Field(description='Only memories of this kind, as "fact", "note", "turn", "profile", "task".'),
]
Speaker = Annotated[str | None, Field(description="Only what this person said.")]
Since = Annotated[
    str | None, Field(description="Only what was said or happened from this time on (ISO 8601).")
]
Until = Annotated[
    str | None, Field(description="Only what was said or happened before this time (ISO 8601).")
]
AsOf = Annotated[str | None, Field(description="Go back: what was known at this time (ISO 8601).")]


def filters(
    tags: Sequence[str] | None,
    kind: str | None,
    speaker: str | None,
    since: str | None,
    until: str | None,
) -> Mapping[str, Any] | None:
    """The filter that the parameters make; None if none is given.

    Raises:
        InvalidInput: a time is none.
    """
    first, last = optional_timestamp("since", since), optional_timestamp("until", until)
    conditions: list[Mapping[str, Any]] = [{"tags": {"contains": tag}} for tag in tags or ()]
    conditions += [{"kind": kind}] if kind else []
    conditions += [{"speaker": speaker}] if speaker else []
    conditions += [{"created_at": {"gte": first}}] if first else []
    conditions += [{"created_at": {"lt": last}}] if last else []
    return {"$and": conditions} if conditions else None

"""Parameters that several tools share, and the filter that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from salience.mcp.tool import Texts
from salience.records.validation import optional_timestamp

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

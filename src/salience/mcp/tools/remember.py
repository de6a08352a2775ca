"""Tools that add, change, judge and delete memories."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from salience.api.operations import DELETE, WRITE
from salience.api.parameters import Bounds
from salience.display.for_models import one_line
from salience.errors import InvalidInput, NotFound, shown
from salience.mcp.tool import ID, Answer, Caller, Id, Texts, Zone, about, meaning, tool
from salience.search.request import SHARE
from salience.write.outcomes import Added, Outcome
from salience.write.reading import VERSION

Text = Annotated[str, about("What to remember, understandable without the conversation.")]
Title = Annotated[str | None, meaning("title")]
NewTags = Annotated[Texts | None, meaning("tags")]
Importance = Annotated[float | None, meaning("importance", SHARE)]
NewKind = Annotated[str | None, meaning("kind")]
Expires = Annotated[str | None, meaning("expires_at")]
Supersedes = Annotated[str | None, meaning("supersedes"), ID]
IfVersion = Annotated[int | None, about("Only if the memory still has this version.", VERSION)]


class Stored(TypedDict):
    """The outcome for a memory that was to be added."""

    id: Annotated[str, about("The id of the memory that says it now.")]
    outcome: Outcome
    reason: NotRequired[str]
    match: NotRequired[Annotated[str, about("The memory it was compared with.")]]
    similarity: NotRequired[float]
    remedy: NotRequired[Annotated[str, about("The call that settles a conflict.")]]
    may_replace: NotRequired[Annotated[str, about("The earlier memory whose place it may take.")]]
    chance: NotRequired[Annotated[float, about("The chance that it does, up to 1.")]]
    forgotten: NotRequired[
        Annotated[list[str], about("The ids that it asked to forget, now archived.")]
    ]
    run: NotRequired[Annotated[str, about("The name of that change, for undo.")]]
    secret: NotRequired[Annotated[str, about("That it holds a key or a password.")]]


class Changed(TypedDict):
    """A memory after a change."""

    id: str
    version: int
    status: str


class Deleted(TypedDict):
    """The memory that was deleted, and those that hold again without it."""

    id: str
    deleted: int
    restored: list[str]


class Judged(TypedDict):
    """The judgements of a memory, in sums of their weights."""

    id: str
    feedback_for: float
    feedback_against: float
    review: NotRequired[str]


@tool("Add a memory", scope=WRITE, result=Stored, renamed={"metadata.source": "source"})
async def add_memory(
    caller: Caller,
    content: Text,
    title: Title = None,
    kind: NewKind = None,
    tags: NewTags = None,
    speaker: Annotated[str | None, meaning("speaker")] = None,
    created_at: Annotated[str | None, meaning("created_at")] = None,
    importance: Importance = None,
    expires_at: Expires = None,
    source: Annotated[
        str | None, about("Where it comes from, such as a file or URL.", Bounds(maxLength=512))
    ] = None,
    supersedes: Supersedes = None,
    force: Annotated[bool, about("Add it even if a memory already says the same.")] = False,
    time_zone: Zone = None,
) -> Answer:
    """Remember something lasting: a preference, a decision, a fact, a plan, a correction.

    One thing each, with names and dates written out. What a memory says already is not added again;
    the outcome tells. Never store secrets such as passwords and keys.
    """
    origin = source or (None if caller.client is None else f"mcp:{caller.client}")
    fields: dict[str, Any] = {
        "title": title,
        "kind": kind,
        "tags": tags or (),
        "speaker": speaker,
        "created_at": created_at,
        "importance": importance,
        "expires_at": expires_at,
        "supersedes": supersedes,
        "metadata": None if origin is None else {"source": origin},
        "dedup": False if force else None,
        "time_zone": time_zone,
        "forget": "retire",
    }
    result = await caller.memory.add(content, **fields)
    [item] = result.items
    values = {
        "id": one_line(result.id),
        "outcome": item.outcome,
        "reason": one_line(item.reason),
        "match": item.match and one_line(item.match),
        "similarity": None if item.similarity is None else round(item.similarity, 3),
        "remedy": _remedy(item.settled_by or _change(item)),
        "may_replace": item.may_replace and one_line(item.may_replace),
        "chance": item.chance,
        "forgotten": [*map(one_line, item.forgets or ())],
        "run": result.run,
        "secret": item.secret and f"seems to hold a {item.secret}; delete it if it does",
    }
    stored = {name: value for name, value in values.items() if value not in (None, "", [])}
    text = "\n".join(f"{name}: {value}" for name, value in stored.items())
    return Answer(stored, text)


def _change(item: Added) -> tuple[str, str] | None:
    """The old and the new memory of a likely change."""
    return None if item.may_replace is None else (item.may_replace, str(item.id))


def _remedy(settled_by: tuple[str, str] | None) -> str | None:
    """The call that settles a conflict, once it is known which of both holds."""
    if settled_by is None:
        return None
    old, new = (json.dumps(one_line(id), ensure_ascii=False) for id in settled_by)
    return f"If the newer one holds: update_memory(id={new}, supersedes={old})"


@tool(
    "Update a memory",
    scope=WRITE,
    result=Changed,
    destructive=True,
    idempotent=True,
    renamed={"old": "supersedes", "ids": "supersedes", "new": "id"},
)
async def update_memory(
    caller: Caller,
    id: Id,
    content: Annotated[str | None, about("Its new text.")] = None,
    title: Title = None,
    kind: NewKind = None,
    tags: Annotated[Texts | None, about("Its new tags, replacing all others.")] = None,
    importance: Importance = None,
    expires_at: Expires = None,
    valid_to: Annotated[str | None, meaning("valid_to")] = None,
    pinned: Annotated[bool | None, meaning("pinned")] = None,
    supersedes: Supersedes = None,
    if_version: IfVersion = None,
) -> Answer:
    """Correct a memory: omitted fields stay as they are, and its history keeps the old text.

    If the world has changed, rather add what holds now with supersedes=ID: so both stay known,
    each for its time.
    """
    values = {
        "content": content,
        "title": title,
        "kind": kind,
        "tags": tags,
        "importance": importance,
        "expires_at": expires_at,
        "valid_to": valid_to,
        "pinned": pinned,
    }
    changes = {name: value for name, value in values.items() if value is not None}
    if not changes and supersedes is None:
        raise InvalidInput("arguments", "change nothing", "give content, tags or another field")
    if supersedes is not None and await caller.memory.get_many([supersedes]) == [None]:
        raise NotFound(
            f"supersedes: there is no memory {shown(supersedes)}, and nothing is changed"
        )
    record = await caller.memory.update(id, **changes, if_version=if_version)
    if supersedes is not None:  # which gives it another version
        await caller.memory.supersede(supersedes, id)
        record = await caller.memory.get(id) or record
    changed = {"id": one_line(record.id), "version": record.version, "status": record.status}
    return Answer(changed, f"{changed['id']} has the version {record.version} now.")


@tool("Delete a memory", scope=DELETE, result=Deleted, destructive=True, idempotent=True)
async def delete_memory(caller: Caller, id: Id, if_version: IfVersion = None) -> Answer:
    """Erase a memory and its history for good; to mark it as wrong, use give_feedback."""
    erased = await caller.memory.delete(id, if_version=if_version)
    if not erased:
        raise NotFound(f"there is no memory {shown(id)}")
    restored = [*map(one_line, erased.restored)]
    again = f" What it had replaced holds again: {', '.join(restored)}." if restored else ""
    content = {"id": one_line(id), "deleted": 1, "restored": restored}
    return Answer(content, f"{one_line(id)} is erased.{again}")


@tool("Give feedback", scope=WRITE, result=Judged, renamed={"context": "reason"})
async def give_feedback(
    caller: Caller,
    id: Id,
    verdict: Annotated[
        Literal["useful", "confirmed", "not_useful", "outdated", "incorrect"],
        about("What it turned out to be."),
    ],
    reason: Annotated[str | None, about("Why.", Bounds(maxLength=2_000))] = None,
) -> Answer:
    """Judge a memory after using it; later searches rank by that."""
    record = await caller.memory.feedback(id, verdict, reason)
    values = {
        "id": one_line(record.id),
        "feedback_for": record.feedback_for or 0.0,
        "feedback_against": record.feedback_against or 0.0,
        "review": record.review,
    }
    judged = {name: value for name, value in values.items() if value is not None}
    return Answer(judged, ", ".join(f"{name}: {value}" for name, value in judged.items()))

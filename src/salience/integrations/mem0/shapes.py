"""Memories and their histories in the shapes of mem0, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta, timezone
from hashlib import md5
from typing import Any

from salience.errors import InvalidInput, shown
from salience.lifecycle.history import History
from salience.records.record import MemoryRecord

_ROLES = frozenset({"user", "assistant", "system", "tool"})
_KEPT_IN_METADATA = ("app_id", "run_id", "role", "attributed_to")
"""The fields of mem0 that are keys of the metadata here."""
_DAY = timedelta(days=1)
_END = datetime.max.replace(tzinfo=timezone.utc)


def memory_of(record: MemoryRecord) -> dict[str, Any]:
    """A memory as mem0's `get_all` lists it; fields without a value are left out."""
    metadata = {n: _plain(v) for n, v in record.metadata.items() if n not in _KEPT_IN_METADATA}
    promoted = {
        **ids_of(record),
        "actor_id": actor_of(record),
        "role": role_of(record),
        "attributed_to": record.metadata.get("attributed_to"),
        "expiration_date": expiration_of(record),
    }
    return {
        "id": record.id,
        "memory": record.content,
        "hash": md5(record.content.encode(), usedforsecurity=False).hexdigest(),
        "metadata": metadata or None,
        "created_at": record.created_at.isoformat(),
        "updated_at": record.updated_at.isoformat(),
        **{name: value for name, value in promoted.items() if value is not None},
    }


def platform_memory_of(record: MemoryRecord) -> dict[str, Any]:
    """A memory as the platform gives it: with its categories, and null for what it has not."""
    ids = dict.fromkeys(("user_id", "agent_id", "app_id", "run_id", "expiration_date"))
    return {**ids, **memory_of(record), "categories": list(record.tags)}


def ids_of(record: MemoryRecord) -> dict[str, Any]:
    """The ids that say whose a memory is; None for one that it has not."""
    return {
        "user_id": record.user_id,
        "agent_id": record.agent_id,
        "app_id": record.metadata.get("app_id"),
        "run_id": record.session_id or record.metadata.get("run_id"),
    }


def actor_of(record: MemoryRecord) -> str | None:
    """The name of who said it; None if only the role is known."""
    speaker = record.speaker
    return None if speaker in _ROLES or speaker == role_of(record) else speaker


def role_of(record: MemoryRecord) -> str | None:
    """The role of the message that it is."""
    role = record.metadata.get("role")
    return role if isinstance(role, str) else None


def history_of(record: MemoryRecord, history: History) -> list[dict[str, Any]]:
    """The changes of a memory, oldest first: its text before and after each."""
    changes = [event for event in history.events if event.type in ("write", "edit")]
    texts = [record.content]  # after each change, the last one first
    for event in reversed(changes):
        texts.append(event.payload.get("was", {}).get("content", texts[-1]))
    texts.reverse()
    return [
        {
            "id": f"{record.id}-{place}",
            "memory_id": record.id,
            "old_memory": texts[place] if place else None,
            "new_memory": texts[place + 1],
            "event": "UPDATE" if place else "ADD",
            "created_at": record.created_at.isoformat(),
            "updated_at": (event.at if place else record.created_at).isoformat(),
            "is_deleted": False,
            "actor_id": actor_of(record),
            "role": role_of(record),
        }
        for place, event in enumerate(changes)
    ]


def expiration_of(record: MemoryRecord) -> str | None:
    """The last day on which a memory is found."""
    until = record.expires_at
    return None if until is None else (until - timedelta(microseconds=1)).date().isoformat()


def expires_at(value: Any) -> datetime | None:
    """The end of an `expiration_date`, a day in UTC; None for None.

    Raises:
        InvalidInput: it is no day.
    """
    if value is None:
        return None
    try:
        if isinstance(value, datetime):
            day = value.date()
        else:
            day = value if isinstance(value, date) else date.fromisoformat(value)
    except (TypeError, ValueError):
        problem = f"must be a valid date in YYYY-MM-DD format, not {shown(value)}"
        raise InvalidInput("expiration_date", problem) from None
    if day == date.max:
        return _END
    return datetime.combine(day + _DAY, datetime.min.time(), timezone.utc)


def messages_of(messages: Any) -> Iterator[Mapping[str, Any]]:
    """The messages of an argument: a text, one message or several.

    Raises:
        InvalidInput: it is something else.
    """
    if isinstance(messages, str):
        yield {"role": "user", "content": messages}
    elif isinstance(messages, Mapping):
        yield messages
    else:
        for place, message in enumerate(messages):
            if not isinstance(message, Mapping):
                problem = f"is {shown(message)}"
                raise InvalidInput(f"messages[{place}]", problem, "give role and content")
            yield message


def _plain(value: Any) -> Any:
    """A value of metadata as plain dicts and lists."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value

"""Memories and their histories in the shapes of mem0, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta, timezone
from hashlib import md5
from typing import Any

from salience.embedders import OpenAIEmbedder
from salience.engine.extraction import Extractor
from salience.errors import InvalidInput, NotFound, shown
from salience.records.events import Event
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


def history_of(record: MemoryRecord, events: Iterable[Event]) -> list[dict[str, Any]]:
    """The changes of a memory, oldest first: its text before and after each."""
    changes = [event for event in events if event.type in ("write", "edit")]
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
    """The messages of an argument: a text, one message or several."""
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


# Errors in the shapes of mem0: each is also what mem0 raises of the standard library


class ValidationError(InvalidInput):
    """An argument was refused; it has the attributes of mem0's `ValidationError` as well."""

    def __init__(
        self,
        field: str,
        problem: str,
        remedy: str,
        error_code: str,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(field, problem, remedy)
        self.message = str(self)
        self.error_code = error_code
        self.details = dict(details or {})
        self.suggestion = remedy


class MemoryNotFoundError(NotFound, ValueError):
    """There is no memory of that id; mem0 raises `ValueError`."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(f"Memory with id {memory_id} not found")


# The settings of mem0's `from_config`, as far as they mean something here

_KNOWN = ("vector_store", "llm", "embedder", "reranker", "custom_instructions")
_WITHOUT_MEANING = frozenset({"history_db_path", "version"})  # the store keeps the history


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Memory` for a configuration of mem0.

    `vector_store` is {"provider": "salience", "config": {"url": ..., ...}} with the settings of
    `salience.Memory.open`. `llm` and `embedder` may be of any provider that is asked by the
    protocol of OpenAI: "openai", or one whose `config` has `<provider>_base_url`. `reranker` is
    {"provider": "salience", "config": {"profile": ...}}.

    Raises:
        InvalidInput: a part is unknown, or of a provider that is not served here.
    """
    for name in config:
        if name not in _KNOWN and name not in _WITHOUT_MEANING:
            raise InvalidInput(str(name), "is not a setting", f"use {', '.join(_KNOWN)}")
    values: dict[str, Any] = {"custom_instructions": config.get("custom_instructions")}
    if (part := _part(config, "vector_store")) is not None:
        store = _own(part, "vector_store", '{"url": "agent.db"}')
        values["memory"] = store.pop("url", store.pop("path", None))
        values |= store
    if (part := _part(config, "reranker")) is not None:
        values["rerank_profile"] = _own(part, "reranker", '{"profile": "composite"}').get("profile")
    if (part := _part(config, "llm")) is not None:
        url, options = _endpoint(part, "llm")
        key = options.get("api_key") or os.environ.get("OPENAI_API_KEY")
        values["extractor"] = Extractor(options["model"], base_url=url, api_key=key)
    if (part := _part(config, "embedder")) is not None:
        url, options = _endpoint(part, "embedder")
        values["embedder"] = OpenAIEmbedder(
            options["model"],
            base_url=url,
            api_key=options.get("api_key"),
            dimensions=options.get("embedding_dims"),
        )
    return values


def _part(config: Mapping[str, Any], name: str) -> tuple[str, dict[str, Any]] | None:
    """The provider of a part, and its own configuration."""
    part = config.get(name)
    if part is None:
        return None
    if not isinstance(part, Mapping) or not isinstance(part.get("config", {}), Mapping):
        raise InvalidInput(name, f"is {shown(part)}", 'give {"provider": ..., "config": {...}}')
    return str(part.get("provider", "")), dict(part.get("config", {}))


def _own(part: tuple[str, dict[str, Any]], name: str, example: str) -> dict[str, Any]:
    """The configuration of a part that salience itself is."""
    provider, values = part
    if provider != "salience":
        raise InvalidInput(
            f"{name}.provider",
            f"is {shown(provider)}",
            f'leave it out, or give {{"provider": "salience", "config": {example}}}; what another '
            "store holds has to be imported",
        )
    return values


def _endpoint(part: tuple[str, dict[str, Any]], name: str) -> tuple[str, dict[str, Any]]:
    """The address of a provider that is asked by the protocol of OpenAI, and its other settings."""
    provider, values = part
    url = values.pop(f"{provider}_base_url", None)
    if url is None and provider == "openai":
        url = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    if url is None:
        remedy = f'give "{provider}_base_url" in its config: where it is asked as OpenAI is'
        raise InvalidInput(f"{name}.provider", f"is {shown(provider)}", remedy)
    if provider == "ollama" and not url.rstrip("/").endswith("/v1"):
        url = f"{url.rstrip('/')}/v1"  # where Ollama is asked as OpenAI is
    if not values.get("model"):
        raise InvalidInput(f"{name}.config.model", "is missing", "name the model")
    return url, values

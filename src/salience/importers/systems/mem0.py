"""Memories of mem0: the JSON of `get_all`, or the Qdrant collections that it keeps them in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from salience.importers._entries import derived_id, imported, listing, mapping, objects
from salience.importers._source import Address, ImportProblem, Item, Place, clean, moment

_BATCH = 256
_TEXT_KEYS = ("memory", "data", "text")
_FIELDS = {
    "created_at": "created_at",
    "updated_at": "updated_at",
    "user_id": "user_id",
    "agent_id": "agent_id",
    "run_id": "session_id",
}
# Derived from the text, or of one search.
_LEFT_OUT = ("hash", "text_lemmatized", "score", "structured_attributes")
_READ = {
    "entities",
    *("id", "actor_id", "role", "categories", "expiration_date", "metadata"),
    *_TEXT_KEYS,
    *_FIELDS,
    *_LEFT_OUT,
}


def read(place: Place) -> Iterator[Item]:
    """Yield the memories of a JSON file, of a folder of Qdrant or of its server.

    `run_id` becomes the session, `actor_id` or `role` the speaker, `categories` the tags and the
    day after `expiration_date` the time of expiry. Of a server, the key is taken from the variable
    QDRANT_API_KEY; a path in the address names one collection.

    Raises:
        ImportProblem: it cannot be read.
    """
    if isinstance(place, Path) and place.is_file():
        entries = objects(place, "results", "memories")
    else:
        entries = _points(place)
    for own, entry in entries:
        yield _item(place, own, entry)


def _item(place: Place, own: str, entry: Mapping[str, Any]) -> Item:
    content = next((entry[key] for key in _TEXT_KEYS if isinstance(entry.get(key), str)), None)
    if content is None:
        raise ImportProblem(place, f"{own}: has no text 'memory'", "export it again")
    further = {key: value for key, value in entry.items() if key not in _READ and value is not None}
    fields = {field: entry.get(name) for name, field in _FIELDS.items()}
    role = entry.get("role")
    return imported(
        "mem0",
        own,
        {
            **fields,
            "id": str(entry.get("id") or derived_id("mem0", fields, content)),
            "content": clean(content),
            "kind": "turn" if role else "fact",
            "speaker": entry.get("actor_id") or role,
            "tags": listing(entry.get("categories")),
            "entities": listing(entry.get("entities")),
            "created_at": moment(fields["created_at"]),
            "updated_at": moment(fields["updated_at"]),
            "expires_at": _expiry(entry.get("expiration_date")),
            "metadata": {**further, **mapping(entry.get("metadata"))},
        },
    )


def _expiry(value: Any) -> Any:
    """The end of the last day on which a memory holds."""
    try:
        day = datetime.fromisoformat(str(value)[:10]).replace(tzinfo=UTC)
    except ValueError:
        return value  # refused with the name of the field
    return day + timedelta(days=1)


def _points(place: Place) -> Iterator[tuple[str, dict[str, Any]]]:
    """The points of all collections in the shape of `get_all`, with the names of entities."""
    client, only = _client(place)
    try:
        names = sorted(found.name for found in client.get_collections().collections)
        if only and only not in names:
            raise ImportProblem(place, f"has no collection {only!r}", f"it has {', '.join(names)}")
        payloads = {
            name: list(_scrolled(client, name))
            for name in names
            if only is None or name in (only, f"{only}_entities")
        }
    except ImportProblem:
        raise
    except Exception as problem:  # of qdrant-client, httpx, or the server
        raise ImportProblem(
            place, f"cannot be read by qdrant-client: {problem}", "check that it is Qdrant's"
        ) from None
    finally:
        client.close()
    entities: dict[str, list[str]] = {}
    for _, payload in (point for points in payloads.values() for point in points):
        for id in payload.get("linked_memory_ids") or ():
            entities.setdefault(str(id), []).append(str(payload.get("data")))
    for name, points in payloads.items():
        for id, payload in points:
            if "data" in payload and "linked_memory_ids" not in payload:
                named = {"entities": sorted(entities.get(id, ()))} if id in entities else {}
                yield f"{name}, point {id}", {**payload, **named, "id": id}


def _scrolled(client: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    offset = None
    while True:
        points, offset = client.scroll(name, limit=_BATCH, offset=offset, with_vectors=False)
        for point in points:
            yield str(point.id), point.payload or {}
        if offset is None:
            return


def _client(place: Place) -> tuple[Any, str | None]:
    """A client of Qdrant, and the one collection that the address names."""
    try:
        qdrant = import_module("qdrant_client")
    except ImportError:
        raise ImportProblem(
            place, "is of Qdrant, which needs qdrant-client", "pip install 'salience[qdrant]'"
        ) from None
    try:
        if isinstance(place, Address):
            server, _, collection = place.url.partition("://")[2].partition("/")
            scheme = place.url.partition("://")[0]
            key = os.environ.get("QDRANT_API_KEY")
            client = qdrant.QdrantClient(url=f"{scheme}://{server}", api_key=key)
            return client, collection.strip("/") or None
        return qdrant.QdrantClient(path=str(place)), None
    except Exception as problem:  # a lock of another process, files of another version
        raise ImportProblem(
            place, f"cannot be opened by qdrant-client: {problem}", "close what uses it"
        ) from None

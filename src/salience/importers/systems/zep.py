"""Graphs of Graphiti and Zep: JSON of their episodes, facts and entities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from salience.importers._entries import (
    documents,
    entries,
    imported,
    listing,
    mapping,
    time,
)
from salience.importers._source import ImportProblem, Item, Place, clean

_LISTS = ("episodes", "messages", "nodes", "edges", "facts", "items")
_EPOCH = datetime.min.replace(tzinfo=UTC)
_Entry = Mapping[str, Any]


def read(path: Path) -> Iterator[Item]:
    """Yield episodes, then entities that have a summary, then facts, the oldest first.

    An object with `fact` is a fact: `valid_at` and `invalid_at` are its validity. It supersedes the
    one of the same source entity that expired and became invalid when it became valid itself, as
    Graphiti records it; of several such facts, the one of the same relation. An object with
    `content` is an episode or message, and one with `summary` an entity.

    Raises:
        ImportProblem: the file is not JSON, or an object is none of these.
    """
    episodes, nodes, facts = [], [], []
    for place, entry in _entries(path):
        if isinstance(entry.get("fact"), str):
            facts.append((place, entry))
        elif isinstance(entry.get("content"), str):
            episodes.append((place, entry))
        elif isinstance(entry.get("name"), str):
            nodes.append((place, entry))
        else:
            raise ImportProblem(
                path, f"{place}: is neither episode, fact nor entity", "export them as JSON"
            )
    known = {_uuid(entry) for _, entry in episodes}
    names = {_uuid(entry): str(entry["name"]) for _, entry in nodes}
    for place, entry in episodes:
        yield _episode(path, place, entry)
    for place, entry in nodes:
        if isinstance(entry.get("summary"), str) and clean(entry["summary"]):
            yield _entity(path, place, entry)
    facts.sort(key=lambda each: time(each[1].get("valid_at")) or _EPOCH)
    superseded = _superseded([entry for _, entry in facts])
    for place, entry in facts:
        item = _fact(path, place, entry, names, known)
        if item["id"] in superseded:
            item["supersedes"] = superseded[item["id"]]
        yield item


def _entries(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, document in documents(path):
        is_one = isinstance(document, dict) and _uuid(document)  # a fact has a list of episodes
        yield from entries(path, document, *(() if is_one else _LISTS), place=place)


def _uuid(entry: _Entry) -> str:
    return str(entry.get("uuid") or entry.get("uuid_") or "")


def _shared(path: Place, place: str, entry: _Entry) -> dict[str, Any]:
    """The fields that all kinds have."""
    if not _uuid(entry):
        raise ImportProblem(path, f"{place}: has no 'uuid'", "export it again")
    return {
        "id": _uuid(entry),
        "user_id": entry.get("user_uuid") or entry.get("user_id") or entry.get("group_id"),
    }


def _episode(path: Place, place: str, entry: _Entry) -> Item:
    session = entry.get("thread_uuid") or entry.get("thread_id") or entry.get("session_id")
    role = entry.get("role")
    is_turn = bool(session or role) or entry.get("source") == "message"
    said_at = entry.get("valid_at") or entry.get("reference_time") or entry.get("created_at")
    return imported(
        "zep",
        place,
        {
            **_shared(path, place, entry),
            "content": clean(entry["content"]),
            "kind": "turn" if is_turn else "note",
            "speaker": entry.get("role_name") or (entry.get("name") if role else None) or role,
            "session_id": session,
            "created_at": time(said_at),
            "metadata": {
                **mapping(entry.get("metadata") or entry.get("episode_metadata")),
                "source": entry.get("source") or "",
                "source_description": entry.get("source_description") or "",
            },
        },
    )


def _entity(path: Place, place: str, entry: _Entry) -> Item:
    labels = [label for label in listing(entry.get("labels")) if label != "Entity"]
    return imported(
        "zep",
        place,
        {
            **_shared(path, place, entry),
            "content": clean(entry["summary"]),
            "title": clean(entry["name"]),
            "kind": "entity",
            "entities": listing([entry["name"]]),
            "tags": labels,
            "created_at": time(entry.get("created_at")),
            "metadata": mapping(entry.get("attributes")),
        },
    )


def _fact(
    path: Place, place: str, entry: _Entry, names: Mapping[str, str], episodes: set[str]
) -> Item:
    ends = [
        entry.get(f"{end}_node_name") or names.get(str(entry.get(f"{end}_node_uuid")))
        for end in ("source", "target")
    ]
    from_episodes = listing(entry.get("episodes") or entry.get("episode_uuids"))
    return imported(
        "zep",
        place,
        {
            **_shared(path, place, entry),
            "content": clean(entry["fact"]),
            "kind": "fact",
            "entities": listing(ends),
            "created_at": time(entry.get("created_at") or entry.get("valid_at")),
            "valid_from": time(entry.get("valid_at")),
            "valid_to": time(entry.get("invalid_at")),
            "links": [
                {"target": id, "type": "mentions", "weight": 1.0}
                for id in from_episodes
                if id in episodes
            ],
            "metadata": {
                **mapping(entry.get("attributes")),
                "relation": entry.get("name") or "",
                "expired_at": entry.get("expired_at") or "",
            },
        },
    )


def _superseded(facts: Sequence[_Entry]) -> dict[str, str]:
    """The id of the fact that each fact supersedes, by its own; each takes the place of one."""
    by_start: dict[tuple[str, datetime], list[_Entry]] = {}
    for fact in facts:
        start = time(fact.get("valid_at"))
        if start is not None:
            by_start.setdefault((str(fact.get("source_node_uuid")), start), []).append(fact)
    superseded: dict[str, str] = {}
    for fact in facts:
        end = time(fact.get("invalid_at"))
        start = time(fact.get("valid_at"))
        if end is None or not fact.get("expired_at") or (start is not None and start >= end):
            continue
        later = by_start.get((str(fact.get("source_node_uuid")), end), [])
        if len(later) > 1:
            later = [each for each in later if each.get("name") == fact.get("name")]
        if len(later) == 1:
            superseded.setdefault(_uuid(later[0]), _uuid(fact))
    return superseded

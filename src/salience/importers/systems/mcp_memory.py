"""The knowledge graph of the reference MCP memory server: its memory.jsonl, or a graph it read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from salience.importers._entries import derived_id, imported, objects, required
from salience.importers._source import ImportProblem, Item, clean

_ASSUMED = ("created_at",)


def read(path: Path) -> Iterator[Item]:
    """Yield each entity, each of its observations, and each relation, as memories with links.

    An observation begins with the name of its entity, and mentions it; a relation is the fact that
    it says ("Ana works_at Acme"), and mentions both entities. The first entity of a relation also
    mentions the other. The file has no times, so the time is that of its last change.

    Raises:
        ImportProblem: a line is neither an entity nor a relation.
    """
    entries = list(objects(path, "entities", "relations"))
    created = datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
    relations = [_relation(path, *entry) for entry in entries if "relationType" in entry[1]]
    entities = [_entity(path, *entry) for entry in entries if "relationType" not in entry[1]]
    names = {name for _, name, _, _ in entities}
    targets: dict[str, dict[str, None]] = {}
    for _, source, _, target in relations:
        if target in names and target != source:
            targets.setdefault(source, {})[target] = None
    seen: set[str] = set()
    items = [
        *(item for entity in entities for item in _items_of(*entity, targets)),
        *(_item_of(*relation, names) for relation in relations),
    ]
    for item in items:
        if item["id"] not in seen:
            seen.add(item["id"])
            yield Item({**item, "created_at": created}, item.place, assumed=_ASSUMED)


def _entity(
    path: Path, place: str, entry: Mapping[str, Any]
) -> tuple[str, str, str, tuple[str, ...]]:
    """The place, name, type and observations of an entity."""
    observations = entry.get("observations", [])
    is_list = isinstance(observations, list)
    if not is_list or not all(isinstance(text, str) for text in observations):
        raise ImportProblem(path, f"{place}: its observations are no list of texts", "repair it")
    name = _name(path, place, entry, "name")
    type = clean(str(entry.get("entityType") or ""))
    return place, name, type, tuple(filter(None, map(clean, observations)))


def _relation(path: Path, place: str, entry: Mapping[str, Any]) -> tuple[str, str, str, str]:
    source, type, target = (
        _name(path, place, entry, name) for name in ("from", "relationType", "to")
    )
    return place, source, type, target


def _name(path: Path, place: str, entry: Mapping[str, Any], key: str) -> str:
    name = required(path, place, entry, key)
    if not name:
        raise ImportProblem(path, f"{place}: {key!r} is blank", "repair or remove it")
    return name


def _items_of(
    place: str,
    name: str,
    type: str,
    observations: tuple[str, ...],
    targets: Mapping[str, Mapping[str, None]],
) -> Iterator[Item]:
    shared = {"title": name, "entities": [name], "tags": [type] if type else []}
    yield imported(
        "mcp-memory",
        place,
        {
            **shared,
            "id": name,
            "content": f"{name} ({type})" if type else name,
            "kind": "entity",
            "links": _mentions(*targets.get(name, ())),
            "metadata": {},
        },
    )
    for observation in observations:
        yield imported(
            "mcp-memory",
            place,
            {
                **shared,
                "id": derived_id("mcp-memory", name, observation),
                "content": observation if name in observation else f"{name}: {observation}",
                "kind": "fact",
                "links": _mentions(name),
                "metadata": {},
            },
        )


def _item_of(place: str, source: str, type: str, target: str, names: set[str]) -> Item:
    return imported(
        "mcp-memory",
        place,
        {
            "id": derived_id("mcp-memory", source, type, target),
            "content": f"{source} {type} {target}",
            "kind": "fact",
            "entities": list(dict.fromkeys((source, target))),
            "links": _mentions(
                *(name for name in dict.fromkeys((source, target)) if name in names)
            ),
            "metadata": {"relation": type},
        },
    )


def _mentions(*targets: str) -> list[dict[str, Any]]:
    return [{"target": target, "type": "mentions", "weight": 1.0} for target in targets]

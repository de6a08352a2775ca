"""Memories as graphs: entities, their facts and their relations, as systems write them in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from salience.importers._entries import PLACE, derived_id, entries, links, listing, mapping, time
from salience.importers._source import ImportProblem, Job, Place, clean
from salience.importers.shapes import OWN, Entry, Shape, at

_EPOCH = datetime.min.replace(tzinfo=UTC)


_ZEP_LISTS = ("episodes", "messages", "nodes", "edges", "facts", "items")


_MCP_TIMES = "createdAt|created_at|timestamp"


def _text(place: Place, where: str, entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str):
        raise ImportProblem(place, f"{where}: has no text {name!r}", "export it again")
    return clean(value)


def _of_mcp(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    """Entities, their observations and their relations, as memories that mention each other.

    An observation begins with the name of its entity; a relation is the fact that it says ("Ana
    works_at Acme"). The first entity of a relation also mentions the other. What has no time has
    that of the file.
    """
    placed: list[tuple[str, Entry]] = []
    for where, entry in entries(place, document, "entities", "relations", job=job):
        try:
            is_relation = "relationType" in entry
            for name in ("from", "relationType", "to") if is_relation else ("name",):
                if not _text(place, where, entry, name):
                    raise ImportProblem(place, f"{where}: {name!r} is blank", "remove it")
            if not is_relation and not isinstance(entry.get("observations", []), list):
                problem = f"{where}: its observations are not a list"
                raise ImportProblem(place, problem, "repair it")
            placed.append((where, entry))
        except ImportProblem as problem:
            job.left_out(problem)
    relations = [each for each in placed if "relationType" in each[1]]
    entities = [each for each in placed if "relationType" not in each[1]]
    names = {clean(entity["name"]) for _, entity in entities}
    targets: dict[str, dict[str, None]] = {}
    for _, relation in relations:
        source, target = clean(relation["from"]), clean(relation["to"])
        if target in names and target != source:
            targets.setdefault(source, {})[target] = None
    for where, entity in entities:
        for item in _of_entity(
            place, where, entity, [*targets.get(clean(entity["name"]), ())], job
        ):
            yield {**item, PLACE: where}
    for where, entry in relations:
        source, type, target = (clean(entry[n]) for n in ("from", "relationType", "to"))
        ends = list(dict.fromkeys((source, target)))
        yield {
            "id": derived_id("mcp-memory", source, type, target),
            "content": f"{source} {type} {target}",
            "kind": "fact",
            "entities": ends,
            "links": links("mentions", [name for name in ends if name in names]),
            "created_at": at(entry, _MCP_TIMES),
            "metadata": {"relation": type},
            PLACE: where,
        }


def _of_entity(
    place: Place, where: str, entity: Entry, targets: Sequence[str], job: Job
) -> Iterator[Entry]:
    name, type = clean(entity["name"]), clean(str(entity.get("entityType") or ""))
    shared = {"title": name, "entities": [name], "tags": [type] if type else []}
    created = at(entity, _MCP_TIMES)
    yield {
        **shared,
        "id": name,
        "content": f"{name} ({type})" if type else name,
        "kind": "entity",
        "links": links("mentions", targets),
        "created_at": created,
    }
    for observation in entity.get("observations", []):
        words = (
            at(observation, "text|content|observation") if isinstance(observation, dict) else None
        )
        words = observation if isinstance(observation, str) else words
        if not isinstance(words, str):
            problem = f"{where}: its observations are not a list of texts"
            job.left_out(ImportProblem(place, problem, "repair it"))
        elif words := clean(words):
            yield {
                **shared,
                "id": derived_id("mcp-memory", name, words),
                "content": words if name in words else f"{name}: {words}",
                "kind": "fact",
                "links": links("mentions", [name]),
                "created_at": at(observation, _MCP_TIMES) or created,
            }


def _of_zep(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    """Episodes, then entities that have a summary, then facts, the oldest first.

    A fact supersedes the one of the same source entity that expired and became invalid when it
    became valid itself, as Graphiti records it; of several such, the one of the same relation.
    """
    is_one = isinstance(document, dict) and _uuid(document)  # a fact has a list of episodes
    kinds: dict[str, list[tuple[str, Entry]]] = {"fact": [], "content": [], "name": []}
    for where, entry in entries(place, document, *(() if is_one else _ZEP_LISTS), job=job):
        kind = next((kind for kind in kinds if isinstance(entry.get(kind), str)), None)
        if kind is None:
            problem = f"{where}: is neither episode, fact nor entity"
            job.left_out(ImportProblem(place, problem, "export them as JSON"))
        elif not _uuid(entry):
            job.left_out(ImportProblem(place, f"{where}: has no 'uuid'", "export it again"))
        else:
            kinds[kind].append((where, entry))
    facts = sorted(kinds["fact"], key=lambda each: time(each[1].get("valid_at")) or _EPOCH)
    episodes = {_uuid(entry) for _, entry in kinds["content"]}
    names = {_uuid(entry): str(entry["name"]) for _, entry in kinds["name"]}
    superseded = _superseded([entry for _, entry in facts])
    items = [
        *((where, entry, _episode(entry)) for where, entry in kinds["content"]),
        *((where, entry, _entity(entry)) for where, entry in kinds["name"]),
        *((where, entry, _fact(entry, names, episodes, superseded)) for where, entry in facts),
    ]
    for where, entry, fields in items:
        user = entry.get("user_uuid") or entry.get("user_id") or entry.get("group_id")
        yield {"id": _uuid(entry), "user_id": user, **fields, PLACE: where}


def _uuid(entry: Mapping[str, Any]) -> str:
    return str(entry.get("uuid") or entry.get("uuid_") or "")


def _episode(entry: Entry) -> Entry:
    session = entry.get("thread_uuid") or entry.get("thread_id") or entry.get("session_id")
    role = entry.get("role")
    is_turn = bool(session or role) or entry.get("source") == "message"
    said_at = entry.get("valid_at") or entry.get("reference_time") or entry.get("created_at")
    return {
        "content": entry["content"],
        "kind": "turn" if is_turn else "note",
        "speaker": entry.get("role_name") or (entry.get("name") if role else None) or role,
        "session_id": session,
        "created_at": time(said_at),
        "metadata": {
            **mapping(entry.get("metadata") or entry.get("episode_metadata")),
            "source": entry.get("source"),
            "source_description": entry.get("source_description"),
        },
    }


def _entity(entry: Entry) -> Entry:
    return {
        "content": entry.get("summary"),
        "title": entry["name"],
        "kind": "entity",
        "entities": [entry["name"]],
        "tags": [label for label in listing(entry.get("labels")) if label != "Entity"],
        "created_at": time(entry.get("created_at")),
        "metadata": entry.get("attributes"),
    }


def _fact(
    entry: Entry, names: Mapping[str, str], episodes: set[str], superseded: Mapping[str, str]
) -> Entry:
    ends = [
        entry.get(f"{end}_node_name") or names.get(str(entry.get(f"{end}_node_uuid")))
        for end in ("source", "target")
    ]
    from_episodes = listing(entry.get("episodes") or entry.get("episode_uuids"))
    return {
        "content": entry["fact"],
        "kind": "fact",
        "entities": ends,
        "created_at": time(entry.get("created_at") or entry.get("valid_at")),
        "valid_from": time(entry.get("valid_at")),
        "valid_to": time(entry.get("invalid_at")),
        "supersedes": superseded.get(_uuid(entry)),
        "links": links("mentions", [id for id in from_episodes if id in episodes]),
        "metadata": {
            **mapping(entry.get("attributes")),
            "relation": entry.get("name"),
            "expired_at": entry.get("expired_at"),
        },
    }


def _superseded(facts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The id of the fact that each fact supersedes, by its own; each takes the place of one."""
    by_start: dict[tuple[str, datetime], list[Mapping[str, Any]]] = {}
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


GRAPHS = (
    Shape(
        name="mcp-memory",
        about="the MCP memory server: memory.jsonl, or a graph that it read",
        signs=("entityType", "relationType", "entities.entityType", "entities relations"),
        gathered=True,
        arranged=_of_mcp,
        fields=OWN,
        by_file=True,
    ),
    Shape(
        name="zep",
        about="Zep and Graphiti: JSON of episodes, facts and entities",
        signs=(
            *(f"fact {name}" for name in ("valid_at", "invalid_at", "reference_time")),
            *(f"source_description {name}" for name in ("valid_at", "reference_time")),
            "fact source_node_uuid",
            "uuid name summary labels",
        ),
        gathered=True,
        within=_ZEP_LISTS,
        arranged=_of_zep,
        fields=OWN,
    ),
)

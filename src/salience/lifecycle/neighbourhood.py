"""The neighbourhood of a memory: those that its links lead to, step by step, and how alive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from salience.api.parameters import Between
from salience.display.result import Result
from salience.errors import InvalidInput, shown
from salience.language.tokens import shorten
from salience.lazily import dataclass
from salience.lifecycle.zones import zones
from salience.ranking.signals.vitality import Zone
from salience.records.filters import Compare
from salience.records.record import LINK_TYPES, Link, MemoryRecord
from salience.records.validation import boolean, integer, texts
from salience.retrieval.operations import LinksOf
from salience.retrieval.plan import Plan, ask
from salience.write.reading import read_existing, read_records

DEPTH = Between(1, 3)
NODES = Between(1, 500)
ENTITY = "entity"
"""The kind of a node that is an entity, and the type of the edge to it."""
_TITLE_CHARACTERS = 80


@dataclass(frozen=True, repr=False)
class Node(Result):
    """A memory, or an entity (whose id is its name), and the least number of links to it.

    `degree` counts its links of the types asked for, `left_out` those that are not among the edges.
    `zone` is None where it has none; `bridge` is True if the graph falls apart without it.
    """

    _shown = ("id", "title", "kind", "steps", "degree")

    id: str
    title: str
    kind: str
    steps: int
    zone: Zone | None = None
    bridge: bool = False
    degree: int = 0
    left_out: int = 0


@dataclass(frozen=True, repr=False)
class Graph(Result):
    """The memories around one, the nearest first, and the links between them.

    If entities are asked for, they are the last nodes, and edges of the type "entity" lead to each
    from the memories that name it.
    """

    _shown = ("around", "nodes", "edges")

    around: str
    nodes: tuple[Node, ...]
    edges: tuple[Link, ...]


def graph(
    namespace: str, around: Any, now: float, depth: Any, limit: Any, types: Any, entities: Any
) -> Plan[Graph]:
    """The plan of reading what links lead to from a memory, in at most `depth` steps.

    In each step, those with the most links to nearer ones come first, then by id. There are at
    most `limit` nodes and as many edges.

    Raises:
        NotFound: there is no memory `around`.
    """
    depth, limit = integer("depth", depth, *DEPTH), integer("limit", limit, *NODES)
    link_types, has_entities = _types(types), boolean("entities", entities)
    start = (yield from read_existing(around, namespace)).id
    steps = {start: 0}
    links: dict[tuple[str, str, str], Link] = {}
    outer: Sequence[str] = (start,)
    for step in range(1, depth + 2):  # the last one finds the links between the outermost
        outer_links: Sequence[Link] = yield from ask(LinksOf(namespace, tuple(outer)))
        fresh = [each for each in outer_links if each.type in link_types]
        links |= {(each.source, each.target, each.type): each for each in fresh}
        near = Counter(
            end for each in fresh for end in {each.source, each.target} if end not in steps
        )
        if step > depth or not near:
            break
        there = yield from read_records(namespace, tuple(near))
        ordered = sorted(there, key=lambda id: (-near[id], id))
        outer = ordered[: limit - len(steps)]
        steps |= dict.fromkeys(outer, step)
        if not outer:
            break
    records = yield from read_records(namespace, tuple(steps))
    zoned = yield from zones((namespace,), now, Compare("id", "in", tuple(steps)))
    alive = {each.id: each for each in zoned}
    between = [each for each in links.values() if {each.source, each.target} <= records.keys()]
    between.sort(key=lambda link: (steps[link.source] + steps[link.target], *link.key))
    edges = between[:limit]
    degrees = Counter(end for each in links.values() for end in (each.source, each.target))
    drawn = Counter(end for each in edges for end in (each.source, each.target))
    nodes = [
        Node(
            id,
            record.title or shorten(record.content, _TITLE_CHARACTERS),
            record.kind,
            steps[id],
            alive[id].zone if id in alive else None,
            id in alive and alive[id].bridge,
            degrees[id],
            degrees[id] - drawn[id],
        )
        for id, record in ((id, records[id]) for id in steps if id in records)
    ]
    if not has_entities:
        return Graph(start, tuple(nodes), tuple(edges))
    ids_by_name = _entities(records, limit - len(nodes))
    naming = [
        Link(namespace, id, name, ENTITY, 1.0, records[id].created_at)
        for name, ids in ids_by_name.items()
        for id in ids
    ][: limit - len(edges)]
    drawn = Counter(edge.target for edge in naming)
    nearest = {name: min(steps[id] for id in ids) + 1 for name, ids in ids_by_name.items()}
    nodes += [
        Node(name, name, ENTITY, nearest[name], None, False, len(ids), len(ids) - drawn[name])
        for name, ids in ids_by_name.items()
    ]
    return Graph(start, tuple(nodes), (*edges, *naming))


def _entities(records: Mapping[str, MemoryRecord], most: int) -> dict[str, list[str]]:
    """The memories that name each entity; entities that most of them name first, then by name."""
    by: dict[str, list[str]] = {}
    for record in records.values():
        for name in record.entities:
            by.setdefault(name, []).append(record.id)
    names = sorted(by, key=lambda name: (-len(by[name]), name))[:most]
    return {name: by[name] for name in names}


def _types(types: Any) -> Collection[str]:
    """The types of links to follow, all for None; InvalidInput for an unknown one."""
    names = LINK_TYPES if types is None else texts("types", types)
    for name in names:
        if name not in LINK_TYPES:
            raise InvalidInput(
                "types", f"there is no {shown(name)}", f"use {', '.join(LINK_TYPES)}"
            )
    return names

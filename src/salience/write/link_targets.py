"""Links by name: a link may lead to a memory that does not exist yet, and finds it later.

Such a link is pending. It leads to the memory of that id once it exists, or else to one with that
title or alias (`metadata["aliases"]`), whose id it then gets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from salience.language.tokens import slug
from salience.lazily import dataclass, replace
from salience.records.events import BROUGHT, link_key
from salience.records.record import EMPTY, Link, MemoryRecord
from salience.retrieval.operations import Collect, Events, LinksOf, Put, RowsById
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll

ALIASES = "aliases"  # key of the metadata
LinkKeys = frozenset[tuple[str, str, str]]


@dataclass(frozen=True)
class Found:
    """Pending links that found their targets: as they are and, in the same order, as they will be.

    `brought` are the keys of the new ones that came with the contents of their memories.
    """

    old: tuple[Link, ...] = ()
    new: tuple[Link, ...] = ()
    brought: LinkKeys = frozenset()

    def without(self, gone: Collection[tuple[str, str, str]]) -> Found:
        """The links found, without those whose pending ones go at the same time."""
        kept = [(o, n) for o, n in zip(self.old, self.new, strict=True) if o.key not in gone]
        return Found(tuple(o for o, _ in kept), tuple(n for _, n in kept), self.brought)


def brought_links(namespace: str, links: Sequence[Link]) -> Plan[LinkKeys]:
    """The keys of those links that came with the contents of their memories, by the log."""
    if not links:
        return frozenset()
    sources = tuple(sorted({link.source for link in links}))
    log = yield from ask(Events(namespace, sources, ("link",), waiting=False))
    last = {link_key(event): event for event in log if event.id is not None}
    keys = (link.key for link in links)
    return frozenset(key for key in keys if key in last and last[key].payload.get(BROUGHT))


def target_names(record: MemoryRecord) -> frozenset[str]:
    """The names of a memory besides its id: title and aliases, as written and as slugs."""
    return _names(record.title, record.metadata.get(ALIASES))


def _names(title: str | None, aliases: object) -> frozenset[str]:
    written = [title] if title else []
    if isinstance(aliases, str):
        written.append(aliases)
    elif isinstance(aliases, Sequence):
        written += [alias for alias in aliases if isinstance(alias, str)]
    return frozenset(written) | {slug(name) for name in written if slug(name)}


def pending_links_to(
    namespace: str,
    names_of: Mapping[str, Iterable[str]],
    now: datetime,
    created: Mapping[str, datetime] = EMPTY,
) -> Plan[Found]:
    """The pending links to some names.

    `names_of` are the new names of memories by id; of several memories with one name, the first
    gets the links. A link to a `created` memory keeps its age, but is no older than the memory; one
    to a memory that gains a name is from now.
    """
    id_of: dict[str, str] = {}
    for id, names in names_of.items():
        for name in sorted(names):
            id_of.setdefault(name, id)
    if not id_of:
        return Found()
    links, taken = yield [
        LinksOf(namespace, tuple(sorted(id_of))),
        RowsById(namespace, tuple(sorted(id_of))),
    ]
    old = tuple(link for link in links if link.target in id_of and link.target not in taken)
    new = []
    for link in old:
        id = id_of[link.target]
        at = max(link.created_at, min(created[id], now)) if id in created else now
        new.append(replace(link, target=id, created_at=at))
    return (yield from _found(namespace, old, new))


def _found(namespace: str, old: Sequence[Link], new: Sequence[Link]) -> Plan[Found]:
    brought = yield from brought_links(namespace, old)
    keys = frozenset(n.key for o, n in zip(old, new, strict=True) if o.key in brought)
    return Found(tuple(old), tuple(new), keys)


def followed(
    namespace: str, before: Sequence[Link], now: Sequence[Link], new: Mapping[str, Iterable[str]]
) -> Plan[tuple[list[Link], list[Link]]]:
    """The links to make and those to remove where a text names other memories than before.

    Links made in other ways stay. `new` are as in `resolve_names`.
    """
    if {link.key for link in before} == {link.key for link in now}:
        return [], []
    former = {link.key for link in (yield from resolve_names(namespace, before, new))}
    resolved = {link.key: link for link in (yield from resolve_names(namespace, now, new))}
    sources = tuple({link.source: None for link in (*before, *now)})
    present = {link.key: link for link in (yield from ask(LinksOf(namespace, sources)))}
    left = [link for key, link in present.items() if key in former - resolved.keys()]
    brought = yield from brought_links(namespace, left)
    gained = [link for key, link in resolved.items() if key not in {*former, *present}]
    return gained, [link for link in left if link.key in brought]


def resolve_names(
    namespace: str, links: Sequence[Link], new: Mapping[str, Iterable[str]] = EMPTY
) -> Plan[list[Link]]:
    """The links; those to the name of a memory lead to its id.

    `new` are the names of memories to be written, by id; an existing memory goes first.
    """
    unknown = sorted({link.target for link in links} - new.keys())
    if not unknown:
        return list(links)
    rows: Mapping[str, int] = yield from ask(RowsById(namespace, tuple(unknown)))
    names = [target for target in unknown if target not in rows]
    if not names:
        return list(links)
    id_of = yield from _ids_by_name(namespace, names)
    new_id_of = {name: id for id, aliases in reversed([*new.items()]) for name in aliases}
    for target in names:
        id = new_id_of.get(target) or new_id_of.get(slug(target))
        if id is not None:
            id_of.setdefault(target, id)
    return [replace(link, target=id_of.get(link.target, link.target)) for link in links]


def _ids_by_name(namespace: str, targets: Iterable[str]) -> Plan[dict[str, str]]:
    """The ids of the memories with the names of some targets, by target; the oldest of several."""
    targets_of: dict[str, list[str]] = {}
    for target in targets:
        for name in {target, slug(target) or target}:
            targets_of.setdefault(name, []).append(target)
    query, names = Query("", (namespace,), 0.0), ("id", "title", f"metadata.{ALIASES}")
    columns = (yield from ask(Collect(query, (MatchAll(),), None, names))).columns
    id_of: dict[str, str] = {}
    values = (columns[name].tolist() for name in names)
    for id, title, aliases in zip(*values, strict=True):
        for name in _names(title, aliases) if title or aliases else ():
            for target in targets_of.get(name, ()):
                id_of.setdefault(target, id)
    return id_of


def pending_links(namespace: str, links: Sequence[Link] | None = None) -> Plan[list[Link]]:
    """The links (all of the namespace for None) that lead to no memory."""
    if links is None:
        links = yield from ask(LinksOf(namespace))
    targets = tuple(sorted({link.target for link in links}))
    if not targets:
        return []
    rows = yield from ask(RowsById(namespace, targets))
    return [link for link in links if link.target not in rows]


def resolve_pending_links(
    namespace: str, now: datetime, *, apply: bool, actor: str | None = None
) -> Plan[list[Link]]:
    """The plan of resolving pending links: those whose name a memory has by now, as resolved.

    They keep their age. Nothing is written without `apply`.
    """
    links = yield from pending_links(namespace)
    if not links:
        return []
    id_of = yield from _ids_by_name(namespace, {link.target for link in links})
    old = [link for link in links if link.target in id_of]
    new = [replace(link, target=id_of[link.target]) for link in old]
    if apply and old:
        found = yield from _found(namespace, old, new)
        yield from ask(Put((), found.new, found.old, None, actor, at=now, brought=found.brought))
    return new

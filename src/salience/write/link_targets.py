"""Links by name: a link may lead to what is no memory yet, and finds it when it appears.

Such a link is pending. It leads to the memory of that id, once there is one; or else to one with
that title or alias (`metadata["aliases"]`), which then takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from salience.language.tokens import slug
from salience.records.record import Link, MemoryRecord
from salience.retrieval.operations import FetchColumns, LinksOf, Put, RowsById, SearchRoute
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll

ALIASES = "aliases"  # the key of the metadata


def target_names(record: MemoryRecord) -> frozenset[str]:
    """What a link may call a memory besides its id: title and aliases, as written and as slugs."""
    return _names(record.title, record.metadata.get(ALIASES))


def _names(title: str | None, aliases: object) -> frozenset[str]:
    written = [title] if title else []
    if isinstance(aliases, str):
        written.append(aliases)
    elif isinstance(aliases, Sequence):
        written += [each for each in aliases if isinstance(each, str)]
    return frozenset(written) | {slug(each) for each in written if slug(each)}


def pending_links_to(
    namespace: str, named: Mapping[str, Iterable[str]], now: datetime
) -> Plan[tuple[tuple[Link, ...], tuple[Link, ...]]]:
    """The pending links that lead to one of some names: (as they are, as they are to be).

    `named` are the ids of memories by the names that they have come to have; of several memories
    of one name, the first takes the links, and does so now.
    """
    leads: dict[str, str] = {}
    for id, names in named.items():
        for name in sorted(names):
            leads.setdefault(name, id)
    if not leads:
        return (), ()
    links, taken = yield [
        LinksOf(namespace, tuple(sorted(leads))),
        RowsById(namespace, tuple(sorted(leads))),
    ]
    old = tuple(link for link in links if link.target in leads and link.target not in taken)
    return (
        tuple(replace(link, created_at=now) for link in old),
        tuple(replace(link, target=leads[link.target], created_at=now) for link in old),
    )


def resolve_names(namespace: str, links: Sequence[Link], known: Iterable[str]) -> Plan[list[Link]]:
    """The links, those to a name of a memory leading to it; `known` are ids about to be written."""
    here = set(known)
    strange = sorted({link.target for link in links} - here)
    if not strange:
        return list(links)
    found: Mapping[str, int] = yield from ask(RowsById(namespace, tuple(strange)))
    names = [target for target in strange if target not in found]
    if not names:
        return list(links)
    leads = yield from _by_name(namespace, names)
    return [
        replace(link, target=leads.get(link.target, link.target))
        if link.target not in here
        else link
        for link in links
    ]


def _by_name(namespace: str, targets: Iterable[str]) -> Plan[dict[str, str]]:
    """The memories that go by the names of some targets, by target; the oldest of several."""
    wanted: dict[str, list[str]] = {}
    for target in targets:
        for name in {target, slug(target) or target}:
            wanted.setdefault(name, []).append(target)
    rows = (yield from ask(SearchRoute(MatchAll(), Query("", (namespace,), 0.0), None))).rows
    rows.sort()
    columns = yield from ask(FetchColumns(rows, ("id", "title", f"metadata.{ALIASES}")))
    leads: dict[str, str] = {}
    each = (columns[name].tolist() for name in ("id", "title", f"metadata.{ALIASES}"))
    for id, title, aliases in zip(*each, strict=True):
        for name in _names(title, aliases) if title or aliases else ():
            for target in wanted.get(name, ()):
                leads.setdefault(target, id)
    return leads


def pending_links(namespace: str, links: Sequence[Link] | None = None) -> Plan[list[Link]]:
    """The links (all of the namespace for None) that lead to no memory."""
    if links is None:
        links = yield from ask(LinksOf(namespace))
    targets = tuple(sorted({link.target for link in links}))
    if not targets:
        return []
    there = yield from ask(RowsById(namespace, targets))
    return [link for link in links if link.target not in there]


def resolve_pending_links(
    namespace: str, now: datetime, *, apply: bool, actor: str | None = None
) -> Plan[list[Link]]:
    """The pending links that a memory answers to by now, leading to it if applied."""
    links = yield from pending_links(namespace)
    if not links:
        return []
    leads = yield from _by_name(namespace, {link.target for link in links})
    old = [replace(link, created_at=now) for link in links if link.target in leads]
    new = [replace(link, target=leads[link.target]) for link in old]
    if apply and old:
        yield from ask(Put((), tuple(new), tuple(old), actor=actor))
    return new

"""Sections of a context: where each draws its memories from, and how much room it has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from salience.errors import InvalidInput, shown
from salience.records.filters import Filter
from salience.records.record import MemoryRecord
from salience.records.validation import boolean, integer, text
from salience.retrieval.operations import ListRecords, ReadRecords, RowsById
from salience.retrieval.plan import Plan, ask
from salience.search.request import MAX_HITS, SearchRequest
from salience.search.search import rank

Source = Literal["search", "recent", "listed"]
_SHORT = 12  # characters of an id that needs no shortening
_PREFIX = 8


def _check_budget(where: str, budget: Any) -> None:
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise InvalidInput(where, f"is {shown(budget)}", "give tokens, or a share like 0.3")
    if isinstance(budget, float) and not 0.0 < budget <= 1.0:
        raise InvalidInput(where, f"is {budget}", "a share is more than 0 and at most 1.0")
    if isinstance(budget, int) and budget < 1:
        raise InvalidInput(where, f"is {budget}", "give at least 1 token")


@dataclass(frozen=True)
class Section:
    """A part of a context under a name.

    `source` is "search" (what matters for the query, best first), "recent" (the newest, in the
    order of time) or "listed" (all that pass the filter, in the order of time). `budget` is in
    tokens, or a share of all if it is a float; without one a section takes what the others leave.
    Sections of high `priority` are packed first. With `whole`, nothing of it may be left out.
    """

    name: str
    source: Source = "search"
    budget: int | float | None = None
    priority: int = 0
    whole: bool = False
    namespace: str | None = None
    filters: Mapping[str, Any] | Filter | None = None
    title: str | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        where = f"sections.{text('sections', self.name, limit=64)}"
        if self.source not in ("search", "recent", "listed"):
            raise InvalidInput(
                f"{where}.source", f"is {shown(self.source)}", "use search, recent or listed"
            )
        if self.budget is not None:
            _check_budget(f"{where}.budget", self.budget)
        if isinstance(self.priority, bool) or not isinstance(self.priority, int):
            raise InvalidInput(
                f"{where}.priority", f"is {shown(self.priority)}", "give a whole number"
            )
        boolean(f"{where}.whole", self.whole)
        if self.title is not None and self.title != "":
            text(f"{where}.title", self.title)
        if self.limit is not None:
            integer(f"{where}.limit", self.limit, 1, MAX_HITS)

    @property
    def heading(self) -> str:
        """What is written above it."""
        return self.title or self.name.replace("_", " ").capitalize()


SectionLike = str | Mapping[str, Any] | Section
STANDARD: dict[str, Section] = {
    each.name: each
    for each in (
        Section("identity", "listed", priority=10, whole=True, filters={"kind": "profile"}),
        Section("recent", "recent", budget=0.3, filters={"kind": "turn"}),
        Section("team", budget=0.2),
        Section("memories"),
    )
}
DEFAULT = ("identity", "memories")


@dataclass(frozen=True, slots=True)
class Item:
    """A memory that a section may hold: its row, its short name, its score in the search."""

    record: MemoryRecord
    row: int
    ref: str = ""
    score: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from every other memory."""
        return self.record.namespace, self.record.id


@dataclass(frozen=True, slots=True)
class Gathered:
    """A section with the memories it may hold, the most important first, and what it lacked."""

    section: Section
    items: tuple[Item, ...]
    degraded: tuple[str, ...] = ()


def sections_of(given: Sequence[SectionLike] | None) -> tuple[Section, ...]:
    """Sections from their names, mappings of what differs from the standard, or as they are.

    Raises:
        InvalidInput: an unknown name or key, a wrong value, or a name that occurs twice.
    """
    if given is None:
        given = DEFAULT
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence) or not given:
        raise InvalidInput("sections", "must be a list of sections", f"like {list(DEFAULT)}")
    found = tuple(_section(each) for each in given)
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("sections", f"have {shown(name)} twice", "give each its own name")
    return found


def _section(given: SectionLike) -> Section:
    if isinstance(given, Section):
        return given
    if isinstance(given, str):
        if given not in STANDARD:
            remedy = f"use {', '.join(STANDARD)}, or give a mapping with its name and source"
            raise InvalidInput("sections", f"there is no standard {shown(given)}", remedy)
        given = {"name": given}
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise InvalidInput("sections", f"{shown(given)} is no section", 'give {"name": ...}')
    known = [field.name for field in fields(Section)]
    for key in given:
        if key not in known:
            path = f"sections.{given['name']}.{key}"
            raise InvalidInput(path, "is nothing a section has", f"use {', '.join(known)}")
    base = STANDARD.get(given["name"], Section(given["name"]))
    found = replace(base, **given)
    if found.name == "team" and found.namespace is None:
        raise InvalidInput(
            "sections.team.namespace", "is missing", 'give {"name": "team", "namespace": ...}'
        )
    return found


def gather(section: Section, request: SearchRequest) -> Plan[Gathered]:
    """The plan of reading what a section may hold; refs are given later."""
    if section.source == "search":
        ranked, degraded, _ = yield from rank(request, hits_only=True)
        final = ranked.final
        records = yield from ask(ReadRecords(final.rows))
        scores = final.floats("score").tolist() if len(final) else []
        items = tuple(
            Item(record, row, score=score)
            for record, row, score in zip(records, final.rows.tolist(), scores, strict=True)
            if record is not None
        )
        if items:
            return Gathered(section, items, degraded)
        note = f"{section.name}: nothing matches the query; the most recent instead"
        section = replace(section, title=f"{section.heading} (nothing matches, the most recent)")
        return Gathered(section, (yield from _newest(request)), (*degraded, note))
    items = yield from _newest(request)
    if not section.whole:
        return Gathered(section, items)
    if len(items) == request.limit:  # there may be more
        raise InvalidInput(
            f"sections.{section.name}",
            f"is to be whole, and has {request.limit} memories or more",
            "narrow its filters, or give it a larger limit",
        )
    return Gathered(section, items)


def _newest(request: SearchRequest) -> Plan[tuple[Item, ...]]:
    """The newest memories, the newest first; of the same time the one written last."""
    page = yield from ask(ListRecords(request.namespaces, request.where, request.limit))
    [namespace] = request.namespaces
    rows = yield from ask(RowsById(namespace, tuple(record.id for record in page.records)))
    items = (Item(record, rows[record.id]) for record in page.records if record.id in rows)
    return tuple(sorted(items, key=lambda item: (item.record.created_at, item.row), reverse=True))


def referred(gathered: Sequence[Gathered]) -> list[Gathered]:
    """The same with a short name for every memory: its id, or as much of it as tells it apart."""
    ids = {item.key: item.record.id for each in gathered for item in each.items}
    refs: dict[tuple[str, str], str] = {}
    for key, id in ids.items():
        plain = re.sub(r"[^\w.:-]", "_", id)
        sizes = range(_PREFIX, len(plain)) if len(plain) > _SHORT else ()
        shorter = (plain[:size] for size in sizes)
        others = [other for at, other in ids.items() if at != key]
        ref = next((s for s in shorter if not any(o.startswith(s) for o in others)), plain)
        again = sum(other.partition("~")[0] == ref for other in refs.values())
        refs[key] = f"{ref}~{again + 1}" if again else ref
    return [
        replace(each, items=tuple(replace(item, ref=refs[item.key]) for item in each.items))
        for each in gathered
    ]

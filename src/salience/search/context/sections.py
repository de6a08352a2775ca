"""Sections of a context: the source of their memories, and their budget of tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from operator import itemgetter
from typing import Annotated, Any, Literal, get_args

import numpy as np

from salience.api.parameters import Bounds
from salience.display.for_models import unfenced
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, field, fields, replace
from salience.ranking.probability import estimate
from salience.records.filters import Filter, all_of
from salience.records.record import MemoryRecord
from salience.records.validation import boolean, integer, text
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import ListRecords, ReadRecords, RowsById
from salience.retrieval.plan import Plan, ask
from salience.search.cutoff import DOUBTFUL
from salience.search.listing import SAID_OF_SELF, beliefs
from salience.search.passages import Passage, excerpt, matching_passages
from salience.search.request import HITS, SearchRequest
from salience.search.search import rank

Source = Literal["search", "about_user", "recent", "listed"]
MAX_REF_CHARACTERS = 12  # a longer id is shortened
MIN_REF_CHARACTERS = 8  # of a shortened id
_FIELDS = ("id", "content", "title", "speaker", "written_by", "created_at")
"""The fields that a context needs of a memory that a search found."""
_NO_DIRECT_ANSWER = "no direct answer; what is related"  # tells a model how to take the memories


def _check_budget(path: str, budget: Any) -> None:
    """Refuse a budget that is neither a positive number of tokens nor a share in (0, 1]."""
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise InvalidInput(path, f"is {shown(budget)}", "give tokens, or a share like 0.3")
    if isinstance(budget, float) and not 0.0 < budget <= 1.0:
        raise InvalidInput(path, f"is {budget}", "a share is more than 0 and at most 1.0")
    if isinstance(budget, int) and budget < 1:
        raise InvalidInput(path, f"is {budget}", "give at least 1 token")


@dataclass(frozen=True)
class Section:
    """A named part of a context.

    `source` is "search" (the memories that matter for the query, best first), "about_user" (the
    same of what the user said about themselves: health, tastes, circumstances, instructions),
    "recent" (the newest, in the order of time) or "listed" (all that pass the filter, in the order
    of time).
    `budget` is in tokens, or a share of all if it is a float; without one a section takes what the
    others leave. Sections of high `priority` are packed first. With `whole`, nothing may be left
    out.
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
        path = f"sections.{text('sections', self.name, limit=64)}"
        if self.source not in get_args(Source):
            raise InvalidInput(
                f"{path}.source",
                f"is {shown(self.source)}",
                f"use one of {', '.join(get_args(Source))}",
            )
        if self.budget is not None:
            _check_budget(f"{path}.budget", self.budget)
        if isinstance(self.priority, bool) or not isinstance(self.priority, int):
            raise InvalidInput(
                f"{path}.priority", f"is {shown(self.priority)}", "give a whole number"
            )
        boolean(f"{path}.whole", self.whole)
        if self.title is not None and self.title != "":
            text(f"{path}.title", self.title)
        if self.limit is not None:
            integer(f"{path}.limit", self.limit, *HITS)

    @property
    def heading(self) -> str:
        """The heading above it."""
        return self.title or self.name.replace("_", " ").capitalize()


SectionLike = Annotated[str | Mapping[str, Any] | Section, Bounds.of("Section")]
STANDARD: dict[str, Section] = {
    section.name: section
    for section in (
        Section("identity", "listed", priority=10, whole=True, filters={"kind": "profile"}),
        Section("about_user", "about_user", budget=0.3, priority=5),
        Section("recent", "recent", budget=0.3, filters={"kind": "turn"}),
        Section("team", budget=0.2),
        Section("memories"),
    )
}
DEFAULT = ("identity", "memories")


@dataclass(frozen=True)
class Item:
    """A memory that a section may hold: its row, and its score in the search."""

    record: MemoryRecord
    row: int
    score: float | None = None
    passages: tuple[Passage, ...] = ()  # of a long text that match, the best first
    newer: tuple[str, ...] = ()  # the ids of what may have taken its place

    @property
    def key(self) -> tuple[str, str]:
        """The namespace and the id, which no other memory has."""
        return self.record.namespace, self.record.id

    @cached_property
    def content(self) -> str:
        """The text of the memory, without characters that a reader does not see, or the fence."""
        return unfenced(self.record.content)

    def excerpt(self, count: int) -> str:
        """The best passages of the text, each under its headings, in the order of the text."""
        return unfenced(excerpt(self.passages[:count]))

    @cached_property
    def folded_text(self) -> str:
        """The text of the memory in lower case, with single spaces."""
        return " ".join(self.content.casefold().split())

    @cached_property
    def speaker(self) -> str | None:
        """The name of who said it, cleaned."""
        return self.record.speaker and unfenced(self.record.speaker)

    @cached_property
    def title(self) -> str | None:
        """The title, cleaned."""
        return self.record.title and unfenced(self.record.title)


@dataclass(frozen=True)
class Gathered:
    """A section, the memories it may hold, the most important first, and what was missing.

    `probability` is the chance that any memory that its search found answers the query; `below` are
    those that it found and a cut left out, if they are asked for.
    """

    section: Section
    items: tuple[Item, ...]
    degraded: tuple[str, ...] = ()
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probability: float | None = None
    below: tuple[Item, ...] = ()


def sections_of(sections: Sequence[SectionLike] | None) -> tuple[Section, ...]:
    """The sections given by name, by a mapping of what differs from the standard, or as they are.

    Raises:
        InvalidInput: an unknown name or key, a wrong value, or a name that occurs twice.
    """
    if sections is None:
        sections = DEFAULT
    if isinstance(sections, (str, Mapping)) or not isinstance(sections, Sequence) or not sections:
        raise InvalidInput("sections", "must be a list of sections", f"like {list(DEFAULT)}")
    parsed = tuple(map(_section, sections))
    names = [section.name for section in parsed]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("sections", f"have {shown(name)} twice", "give each its own name")
    return parsed


def _section(section: SectionLike) -> Section:
    """A section from its name, from a mapping, or as it is."""
    if isinstance(section, Section):
        return section
    if isinstance(section, str):
        if section not in STANDARD:
            remedy = f"use {', '.join(STANDARD)}, or give a mapping with its name and source"
            raise InvalidInput("sections", f"there is no standard {shown(section)}", remedy)
        section = {"name": section}
    if not isinstance(section, Mapping) or not isinstance(section.get("name"), str):
        raise InvalidInput("sections", f"{shown(section)} is not a section", 'give {"name": ...}')
    keys = [field.name for field in fields(Section)]
    for key in section:
        if key not in keys:
            path = f"sections.{section['name']}.{key}"
            raise InvalidInput(path, "is not a field of a section", f"use {', '.join(keys)}")
    base = STANDARD.get(section["name"], Section(section["name"]))
    filled = replace(base, **section)
    if filled.name == "team" and filled.namespace is None:
        raise InvalidInput(
            "sections.team.namespace", "is missing", 'give {"name": "team", "namespace": ...}'
        )
    return filled


def gather(section: Section, request: SearchRequest, *, asked: bool, trace: bool) -> Plan[Gathered]:
    """The plan of reading the memories that a section may hold; references are given later.

    Unless something is `asked`, they are the newest. With `trace`, those that a cut leaves out are
    read as well.
    """
    if section.source == "about_user":
        request = replace(request, where=all_of(request.where, SAID_OF_SELF))
    if asked and section.source in ("search", "about_user"):
        run, degraded, _ = yield from rank(request)
        likely = estimate(run)
        ranked, run = run.final, request.cutoff.apply(run, likely)
        count, final = len(ranked), run.final
        fields = () if section.source == "about_user" else _FIELDS
        records = yield from ask(ReadRecords(final.rows, sound=True, fields=fields))
        passages = yield from matching_passages(request.profile, run.query, final.rows, records)
        items = _believed(section, _items(final, records, passages))
        below: tuple[Item, ...] = ()
        if trace and len(final) < count:
            dropped = ranked.take(~np.isin(ranked.rows, final.rows))
            records = yield from ask(ReadRecords(dropped.rows, sound=True, fields=fields))
            below = _items(dropped, records, [()] * len(dropped))
        taken = run.query.reading.taken
        probability = None if likely is None else likely.of_any(likely.ranked)
        if count and probability is not None and probability < DOUBTFUL:
            section = replace(section, title=f"{section.heading} ({_NO_DIRECT_ANSWER})")
        if items or (count and likely is not None):  # or all that was found is cut
            return Gathered(section, items, degraded, taken, probability, below)
        note = f"{section.name}: nothing matches the query; the most recent instead"
        section = replace(section, title=f"{section.heading} (nothing matches, the most recent)")
        newest = _believed(section, (yield from _newest(request)))
        return Gathered(section, newest, (*degraded, note), taken)
    items = _believed(section, (yield from _newest(request)))
    if not section.whole:
        return Gathered(section, items)
    if len(items) == request.limit:  # there may be more
        raise InvalidInput(
            f"sections.{section.name}",
            f"is to be whole, and has {request.limit} memories or more",
            "narrow its filters, or give it a larger limit",
        )
    return Gathered(section, items)


def _items(
    table: Candidates,
    records: Sequence[MemoryRecord | None],
    passages: Sequence[tuple[Passage, ...]],
) -> tuple[Item, ...]:
    """The memories of a ranking, but for those erased since."""
    scores = table.floats("score").tolist() if len(table) else []
    marks = (
        table["change.marks"].tolist() if "change.marks" in table.columns else [None] * len(scores)
    )
    rows = zip(records, table.rows.tolist(), scores, passages, marks, strict=True)
    return tuple(
        Item(record, row, score=score, passages=matches, newer=newer or ())
        for record, row, score, matches, newer in rows
        if record is not None
    )


def _newest(request: SearchRequest) -> Plan[tuple[Item, ...]]:
    """The newest memories, the newest first; of the same time the one written last."""
    [namespace] = request.namespaces
    listing = yield from ask(ListRecords(namespace, request.where, request.limit))
    rows = yield from ask(RowsById(namespace, tuple(record.id for record in listing.records)))
    return tuple(Item(record, rows[record.id]) for record in listing.records if record.id in rows)


def _believed(section: Section, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The memories that belong in a section; in "about_user" only beliefs about the user."""
    if section.source != "about_user":
        return items
    believed_ids = {belief.record.id for belief in beliefs([item.record for item in items])}
    return tuple(item for item in items if item.record.id in believed_ids)


def capped(gathered: Sequence[Gathered], most: int) -> tuple[list[Gathered], int]:
    """The same with at most `most` memories of one writer, and the number of the others.

    Sections of higher priority take theirs first; a memory in several sections counts once.
    """
    taken: dict[str | None, dict[tuple[str, str], None]] = {}
    for part in sorted(gathered, key=lambda part: -part.section.priority):
        for item in part.items:
            keys = taken.setdefault(item.record.written_by, {})
            if len(keys) < most:
                keys[item.key] = None
    kept = {key for keys in taken.values() for key in keys}
    beyond = {item.key for part in gathered for item in part.items} - kept
    return [
        replace(part, items=tuple(item for item in part.items if item.key in kept))
        for part in gathered
    ], len(beyond)


def reference(id: str) -> str:
    """An id as a reference has it, without the characters that would end one."""
    return id if id.isalnum() else re.sub(r"[^\w.:-]", "_", id)


def shortened(given: str) -> tuple[dict[str, Any], str] | None:
    """The filter of what a shortened id, such as [m:1f3a9c02], may stand for, and how that begins.

    None for one of fewer than `MIN_REF_CHARACTERS`.
    """
    short = given.strip().removeprefix("[").removesuffix("]").removeprefix("m:")
    start = short.partition("_")[0]  # which may stand for a character that no reference has
    if not start or len(short) < MIN_REF_CHARACTERS:
        return None
    return {"id": {"gte": start, "lt": f"{start}\U0010ffff"}}, short


def whole_id(given: str, short: str, ids: Iterable[str]) -> str:
    """The only one of some ids that begins with `short`; `given` if none does.

    Raises:
        InvalidInput: several do.
    """
    matches = [id for id in ids if reference(id).startswith(short)]
    if len(matches) > 1:
        problem = f"{shown(given)} begins the ids of {len(matches)} memories"
        raise InvalidInput("id", problem, "give more of it")
    return matches[0] if matches else given


def references_of(gathered: Sequence[Gathered]) -> dict[tuple[str, str], str]:
    """A reference for every memory, its id or a prefix of no other, by its key."""
    ids = {item.key: item.record.id for part in gathered for item in part.items}
    starts = cache(lambda size: Counter(map(itemgetter(slice(size)), ids.values())))
    refs: dict[tuple[str, str], str] = {}
    count_of = Counter[str]()
    for key, id in ids.items():
        ref = reference(id)
        for size in range(MIN_REF_CHARACTERS, len(ref)) if len(ref) > MAX_REF_CHARACTERS else ():
            if starts(size)[ref[:size]] == id.startswith(ref[:size]):  # itself
                ref = ref[:size]
                break
        count_of[ref] += 1
        refs[key] = f"{ref}~{count_of[ref]}" if count_of[ref] > 1 else ref
    return refs

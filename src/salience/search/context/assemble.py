"""The context of a query: sections gathered, packed and written, with their provenance."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Annotated, Any, Literal, TypedDict

import numpy as np

from salience.api.parameters import Between, Bounds
from salience.display.html import HtmlResult, header, nothing
from salience.display.html import section as html_section
from salience.display.html import text as html_text
from salience.display.result import Result
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, field
from salience.ranking.profiles import ProfileLike
from salience.records.field_filters import FIELD_DEFAULTS, FieldFilters
from salience.records.filters import And, parse_filter
from salience.records.time_zone import UTC
from salience.records.validation import boolean, integer
from salience.retrieval.operations import Touch
from salience.retrieval.plan import Plan, ask
from salience.search.candidates import TEXT_CHARACTERS
from salience.search.context.packing import FORMATS, Block, Format, Packed, Packing, messages
from salience.search.context.sections import (
    Gathered,
    Section,
    SectionLike,
    capped,
    gather,
    sections_of,
)
from salience.search.cutoff import Cut
from salience.search.request import (
    MAX_HITS,
    SHARE,
    TOKENS,
    Filters,
    Present,
    SearchRequest,
    SearchSettings,
    TimeZone,
    further,
    named_in,
    past_time,
    present_time,
    search_request,
)

PER_WRITER = Between(1)
SECTION_HITS = 100  # of the search that fills a section which sets no limit


@dataclass(frozen=True, repr=False)
class Provenance(Result):
    """The memory that a piece of the text comes from; `left_out` counts the tokens cut off it."""

    ref: str
    id: str
    namespace: str
    section: str
    score: float | None
    left_out: int


@dataclass(frozen=True, repr=False)
class Filled(Result):
    """A section after packing: its tokens, the allowed ones, and the memories without room."""

    name: str
    tokens: int
    allowed: int
    ids: tuple[str, ...]
    cut: tuple[str, ...]
    without_room: int


Outcome = Literal["in", "shortened", "no room", "said already", "below the floor", "beyond the cap"]


@dataclass(frozen=True, repr=False)
class Considered(Result):
    """A memory that a section could have held: its first letters, its score, what became of it.

    `tokens` are those by which the text grew; of one that is not in it, those of its own text.
    "said already": a section has its text; "below the floor": `cut` or `min_probability` left it
    out; "beyond the cap": its writer has the most already.
    """

    section: str
    id: str
    namespace: str
    text: str
    score: float | None
    tokens: int
    outcome: Outcome


@dataclass(frozen=True, repr=False)
class Context(HtmlResult):
    """A text for an agent to read, in a fence that says it is data: counter(text) <= max_tokens.

    `tokens` are those of the text. `provenance` names the memories in the order of the text.
    `degraded` names everything that had to be done without, `taken` the words of the query that no
    memory holds, with those that they were taken for. `probability` is the chance that any memory
    that its first search found answers the query, None if the profile gives none. `beyond_cap`
    memories are left out as there are `per_writer` of their writers already. In the format
    "messages", `text` holds the `messages` as JSON. `considered` are all memories that its sections
    could have held, with `trace`.
    """

    _shown = ("query", "tokens", "max_tokens", "format", "ids", "degraded")

    query: str
    text: str
    tokens: int
    max_tokens: int
    format: Format
    sections: tuple[Filled, ...]
    provenance: tuple[Provenance, ...]
    messages: tuple[Mapping[str, str], ...] = ()
    degraded: tuple[str, ...] = ()
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probability: float | None = None
    beyond_cap: int = 0
    considered: tuple[Considered, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the memories, in the order of the text."""
        return tuple(source.id for source in self.provenance)

    @property
    def truncated(self) -> tuple[str, ...]:
        """The ids of the memories that were cut to fit."""
        return tuple(source.id for source in self.provenance if source.left_out)

    def _title(self) -> str:
        return self.query

    def _sections(self) -> Iterator[str]:
        count = f"{len(self.ids)} memories"
        lacks = (f"without {lack}" for lack in self.degraded)
        yield header(self.query, (count, f"{self.tokens} of {self.max_tokens} tokens", *lacks))
        if self.text:
            yield html_section("", f"<pre>{html_text(self.text)}</pre>")
        else:
            yield nothing("No memory is in the context.")

    def __str__(self) -> str:
        return self.text


class TextOptions(TypedDict, total=False):
    """Further options of a context.

    counter: a function from text to tokens; ceil(characters / 4) unless the memory has its own.
    time_zone: the zone of whoever asks, as `search` takes it, and of the dates in the text.
    references: mark each memory with a short reference, [m:...]; see `Context.provenance`.
    min_probability: leave out memories whose probability of answering the query is below it.
    trace: list all memories that were considered, with their tokens and what became of each.
    """

    counter: Callable[[str], int] | None
    time_zone: TimeZone
    references: bool
    min_probability: Annotated[float | None, SHARE]
    trace: bool


class ContextOptions(FieldFilters, total=False):
    """The options of a context.

    format: the form of the text: text, markdown, xml or messages.
    sections: names, mappings or `Section`s; see `salience.search.context`. By default what is known
        of the user (memories of the kind "profile", never cut), then a search.
    profile: how to rank; the memory's profile by default.
    now: the time to rank for; the present by default.
    as_of: draw on what there was at this time; see `search`. Nothing is touched.
    filters: a condition that each memory must meet, in every section.
    touch: count an access of each memory that the context holds.
    cut: leave out what does not answer the query, as `search` does; by default all that fits is
        taken.
    per_writer: the most memories of one writer (`written_by`), over all sections, the important
        ones first; memories without one count as one's. Nobody fills a context alone then.
    options: further options by their names, as {"trace": True}; those of
        `salience.search.context.TextOptions`.
    """

    format: Format
    sections: Annotated[Sequence[SectionLike] | None, Bounds(minItems=1)]
    profile: ProfileLike | None
    now: Present
    as_of: Present
    filters: Filters
    touch: bool
    cut: Cut | None
    per_writer: Annotated[int | None, PER_WRITER]
    options: TextOptions | None


CONTEXT_DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(ContextOptions.__annotations__),
    **FIELD_DEFAULTS,
    "format": "text",
    "touch": True,
}
_DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(TextOptions.__annotations__),
    **CONTEXT_DEFAULTS,
    "references": True,
    "trace": False,
}


@dataclass(frozen=True, eq=False)
class ContextRequest:
    """A checked request for a context: for each section the search that fills it."""

    query: str
    max_tokens: int
    format: Format
    counter: Callable[[str], int]
    references: bool
    touch: bool
    per_writer: int | None
    now: datetime
    as_of: datetime | None
    searches: tuple[tuple[Section, SearchRequest], ...]
    trace: bool = False
    zone: tzinfo = UTC

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that its sections draw on."""
        names = (name for _, request in self.searches for name in request.namespaces)
        return tuple(dict.fromkeys(names))


def context_request(
    query: str, max_tokens: Any, settings: SearchSettings, options: Mapping[str, Any]
) -> ContextRequest:
    """The request for a query with `ContextOptions`."""
    if options.get("options") is not None:
        more = further(options["options"], TextOptions)
        with named_in(more):
            all_options = {**options, **more, "options": None}
            return context_request(query, max_tokens, settings, all_options)
    options = {**_DEFAULTS, **options}
    zone = settings.zone(options["time_zone"], options["now"])
    as_of = past_time(options["as_of"], settings, zone)
    now = present_time(options["now"], as_of, settings, zone)
    touch = as_of is None and boolean("touch", options["touch"])
    references = boolean("references", options["references"])
    counter = settings.count_tokens if options["counter"] is None else options["counter"]
    format = options["format"]
    if not isinstance(format, str) or format not in FORMATS:
        raise InvalidInput("format", f"is {shown(format)}", f"use one of {', '.join(FORMATS)}")
    if not callable(counter):
        raise InvalidInput(
            "counter", f"is {shown(counter)}", "give a function from text to a number"
        )
    max_tokens = integer("max_tokens", max_tokens, *TOKENS)
    shared = {
        "profile": options["profile"],
        "now": now,
        "time_zone": zone,
        "cut": options["cut"],
        "min_probability": options["min_probability"],
    }
    sections = sections_of(options["sections"])
    if is_unasked := isinstance(query, str) and not query.strip():
        query, sections = "", _without_searches(sections)
    searches = tuple(
        (
            section,  # what lists memories asks nothing: its name stands for a query
            search_request(
                section.name if is_unasked else query,
                settings,
                shared | _own(section, options["filters"], zone),
            ),
        )
        for section in sections
    )
    per_writer = options["per_writer"]
    if per_writer is not None:
        per_writer = integer("per_writer", per_writer, 1)
    trace = boolean("trace", options["trace"])
    return ContextRequest(
        query,
        max_tokens,
        format,
        counter,
        references,
        touch,
        per_writer,
        now,
        as_of,
        searches,
        trace,
        zone,
    )


def _without_searches(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The sections that need no query; InvalidInput if all need one."""
    remaining = tuple(section for section in sections if section.source != "search")
    if not remaining:
        remedy = "give one, or a section that needs none, such as identity"
        raise InvalidInput("query", "is empty, and all sections search for it", remedy)
    return remaining


def _own(section: Section, filters: Filters, zone: tzinfo) -> dict[str, Any]:
    """The options of a section's search: its filter, its namespace, the most hits."""
    path = f"sections.{section.name}.filters"
    sources = ((section.filters, path), (filters, "filters"))
    conditions = [f for each, at in sources if (f := parse_filter(each, at, zone=zone)) is not None]
    return {
        "limit": section.limit or (MAX_HITS if section.whole else SECTION_HITS),
        "filters": And(tuple(conditions)) if conditions else None,
        "namespaces": None if section.namespace is None else [section.namespace],
    }


def assemble(request: ContextRequest) -> Plan[Context]:
    """The plan of a context: read the sections, pack them, touch what the context holds.

    Raises:
        InvalidInput: a section that must be whole does not fit.
    """
    gathered: list[Gathered] = []
    for section, search in request.searches:
        gathered.append(
            (yield from gather(section, search, asked=bool(request.query), trace=request.trace))
        )
    uncapped, beyond = gathered, 0
    if request.per_writer is not None:
        gathered, beyond = capped(gathered, request.per_writer)
    packing = Packing(
        gathered,
        request.max_tokens,
        request.format,
        request.counter,
        request.references,
        request.zone,
    )
    packed = packing.pack()
    blocks = [*packing.blocks.values()]
    rows = sorted(piece.item.row for block in blocks for piece in block.pieces)
    if request.touch and rows:
        yield from ask(Touch(np.array(rows, dtype=np.int64), request.now))
    return Context(
        query=request.query,
        text=packing.text(),
        tokens=packing.tokens,
        max_tokens=request.max_tokens,
        format=request.format,
        sections=tuple(_filled(part) for part in packed),
        provenance=tuple(source for block in blocks for source in _sources(block)),
        messages=(
            tuple(messages(blocks, request.references)) if request.format == "messages" else ()
        ),
        degraded=tuple(dict.fromkeys(_lacks(gathered, packing))),
        taken={word: corrections for part in gathered for word, corrections in part.taken.items()},
        beyond_cap=beyond,
        probability=next((p for part in gathered if (p := part.probability) is not None), None),
        considered=tuple(_considered(packing, uncapped)) if request.trace else (),
    )


def _lacks(gathered: Sequence[Gathered], packing: Packing) -> Iterator[str]:
    """All that the context had to be done without."""
    yield from (note for part in gathered for note in part.degraded)
    is_empty = not any(block.pieces for block in packing.blocks.values())
    if is_empty and any(part.items for part in packing.gathered):
        fence = packing.fence_tokens
        yield (
            f"max_tokens: no memory has room in {packing.max_tokens}; the fence around them "
            f"takes {fence}"
        )


def _considered(packing: Packing, uncapped: Sequence[Gathered]) -> Iterator[Considered]:
    """The fate of each memory that was gathered, section by section."""
    for part, packed in zip(uncapped, packing.gathered, strict=True):
        section = part.section.name
        within, below = ({item.key for item in items} for items in (packed.items, part.below))
        left_out = {piece.item.key: piece.left_out for piece in packing.blocks[section].pieces}
        for item in (*part.items, *part.below):
            outcome: Outcome = "no room"
            if item.key in left_out:
                outcome = "shortened" if left_out[item.key] else "in"
            elif (section, item.key) in packing.costs:
                outcome = "said already"
            elif item.key not in within:
                outcome = "below the floor" if item.key in below else "beyond the cap"
            record, cost = item.record, packing.costs.get((section, item.key))
            yield Considered(
                section,
                record.id,
                record.namespace,
                item.content[:TEXT_CHARACTERS],
                item.score,
                packing.count(item.content) if cost is None else cost,
                outcome,
            )


def _sources(block: Block) -> list[Provenance]:
    return [
        Provenance(
            piece.ref,
            piece.item.record.id,
            piece.item.record.namespace,
            block.section.name,
            piece.item.score,
            piece.left_out,
        )
        for piece in block.ordered
    ]


def _filled(packed: Packed) -> Filled:
    pieces = packed.block.ordered
    return Filled(
        packed.block.section.name,
        packed.tokens,
        packed.allowed,
        tuple(piece.item.record.id for piece in pieces),
        tuple(piece.item.record.id for piece in pieces if piece.left_out),
        packed.without_room,
    )

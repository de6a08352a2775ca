"""Verification: the state of memories compared with their log, and the health of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any, Self

from salience.api.parameters import Between
from salience.display.html import HtmlResult, header, section, table
from salience.display.html import text as html_text
from salience.display.result import Result, to_json
from salience.errors import StoreError
from salience.lazily import dataclass, replace
from salience.records.events import (
    STATE,
    Event,
    field_from_json,
    records_after,
    replay,
    version_after,
)
from salience.records.record import MemoryRecord
from salience.records.validation import boolean, integer
from salience.retrieval.cursor import encode_event_cursor, parse_event_cursor
from salience.retrieval.operations import (
    CheckStore,
    Events,
    ListRecords,
    Order,
    ReadStats,
    SetFields,
)
from salience.retrieval.plan import Plan, ask
from salience.retrieval.safety import STRUCTURE, Finding
from salience.write.reading import not_found, read_existing

# The history of a memory: its events, and its versions from one edit to the next

MAX_EVENTS = 10_000  # of a page
EVENTS = Between(1, MAX_EVENTS)


@dataclass(frozen=True, repr=False)
class RecordVersion(Result):
    """A memory as it was from one edit to the next; `until` is None for the present version."""

    _shown = ("record", "since", "until")

    record: MemoryRecord
    since: datetime
    until: datetime | None


@dataclass(frozen=True, repr=False)
class History(HtmlResult):
    """A page of the events of a memory, oldest first, and the versions that it had meanwhile.

    `cursor` gets the next page; it is None at the end. `number_before` is the number of the version
    before the first event.
    """

    _computed = ("numbers",)
    _shown = ("id", "versions", "events")

    id: str
    versions: tuple[RecordVersion, ...]
    events: tuple[Event, ...]
    cursor: str | None = None
    number_before: int = 0

    def _title(self) -> str:
        return self.id

    def _sections(self) -> Iterator[str]:
        yield header(self.id, (f"{len(self.events)} events", f"{len(self.versions)} versions"))
        texts = {version.since: version.record.content for version in self.versions}
        rows = [
            (
                f"{event.at:%Y-%m-%d %H:%M:%S}",
                event.type,
                str(number),
                html_text(event.actor or ""),
                html_text(
                    texts.get(event.at, "") if event.type in ("write", "edit") else event.link
                ),
            )
            for event, number in zip(self.events, self.numbers, strict=True)
        ]
        yield section("", table(("when", "what", "version", "who", "text"), rows, numbers=(2,)))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version of the memory after each event."""
        return tuple(accumulate(self.events, version_after, initial=self.number_before))[1:]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __getitem__(self, index: int) -> Event:
        return self.events[index]


@dataclass(frozen=True, repr=False)
class EventPage(Result):
    """Events of a namespace in their order, and the cursor behind the latest of them.

    The page is empty when nothing more has happened; its cursor finds what happens later.
    """

    events: tuple[Event, ...]
    cursor: str

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __getitem__(self, index: int) -> Event:
        return self.events[index]


def event_request(namespace: str, after: str | None, limit: Any, order: Order) -> Events:
    """The checked request for events after a cursor, the first of them or the newest."""
    limit = integer("limit", limit, *EVENTS)
    first, last = (limit, None) if order == "oldest" else (None, limit)
    # What waits to be written has no place yet, and a cursor might pass it over.
    place = parse_event_cursor(after)
    return Events(namespace, after=place, first=first, last=last, waiting=False)


def read_events(request: Events) -> Plan[EventPage]:
    """The plan of reading a page of events."""
    events: Sequence[Event] = yield from ask(request)
    last = events[-1].seq if events else request.after
    page = events if request.last is None else events[::-1]
    return EventPage(tuple(page), encode_event_cursor(last))


def history(id: str, namespace: str, limit: Any, cursor: str | None) -> Plan[History]:
    """The plan of reading a page of the history of a memory, with its versions meanwhile.

    Raises:
        NotFound: there is none of that id.
    """
    limit = integer("limit", limit, *EVENTS)
    after = parse_event_cursor(cursor, "cursor")
    record = yield from read_existing(id, namespace)
    events: Sequence[Event] = yield from ask(Events(namespace, (id,), waiting=cursor is None))
    waits = cursor is None and len(events) > limit
    if waits:  # in part, and at places that may change: it comes with a later page
        events = yield from ask(Events(namespace, (id,), waiting=False))
    start = next((at for at, event in enumerate(events) if event.type == "write"), None)
    if start is None:  # erased since it was read
        raise not_found(id, namespace)
    events = events[start:]  # what happened to all memories before it was written is not its own
    first = sum(event.seq <= after for event in events)
    page = events[first : first + limit]
    last = first + len(page)
    versions = _versions(record, events, first, last)
    more = encode_event_cursor(page[-1].seq) if waits or last < len(events) else None
    number = reduce(version_after, events[:first], 0)
    return History(id, versions, tuple(page), more, number)


def _versions(
    record: MemoryRecord, events: Sequence[Event], first: int, last: int
) -> tuple[RecordVersion, ...]:
    """The versions of a memory during its events from `first` up to `last`."""
    edits = [at for at, event in enumerate(events) if _changes_content(event)]
    spans = pairwise((0, *edits, len(events)))
    overlapping = [(start, end) for start, end in spans if start < last and end > first]
    times = [event.at for event in events]
    records = records_after(record, events, [end for _, end in overlapping])
    return tuple(
        RecordVersion(version.in_effect(), times[start], times[end] if end < len(times) else None)
        for version, (start, end) in zip(records, overlapping, strict=True)
    )


def _changes_content(event: Event) -> bool:
    return "content" in event.payload.get("was", ())


_PAGE_MEMORIES = 1_000
_REPAIRED_AT_ONCE = 1_000  # memories repaired in one transaction


@dataclass(frozen=True, repr=False)
class Difference(Result):
    """A field of a memory whose value differs from what its log says."""

    id: str
    field: str
    stored: Any
    logged: Any

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make the difference that `to_dict` made a mapping of."""
        name = values["field"]
        stored, logged = (field_from_json(name, values[key]) for key in ("stored", "logged"))
        return cls(values["id"], name, stored, logged)

    def __str__(self) -> str:
        stored, logged = to_json(self.stored), to_json(self.logged)
        return f"{self.id}: {self.field} is {stored!r}, the log says {logged!r}"


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """The result of verifying a namespace; true if its memories are what was written and logged.

    `damage` are the rows whose checksums do not fit, and other damage to the store.
    """

    memories: int
    events: int
    differences: tuple[Difference, ...]
    repaired: bool = False
    damage: tuple[Finding, ...] = ()

    def __bool__(self) -> bool:
        return not self.differences and all(finding.harmless for finding in self.damage)

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """Findings about a store; true if nothing is left to mend."""

    _computed = ("healthy",)

    memories: int
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """True if each finding is mended or harmless."""
        return all(finding.fixed or finding.harmless for finding in self.findings)

    def __bool__(self) -> bool:
        return self.healthy

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)


def doctor(*, fix: bool) -> Plan[Diagnosis]:
    """The plan of looking for damage in a store, row by row, then at each memory and its log."""
    fix = boolean("fix", fix)
    findings: list[Finding] = list((yield from ask(CheckStore(fix))))
    if any(finding.check == STRUCTURE and not finding.fixed for finding in findings):
        return Diagnosis(0, tuple(findings))  # reading on would fail
    namespaces = (yield from ask(ReadStats(())))["namespaces"]
    for namespace in namespaces:
        try:
            verification = yield from _verify_log(namespace, fix)
        except StoreError as problem:
            findings.append(Finding("history", str(problem), examples=(namespace,)))
            continue
        if verification:
            continue
        ids = sorted({difference.id for difference in verification})
        what = f"{len(ids):,} memories of {namespace!r} are not what their history says"
        remedy = "`salience verify` shows each; --repair or `doctor --fix` mends them"
        findings.append(
            Finding("history", what, len(ids), tuple(ids[:3]), remedy, verification.repaired)
        )
    return Diagnosis(sum(namespaces.values()), tuple(findings))


def verify(namespace: str, *, repair: bool) -> Plan[Verification]:
    """The plan of checking a namespace: its rows by checksums, its memories by their log.

    With `repair`, memories become what the log says, unless rows are damaged.
    """
    repair = boolean("repair", repair)
    damage: tuple[Finding, ...] = tuple((yield from ask(CheckStore(namespace=namespace))))
    try:
        verification = yield from _verify_log(namespace, repair and not damage)
    except StoreError:
        if not damage:
            raise
        verification = Verification(0, 0, ())  # what is damaged cannot be read on
    return replace(verification, damage=damage)


def _verify_log(namespace: str, repair: bool) -> Plan[Verification]:
    """The plan of comparing the memories of a namespace with its log, field by field, exactly.

    It checks differences a second time: they may have been written meanwhile.
    """
    memories, events, differences = yield from _compare(namespace)
    if differences:
        again = set((yield from _compare(namespace))[2])
        differences = [difference for difference in differences if difference in again]
    if repair and differences:
        values: dict[str, dict[str, Any]] = {}
        for difference in differences:
            values.setdefault(difference.id, {})[difference.field] = difference.logged
        ids = list(values)
        for start in range(0, len(ids), _REPAIRED_AT_ONCE):
            chunk = ids[start : start + _REPAIRED_AT_ONCE]
            yield from ask(SetFields(namespace, {id: values[id] for id in chunk}))
    return Verification(memories, events, tuple(differences), repair and bool(differences))


def _compare(namespace: str) -> Plan[tuple[int, int, list[Difference]]]:
    """The number of memories and events, and the differences; page by page, to save room."""
    differences: list[Difference] = []
    memories, events, after = 0, 0, None
    while True:
        page = yield from ask(ListRecords(namespace, limit=_PAGE_MEMORIES, after=after))
        ids = tuple(record.id for record in page.records)
        log: Sequence[Event] = yield from ask(Events(namespace, ids))
        states = replay(log)
        for record in page.records:
            logged = states.get(record.id)
            if logged is None:
                continue  # erased since
            differences += [
                Difference(record.id, name, getattr(record, name), logged[name])
                for name in STATE
                if getattr(record, name) != logged[name]
            ]
        memories, after = memories + len(ids), page.last
        events += sum(event.id is not None for event in log)
        if after is None:  # events of all memories are in each page's log
            return memories, events + sum(event.id is None for event in log), differences

"""The history of a memory: its events, and its versions from one edit to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

from salience.display.html import HtmlResult, header, section, table
from salience.display.html import text as html_text
from salience.display.result import Result
from salience.records.events import Event, record_at, version_after
from salience.records.record import MemoryRecord
from salience.records.validation import integer
from salience.retrieval.cursor import encode_event_cursor, parse_event_cursor
from salience.retrieval.operations import Events
from salience.retrieval.plan import Plan, ask
from salience.write.reading import not_found, read_existing

MAX_EVENTS = 10_000  # of a page


@dataclass(frozen=True, slots=True, repr=False)
class RecordVersion(Result):
    """A memory as it was from one edit to the next; `until` is None for the present version."""

    _shown = ("record", "since", "until")

    record: MemoryRecord
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class History(HtmlResult):
    """The events of a memory and its versions, oldest first."""

    _computed = ("numbers",)
    _shown = ("id", "versions", "events")

    id: str
    versions: tuple[RecordVersion, ...]
    events: tuple[Event, ...]

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
                html_text(texts.get(event.at, "") if event.type in ("write", "edit") else ""),
            )
            for event, number in zip(self.events, self.numbers, strict=True)
        ]
        yield section("", table(("when", "what", "version", "who", "text"), rows, numbers=(2,)))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version of the memory after each event."""
        return tuple(accumulate(self.events, version_after, initial=0))[1:]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __getitem__(self, index: int) -> Event:
        return self.events[index]


@dataclass(frozen=True, slots=True, repr=False)
class EventPage(Result):
    """Events of a namespace in their order, and the cursor behind the last of them.

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


def event_request(namespace: str, after: str | None, limit: Any) -> Events:
    """The checked request for events after a cursor.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    first = integer("limit", limit, 1, MAX_EVENTS)
    # What waits to be written has no place yet, and a cursor might pass it over.
    return Events(namespace, after=parse_event_cursor(after), first=first, waiting=False)


def read_events(request: Events) -> Plan[EventPage]:
    """The plan of reading a page of events."""
    events: Sequence[Event] = yield from ask(request)
    last = events[-1].seq if events else request.after
    return EventPage(tuple(events), encode_event_cursor(last))


def history(id: str, namespace: str) -> Plan[History]:
    """The plan of reading the history of a memory.

    Raises:
        NotFound: there is none of that id.
    """
    record = yield from read_existing(id, namespace)
    events: Sequence[Event] = yield from ask(Events(namespace, (id,)))
    start = next((at for at, event in enumerate(events) if event.type == "write"), None)
    if start is None:  # erased since it was read
        raise not_found(id, namespace)
    events = events[start:]  # what happened to all memories before it was written is not its own
    edits = [at for at, event in enumerate(events) if _changes_content(event)]
    starts, ends = [0, *edits], [*edits, len(events)]
    versions = []
    for start, end in zip(starts, ends, strict=True):
        version = record_at(record, events, events[:end])
        until = events[end].at if end < len(events) else None
        versions.append(RecordVersion(version, events[start].at, until))
    return History(id, tuple(versions), tuple(events))


def _changes_content(event: Event) -> bool:
    return "content" in event.payload.get("was", ())

"""The command import: what files hold, as memories; what became of each, told."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import typer

from salience.cli import output
from salience.cli.settings import Settings
from salience.engine import Memory
from salience.errors import InvalidInput, NotFound, shown
from salience.records.record import MemoryRecord
from salience.write import chat, importers
from salience.write.importers import ImportProblem
from salience.write.items import CHECKS, metadata_for
from salience.write.link_targets import target_names
from salience.write.outcomes import ADDING_OUTCOMES, Added

Mode = Literal["turns", "sides", "chunks", "hybrid"]
_STDIN = Path("-")
_ASKED = 1_000  # ids looked up at once
_KNOWN = ("MERGED", "DUPLICATE", "LOOP")
_SAID = {
    "CONFLICTS": "of them conflicting",
    "SUPERSEDES": "of them superseding",
    "UPDATED": "updated",
    "UNCHANGED": "unchanged",
    "MERGED": "merged",
    "DUPLICATE": "duplicate",
    "LOOP": "just recalled",
}


def import_(
    settings: Settings,
    paths: Annotated[
        list[Path], typer.Argument(help="Files or folders; - reads a file from stdin.")
    ],
    format: Annotated[
        str | None,
        typer.Option(help=f"One of {', '.join(importers.FORMATS)}; else it is told by itself."),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Memories written at once.")] = 2048,
    mode: Annotated[
        Mode,
        typer.Option(
            help="Conversations as turns, those with a vector for each side, as question and "
            "answer, or those and wholes."
        ),
    ] = "turns",
    update: Annotated[
        bool, typer.Option("--update", help="Change the memories whose ids are there already.")
    ] = False,
    lenient: Annotated[
        bool,
        typer.Option(
            "--lenient", help="Leave out notes and lines that cannot be read; succeed all the same."
        ),
    ] = False,
) -> None:
    """Remember what files hold: JSON lines, Markdown notes, conversations, ChatGPT exports."""
    if update and mode != "turns":
        raise InvalidInput("update", f"does not go with --mode {mode}", "leave one of them out")
    with _sources(paths, format, lenient) as sources:
        left_out = [problem for source in sources for problem in source.checked()]
        with settings.open(make=True) as memory, output.progress() as told:
            done = _Import(memory, mode, update)
            for problem in left_out:
                refused = Added(None, "REJECTED", "; ".join((problem.problem, problem.remedy)))
                done.count(problem.path, problem.place, refused)
            for source in sources:
                for _ in done.run(source, batch):
                    told(f"importing {source.path.name}", done.counts.total(), None)
            done.link()
    _report(settings, done)
    if done.counts["REJECTED"] and not lenient:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Source:
    """A file or folder by the name it was given, and where it can be read more than once."""

    path: Path
    place: Path
    format: str | None
    lenient: bool

    def checked(self) -> list[ImportProblem]:
        """The notes that are left out; all is read to its end, so that none is imported by half.

        Raises:
            ImportProblem: it is damaged.
        """
        left_out: list[ImportProblem] = []
        deque(self.read(left_out), maxlen=0)
        return left_out

    def read(self, left_out: list[ImportProblem]) -> Iterator[importers.Item]:
        """The items; problems with it are told by the name that it was given."""

        def told(problem: ImportProblem) -> None:
            left_out.append(self._named(problem))

        try:
            yield from importers.read(self.place, self.format, told if self.lenient else None)
        except ImportProblem as problem:
            raise self._named(problem) from None

    def _named(self, problem: ImportProblem) -> ImportProblem:
        if problem.path != self.place:
            return problem
        return ImportProblem(self.path, problem.problem, problem.remedy, line=problem.line)


@contextmanager
def _sources(paths: Sequence[Path], format: str | None, lenient: bool) -> Iterator[list[_Source]]:
    """The sources at paths; what can be read only once, such as stdin, is copied before."""
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:

        def kept(path: Path, stream: BinaryIO) -> _Source:
            copy = Path(tempfile.mkdtemp(dir=folder), "stdin" if path == _STDIN else path.name)
            with copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
            kind = format or (None if copy.stat().st_size else "jsonl")
            return _Source(path, copy, kind, lenient)

        found = []
        for path in paths:
            if path == _STDIN:
                found.append(kept(path, sys.stdin.buffer))
            elif _is_pipe(path):
                with path.open("rb") as stream:
                    found.append(kept(path, stream))
            else:
                found.append(_Source(path, path, format, lenient))
        yield found


def _is_pipe(path: Path) -> bool:
    try:
        return path.is_fifo()
    except OSError:  # it will be told when it is read
        return False


@dataclass
class _Import:
    """An import under way: what has become of the items so far."""

    memory: Memory
    mode: Mode
    update: bool
    counts: Counter[str] = field(default_factory=Counter)  # of outcomes
    told: list[tuple[Path, str, Added]] = field(default_factory=list)  # what was not added
    lacks: dict[str, None] = field(default_factory=dict)
    waits: bool = False  # whether there are links that led nowhere when they were written
    unmet: list[tuple[str, str, str, float]] = field(default_factory=list)  # by changed memories

    def run(self, source: _Source, size: int) -> Iterator[None]:
        """Write what a source holds, batch by batch."""
        items: Iterator[dict[str, Any]] = self._accepted(source)
        if self.mode != "turns":
            items = chat.chunks_from_turns(items, self.mode)
        while batch := list(islice(items, size)):
            there = self._there(batch) if self.update else {}
            fresh: list[dict[str, Any]] = []
            fallen: list[dict[str, Any]] = []
            known: list[dict[str, Any]] = []
            for item in batch:
                if self.update and (id := _id(item)) is not None:
                    if id in there:
                        known.append(item)
                        continue
                    there[id] = None  # the next of that id changes this one
                (fallen if "status" in item else fresh).append(item)
            self._add(source.path, fresh)
            self._add(source.path, fallen)
            for item in known:
                self._change(source.path, item, there)
            yield

    def count(self, path: Path, place: str, outcome: Added) -> None:
        """Count what became of an item; keep it, if it is no new memory."""
        self.counts[outcome.outcome] += 1
        if outcome.outcome in ("REJECTED", *_KNOWN):
            self.told.append((path, place, outcome))

    def link(self) -> None:
        """Say which links lead to no memory; those of memories that were there are not kept."""
        output.pending(self.memory.pending_links() if self.waits else ())
        lacking = [each for each in self.unmet if self.memory.get(each[1]) is None]
        for each in self.unmet:
            if each not in lacking:
                self.memory.link(*each)
        output.notes(
            f"not linked: {source} to {target!r}, which is no memory yet; import it again then"
            for source, target, *_ in lacking
        )

    def _accepted(self, source: _Source) -> Iterator[dict[str, Any]]:
        """The items that may be written here as they are."""
        own = self.memory.namespace
        for item in source.read([]):
            problem = None
            if item.namespace not in (None, own):
                problem = InvalidInput(
                    "namespace",
                    f"is {shown(item.namespace)}, but memories go to {own!r}",
                    "give that one as --namespace, or take it out of the line",
                )
            elif "status" in item and self.mode != "turns":
                problem = InvalidInput(
                    "status", f"is {shown(item['status'])}", "import it as it is, with --mode turns"
                )
            if problem is None:
                yield item
                continue
            self.count(source.path, item.place, Added(_id(item), "REJECTED", str(problem)))

    def _there(self, batch: Iterable[dict[str, Any]]) -> dict[str, MemoryRecord | None]:
        """The memories that have the ids of items already, by id."""
        ids = iter(dict.fromkeys(id for item in batch if (id := _id(item)) is not None))
        found: dict[str, MemoryRecord | None] = {}
        while asked := list(islice(ids, _ASKED)):
            page = self.memory.get_all({"id": {"in": asked}}, limit=_ASKED)
            found |= {record.id: record for record in page.records}
        return found

    def _add(self, path: Path, items: Sequence[dict[str, Any]]) -> None:
        """Write items, and set the status of those that have one."""
        if not items:
            return
        statuses = [item.get("status") for item in items]
        fallen = any(statuses)
        result = self.memory.add_many(
            ({name: value for name, value in item.items() if name != "status"} for item in items),
            dedup=False if fallen else None,
        )
        self.lacks |= dict.fromkeys(result.degraded)
        self.waits |= bool(result.pending)
        for item, status, outcome in zip(items, statuses, result.items, strict=True):
            if status and outcome.id and outcome.outcome == "ADDED":
                self.memory.update(outcome.id, status=status)
            self.count(path, _place(item), outcome)

    def _change(
        self, path: Path, item: dict[str, Any], there: dict[str, MemoryRecord | None]
    ) -> None:
        """Make a memory what an item says of it."""
        id = item["id"]
        record = there[id] or self.memory.get(id)
        if record is None:  # the item that should have been it was refused
            self._add(path, [item])
            return
        try:
            changes = _changes(record, item)
            linked = self._linked(id, item.get("links") or [])
            if changes:
                there[id] = self.memory.update(id, **changes)
        except InvalidInput as problem:
            self.count(path, _place(item), Added(id, "REJECTED", str(problem)))
            return
        self.counts["UPDATED" if changes or linked else "UNCHANGED"] += 1

    def _linked(self, id: str, links: Any) -> bool:
        """Add the links that a memory lacks; whether there were any."""
        if not isinstance(links, list) or not all(isinstance(each, Mapping) for each in links):
            raise InvalidInput("links", "must be a list of mappings")
        there = [link for link in self.memory.links(id) if link.source == id] if links else []
        known = {(link.target, link.type) for link in there}
        linked = False
        for each in links:
            target, type, weight = each.get("target"), each.get("type"), each.get("weight", 1.0)
            if (target, type) in known:
                continue
            try:
                self.memory.link(id, target, type, weight)
                linked = True
            except NotFound:
                if not any(target in self._names(link.target) for link in there):
                    self.unmet.append((id, str(target), str(type), weight))
        return linked

    def _names(self, id: str) -> frozenset[str]:
        record = self.memory.get(id)
        return frozenset() if record is None else target_names(record)


def _id(item: Mapping[str, Any]) -> str | None:
    """The id of an item; None without one, or where it is none that a memory can have."""
    try:
        return CHECKS["id"]("id", item["id"]) if "id" in item else None
    except InvalidInput:
        return None


def _place(item: Mapping[str, Any]) -> str:
    return item.place if isinstance(item, importers.Item) else ""


def _changes(record: MemoryRecord, item: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that an item gives a memory, as far as they differ from those it has."""
    assumed = item.assumed if isinstance(item, importers.Item) else ()
    given = {n: v for n, v in item.items() if n in CHECKS and n not in ("id", *assumed)}
    if isinstance(given.get("metadata"), dict):
        given["metadata"] = metadata_for(record, given["metadata"])
    return {n: v for n, v in given.items() if CHECKS[n](n, v) != getattr(record, n)}


def _report(settings: Settings, done: _Import) -> None:
    output.degraded(done.lacks)
    counts = done.counts
    added = sum(counts[outcome] for outcome in ADDING_OUTCOMES)
    if settings.json:
        told = [
            {"path": str(path), "place": place or None, **outcome.to_dict()}
            for path, place, outcome in done.told
        ]
        output.emit(
            {
                "added": added,
                "outcomes": dict(counts),
                "rejected": [each for each in told if each["outcome"] == "REJECTED"],
                "known": [each for each in told if each["outcome"] != "REJECTED"],
                "degraded": list(done.lacks),
            }
        )
        return
    output.notes(
        (
            f"rejected: {', '.join(filter(None, (str(path), place)))}: "
            + ": ".join(filter(None, (outcome.id, outcome.reason)))
            for path, place, outcome in done.told
            if outcome.outcome == "REJECTED"
        ),
        rest="; --json gives them all",
    )
    parts = [f"{added:,} added"]
    parts += [f"{counts[name]:,} {said}" for name, said in _SAID.items() if counts[name]]
    print(", ".join([*parts, f"{counts['REJECTED']:,} rejected"]))

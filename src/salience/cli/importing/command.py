"""The command import: the contents of files as memories, and the outcome of each."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import typer

from salience import importers
from salience.cli import output
from salience.cli.completion import one_of
from salience.cli.importing import sync as sync_
from salience.cli.migrate import transferred
from salience.cli.settings import Settings
from salience.engine.memory import Memory
from salience.errors import InvalidInput, NotFound, shown
from salience.importers import ImportProblem, Place, detect, located
from salience.records.record import MemoryRecord
from salience.write import chat
from salience.write.items import CHECKS, metadata_for
from salience.write.link_targets import target_names
from salience.write.outcomes import ADDING_OUTCOMES, Added
from salience.write.transfer.files import is_export
from salience.write.upsert import OnConflict

Mode = Literal["turns", "sides", "chunks", "hybrid"]
_STDIN = Path("-")
_LOOKUP_IDS = 1_000  # looked up at once
_NOT_ADDED = ("MERGED", "DUPLICATE", "LOOP", "SKIPPED")
_TAKEN = "the id is taken by a memory that says something else; --update changes it"
_WORDING = {
    "CONFLICTS": "of them conflicting",
    "SUPERSEDES": "of them superseding",
    "UPDATED": "updated",
    "RENAMED": "of them renamed",
    "DELETED": "deleted",
    "UNCHANGED": "unchanged",
    "SKIPPED": "skipped",
    "MERGED": "merged",
    "DUPLICATE": "duplicate",
    "LOOP": "just recalled",
}


def import_(
    settings: Settings,
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders or addresses; - reads a file from stdin."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="One of those that --formats lists; else it is detected.",
            autocompletion=one_of(importers.FORMATS),
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Memories in a transaction.")] = 2048,
    mode: Annotated[
        Mode,
        typer.Option(
            help="Conversations as turns; as turns with a vector for each side; as chunks of "
            "question and answer; or as chunks and whole sessions."
        ),
    ] = "turns",
    update: Annotated[
        bool, typer.Option("--update", help="Change memories whose ids exist already.")
    ] = False,
    on_conflict: Annotated[
        Literal["error", "replace", "skip"],
        typer.Option(
            help="Reject memories whose ids exist already, let them replace these, or skip them."
        ),
    ] = "error",
    lenient: Annotated[
        bool,
        typer.Option(
            "--lenient",
            help="Leave out what cannot be read, as in a folder, and succeed if anything is kept.",
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop if anything cannot be read, in a folder too.")
    ] = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="FIELD=COLUMN", help="The column of a table that holds a field."
        ),
    ] = None,
    sync: Annotated[
        bool,
        typer.Option("--sync", help="Keep a folder of notes in step: also renamed and gone ones."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what --sync would do, and change nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on with --sync whenever the folder changes.")
    ] = False,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Import all namespaces of an export.")
    ] = False,
    formats: Annotated[
        bool, typer.Option("--formats", help="List the formats, and leave.")
    ] = False,
) -> None:
    """Import exports, JSON lines, notes, chats, and what other memory systems keep."""
    if formats:
        _list_formats(settings)
        return
    if not paths:
        raise InvalidInput("paths", "are missing", "give a file, a folder or an address")
    if lenient and strict:
        raise InvalidInput("strict", "does not go with --lenient", "leave one of them out")
    if update and mode != "turns":
        raise InvalidInput("update", f"does not go with --mode {mode}", "leave one of them out")
    if update and on_conflict != "error":
        raise InvalidInput("update", "does not go with --on-conflict", "leave one of them out")
    how = _How(format, lenient, strict, _columns(columns or ()))
    if sync or watch or dry_run:
        if dry_run and watch:
            raise InvalidInput("dry_run", "does not go with --watch", "leave one of them out")
        if update or on_conflict != "error" or mode != "turns" or everywhere or len(paths) > 1:
            raise InvalidInput("sync", "is for one folder", "leave the other options out")
        _keep_in_step(settings, _folder(paths[0], how), batch, dry_run, watch)
        return
    with _sources(paths, how) as sources:
        exports = [source for source in sources if source.is_export]
        if exports:
            if len(sources) > 1 or update or on_conflict != "error" or mode != "turns":
                raise InvalidInput(
                    str(exports[0].path), "is an export", "import it alone, without other options"
                )
            _import_export(settings, exports[0], everywhere)
            return
        if everywhere:
            raise InvalidInput("all", "is for exports", "leave it out")
        checks = [source.checked() for source in sources]
        total = sum(items for items, _ in checks)
        with (
            settings.open(make=True) as memory,
            output.progress("what was added stays; --on-conflict skip adds the rest") as progress,
        ):
            done = _Import(memory, mode, update, on_conflict)
            done.omit(chain.from_iterable(omitted for _, omitted in checks))
            for source in sources:
                for _ in done.run(source.path, source.read([], done.blank), batch):
                    progress(f"importing {source.path.name}", done.read, total)
            done.link()
    _report(settings, done)
    if done.failed(lenient):
        raise typer.Exit(1)


def _folder(path: str, how: _How) -> _Source:
    """The folder of notes at a path.

    Raises:
        InvalidInput: it is none.
    """
    place = located(path)
    kind = (how.format or detect(place)) if isinstance(place, Path) and place.is_dir() else None
    if kind not in ("markdown", "basic-memory", "text"):
        raise InvalidInput("sync", f"{path} is no folder of notes", "import it without --sync")
    return _Source(place, place, replace(how, format=kind))


def _keep_in_step(
    settings: Settings, source: _Source, batch: int, dry_run: bool, watch: bool
) -> None:
    """Bring the memories of a folder into step with it, once or whenever it changes."""
    assert isinstance(source.place, Path)
    changes = sync_.watched(source.place) if watch else iter(())
    failed = _step(settings, source, batch, dry_run)
    for _ in changes:
        try:
            failed = _step(settings, source, batch, dry_run)
        except ImportProblem as problem:  # a folder that is being moved
            output.note(str(problem))
    if failed:
        raise typer.Exit(1)


def _step(settings: Settings, source: _Source, batch: int, dry_run: bool) -> bool:
    """Bring the memories of a folder into step with it; True if something was rejected."""
    assert isinstance(source.place, Path)
    problems: list[ImportProblem] = []
    blank: list[str] = []
    items = list(source.read(problems, blank))
    with settings.open(make=True) as memory:
        step = sync_.step(memory, source.place, items, problems)
        done = _Import(memory, "turns", True, "error", blank=blank)
        done.omit(problems)
        if dry_run:
            for line in done.foreseen(step):
                output.say(line)
        else:
            for _ in done.run(source.path, iter(step.items), batch):
                pass
            done.link()
            for record in step.gone:
                done.counts["DELETED"] += memory.delete(record.id)
        done.counts["RENAMED"] = len(step.renamed)
    _report(settings, done)
    return done.failed(source.how.lenient)


def _list_formats(settings: Settings) -> None:
    formats = {name: format.about for name, format in importers.FORMATS.items()}
    if settings.json:
        output.emit(formats)
        return
    width = max(map(len, formats))
    for name, about in formats.items():
        output.say(f"{name:{width}}  {about}")


def _columns(given: Sequence[str]) -> dict[str, str]:
    """The columns of a table by the fields that they hold."""
    columns = {}
    for pair in given:
        name, equals, column = pair.partition("=")
        if not equals or not column or name not in (*CHECKS, "links"):
            raise InvalidInput("map", f"is {shown(pair)}", "write FIELD=COLUMN, as content=Text")
        columns[name] = column
    return columns


def _import_export(settings: Settings, source: _Source, everywhere: bool) -> None:
    """Import what `salience export` has written."""
    place = Path(str(source.place))
    with (
        settings.open(make=True) as memory,
        output.progress("the same command goes on where it was") as progress,
        place.open("rb") as file,
    ):
        done = memory.import_(
            place if source.path == place else file,
            everywhere=everywhere,
            progress=lambda step, count, total: progress(step, count, total or None),
        )
    output.degraded(done.degraded)
    if settings.json:
        output.emit(done.to_dict())
    else:
        output.say(transferred(done))


@dataclass(frozen=True)
class _How:
    """The way in which sources are read."""

    format: str | None
    lenient: bool
    strict: bool
    columns: Mapping[str, str]


@dataclass(frozen=True)
class _Source:
    """A file, folder or server: as it was given, and where it can be read repeatedly."""

    path: Place
    place: Place
    how: _How

    @property
    def is_export(self) -> bool:
        return self.how.format is None and isinstance(self.place, Path) and is_export(self.place)

    def checked(self) -> tuple[int, list[ImportProblem]]:
        """Read to the end, before anything is written: the number of items, the notes left out.

        Raises:
            ImportProblem: the source is damaged.
        """
        omitted: list[ImportProblem] = []
        return sum(1 for _ in self.read(omitted, [])), omitted

    def read(self, omitted: list[ImportProblem], blank: list[str]) -> Iterator[importers.Item]:
        """The items; parts without text go to `blank`. Problems name the path as it was given."""

        def omit(problem: ImportProblem) -> None:
            omitted.append(self._named(problem))

        try:
            is_folder = isinstance(self.place, Path) and os.path.isdir(self.place)
            spares = self.how.lenient or (is_folder and not self.how.strict)
            left_out = omit if spares else None
            items = importers.read(self.place, self.how.format, left_out, self.how.columns)
            yield from items
            blank += items.blank
        except ImportProblem as problem:
            raise self._named(problem) from None

    def _named(self, problem: ImportProblem) -> ImportProblem:
        if problem.path != self.place:
            return problem
        return ImportProblem(self.path, problem.problem, problem.remedy, line=problem.line)


@contextmanager
def _sources(paths: Sequence[str], how: _How) -> Iterator[list[_Source]]:
    """The sources at paths; stdin and pipes are copied, as they can be read only once."""
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:

        def copied(path: Path, stream: BinaryIO) -> _Source:
            copy = Path(tempfile.mkdtemp(dir=folder), "stdin" if path == _STDIN else path.name)
            with copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
            kind = how.format or (None if copy.stat().st_size else "jsonl")
            return _Source(path, copy, replace(how, format=kind))

        sources = []
        for path in map(located, paths):
            if not isinstance(path, Path):
                sources.append(_Source(path, path, how))
            elif path == _STDIN:
                sources.append(copied(path, sys.stdin.buffer))
            elif _is_pipe(path):
                with path.open("rb") as stream:
                    sources.append(copied(path, stream))
            else:
                sources.append(_Source(path, path, how))
        yield sources


def _is_pipe(path: Path) -> bool:
    try:
        return path.is_fifo()
    except OSError:  # reading it will report the problem
        return False


@dataclass
class _Import:
    """An import under way, with the outcomes of the items so far."""

    memory: Memory
    mode: Mode
    update: bool
    on_conflict: OnConflict
    counts: Counter[str] = field(default_factory=Counter)  # of outcomes
    not_added: list[tuple[Place, str, Added]] = field(default_factory=list)
    read: int = 0  # items
    degraded: dict[str, None] = field(default_factory=dict)
    blank: list[str] = field(default_factory=list)  # notes without text, which are skipped
    has_pending: bool = False  # links whose targets did not exist when they were written
    unmet: list[tuple[str, str, str, float, Any]] = field(default_factory=list)  # with their times

    def omit(self, problems: Iterable[ImportProblem]) -> None:
        """Count what cannot be read and is left out."""
        for problem in problems:
            refused = Added(None, "REJECTED", "; ".join((problem.problem, problem.remedy)))
            self.count(problem.path, problem.place, refused)

    def failed(self, lenient: bool) -> bool:
        """Tell whether anything was rejected, or everything, if the import is lenient."""
        kept = sum(count for outcome, count in self.counts.items() if outcome != "REJECTED")
        return bool(self.counts["REJECTED"]) and not (lenient and kept)

    def foreseen(self, step: sync_.Step) -> Iterator[str]:
        """A line for each thing that a step would do, which is counted and not done."""
        yield from (f"rename {before} to {after}" for before, after in step.renamed)
        for start in range(0, len(step.items), _LOOKUP_IDS):
            batch = step.items[start : start + _LOOKUP_IDS]
            there = self._existing(batch)
            for item in batch:
                record = there.get(item["id"])
                changes = record is None or _changes(record, item)
                outcome = "ADDED" if record is None else "UPDATED" if changes else "UNCHANGED"
                self.counts[outcome] += 1
                if changes:
                    yield f"{'add' if record is None else 'update'} {item.place}"
        for record in step.gone:
            self.counts["DELETED"] += 1
            yield f"delete {record.metadata.get('path')}"

    def run(self, path: Place, found: Iterator[importers.Item], size: int) -> Iterator[None]:
        """Write the items of a source, batch by batch."""
        items: Iterator[dict[str, Any]] = self._accepted(path, found)
        if self.mode != "turns":
            items = chat.chunks_from_turns(items, self.mode)
        while batch := list(islice(items, size)):
            there = self._existing(batch) if self.update else {}
            fresh: list[dict[str, Any]] = []
            with_status: list[dict[str, Any]] = []
            updates: list[dict[str, Any]] = []
            for item in batch:
                if self.update and (id := _id(item)) is not None:
                    if id in there:
                        updates.append(item)
                        continue
                    there[id] = None  # the next item with that id changes this one
                (with_status if "status" in item else fresh).append(item)
            self._add(path, fresh)
            self._add(path, with_status)
            for item in updates:
                self._change(path, item, there)
            yield

    def count(self, path: Place, place: str, outcome: Added) -> None:
        """Count the outcome of an item; keep it unless it is a new memory."""
        self.counts[outcome.outcome] += 1
        if outcome.outcome in ("REJECTED", *_NOT_ADDED):
            self.not_added.append((path, place, outcome))

    def link(self) -> None:
        """Add the links whose targets exist by now, and print the others."""
        output.pending(self.memory.pending_links() if self.has_pending else ())
        unlinked = [link for link in self.unmet if self.memory.get(link[1]) is None]
        for link in self.unmet:
            if link not in unlinked:
                self.memory.link(*link[:4], created_at=link[4])
        output.notes(
            f"not linked: {source} to {target!r}, which does not exist yet; import it again later"
            for source, target, *_ in unlinked
        )

    def _accepted(self, path: Place, found: Iterator[importers.Item]) -> Iterator[dict[str, Any]]:
        """The items that can be written to this namespace in this mode."""
        own = self.memory.namespace
        for item in found:
            self.read += 1
            problem = None
            if item.namespace not in (None, own):
                problem = InvalidInput(
                    "namespace",
                    f"is {shown(item.namespace)}, but memories go to {own!r}",
                    "give that one as --namespace, or remove it from the line",
                )
            elif "status" in item and self.mode != "turns":
                problem = InvalidInput(
                    "status", f"is {shown(item['status'])}", "import it as it is, with --mode turns"
                )
            if problem is None:
                yield item
                continue
            self.count(path, item.place, Added(_id(item), "REJECTED", str(problem)))

    def _existing(self, batch: Iterable[dict[str, Any]]) -> dict[str, MemoryRecord | None]:
        """The existing memories with ids of the items, by id."""
        ids = iter(dict.fromkeys(id for item in batch if (id := _id(item)) is not None))
        records: dict[str, MemoryRecord | None] = {}
        while chunk := list(islice(ids, _LOOKUP_IDS)):
            page = self.memory.get_all({"id": {"in": chunk}}, limit=_LOOKUP_IDS)
            records |= {record.id: record for record in page.memories}
        return records

    def _add(self, path: Place, items: Sequence[dict[str, Any]]) -> None:
        """Add items, and set the status of those that have one."""
        if not items:
            return
        statuses = [item.get("status") for item in items]
        with_status = any(statuses)
        result = self.memory.add_many(
            ({name: value for name, value in item.items() if name != "status"} for item in items),
            dedup=False if with_status else None,
            on_conflict=self.on_conflict,
        )
        self.degraded |= dict.fromkeys(result.degraded)
        self.has_pending |= bool(result.pending)
        skipped = [
            item for item, done in zip(items, result.items, strict=True) if _is_skipped(done)
        ]
        there = self._existing(skipped)
        for item, status, outcome in zip(items, statuses, result.items, strict=True):
            if _is_skipped(outcome) and _differs(item, there.get(str(outcome.id))):
                outcome = Added(outcome.id, "REJECTED", _TAKEN)
            if status and outcome.id and outcome.outcome in ("ADDED", "UPDATED"):
                self.memory.update(outcome.id, status=status)
            self.count(path, _place(item), outcome)

    def _change(
        self, path: Place, item: dict[str, Any], there: dict[str, MemoryRecord | None]
    ) -> None:
        """Change an existing memory to the fields and links of an item."""
        id = item["id"]
        record = there[id] or self.memory.get(id)
        if record is None:  # the item that should have added it was rejected
            self._add(path, [item])
            return
        try:
            changes = _changes(record, item)
            linked = self._linked(item)
            if changes:
                there[id] = self.memory.update(id, **changes)
        except InvalidInput as problem:
            self.count(path, _place(item), Added(id, "REJECTED", str(problem)))
            return
        self.counts["UPDATED" if changes or linked else "UNCHANGED"] += 1

    def _linked(self, item: Mapping[str, Any]) -> bool:
        """Add the links of an item that its memory lacks; True if there were any."""
        id, links = item["id"], item.get("links") or []
        if not isinstance(links, list) or not all(isinstance(link, Mapping) for link in links):
            raise InvalidInput("links", "must be a list of mappings")
        existing = [link for link in self.memory.links(id) if link.source == id] if links else []
        existing_ends = {(link.target, link.type) for link in existing}
        added = False
        for link in links:
            target, type, weight = link.get("target"), link.get("type"), link.get("weight", 1.0)
            created = link.get("created_at", item.get("created_at"))
            if (target, type) in existing_ends:
                continue
            try:
                self.memory.link(id, target, type, weight, created_at=created)
                added = True
            except NotFound:
                if not any(target in self._names(link.target) for link in existing):
                    self.unmet.append((id, str(target), str(type), weight, created))
        return added

    def _names(self, id: str) -> frozenset[str]:
        record = self.memory.get(id)
        return frozenset() if record is None else target_names(record)


def _id(item: Mapping[str, Any]) -> str | None:
    """The id of an item; None without one, or if a memory cannot have it."""
    try:
        return CHECKS["id"]("id", item["id"]) if "id" in item else None
    except InvalidInput:
        return None


def _is_skipped(outcome: Added) -> bool:
    return outcome.outcome == "SKIPPED"


def _differs(item: Mapping[str, Any], record: MemoryRecord | None) -> bool:
    """True if a memory does not say what an item of its id says."""
    return record is not None and CHECKS["content"]("content", item["content"]) != record.content


def _place(item: Mapping[str, Any]) -> str:
    return item.place if isinstance(item, importers.Item) else ""


def _changes(record: MemoryRecord, item: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an item that differ from those of the memory."""
    assumed = item.assumed if isinstance(item, importers.Item) else ()
    fields = {n: v for n, v in item.items() if n in CHECKS and n not in ("id", *assumed)}
    if isinstance(fields.get("metadata"), dict):
        fields["metadata"] = metadata_for(record, fields["metadata"])
    changes = {n: v for n, v in fields.items() if CHECKS[n](n, v) != getattr(record, n)}
    if "metadata" in changes:  # the file has all of them
        changes["replace_metadata"] = changes.pop("metadata")
    return changes


def _report(settings: Settings, done: _Import) -> None:
    output.degraded(done.degraded)
    counts = done.counts
    added = sum(counts[outcome] for outcome in ADDING_OUTCOMES)
    if settings.json:
        not_added = [
            {"path": str(path), "place": place or None, **outcome.to_dict()}
            for path, place, outcome in done.not_added
        ]
        output.emit(
            {
                "added": added,
                "outcomes": dict(counts),
                "rejected": [item for item in not_added if item["outcome"] == "REJECTED"],
                "known": [item for item in not_added if item["outcome"] != "REJECTED"],
                "blank": done.blank,
                "degraded": list(done.degraded),
            }
        )
        return
    output.notes(
        (
            f"rejected: {', '.join(filter(None, (str(path), place)))}: "
            + ": ".join(filter(None, (outcome.id, outcome.reason)))
            for path, place, outcome in done.not_added
            if outcome.outcome == "REJECTED"
        ),
        rest="; --json prints them all",
    )
    parts = [f"{added:,} added"]
    parts += [f"{counts[name]:,} {wording}" for name, wording in _WORDING.items() if counts[name]]
    parts += [f"{len(done.blank):,} blank"] if done.blank else []
    output.say(", ".join([*parts, f"{counts['REJECTED']:,} rejected"]))

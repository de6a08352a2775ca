"""Items as memories: written batch by batch, with the outcome of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from typing import Any, Literal

import typer

from salience.cli import output
from salience.cli.importing.sources import Source
from salience.cli.settings import Settings
from salience.engine.memory import Memory
from salience.errors import InvalidInput, shown
from salience.importers import ImportProblem, Item, Place
from salience.lazily import dataclass, field
from salience.records.record import MemoryRecord
from salience.write import chat
from salience.write.items import CHECKS, metadata_for
from salience.write.outcomes import ADDING_OUTCOMES, Added
from salience.write.upsert import OnConflict

Mode = chat.ItemMode | Literal["turns"]


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


def import_items(
    settings: Settings, sources: Sequence[Source], batch: int, mode: Mode, on_conflict: OnConflict
) -> None:
    """Import the memories of sources, all of which are read to the end first."""
    checks = [source.checked() for source in sources]
    total = sum(items for items, _ in checks)
    with (
        settings.open(make=True) as memory,
        output.progress("what was added stays; --on-conflict skip adds the rest") as progress,
    ):
        done = Import(memory, mode, on_conflict)
        done.omit(chain.from_iterable(omitted for _, omitted in checks))
        for source in sources:
            for _ in done.run(source.path, source.read([], done.blank), batch):
                progress(f"importing {source.path.name}", done.read, total)
        done.tell_pending()
    report(settings, done)
    if done.failed(sources[0].how.lenient):
        raise typer.Exit(1)


@dataclass
class Import:
    """An import under way, with the outcomes of the items so far."""

    memory: Memory
    mode: Mode
    on_conflict: OnConflict
    counts: Counter[str] = field(default_factory=Counter)  # of outcomes
    not_added: list[tuple[Place, str, Added]] = field(default_factory=list)
    read: int = 0  # items
    degraded: dict[str, None] = field(default_factory=dict)
    blank: list[str] = field(default_factory=list)  # notes without text, which are skipped
    secrets: int = 0  # memories that seem to hold a key or a password
    has_pending: bool = False  # links whose targets did not exist when they were written

    def omit(self, problems: Iterable[ImportProblem]) -> None:
        """Count what cannot be read and is left out."""
        for problem in problems:
            refused = Added(None, "REJECTED", "; ".join((problem.problem, problem.remedy)))
            self.count(problem.path, problem.place, refused)

    def failed(self, lenient: bool) -> bool:
        """Tell whether anything was rejected, or everything, if the import is lenient."""
        written = sum(count for outcome, count in self.counts.items() if outcome != "REJECTED")
        return bool(self.counts["REJECTED"]) and not (lenient and written)

    def run(self, path: Place, entries: Iterator[Item], size: int) -> Iterator[None]:
        """Write the items of a source, batch by batch."""
        items: Iterator[dict[str, Any]] = self._accepted(path, entries)
        if self.mode != "turns":
            items = chat.chunks_from_turns(items, self.mode)
        while batch := list(islice(items, size)):
            if self.on_conflict != "update":  # where the last of two items with one id counts
                batch.sort(key=lambda item: "status" in item)
            for _, alike in groupby(batch, lambda item: "status" in item):
                self._add(path, list(alike))
            if self.on_conflict in ("replace", "update"):
                self._drop_parts(batch)
            yield

    def count(self, path: Place, place: str, outcome: Added) -> None:
        """Count the outcome of an item; keep it unless it is a new memory."""
        self.counts[outcome.outcome] += 1
        if outcome.outcome in ("REJECTED", *_NOT_ADDED):
            self.not_added.append((path, place, outcome))

    def tell_pending(self) -> None:
        """Print the links whose targets do not exist."""
        output.pending(self.memory.links(pending=True) if self.has_pending else ())

    def _accepted(self, path: Place, entries: Iterator[Item]) -> Iterator[dict[str, Any]]:
        """The items that can be written to this namespace in this mode."""
        namespace = self.memory.namespace
        for item in entries:
            self.read += 1
            problem = None
            if item.namespace not in (None, namespace):
                problem = InvalidInput(
                    "namespace",
                    f"is {shown(item.namespace)}, but memories go to {namespace!r}",
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

    def _add(self, path: Place, items: Sequence[dict[str, Any]]) -> None:
        """Add items, and set the status of those that have one."""
        statuses = [item.get("status") for item in items]
        with_status = any(statuses)
        before = existing(self.memory, items) if self.on_conflict == "update" else {}
        result = self.memory.add_many(
            (_written(item, before) for item in items),
            dedup=False if with_status else None,
            on_conflict=self.on_conflict,
        )
        self.degraded |= dict.fromkeys(result.degraded)
        self.has_pending |= bool(result.pending)
        self.secrets += len(result.secrets)
        skipped = [i for i, done in zip(items, result.items, strict=True) if _is_skipped(done)]
        there = existing(self.memory, skipped)
        for item, status, outcome in zip(items, statuses, result.items, strict=True):
            if _is_skipped(outcome) and self.on_conflict == "skip":
                if _differs(item, there.get(str(outcome.id))):
                    outcome = Added(outcome.id, "REJECTED", _TAKEN)
            elif status:
                outcome = self._with_status(outcome, status, there)
            if _is_skipped(outcome) and self.on_conflict == "update":
                self.counts["UNCHANGED"] += 1
            else:
                self.count(path, _place(item), outcome)

    def _with_status(self, outcome: Added, status: Any, there: Mapping[str, MemoryRecord]) -> Added:
        """The outcome of an item whose memory gets a status; `there` are those left alone."""
        id = outcome.id
        if id is None or outcome.outcome not in ("ADDED", "UPDATED", "SKIPPED"):
            return outcome
        if id in there and there[id].status == status:
            return outcome
        self.memory.update(id, status=status)
        return Added(id, "UPDATED") if id in there else outcome

    def _drop_parts(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Delete the parts that notes had when they were longer."""
        ends = {}
        for item in items:
            metadata = item.get("metadata") or {}
            part, parts = metadata.get("part", 1), metadata.get("parts", 1)
            if "path" in metadata and isinstance(part, int) and part == parts:
                note = str(item.get("id")).removesuffix(f"#{part}")
                ends[f"{note}#{part + 1}"] = (note, part + 1, metadata["path"])
        for id in existing(self.memory, [{"id": id} for id in ends]):
            note, part, path = ends[id]
            while record := self.memory.get(f"{note}#{part}"):
                if record.metadata.get("path") != path:
                    break
                self.counts["DELETED"] += int(self.memory.delete(record.id))
                part += 1


def _written(item: Mapping[str, Any], before: Mapping[str, MemoryRecord]) -> dict[str, Any]:
    """An item as it is added: what a file does not say stays as its memory has it."""
    assumed = item.assumed if isinstance(item, Item) and _id(item) in before else ()
    return {name: value for name, value in item.items() if name not in ("status", *assumed)}


def existing(memory: Memory, items: Iterable[Mapping[str, Any]]) -> dict[str, MemoryRecord]:
    """The existing memories with ids of the items, by id."""
    ids = iter(dict.fromkeys(id for item in items if (id := _id(item)) is not None))
    records: dict[str, MemoryRecord] = {}
    while chunk := list(islice(ids, _LOOKUP_IDS)):
        page = memory.get_all({"id": {"in": chunk}}, limit=_LOOKUP_IDS)
        records |= {record.id: record for record in page.memories}
    return records


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
    return item.place if isinstance(item, Item) else ""


def differs(record: MemoryRecord, item: Item) -> bool:
    """Test whether fields of an item differ from those of the memory."""
    fields = {n: v for n, v in item.items() if n in CHECKS and n not in ("id", *item.assumed)}
    if "metadata" in fields:
        fields["metadata"] = metadata_for(record, fields["metadata"])
    return any(CHECKS[n](n, v) != getattr(record, n) for n, v in fields.items())


def report(settings: Settings, done: Import) -> None:
    """Print what has become of the items."""
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
                "secrets": done.secrets,
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
        suffix="; --json prints them all",
    )
    if done.secrets:
        output.note(f"{done.secrets:,} seem to hold a key or a password: salience audit")
    parts = [f"{added:,} added"]
    parts += [f"{counts[name]:,} {wording}" for name, wording in _WORDING.items() if counts[name]]
    parts += [f"{len(done.blank):,} blank"] if done.blank else []
    output.say(", ".join([*parts, f"{counts['REJECTED']:,} rejected"]))

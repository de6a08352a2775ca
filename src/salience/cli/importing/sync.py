"""Folders that are kept in step: what is new, changed, renamed and gone since the last time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from os.path import realpath
from pathlib import Path

import typer

from salience.cli import output
from salience.cli.importing.sources import Source
from salience.cli.importing.writing import Import, differs, existing, report
from salience.cli.settings import Settings
from salience.engine.judgment_api import whole_history
from salience.engine.memory import Memory
from salience.importers import ImportProblem, Item
from salience.language.tokens import slug
from salience.lazily import dataclass, field
from salience.records.events import BROUGHT, link_key
from salience.records.record import MemoryRecord

FOLDER = "folder"
"""The key of the metadata with the folder that a memory is kept in step with."""

_Place = tuple[str, str]  # the path in the folder, and what the id has behind it for a part


@dataclass
class Step:
    """The changes that bring the memories of a folder into step with it.

    `items` have the ids of the memories that they change. `renamed` are former and new paths, and
    `gone` the memories whose notes are no longer there.
    """

    items: list[Item] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    gone: list[MemoryRecord] = field(default_factory=list)


def keep_in_step(
    settings: Settings, source: Source, batch: int, dry_run: bool, watch: bool
) -> None:
    """Bring the memories of a folder into step with it, once or whenever it changes."""
    assert isinstance(source.place, Path)
    changes = _watched(source.place) if watch else iter(())
    failed = _keep(settings, source, batch, dry_run)
    for _ in changes:
        try:
            failed = _keep(settings, source, batch, dry_run)
        except ImportProblem as problem:  # a folder that is being moved
            output.note(str(problem))
    if failed:
        raise typer.Exit(1)


def _keep(settings: Settings, source: Source, batch: int, dry_run: bool) -> bool:
    """Bring the memories of a folder into step with it; True if something was rejected."""
    assert isinstance(source.place, Path)
    problems: list[ImportProblem] = []
    blank: list[str] = []
    items = list(source.read(problems, blank))
    with settings.open(make=True) as memory:
        step = _step(memory, source.place, items, problems)
        done = Import(memory, "turns", "update", blank=blank)
        done.omit(problems)
        if dry_run:
            for line in _foreseen(step, done):
                output.say(line)
        else:
            for _ in done.run(source.path, iter(step.items), batch):
                pass
            done.tell_pending()
            for record in step.gone:
                done.counts["DELETED"] += int(memory.delete(record.id))
        done.counts["RENAMED"] = len(step.renamed)
    report(settings, done)
    return done.failed(source.how.lenient)


def _foreseen(step: Step, done: Import) -> Iterator[str]:
    """A line for each thing that a step would do, which is counted and not done."""
    yield from (f"rename {before} to {after}" for before, after in step.renamed)
    there = existing(done.memory, step.items)
    for item in step.items:
        record = there.get(item["id"])
        changes = record is None or differs(record, item) or _links_differ(done.memory, item)
        done.counts["ADDED" if record is None else "UPDATED" if changes else "UNCHANGED"] += 1
        if changes:
            yield f"{'add' if record is None else 'update'} {item.place}"
    for record in step.gone:
        done.counts["DELETED"] += 1
        yield f"delete {record.metadata.get('path')}"


def _links_differ(memory: Memory, item: Item) -> bool:
    """Test whether a memory lacks a link of its note, or has one that this no longer has."""
    id = item["id"]
    there = {link.key for link in memory.links(id) if link.source == id}
    links = {(id, link["target"], link["type"]) for link in item.get("links", ())}
    events = whole_history(memory, id) if there - links else ()
    last = {link_key(event): event.payload for event in events if event.type == "link"}
    return bool(links - there) or any(last[key].get(BROUGHT) for key in last.keys() & there - links)


def _step(
    memory: Memory, folder: Path, items: Sequence[Item], problems: Sequence[ImportProblem]
) -> Step:
    """The step from the memories of a folder to what it holds now.

    A note goes by its path. One whose path is new is the renamed one that had the same words, or
    else the same file name, and is gone from its place. An id that a memory outside of the folder
    has is put behind the folder's name. The memory of a note that cannot be read stays.
    """
    root = str(folder.resolve())
    records = {_of(r): r for r in memory.iterate({f"metadata.{FOLDER}": root})}
    unread = {realpath(p.path) for p in problems if isinstance(p.path, Path)}
    items_at = {_at(item): item for item in items}
    gone = {place: record for place, record in records.items() if place not in items_at}
    gone = {p: r for p, r in gone.items() if realpath(folder / p[0]) not in unread}
    result = Step()
    ids: dict[str, str] = {}
    for place, item in items_at.items():
        record = records.get(place)
        if record is None and (record := _former(place, item, gone)) is not None:
            former = _of(record)
            del gone[former]
            result.renamed.append((former[0], place[0]))
        if record is not None:
            ids[item["id"]] = record.id
    ids |= _free(memory, folder, [item for item in items if item["id"] not in ids])
    for item in items:
        fields = {**item, "id": ids[item["id"]]}
        fields["metadata"] = {"path": item.place, **item.get("metadata", {}), FOLDER: root}
        fields["links"] = [
            {**link, "target": ids.get(link["target"], link["target"])}
            for link in item.get("links", ())
        ]
        result.items.append(Item(fields, item.place, assumed=item.assumed))
    result.gone = list(gone.values())
    return result


def _at(item: Item) -> _Place:
    return item.place, str(item["id"]).partition("#")[2]


def _of(record: MemoryRecord) -> _Place:
    return str(record.metadata.get("path", "")), record.id.partition("#")[2]


def _former(place: _Place, item: Item, gone: Mapping[_Place, MemoryRecord]) -> MemoryRecord | None:
    """The memory of the note that a new one was before it was renamed or moved."""
    name = Path(place[0]).name
    same_words = [r for r in gone.values() if r.content == item["content"]]
    same_name = [r for r in gone.values() if Path(_of(r)[0]).name == name]
    for records in (same_words, same_name):
        alike = [record for record in records if _of(record)[1] == place[1]]
        if len(alike) == 1:
            return alike[0]
    return None


def _free(memory: Memory, folder: Path, items: Sequence[Item]) -> dict[str, str]:
    """The ids of new notes: their own, or behind the folder's name if one of them is taken.

    A note that was imported before, without its folder, goes on as the memory that it is.
    """
    taken = existing(memory, items)
    free: dict[str, str] = {}
    for item in items:
        record = taken.get(item["id"])
        is_free = record is None or (FOLDER not in record.metadata and _of(record) == _at(item))
        free[item["id"]] = item["id"] if is_free else f"{slug(folder.resolve().name)}/{item['id']}"
    return free


def _watched(folder: Path) -> Iterator[None]:
    """Yield each time that something in a folder has changed."""
    try:
        watch = import_module("watchfiles").watch
    except ImportError:
        problem = "is to be watched, which needs watchfiles"
        raise ImportProblem(folder, problem, "pip install 'salience[watch]'") from None
    for _ in watch(folder, raise_interrupt=False):
        yield

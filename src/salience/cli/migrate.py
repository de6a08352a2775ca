"""Commands for whole stores: migrate, index, copy, export and reembed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from salience import stores
from salience.cli import output
from salience.cli.operations import parameters_of
from salience.cli.settings import Settings, parse_json
from salience.closing import regular_file
from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.records.field_filters import with_fields
from salience.records.filters import PERSON
from salience.records.tombstones import Tombstone
from salience.retrieval.operations import Tombstones
from salience.retrieval.safety import Backup
from salience.stores import copy as copying
from salience.write.outcomes import Transferred
from salience.write.transfer.files import written
from salience.write.transfer.formats import export_as
from salience.write.transfer.lines import dump


def migrate(
    settings: Settings,
    row_security: Annotated[bool | None, typer.Option(show_default=False)] = None,
    citus: bool = False,
) -> None:
    """Upgrade the schema of a store, or create it in an empty database."""
    settings.require()
    before, after = stores.migrate(settings.url, row_security, citus)
    if settings.json:
        output.emit({"before": before, "after": after})
    else:
        done = [f"schema {before} brought to {after}" if before != after else f"schema {after}"]
        if row_security is not None:
            done.append(f"row security {'on' if row_security else 'off'}")
        if citus:
            done.append("spread over the cluster")
        print(", ".join(done if len(done) > 1 or before != after else [*done, "nothing to do"]))


def index(settings: Settings) -> None:
    """Build missing vector indexes of large namespaces in a PostgreSQL store."""
    with output.progress("the indexes that were built stay", "indexing") as progress:
        built = stores.build_indexes(settings.url, progress)
    output.tell(settings, {"built": built}, f"{built:,} built")


def copy(settings: Settings, source: str, target: str) -> None:
    """Copy a store into another, with vectors, links and history, and check the copy."""
    origin, destination = Settings(db=source), Settings(db=target)
    origin.require()
    with output.progress("what was copied stays; run it again for the rest") as progress:
        copies = copying.copy(origin.url, destination.url, progress)
    if output.emitted(settings, {"namespaces": [copied.to_dict() for copied in copies]}):
        return
    for copied in copies:
        print(
            f"{copied.namespace}: {copied.memories:,} memories, {copied.links:,} links, "
            f"{copied.events:,} events, checksum {copied.checksum}"
        )
    output.note("the target holds the same")


@parameters_of("count", without=("archived", "as_of", "user_id"))
def export(
    settings: Settings,
    path: Path = Path("-"),
    all_: bool = False,
    vectors: bool = False,
    user: str | None = None,
    format: Literal["jsonl", "markdown", "mem0", "eval"] = "jsonl",
    **options: Any,
) -> None:
    """Write everything to a file, history included, for import to bring back."""
    if user is not None:
        owner = {PERSON: user}
        options["filters"] = {"and": [owner, options["filters"]]} if "filters" in options else owner
    filters = with_fields(options).get("filters")
    if format == "jsonl" and filters is not None:
        problem = "goes with --format markdown, mem0 or eval"
        raise InvalidInput("filter", problem, "JSON lines hold everything, with its history")
    if format != "jsonl":
        if all_ or vectors or path == Path("-"):
            raise InvalidInput("format", f"{format} has no such option", "give it a path alone")
        with settings.open(embeds=False) as memory:
            if format == "eval":
                count = _export_set(memory, path, filters)
            else:
                chosen = None if filters is None else {each.id for each in memory.iterate(filters)}
                count = export_as(memory, path, format, chosen)
        output.emit({"memories": count}) if settings.json else print(f"{count:,} memories")
        return
    with settings.open(embeds=False) as memory, output.progress() as progress:
        target = sys.stdout if path == Path("-") else path
        done = memory.export(target, everywhere=all_, vectors=vectors, progress=progress)
    if path == Path("-"):
        output.note(transferred(done))
    else:
        output.tell(settings, done, transferred(done))


def _export_set(memory: Any, path: Path, filters: Any) -> int:
    """Write the memories and labelled questions as a set; the number of memories."""
    from salience.evaluation.datasets import labelled_set

    labelled = labelled_set(memory, filters)
    with written(path) as write:
        write(dump(labelled))
    return len(labelled["memories"])


def backup(settings: Settings, path: Path, overwrite: bool = False) -> None:
    """Back up the whole store to a file while it is in use, and check the copy."""
    bar = output.progress("nothing written", "copying")
    with settings.open(embeds=False) as memory, bar as progress:
        done = memory.backup(path, overwrite=overwrite, progress=progress)
    _show_backup(settings, done, "written and checked")


def restore_backup(
    settings: Settings,
    path: Path,
    overwrite: bool = False,
    with_erased: Annotated[bool | None, typer.Option(show_default=False)] = None,
) -> None:
    """Restore a store from a backup, after checking it; no program may have it open."""
    with output.progress("nothing restored", "copying") as progress:
        done = stores.restore_backup(
            path, settings.url, overwrite=overwrite, with_erased=with_erased, progress=progress
        )
    _show_backup(settings, done, "restored and checked")


def erased(settings: Settings, apply: Path | None = None) -> None:
    """Print the list of erasures, as hashes, or repeat them in a restored store."""
    store = stores.open_store(settings.url)
    try:
        if apply is None:
            for tombstone in store.batch([Tombstones()])[0]:
                print(tombstone.to_line())
            return
        with regular_file(apply) as lines:
            tombstones = list(map(Tombstone.from_line, lines))
        count, users = copying.erase_again(store.batch, tombstones)
    finally:
        store.close()
    output.tell(settings, {"erased_again": count}, f"{count:,} memories erased again")
    if users:
        output.note(copying.USERS.format(count=users))


def _show_backup(settings: Settings, done: Backup, what: str) -> None:
    if settings.json:
        output.emit(done.to_dict())
    else:
        output.say(f"{done.path}: {what}: {done.memories:,} memories, {done.bytes:,} bytes")
        if done.erased_again:
            output.say(f"erased again, as they were erased since the backup: {done.erased_again:,}")
            output.note("if that was a mistake, restore it again --with-erased")
        if done.note:
            output.note(done.note)


def doctor(settings: Settings, fix: bool = False) -> None:
    """Look for damage in the whole store; exits with 1 if problems remain."""
    with settings.open(embeds=False) as memory:
        diagnosis, kernels = memory.upkeep.doctor(fix=fix), memory.stats()["kernels"]
    if settings.json:
        output.emit({**diagnosis.to_dict(), "kernels": kernels})
    else:
        for finding in diagnosis:
            output.say(str(finding))
        state = "all is well" if diagnosis else "not all is well"
        output.say(f"{diagnosis.memories:,} memories, {len(diagnosis):,} findings: {state}")
        output.say(f"searches are computed by {kernels}")
    if not diagnosis:
        raise typer.Exit(1)


def transferred(done: Transferred) -> str:
    """The figures of an export or import."""
    figures = [f"{done.memories:,} memories", f"{done.links:,} links", f"{done.events:,} events"]
    if len(done.namespaces) != 1:
        figures.insert(0, f"{len(done.namespaces):,} namespaces")
    return ", ".join(figures)


def reembed(
    settings: Settings,
    to: str | None = None,
    status: bool = False,
    compare: bool = False,
    queries: Path | None = None,
    cut_over: bool = False,
    roll_back: bool = False,
    finish: bool = False,
    give_up: bool = False,
    missing: bool = False,
) -> None:
    """Re-embed everything with --embedder while the store is in use, or in steps."""
    settings.require()
    chosen = {
        "status": status,
        "compare": compare,
        "cut_over": cut_over,
        "roll_back": roll_back,
        "finish": finish,
        "give_up": give_up,
    }
    steps = [step for step, is_chosen in chosen.items() if is_chosen]
    if len(steps) > 1 or ((steps or to is not None) and missing):
        raise InvalidInput("reembed", "has several steps", "take one at a time")
    if queries is not None and not compare:
        raise InvalidInput("queries", "are to compare by", "add --compare")
    if steps or to is not None:
        _reembed_in_steps(settings, to, steps[0] if steps else "fill", queries)
        return
    aftermath = "searches use the old vectors; run it again for the rest"
    with output.progress(aftermath, "embedding") as progress:
        count = Memory.upkeep.reembed(
            settings.url, embedder=settings.embedder, missing=missing, progress=progress
        )
    if not output.emitted(settings, {"embedded": count}):
        output.note(f"{count:,} memories embedded")


def _reembed_in_steps(settings: Settings, to: str | None, step: Any, queries: Path | None) -> None:
    searches = None if queries is None else _parse_queries(queries)
    aftermath = "searches use the old vectors; the same command goes on"
    with output.progress(aftermath, "embedding") as progress:
        state = Memory.upkeep.reembedding(
            settings.url,
            to,
            step=step,
            embedder=settings.embedder,
            queries=searches,
            progress=progress,
        )
    if output.emitted(settings, state):
        return
    output.say(f"searched  {state.searched or 'no vectors yet'}")
    if state.beside is not None:
        kind = "former" if state.is_former else "beside"
        output.say(f"{kind}    {state.beside}: {state.embedded:,} of {state.memories:,} memories")
    if state.agreement is not None:
        found = state.agreement
        output.say(
            f"agreement of the first ten in {found.queries:,} searches: {found.overlap:.1%} in "
            f"common, {found.average_overlap:.1%} in order, {found.same_first:.1%} the same first"
        )
        if found.recall_before is not None and found.recall_after is not None:
            output.say(f"recall@10 {found.recall_before:.3f}, then {found.recall_after:.3f}")
    if state.made:
        output.note(f"{state.made:,} memories embedded")
    output.note(state.next)


def _parse_queries(path: Path) -> list[Any]:
    """The searches of a file, one a line: JSON where it begins as an object, else a text."""
    try:
        with regular_file(path) as file:
            lines = file.read().decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidInput("queries", f"{path}: {problem}", "give a file of UTF-8 text") from None
    return [
        parse_json(f"queries[{number}]", line) if line.startswith("{") else line
        for number, line in enumerate(filter(None, map(str.strip, lines)))
    ]

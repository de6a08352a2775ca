"""Commands for whole stores: migrate, index, copy and export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from salience import stores
from salience.cli import output
from salience.cli.settings import Settings
from salience.errors import InvalidInput
from salience.stores import copy as copying
from salience.write.outcomes import Transferred
from salience.write.transfer.formats import export_as


def migrate(
    settings: Settings,
    row_security: Annotated[
        bool | None,
        typer.Option(
            "--row-security/--no-row-security",
            help="Roles that do not own the tables see only the namespaces that they name.",
            show_default=False,
        ),
    ] = None,
    citus: Annotated[
        bool,
        typer.Option("--citus", help="Spread the tables over a Citus cluster, by namespace."),
    ] = False,
) -> None:
    """Bring the schema of a store up to date, or create it in an empty database."""
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
    with output.progress("the indexes that were built stay") as progress:
        built = stores.build_indexes(
            settings.url, lambda done, total: progress("indexing", done, total)
        )
    if settings.json:
        output.emit({"built": built})
    else:
        print(f"{built:,} built")


def copy(
    settings: Settings,
    source: Annotated[str, typer.Argument(help="The store to copy, a path or a URL.")],
    target: Annotated[str, typer.Argument(help="The store to copy it into.")],
) -> None:
    """Copy a store into another, with vectors, links, history and notes, and check the copy."""
    origin, destination = Settings(db=source), Settings(db=target)
    origin.require()
    with output.progress("what was copied stays; run it again for the rest") as progress:
        copies = copying.copy(origin.url, destination.url, progress)
    if settings.json:
        output.emit({"namespaces": [copied.to_dict() for copied in copies]})
        return
    for copied in copies:
        print(
            f"{copied.namespace}: {copied.memories:,} memories, {copied.links:,} links, "
            f"{copied.events:,} events, checksum {copied.checksum}"
        )
    output.note("the target holds the same")


def export(
    settings: Settings,
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The file or folder to write; - writes to stdout."),
    ] = Path("-"),
    everywhere: Annotated[
        bool, typer.Option("--all", help="Export all namespaces of the store.")
    ] = False,
    vectors: Annotated[
        bool,
        typer.Option("--vectors", help="Export the vectors that the embedder made, as well."),
    ] = False,
    format: Annotated[
        Literal["jsonl", "markdown", "mem0"],
        typer.Option(help="Everything as JSON lines, a folder of notes, or JSON of mem0."),
    ] = "jsonl",
) -> None:
    """Write everything to a file, history included; import brings it back."""
    if format != "jsonl":
        if everywhere or vectors or path == Path("-"):
            raise InvalidInput("format", f"{format} has no such option", "give it a path alone")
        with settings.open(embeds=False) as memory:
            count = export_as(memory, path, format)
        output.emit({"memories": count}) if settings.json else print(f"{count:,} memories")
        return
    with settings.open(embeds=False) as memory, output.progress() as progress:
        target = sys.stdout if path == Path("-") else path
        done = memory.export(target, everywhere=everywhere, vectors=vectors, progress=progress)
    if path == Path("-"):
        output.note(transferred(done))
    elif settings.json:
        output.emit(done.to_dict())
    else:
        print(transferred(done))


def transferred(done: Transferred) -> str:
    """The figures of an export or import."""
    figures = [f"{done.memories:,} memories", f"{done.links:,} links", f"{done.events:,} events"]
    if len(done.namespaces) != 1:
        figures.insert(0, f"{len(done.namespaces):,} namespaces")
    return ", ".join(figures)

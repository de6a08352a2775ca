"""migrate, index and copy: schemas, indexes of vectors, from one store to another."""

from __future__ import annotations

from typing import Annotated

import typer

from salience import stores
from salience.cli import output
from salience.cli.settings import Settings
from salience.stores import copy as copying


def migrate(
    settings: Settings,
    row_security: Annotated[
        bool | None,
        typer.Option(
            "--row-security/--no-row-security",
            help="Let roles that do not own the tables see only the namespaces they name.",
            show_default=False,
        ),
    ] = None,
    citus: Annotated[
        bool,
        typer.Option("--citus", help="Spread the tables over a Citus cluster, by namespace."),
    ] = False,
) -> None:
    """Bring the schema of a store up to date, or make it in an empty database."""
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
    """Build the indexes of vectors that large namespaces of a PostgreSQL store lack."""
    with output.progress() as told:
        built = stores.build_indexes(
            settings.url, lambda done, total: told("indexing", done, total)
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
    """Copy a store to another: memories, vectors, links, history and notes; then check it."""
    one, other = Settings(db=source), Settings(db=target)
    one.require()
    with output.progress() as told:
        found = copying.copy(one.url, other.url, told)
    if settings.json:
        output.emit({"namespaces": [each.to_dict() for each in found]})
        return
    for each in found:
        print(
            f"{each.namespace}: {each.memories:,} memories, {each.links:,} links, "
            f"{each.events:,} events, checksum {each.checksum}"
        )
    output.note("the target holds the same")

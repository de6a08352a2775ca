"""The command import: its options, and which of the ways of importing they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from salience.cli import output
from salience.cli.completion import one_of
from salience.cli.migrate import transferred
from salience.cli.settings import Settings
from salience.closing import regular_file
from salience.errors import InvalidInput, shown
from salience.write.items import CHECKS
from salience.write.upsert import OnConflict

if TYPE_CHECKING:
    from salience.cli.importing.sources import Source

Mode = Literal["turns", "sides", "chunks", "hybrid"]


def _matching_formats(beginning: str) -> list[str]:
    """The formats whose names begin with a word."""
    from salience.importers import FORMATS

    return one_of(FORMATS)(beginning)


_FAST = (None, "default", "wordllama", "none")  # another may take seconds for some hundred texts


def import_(
    settings: Settings,
    paths: list[str] | None = None,
    format: Annotated[str | None, typer.Option(autocompletion=_matching_formats)] = None,
    batch: Annotated[int | None, typer.Option(min=1)] = None,
    mode: Mode = "turns",
    update: bool = False,
    on_conflict: OnConflict = "error",
    lenient: bool = False,
    strict: bool = False,
    map_: list[str] | None = None,
    dates: Literal["dmy", "mdy"] | None = None,
    sync: bool = False,
    dry_run: bool = False,
    watch: bool = False,
    all_: bool = False,
    formats: bool = False,
) -> None:
    """Import exports, JSON lines, notes, chats, and data of other memory systems."""
    # Imported here, because no other command needs the formats.
    from salience.cli.importing.sources import How, folder_at, sources
    from salience.cli.importing.sync import keep_in_step
    from salience.cli.importing.writing import import_items

    if formats:
        _list_formats(settings)
        return
    batch = batch or (2048 if settings.embedder in _FAST else 128)
    if not paths:
        raise InvalidInput("paths", "are missing", "give a file, a folder or an address")
    for name, other, are_both in (
        ("strict", "lenient", lenient and strict),
        ("update", f"on-conflict {on_conflict}", update and on_conflict not in ("error", "update")),
        ("update", f"mode {mode}", mode != "turns" and (update or on_conflict == "update")),
        ("dry_run", "watch", dry_run and watch),
    ):
        if are_both:
            raise InvalidInput(name, f"does not go with --{other}", "leave one of them out")
    on_conflict = "update" if update else on_conflict
    is_plain = on_conflict == "error" and mode == "turns"
    how = How(format, lenient, strict, _columns(map_ or ()), dates)
    if sync or watch or dry_run:
        if not is_plain or all_ or len(paths) > 1:
            raise InvalidInput("sync", "is for one folder", "leave the other options out")
        keep_in_step(settings, folder_at(paths[0], how), batch, dry_run, watch)
        return
    with sources(paths, how) as opened:
        if exports := [source for source in opened if source.is_export]:
            if len(opened) > 1 or not is_plain:
                raise InvalidInput(
                    str(exports[0].path), "is an export", "import it alone, without other options"
                )
            _import_export(settings, exports[0], all_)
        elif all_:
            raise InvalidInput("all", "is for exports", "leave it out")
        else:
            import_items(settings, opened, batch, mode, on_conflict)


def _list_formats(settings: Settings) -> None:
    from salience.importers import FORMATS

    formats = {name: format.about for name, format in FORMATS.items()}
    if output.emitted(settings, formats):
        return
    width = max(map(len, formats))
    for name, about in formats.items():
        output.say(f"{name:{width}}  {about}")


def _columns(pairs: Sequence[str]) -> dict[str, str]:
    """The columns of a table by the fields that they hold."""
    columns = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not equals or not column or name not in (*CHECKS, "links"):
            raise InvalidInput("map", f"is {shown(pair)}", "write FIELD=COLUMN, as content=Text")
        columns[name] = column
    return columns


def _import_export(settings: Settings, source: Source, everywhere: bool) -> None:
    """Import what `salience export` has written."""
    place = Path(str(source.place))
    with (
        settings.open(make=True) as memory,
        output.progress("the same command goes on where it was") as progress,
        regular_file(place) as file,
    ):
        done = memory.load(
            place if source.path == place else file,
            everywhere=everywhere,
            progress=lambda step, count, total: progress(step, count, total or None),
        )
    output.degraded(done.degraded)
    output.tell(settings, done, transferred(done))

"""Methods that take everything out of a store, bring it back, and look after the store itself."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import IO, Any

from salience import stores
from salience.engine.core import Core, PlanRunner
from salience.records.validation import boolean, callable_or_none, file_path
from salience.retrieval.operations import BackUp, ReadStats
from salience.retrieval.plan import ask, drive
from salience.retrieval.safety import Backup
from salience.stores.address import Address
from salience.write.outcomes import Transferred

Progress = Callable[[str, int, int], None]
"""Called with the step, the number of memories done, and of all."""


class TransferApi(PlanRunner):
    """Export and import, backup and repair."""

    def export(
        self,
        target: str | PathLike[str] | IO[Any],
        *,
        everywhere: bool = False,
        vectors: bool = False,
        progress: Progress | None = None,
    ) -> Transferred:
        """Export this namespace as JSON lines: memories, history, links, archive.

        The memories are as they were when it began, whatever is written meanwhile. A file at a path
        appears when it is complete.

        Args:
            target: a path, or an open file.
            everywhere: all namespaces of the store.
            vectors: also the vectors that the embedder makes of texts, which `load` makes again
                otherwise; all others are always written.
            progress: called with the step, the number of memories done, and of all.
        """
        return _export(self._core, target, everywhere, vectors, progress)

    def load(
        self,
        source: str | PathLike[str] | IO[Any],
        *,
        everywhere: bool = False,
        progress: Progress | None = None,
    ) -> Transferred:
        """Import what `export` has written into this namespace, which must be empty.

        The file is checked to its end before anything is written. An import that was broken off
        goes on where it was if it is called again. Memories without a vector get one by the
        embedder, and so do those whose vectors are another embedder's. For all other files see
        `salience.importers`.

        Args:
            source: a path, or an open file.
            everywhere: all namespaces of the file, each under its own name.
            progress: called with the step, how much is done, and how much there is (0 if unknown).

        Raises:
            InvalidInput: the file is damaged, and in which line; nothing was written.
            NotEmpty: the namespace already holds memories.
        """
        return _load(self._core, source, everywhere, progress)

    def backup(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Backup:
        """Back up the whole store, with all namespaces, to a file while it is in use.

        The copy is of one moment, is checked, and appears when it is complete; only its owner can
        read it. It is a store like any other: open it, or bring it back with `restore_backup`.

        Args:
            path: where the copy goes.
            overwrite: replace the file that is there, if nobody has it open.
            progress: called with the number of pages copied, and of all.

        Raises:
            InvalidInput: the file exists; or the store is no file, with what to use for it.
            StoreError: the store is damaged, or the copy cannot be written.
        """
        progress = callable_or_none("progress", progress)
        return self._run(
            ask(BackUp(file_path("path", path), boolean("overwrite", overwrite), progress))
        )

    @staticmethod
    def restore_backup(
        backup: str | PathLike[str],
        url: Address | None = None,
        *,
        overwrite: bool = False,
        with_erased: bool | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Backup:
        """Restore a store from a backup; no program may have the store open.

        The backup is checked first and stays as it is. Logs of the store that was there go with it;
        what was erased from it after the backup was made is erased from the copy, too, and counted
        in the result, unless it is restored `with_erased`.

        Args:
            backup: a file that `backup` has written.
            url: the store; by default the address in SALIENCE_DB, else memory.db.
            overwrite: replace the store that is there.
            with_erased: True to bring back all that was erased since the backup was made, False
                to leave it out even if nothing else is left, which is refused by default.
            progress: called with the number of pages copied, and of all.

        Raises:
            InvalidInput: the store exists; all of the backup was erased since; or the store is no
                file, with what to use for it.
            StoreError: the backup is damaged or none, or a program has the store open.
        """
        progress = callable_or_none("progress", progress)
        overwrite = boolean("overwrite", overwrite)
        rules: dict[str, Any] = {"overwrite": overwrite, "progress": progress}
        rules["with_erased"] = None if with_erased is None else boolean("with_erased", with_erased)
        return stores.restore_backup(backup, url, **rules)


def _export(
    core: Core, target: Any, everywhere: bool, vectors: bool, progress: Progress | None
) -> Transferred:
    """Export a namespace, or all of the store, to a path or an open file."""
    from salience.write.transfer.export import export
    from salience.write.transfer.files import written

    perform, embedder = core.batch, core.dispatcher.store.embedder()
    vectors, report = boolean("vectors", vectors), _report(progress)
    namespaces = [core.namespace]
    if boolean("everywhere", everywhere):
        namespaces = sorted(drive(ask(ReadStats(())), perform)["namespaces"])
    core.dispatcher.flush()
    with written(target) as write:
        return export(namespaces, perform, write, vectors=vectors, embedder=embedder, report=report)


def _load(core: Core, source: Any, everywhere: bool, progress: Progress | None) -> Transferred:
    """Import what was exported, from a path or an open file."""
    from salience.write.transfer.files import readable
    from salience.write.transfer.load import load

    target = None if boolean("everywhere", everywhere) else core.namespace
    report = _report(progress)
    with readable(source) as (name, read):
        return load(name, read, target, core.write_context(), core.batch, report)


def _report(progress: Progress | None) -> Progress:
    return callable_or_none("progress", progress) or (lambda step, done, total: None)

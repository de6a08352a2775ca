"""Exports and imports of a memory, whole: between files and the store."""

# What they need besides is imported when they are called: most programs never do.

from __future__ import annotations

from typing import Any

from salience.engine.core import Core
from salience.engine.lifecycle_api import Progress
from salience.records.validation import boolean, callable_or_none
from salience.retrieval.operations import ReadStats
from salience.retrieval.plan import ask, drive
from salience.write.outcomes import Transferred


def export_to(
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


def import_from(
    core: Core, source: Any, everywhere: bool, progress: Progress | None
) -> Transferred:
    """Import what was exported, from a path or an open file."""
    from salience.write.transfer.files import readable
    from salience.write.transfer.load import load

    target = None if boolean("everywhere", everywhere) else core.namespace
    report = _report(progress)
    with readable(source) as (name, read):
        return load(name, read, target, core.write_context(), core.batch, report)


def _report(progress: Progress | None) -> Progress:
    return callable_or_none("progress", progress) or (lambda step, done, total: None)

"""Recall on the recorded searches of a store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from salience.engine.memory import Memory
from salience.evaluation.metrics import load_ir_measures
from salience.evaluation.replay.searches import questions, read_searches
from salience.evaluation.runner import Progress, Report, measure
from salience.ranking.profile import Profile
from salience.ranking.profiles import get as profile_named
from salience.stores.address import Address


def evaluate_log(
    log: str | Path,
    url: Address,
    *,
    profiles: Sequence[str | Profile] = ("balanced",),
    embedder: str = "default",
    progress: Progress | None = None,
) -> Report:
    """Measure every profile on the recorded searches of a store; nothing is written there.

    Raises:
        InvalidInput: the log cannot be read, or no search has an answer; or there is no such
            profile or embedder.
    """
    load_ir_measures()
    report_progress = progress or (lambda step, done, total: None)
    report = Report()
    for profile in [profile_named(profile) for profile in profiles]:
        with Memory.open(url, embedder=embedder, profile=profile) as memory:
            members = questions(memory, read_searches(log))
            report.outcomes.append(
                measure(Path(log).stem, members, memory, profile, embedder, report_progress)
            )
    return report

"""`memory.upkeep`: upkeep, which is previewed first, recorded, and undone by the name of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from salience.api.parameters import Bounds
from salience.embedders import EmbedderLike
from salience.engine.core import Core, Part
from salience.engine.reembedding import Reembedding, Step, take_step
from salience.engine.transfer_api import Progress
from salience.lifecycle import audit as auditing
from salience.lifecycle import consolidation, maintenance, pruning
from salience.lifecycle.audit import Audit
from salience.lifecycle.consolidation import Consolidation, Summariser
from salience.lifecycle.maintenance import Maintenance, MaintenanceRequest, this_process
from salience.lifecycle.pruning import Pruning
from salience.lifecycle.verify import Diagnosis, Verification, doctor, verify
from salience.records.validation import boolean
from salience.search.recording import log_upkeep
from salience.search.request import Filters
from salience.stores.address import Address
from salience.stores.protocol import Store
from salience.write import judgments

Cap = Annotated[int, pruning.CAP]


class Upkeep(Part):
    """Keep memories in order: prune, consolidate, maintain, audit, verify."""

    def prune(
        self, *, apply: bool = False, cap: Cap = pruning.DEFAULT_CAP, filters: Filters = None
    ) -> Pruning:
        """Archive faded memories (vitality below 0.1), least alive first; a preview unless applied.

        Never moved are pinned ones, those that hold the link graph together, and those that a link
        was made to within 14 days. What was imported is as old as its stay here. The result says
        why each is a candidate; `undo` takes its `run`.

        Args:
            apply: make the changes; without it they are only shown.
            cap: the most memories to archive.
            filters: a condition that each memory must meet.
        """
        scope = self._core.write_context()
        where = self._core.filter(filters)
        report = self._run(pruning.prune(scope, apply=apply, cap=cap, where=where))
        if apply:
            log_upkeep(scope.namespace, "prune", len(report.candidates), report.run)
        return report

    def consolidate(
        self,
        *,
        apply: bool = False,
        everything: bool = False,
        summarise: Summariser = consolidation.central_text,
        filters: Filters = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Consolidation:
        """Merge active memories of one owner that say the same; a preview unless applied.

        A cluster has at least 3 members, each at a cosine of 0.80 or more to the centroid, and to
        the oldest of them. Only owners (agent and user together) with more than 20 active memories
        are looked at. The memory that replaces a cluster has the text that `summarise` makes of the
        members, most central first. By default that is the text of the first, and clusters whose
        members differ in a number, a date, a name, a negation or a word, or contradict each other
        by a link, are left as they are. Its importance is min(largest + 0.1, 1). The originals
        become `consolidated` and stay linked to it.
        Conversation turns and pinned memories are never merged.

        Args:
            apply: make the changes; without it they are only shown.
            everything: look at all memories, not only at those new since the last applied run.
            summarise: a function that makes one text of the members of a cluster.
            filters: a condition that each memory must meet.
            progress: called with the number of owners done, and of all.
        """
        scope = self._core.write_context()
        report = self._run(
            maintenance.consolidate_new(
                scope,
                apply=apply,
                everything=everything,
                summarise=summarise,
                where=self._core.filter(filters),
                progress=progress,
            )
        )
        if apply:
            log_upkeep(scope.namespace, "consolidate", report.merged, report.run)
        return report

    def maintain(
        self,
        *,
        dry_run: bool = False,
        steps: Annotated[Sequence[str], Bounds(items={"enum": maintenance.STEPS})] = (
            maintenance.DEFAULT_STEPS
        ),
        cap: Cap = pruning.DEFAULT_CAP,
        summarise: Summariser = consolidation.central_text,
        progress: Progress | None = None,
    ) -> Maintenance:
        """Run the maintenance that is due, in steps.

        "expire" archives expired memories, "tasks" completes tasks untouched for 7 days, "links"
        lets links by name find their target. "consolidate", "prune" and "decay" (`decay`) are
        done only if `steps` names them. A second run at the same time changes nothing; a run that
        was broken off is finished by the next one. A lock in the store keeps a second process out;
        the lock of a process that died is taken over.

        Args:
            dry_run: only show the changes.
            steps: the steps to do.
            cap: the most memories to prune.
            summarise: a function that makes one text of memories that say the same.
            progress: called with the step, how much of it is done, and how much there is.

        Raises:
            Locked: somebody else maintains the namespace.
        """
        dry_run = boolean("dry_run", dry_run)
        request = MaintenanceRequest(self._core.time, steps, dry_run, cap, summarise, progress)
        scope = self._core.write_context()
        report = self._run(maintenance.maintain(scope, request, this_process()))
        for step in report.steps:
            if not (dry_run or step.held_back):
                log_upkeep(scope.namespace, f"maintain, step {step.name}", step.changed, step.run)
        return report

    def audit(
        self,
        *,
        mend: Annotated[Sequence[str], Bounds(items={"enum": auditing.MENDABLE})] = (),
        progress: Progress | None = None,
    ) -> Audit:
        """Count memories that are duplicates, junk, dormant, contradicted or otherwise a problem.

        The result has examples, and the command that mends each. Nothing is changed but what `mend`
        names: "duplicates" and "junk" are archived; for "orphaned" ones, links that lead nowhere
        are removed, and what lost its successor is active again. `undo` takes the `run` of the
        result, but for links.

        Args:
            mend: the findings to mend: duplicates, junk, orphaned.
            progress: called with the step, how much of it is done, and how much there is.

        Raises:
            InvalidInput: `mend` names another finding.
        """
        plan = auditing.audit(self._core.write_context(), mend=mend, progress=progress)
        return self._run(plan)

    def decay(self) -> None:
        """Let every memory fade: `strength` and `relevance_score` times exp(-0.01 * days).

        Days are counted since the last call, at first since creation; outdated memories lose
        relevance twice as fast. A second call at the same instant changes nothing.
        """
        self._run(judgments.decay_all(self._core.write_context()))

    def verify(self, *, repair: bool = False) -> Verification:
        """Check every row of the namespace by its checksum, and every memory by its log.

        The contents have a checksum in a SQLite file. Accesses, status, judgements and every other
        field follow from the log, and are compared with it bit by bit. Where rows are damaged,
        `doctor` comes first.

        Args:
            repair: set a field that differs to what the log gives.
        """
        return self._run(verify(self._core.namespace, repair=repair))

    def flush(self) -> None:
        """Write the accesses that are still queued."""
        self._core.dispatcher.flush()

    def doctor(self, *, fix: bool = False) -> Diagnosis:
        """Check the whole store, with all namespaces, for damage; true if all is well.

        Looks at the schema, indexes, orphans, vectors, what memories are found by, and compares
        every memory with its history (`verify`); in a file also at the checksum of every
        row and the write-ahead log. All texts are read.

        Args:
            fix: repair what is possible. Other damaged rows are written to a file, which the
                findings name, before they are removed: next to a store in a file, in the current
                folder for PostgreSQL.

        Raises:
            StoreError: the store cannot be read; or is to be mended and cannot be written; or the
                role does not see all of a PostgreSQL store.
        """
        return self._run(doctor(fix=fix))

    @staticmethod
    def reembed(
        url: Address | Store | None = None,
        *,
        embedder: EmbedderLike | None = None,
        missing: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Re-embed a whole store; returns the number of vectors made.

        If no embedder is named, the default one replaces its own vectors, and no other's. With
        `missing`, only memories stored without a vector get one. Searches go on meanwhile with the
        old vectors; a run that was broken off goes on where it was. Other processes that have the
        store open with another embedder have to open it again. `progress` is called with the number
        of vectors done, and of all.

        Raises:
            EmbedderMismatch: the vectors are another embedder's, and none was named to replace it.
        """
        return Core.reembed(url, embedder, missing, progress)

    @staticmethod
    def reembedding(
        url: Address | Store | None = None,
        to: EmbedderLike | None = None,
        *,
        step: Step = "status",
        embedder: EmbedderLike | None = None,
        queries: Sequence[Any] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Reembedding:
        """Take one step of re-embedding a whole store, while it is in use.

        The steps in their order: "fill" makes the vectors of `to` beside those that are searched,
        and goes on where it was broken off. "compare" searches both, by `queries` (texts, or
        mappings with `query`, `namespace` and the ids that are `relevant`) or the texts of a
        hundred memories; `embedder` is that of the vectors that are searched. "cut_over" makes
        the vectors that are still missing and searches the new ones from then on, in one
        transaction. "roll_back" searches the former ones again (`to` is theirs), "finish" drops
        them. "give_up" drops new ones that are not searched yet. "status" only tells how far it is.

        Raises:
            InvalidInput: it is not the time for that step; says what can be done.
        """
        return take_step(url, to, step, embedder, queries, progress)

"""Methods that take everything out of a store, and bring it back."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any

from salience.engine.lifecycle_api import Progress
from salience.engine.runner import PlanRunner
from salience.engine.transfer import export_to, import_from
from salience.write.outcomes import Transferred


class TransferApi(PlanRunner):
    """Export and import."""

    def export(
        self,
        target: str | PathLike[str] | IO[Any],
        *,
        everywhere: bool = False,
        vectors: bool = False,
        progress: Progress | None = None,
    ) -> Transferred:
        """Write everything of this namespace as lines of JSON: memories, history, links, archive.

        The memories are as they were when it began, whatever is written meanwhile. A file at a path
        appears when it is complete.

        Args:
            target: a path, or an open file.
            everywhere: all namespaces of the store.
            vectors: also the vectors that the embedder makes of texts, which `import_` makes anew
                otherwise; all others are always written.
            progress: called with the step, the number of memories done, and of all.

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        return export_to(self._core, target, everywhere, vectors, progress)

    def import_(
        self,
        source: str | PathLike[str] | IO[Any],
        *,
        everywhere: bool = False,
        progress: Progress | None = None,
    ) -> Transferred:
        """Write all that `export` has written into this namespace, which has to be empty.

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
            NotEmpty: the namespace holds memories already.
        """
        return import_from(self._core, source, everywhere, progress)

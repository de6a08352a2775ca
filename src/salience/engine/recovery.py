"""Recovery: what happens while an embedder does not answer, and when it answers again.

It is left alone, so that nobody waits for it, and is retried in the background. Searches go on
by words, and memories are kept without vectors. Once it answers, those get their vectors.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from salience.embedders import CachedEmbedder
from salience.errors import EmbedderError, EmbedderMismatch, StoreClosed
from salience.lifecycle.reembed import mend
from salience.retrieval.plan import drive
from salience.stores.protocol import Store

_FIRST_PAUSE_SECONDS = 1.0
_QUICK_SECONDS = 0.1  # a failure that takes no longer may be met by each call
_CLOSING_SECONDS = 5.0  # that closing waits for vectors that are being made
_REQUEST_SECONDS = 1.0  # that it waits for the end of a request
_log = logging.getLogger(__name__)


class Recovery:
    """The state of an embedder: `problem` is its last failure, None while it answers.

    `is_waiting` is True while it is left alone: after a failure that took its time, it is asked
    again after 1, 2, 4, ... seconds, at most `longest_pause`; 0 lets every call ask it again.
    """

    def __init__(
        self,
        embedder: CachedEmbedder,
        store: Store,
        batch: Callable[[Any], list[Any]],
        longest_pause: float,
    ) -> None:
        self._embedder, self._store, self._batch = embedder, store, batch
        self._longest_pause = longest_pause
        self._is_remote = getattr(embedder.inner, "is_remote", False)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._due: set[str] = set()  # namespaces that may have memories without vectors
        self.namespaces: set[str] = set()
        self.problem: Exception | None = None
        self.is_waiting = False

    def watch(self, namespace: str) -> None:
        """Look after a namespace; what another process left without vectors gets them, too."""
        self.namespaces.add(namespace)
        if self._is_remote:
            self._due.add(namespace)
            self._start()

    def failed(self, problem: Exception, seconds: float) -> None:
        """Take note of a failure that took some seconds."""
        is_first, self.problem = self.problem is None, problem
        self._due |= self.namespaces
        if is_first:
            _log.warning(
                "%s does not answer (%s); searching by words, and keeping memories without vectors",
                type(self._embedder.inner).__name__,
                _brief(problem),
            )
        _log.debug("The embedder failed after %.1f s: %s", seconds, problem)
        if seconds > _QUICK_SECONDS and self._longest_pause > 0:
            self.is_waiting = True
            self._start()

    def answered(self) -> None:
        """Take note of an answer."""
        if self.problem is not None:
            self.problem, self.is_waiting = None, False
            _log.info("%s answers again", type(self._embedder.inner).__name__)
            self._start()

    def close(self) -> None:
        """Let vectors that are being made become whole for a while, then stop."""
        thread = self._thread
        if thread is not None and self.problem is None:
            thread.join(_CLOSING_SECONDS)
        self._stop.set()
        if thread is not None:
            thread.join(_REQUEST_SECONDS)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._work, name="salience-recovery", daemon=True
                )
                self._thread.start()

    def _work(self) -> None:
        """Ask the embedder until it answers, then make the vectors that are missing."""
        pause = min(_FIRST_PAUSE_SECONDS, self._longest_pause)
        while not self._stop.wait(0.0 if self.problem is None else pause):
            try:
                if self.problem is not None:
                    self._embedder.embed(["an answer"])
                    self.answered()
                self._mend()
            except (StoreClosed, EmbedderMismatch) as problem:
                _log.debug("No vectors are made: %s", problem)
                break
            except Exception as problem:  # of any kind, in foreign code
                self.problem = self.problem or problem
                pause = min(2.0 * pause, self._longest_pause)
                continue
            with self._lock:
                if not self._due:
                    self._thread = None
                    return
        with self._lock:
            self._thread, self.is_waiting = None, False

    def _mend(self) -> None:
        """Make the vectors that are missing in the namespaces that are due."""
        identity = str(self._embedder.identity)
        stored = self._store.embedder()
        if stored not in (None, identity):
            raise EmbedderMismatch(str(stored), identity)
        for namespace in sorted(self._due):
            count = drive(mend(namespace, identity, self._stop.is_set), self._batch)
            self._due.discard(namespace)
            if count:
                _log.info("%d memories kept without vectors have them now", count)


def _brief(problem: Exception) -> str:
    """A failure without the words of others, which may quote a text."""
    return problem.brief if isinstance(problem, EmbedderError) else type(problem).__name__

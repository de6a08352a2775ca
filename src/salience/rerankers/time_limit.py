"""Reranking behind a time limit: a model that hangs holds up no search for longer."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue

from salience.errors import RerankerError
from salience.rerankers.names import get
from salience.retrieval.operations import Rerank

_MAX_CALLS = 4  # of one reranker at once; those that were given up count until they end

_slots: dict[str, threading.BoundedSemaphore] = {}  # by the name of the reranker
_lock = threading.Lock()


def limited(op: Rerank) -> list[float]:
    """A finite number for each text, as the reranker gives them.

    It runs in a thread of its own, as a call into foreign code cannot be stopped.

    Raises:
        InvalidInput: nobody registered a reranker of that name.
        RerankerError: it failed, took longer than the timeout, or gave something else.
    """
    reranker, deadline = get(op.model), time.monotonic() + op.timeout
    too_slow = f"{op.model} gave no answer within {op.timeout:g} s"
    slots = _slots_of(op.model)
    if not slots.acquire(timeout=op.timeout):
        raise RerankerError(f"{too_slow}: it is still at work on earlier searches", too_slow)
    answers: SimpleQueue[Sequence[float] | BaseException] = SimpleQueue()

    def work() -> None:
        try:
            answers.put(_checked(op, reranker(op.query, op.texts)))
        except BaseException as problem:  # of any kind, in foreign code
            answers.put(problem)
        finally:
            slots.release()

    threading.Thread(target=work, name="salience-rerank", daemon=True).start()
    try:
        answer = answers.get(timeout=max(0.0, deadline - time.monotonic()))
    except Empty:
        raise RerankerError(too_slow, too_slow) from None
    if isinstance(answer, RerankerError):
        raise answer
    if isinstance(answer, BaseException):
        kind = type(answer).__name__
        raise RerankerError(f"{op.model}: {kind}: {answer}", f"{op.model}: {kind}") from answer
    return list(answer)


def _slots_of(name: str) -> threading.BoundedSemaphore:
    with _lock:
        return _slots.setdefault(name, threading.BoundedSemaphore(_MAX_CALLS))


def _checked(op: Rerank, answer: Sequence[float]) -> list[float]:
    """An answer of foreign code as numbers, refused unless one finite one for each text."""
    scores = [float(score) for score in answer]
    if len(scores) != len(op.texts):
        raise RerankerError(f"{op.model} gave {len(scores)} scores to {len(op.texts)} texts")
    if not all(map(math.isfinite, scores)):
        raise RerankerError(f"{op.model} gave a score that is not a finite number")
    return scores

"""Reranking as stages: the best candidates, read again by a model, in a new order."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue

from salience.errors import InvalidInput, RerankerError, shown
from salience.ranking.expressions import Col, first_of
from salience.ranking.passages import PLAIN_WORDS, passage_route
from salience.ranking.profile import Profile
from salience.ranking.profiles import ProfileLike
from salience.ranking.profiles import get as get_profile
from salience.ranking.signals.normalization import MinMax
from salience.ranking.stages import Depth, ModelScores, Pipeline, keep, score
from salience.ranking.stages.rerank import DEFAULT_TIMEOUT_SECONDS
from salience.rerankers.names import Reranker, get, resolve
from salience.retrieval.operations import Rerank
from salience.retrieval.routes import Lexical


def rerank(
    model: str | Reranker,
    top: int = 50,
    *,
    share: float = 0.7,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    passages: int = 1,
    words: Lexical = PLAIN_WORDS,
) -> Pipeline:
    """The best `top` candidates by share * reranked + (1 - share) * ranked.

    Both are min-max scaled over these candidates, so that the score is in [0, 1]: `reranked` is
    what the model gives, `ranked` the score before. Without an answer of the model the score stays
    as it was. Stages: keep(top) >> ModelScores(...) >> score(...).

    Args:
        model: as `salience.rerankers.resolve` says.
        top: the candidates that the model reads, and no fewer than the hits wanted. Its cost grows
            with it, and no other candidate can be a hit.
        share: the weight of the model, in [0, 1].
        timeout: seconds to wait for the model.
        passages: of a long text the model reads this many of its best passages, 0 to 3, and the
            largest of their numbers counts; with 0 it reads the whole text.
        words: the route that scores the words of passages.

    Raises:
        InvalidInput: there is no such reranker, or a number is out of range.
        RerankerError: its package or its API key is missing.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share <= 1.0:
        raise InvalidInput("share", f"is {shown(share)}", "give a number between 0 and 1")
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise InvalidInput("top", f"is {shown(top)}", "give a whole number above 0")
    reranked = MinMax(Col("rerank.score")).named("reranked", "what the model gives")
    ranked = MinMax(Col("score")).named("ranked", "the score before the model")
    blended = float(share) * reranked + (1.0 - share) * ranked
    shortlist = keep(Depth(per_k=1, min_rows=top))
    scores = ModelScores(resolve(model), timeout, passages, words)
    return shortlist >> scores >> score(first_of(blended, Col("score")))


def reranked(
    profile: ProfileLike,
    model: str | Reranker,
    top: int = 50,
    *,
    share: float = 0.7,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    passages: int = 1,
) -> Profile:
    """A profile with the stages of `rerank` before its cut, under the name "<profile>+rerank".

    Passages are found by the first route of the profile that looks for any. The other arguments,
    and the errors, are those of `rerank`.
    """
    first = get_profile(profile)
    stages = first.pipeline.stages
    cut = next(at for at, stage in enumerate(stages) if "pack.tokens" in stage.writes())
    words = passage_route(first.routes)
    model_stages = rerank(
        model, top, share=share, timeout=timeout, passages=passages, words=words
    ).stages
    pipeline = Pipeline((*stages[:cut], *model_stages, *stages[cut:]))
    return replace(first, name=f"{first.name}+rerank", pipeline=pipeline).check()


# Reranking behind a time limit: a model that hangs holds up no search for longer

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

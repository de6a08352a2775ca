"""Re-embedding in steps: fill the set of vectors beside, compare, cut over, roll back, finish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from salience.display.result import Result
from salience.embedders import EmbedderLike
from salience.engine.core import Core, released
from salience.engine.reembedding.agreement import Agreement, asked_searches, compare
from salience.errors import InvalidInput, shown
from salience.lifecycle import reembed
from salience.records.validation import callable_or_none, native
from salience.retrieval.operations import ReadVectorSets
from salience.retrieval.plan import Plan, ask, drive
from salience.retrieval.vector_sets import VectorSetsFigures
from salience.stores.address import Address
from salience.stores.protocol import Store

Step = Literal["status", "fill", "compare", "cut_over", "roll_back", "finish", "give_up"]
STEPS: tuple[Step, ...] = (
    "status", "fill", "compare", "cut_over", "roll_back", "finish", "give_up",
)  # fmt: skip
_NEEDS_EMBEDDER = frozenset({"fill", "compare", "cut_over", "roll_back"})


@dataclass(frozen=True, slots=True, repr=False)
class Reembedding(Result):
    """The state of a re-embedding after a step.

    `searched` is the identity of the embedder of the vectors that are searched, `beside` that of
    the other set, None where there is none. `is_former` tells that it was searched before the last
    cut-over. Of `memories`, `embedded` have a vector in it. `made` is the number that the step
    embedded, `agreement` what it found when it compared, and `next` says what can be done now.
    """

    _readers: ClassVar[Mapping[str, Any]] = {
        "agreement": lambda values: None if values is None else Agreement.from_dict(values)
    }

    searched: str | None
    beside: str | None
    is_former: bool
    memories: int
    embedded: int
    made: int = 0
    agreement: Agreement | None = None
    next: str = ""


def take_step(
    url: Address | Store | None,
    to: EmbedderLike | None,
    step: Step,
    embedder: EmbedderLike | None,
    queries: Sequence[Any] | None,
    progress: Callable[[int, int], None] | None,
) -> Reembedding:
    """Take a step of re-embedding a store, see `Memory.reembedding`."""
    callable_or_none("progress", progress)
    if native(step) not in STEPS:
        raise InvalidInput("step", f"is {shown(step)}", f"use one of {', '.join(STEPS)}")
    asked = asked_searches(queries)
    if to is None and step in _NEEDS_EMBEDDER - {"roll_back"}:
        raise InvalidInput("to", "is missing", "name the embedder of the new vectors")
    if to is None and step == "roll_back":
        to = "default"
    core = Core.open(url, embedder=to if step in _NEEDS_EMBEDDER else None, replace_vectors=True)
    with released(core, url):
        identity = core.dispatcher.identity
        if step in _NEEDS_EMBEDDER and identity is None:
            raise InvalidInput("to", "makes no vectors", "name one that does")
        made, agreement = 0, None
        if step == "compare":
            agreement = compare(core, str(identity), embedder, asked)
        elif step != "status":
            made = drive(_plan(step, str(identity), progress), core.dispatcher.batch)
        figures: VectorSetsFigures = drive(ask(ReadVectorSets()), core.dispatcher.batch)
    return Reembedding(*figures, made, agreement, _next(figures))


def _plan(step: Step, identity: str, progress: Callable[[int, int], None] | None) -> Plan[int]:
    if step in ("finish", "give_up"):
        yield from reembed.finish(gives_up=step == "give_up")
        return 0
    if step == "roll_back":
        return (yield from reembed.roll_back(identity, progress))
    if step == "fill":
        return (yield from reembed.fill(identity, progress))
    return (yield from reembed.cut_over(identity, progress))


def _next(figures: VectorSetsFigures) -> str:
    """The steps that can be taken now."""
    if figures.beside is None:
        return "nothing is under way; --to NAME makes the vectors of another embedder"
    if figures.is_former:
        return "--roll-back searches the former vectors again, --finish drops them"
    if figures.embedded < figures.memories:
        return "--to NAME goes on; --give-up drops what was made"
    return "--to NAME --compare, then --to NAME --cut-over; --give-up drops what was made"

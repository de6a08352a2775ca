"""An embedder of LangChain as one of salience."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from salience.arithmetic import lengths
from salience.embedders import EmbedderIdentity, Kind, Rows
from salience.engine.async_memory import AsyncMemory
from salience.engine.memory import Memory
from salience.errors import EmbedderError, InvalidInput
from salience.integrations._memory import MemoryLike, Opened
from salience.ranking.expressions import Col
from salience.ranking.profile import Profile
from salience.ranking.stages import Depth, Mmr, cut, keep, pack, retrieve, score
from salience.records.json_values import JSON_INTEGERS
from salience.retrieval.routes import Vector
from salience.stores.address import remote_scheme

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


COSINE = Profile(
    "cosine",
    retrieve(Vector(), depth=Depth(4, min_rows=200)) >> score(1.0 * Col("vector.score")) >> cut(),
    doc="The cosine of the vectors of a text and of the query.",
)


def marginal_relevance(fetch: int, balance: float) -> Profile:
    """The `fetch` documents of the best cosines, in the order of maximal marginal relevance.

    mmr = balance * cosine with the query - (1 - balance) * max cosine with what was picked before.

    Raises:
        InvalidInput: `balance` is not within [0, 1], or `fetch` is below 1.
    """
    by_cosine = retrieve(Vector(), depth=Depth(4, min_rows=max(200, fetch))) >> score(
        1.0 * Col("vector.score")
    )
    no_duplicates, no_tags = 2.0, 0.0  # no cosine reaches 2
    picked = Mmr(balance, no_duplicates, no_tags)
    return Profile(
        "mmr", by_cosine >> keep(fetch) >> picked >> pack(), doc="Relevant, and not said before."
    )


class LangChainEmbedder:
    """row(text) = v / |v|, v the vector that the embeddings give a document or query.

    Vectors of stores are told apart by the class of the embeddings, the name of their model (their
    attribute `model` or `model_name`) and the number of dimensions.
    """

    def __init__(self, embeddings: Embeddings, dimensions: int | None = None) -> None:
        self.embeddings = embeddings
        self._dimensions = dimensions
        self._lock = Lock()

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the embeddings; without `dimensions`, the first time embeds a word."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = len(self._vectors(["dimension"], "document")[0])
        names = (getattr(self.embeddings, name, None) for name in ("model", "model_name"))
        model = next((name for name in names if isinstance(name, str)), "")
        kind = type(self.embeddings).__qualname__
        return EmbedderIdentity("langchain", f"{kind}:{model}", self._dimensions, "1")

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows of the texts, zero where the embeddings give zeros.

        Raises:
            EmbedderError: the embeddings fail, or give other rows than were asked for.
        """
        size = self.identity.dimensions
        if not texts:
            return np.zeros((0, size), dtype=np.float32)
        rows = np.asarray(self._vectors(list(texts), kind), dtype=np.float64)
        if rows.shape != (len(texts), size):
            raise EmbedderError(f"{self.identity} gave {rows.shape}, not {(len(texts), size)}")
        norms = lengths(rows)[:, np.newaxis]
        return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0).astype(np.float32)

    def _vectors(self, texts: list[str], kind: Kind) -> list[list[float]]:
        """The vectors of texts; by a loop of their own if the embeddings can only be awaited."""
        embeddings = self.embeddings
        try:
            if getattr(embeddings, "afunc", None) is not None:
                return asyncio.run(embeddings.aembed_documents(texts))
            if kind == "query":
                return [embeddings.embed_query(text) for text in texts]
            return embeddings.embed_documents(texts)
        except Exception as problem:  # of any kind, in a class from outside
            name = type(embeddings).__name__
            raise EmbedderError(f"the embeddings {name} failed: {problem}", name) from problem


def opened_with(
    embeddings: Embeddings | None,
    memory: MemoryLike,
    settings: Mapping[str, Any],
    dimensions: int | None = None,
) -> Opened:
    """A memory whose embedder are embeddings of LangChain, if there are any.

    Raises:
        InvalidInput: it is open already, or at a server, and has an embedder of its own.
    """
    if embeddings is None:
        return Opened(memory, **settings)
    if isinstance(memory, Memory | AsyncMemory) or remote_scheme(memory):
        problem = "cannot be used by a memory that is open already, or at a server"
        remedy = "leave it out, for the embedder of the memory, or give the path of a store"
        raise InvalidInput("embeddings", problem, remedy)
    return Opened(memory, **{**settings, "embedder": LangChainEmbedder(embeddings, dimensions)})


# Conditions on the values of metadata, in the language that LangGraph and LangChain share

LARGEST = 1.7976931348623157e308  # finite number
_ORDERS = {"$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}
_NEVER: dict[str, Any] = {"or": []}
_ALWAYS: dict[str, Any] = {"and": []}


def conditions(path: str, wanted: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The filters for what the values of keys below a path have to be: equal, or as operators say.

    Raises:
        ValueError: there is no such operator.
    """
    for key, operand in wanted.items():
        name = f"{path}.{key}"
        if not isinstance(operand, Mapping):
            yield _compared(name, "$eq", operand)
        elif any(str(operator).startswith("$") for operator in operand):
            for operator, value in operand.items():
                yield _compared(name, operator, value)
        else:
            yield {name: {"exists": True}}
            yield from conditions(name, operand)


def _compared(name: str, operator: str, operand: Any) -> dict[str, Any]:
    """The filter for one comparison. What JSON cannot hold equals nothing."""
    if operator in ("$eq", "$ne"):
        if not _is_kept(operand):
            return _NEVER if operator == "$eq" else _ALWAYS
        return {name: {operator.removeprefix("$"): operand}}
    if operator not in _ORDERS:
        raise ValueError(f"Unsupported operator: {operator}")
    if isinstance(operand, int | float) and not _is_kept(operand):
        operand = math.inf if operand > LARGEST else -math.inf if operand < -LARGEST else operand
        if math.isinf(operand) and (operand > 0) == operator.startswith("$l"):
            return {name: {"gte": -LARGEST, "lte": LARGEST}}  # any number
        if not math.isfinite(operand):
            return _NEVER
        operand = float(operand)
    return {name: {_ORDERS[operator]: operand}}


def _is_kept(operand: Any) -> bool:
    """Test whether a stored value can be equal to an operand."""
    if isinstance(operand, float):
        return math.isfinite(operand)
    if isinstance(operand, int):
        return operand in JSON_INTEGERS
    return not (isinstance(operand, str) and "\0" in operand)

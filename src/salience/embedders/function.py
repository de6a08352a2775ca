"""Embeddings from a function of your own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from salience.embedders._batching import checked_texts, unit_rows
from salience.embedders.protocol import EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError, InvalidInput, shown

EmbeddingFunction = Callable[[list[str]], Any]
"""Texts to rows of numbers, one for each text, all of one length."""


def is_function(candidate: object) -> TypeGuard[EmbeddingFunction]:
    """Test whether something is called with texts, rather than an embedder or a class."""
    is_embedder = inspect.getattr_static(candidate, "embed", None) is not None
    return callable(candidate) and not isinstance(candidate, type) and not is_embedder


class FunctionEmbedder:
    """row(text) = v / |v|, v the row that a function gives for the text; zeros for a blank one.

    Queries and documents are embedded alike.

    Args:
        function: called with a list of texts, none of them blank.
        name: the name in the identity, `function/<name>`: another one whenever the rows change.
            Default: the module and name of a function that is defined by `def`.

    Raises:
        InvalidInput: the function is async, or has no name and is given none.
        EmbedderError: from `identity` and `embed`: it gives no table of numbers.
    """

    def __init__(self, function: EmbeddingFunction, name: str | None = None) -> None:
        if inspect.iscoroutinefunction(function):
            raise InvalidInput("embedder", "is async", "give a function that returns the rows")
        self._function = function
        self._name = name or _name_of(function)

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """function/<name>, with the length of the rows; calls the function once."""
        dimensions = self._rows(["dimensions"]).shape[1]
        return EmbedderIdentity("function", self._name, dimensions, "1")

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows, float32 of shape (len(texts), dimensions). Raises as the class says."""
        checked = checked_texts(texts, kind)
        filled = [position for position, text in enumerate(checked) if text.strip()]
        rows = np.zeros((len(checked), self.identity.dimensions), dtype=np.float32)
        if filled:
            found = self._rows([checked[position] for position in filled])
            if found.shape[1] != rows.shape[1]:
                raise EmbedderError(f"{self._name} gave rows of {found.shape[1]} numbers")
            rows[filled] = unit_rows(found, self._name)
        return rows

    def _rows(self, texts: list[str]) -> Rows:
        answer = self._function(texts)
        try:
            rows = np.asarray(answer, dtype=np.float32)
        except Exception:  # of any kind, in a type from outside
            raise EmbedderError(f"{self._name} gave what is no table of numbers") from None
        if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:
            raise EmbedderError(
                f"{self._name} gave an answer of shape {rows.shape} for {len(texts)} texts"
            )
        return rows


def _name_of(function: EmbeddingFunction) -> str:
    """The module and name of a plain function; a method, say, does not tell its model."""
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        remedy = "wrap it: FunctionEmbedder(function, name='my-model-1')"
        raise InvalidInput("embedder", f"{shown(function)} has no name to store", remedy)
    return f"{function.__module__}.{function.__name__}"

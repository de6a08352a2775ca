"""The contract of an embedder: texts in, unit rows out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput, shown
from salience.lazily import asdict, dataclass

Kind = Literal["document", "query"]
"""A text that is stored and found, or a text that is searched with."""

Rows = NDArray[np.float32]
"""Embeddings, shape (n, dimensions)."""


@dataclass(frozen=True)
class EmbedderIdentity:
    """The name and version of an embedder; rows are comparable if and only if these are equal.

    `revision` stands for everything besides the name that changes the row of a document: the
    weights, the pooling of tokens, a document prompt. `dimensions` is the length of a row, at
    least 1.
    """

    provider: str
    model: str
    dimensions: int
    revision: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}@{self.revision} ({self.dimensions})"

    def to_dict(self) -> dict[str, str | int]:
        """The four fields by name; `from_dict(i.to_dict()) == i`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EmbedderIdentity:
        """The inverse of `to_dict`; further keys are ignored.

        Raises InvalidInput when a field is missing or of the wrong type.
        """
        for field in ("provider", "model", "revision"):
            if not isinstance(data.get(field), str):
                raise InvalidInput(f"identity.{field}", "is not a string")
        dimensions = data.get("dimensions")
        if not isinstance(dimensions, int) or isinstance(dimensions, bool) or dimensions < 1:
            raise InvalidInput(
                "identity.dimensions", f"is not a positive integer: {shown(dimensions)}"
            )
        return cls(data["provider"], data["model"], dimensions, data["revision"])


class Embedder(Protocol):
    """Texts to unit rows. For every sequence of n strings, `embed` keeps this law:

    - the answer is float32 of shape (n, `identity.dimensions`), always finite;
    - each row has L2 norm 1 (within 1e-6), or is all zeros where its text has nothing to embed:
      it is empty or blank, or has no token that the model knows;
    - row i is a function of text i, the kind and the identity: the rest of the batch does not
      change it. An embedder that keeps this only up to rounding says how closely.

    Odd text (NUL, emoji, lone surrogates, megabytes) raises nothing; a text that is too long for
    the model is cut.

    An embedder that cannot read every script may say so with a method

        def knows(self, language: str) -> float

    in [0, 1]: 1 where its cosines are to be trusted, 0 where they are left to chance. It is asked
    for a script (`salience.language.languages.table.SCRIPTS`: "latin", "cyrillic", "han", ...)
    and, for a question in Latin script, for a code of ISO 639 ("de"; "und" for a language that is
    not known). Without it, the embedder is taken to know everything.

    Raises:
        InvalidInput: the arguments are not texts.
        EmbedderError: the model cannot be loaded, or a service does not answer.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """The name and version of the embedder. May load the model or ask the service once."""
        ...

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows of the texts, in their order: float32, shape (len(texts), dimensions)."""
        ...

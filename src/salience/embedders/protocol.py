"""What an embedder is: texts in, unit rows out, under one law every embedder keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput, shown

Kind = Literal["document", "query"]
"""Whether a text is to be kept and found, or is what one searches with."""

Rows = NDArray[np.float32]
"""Embeddings, shape (n, dimensions)."""


@dataclass(frozen=True)
class EmbedderIdentity:
    """Two embedders give comparable rows exactly when their identities are equal.

    `revision` covers everything besides the name that moves a document's row: the weights, the
    way tokens are pooled, a document prompt. `dimensions` is the length of a row, at least 1.
    """

    provider: str
    model: str
    dimensions: int
    revision: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}@{self.revision} ({self.dimensions})"

    def to_dict(self) -> dict[str, str | int]:
        """The four fields by name: `from_dict(i.to_dict()) == i`."""
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
    """The law of `embed`, for every sequence of n strings:

    - the answer is float32 of shape (n, `identity.dimensions`), always finite;
    - each row has L2 norm 1 (within 1e-6), or is all zeros when its text holds nothing to embed:
      it is empty or blank, or has no token the model knows;
    - row i is a function of text i, the kind and the identity: the rest of the batch never
      changes it. An embedder that can keep this only to rounding says how closely.

    Nothing is raised for odd text (NUL, emoji, lone surrogates, megabytes); a text beyond what the
    model reads is cut. InvalidInput answers arguments that are not texts, EmbedderError a model
    that cannot be loaded or a service that does not answer.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """Who makes the rows. May load the model or ask the service once."""
        ...

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows of the texts, in their order: float32, shape (len(texts), dimensions)."""
        ...

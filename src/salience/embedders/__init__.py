"""Embedders: what turns texts into the vectors that recall by meaning compares.

Importing this package is light: libraries and models are loaded when first used.
"""

from __future__ import annotations

import inspect
import re
from typing import cast

from salience.embedders.cache import CachedEmbedder
from salience.embedders.openai import OpenAIEmbedder
from salience.embedders.protocol import Embedder, EmbedderIdentity, Kind, Rows
from salience.embedders.sentence_transformers import SentenceTransformerEmbedder
from salience.embedders.static import StaticEmbedder
from salience.errors import InvalidInput, shown

__all__ = [
    "CachedEmbedder",
    "Embedder",
    "EmbedderIdentity",
    "Kind",
    "OpenAIEmbedder",
    "Rows",
    "SentenceTransformerEmbedder",
    "StaticEmbedder",
    "resolve",
]

_REMEDY = (
    "use 'default' (or 'wordllama'), 'minilm', 'sentence-transformers:<model or folder>', "
    "'openai:<model>', 'openai:<model>@<base_url>', 'none', or an Embedder instance"
)


def resolve(spec: str | Embedder | None) -> Embedder | None:
    """The embedder a specification names.

    ======================================  =====================================================
    "default", "wordllama"                  `StaticEmbedder`
    "minilm"                                `SentenceTransformerEmbedder.minilm`
    "sentence-transformers:<model>"         `SentenceTransformerEmbedder`; a name or a folder
    "openai:<model>"                        `OpenAIEmbedder` at the environment's endpoint
    "openai:<model>@<base_url>"             `OpenAIEmbedder` there; the URL starts with http(s)://
    None, "none"                            None: no embedder, recall by words only
    an embedder                             itself
    ======================================  =====================================================

    Raises InvalidInput("embedder") for anything else, and EmbedderError for an embedder that
    cannot be had: its package or its API key is missing.
    """
    if spec is None or spec == "none":
        return None
    if not isinstance(spec, str):
        return _checked(spec)
    if spec in ("default", "wordllama"):
        return StaticEmbedder()
    if spec == "minilm":
        return SentenceTransformerEmbedder.minilm()
    provider, _, model = spec.partition(":")
    if provider == "sentence-transformers" and model:
        return SentenceTransformerEmbedder(model)
    if provider == "openai" and model:
        # Names may hold an "@" themselves; only one before a URL separates.
        name, *base_url = re.split(r"@(?=https?://)", model, maxsplit=1)
        return OpenAIEmbedder(name, base_url=base_url[0] if base_url else None)
    raise InvalidInput("embedder", f"unknown embedder {shown(spec)}", _REMEDY)


def _checked(given: object) -> Embedder:
    # Looked up statically: evaluating `identity` may load a model or call a service.
    has = all(inspect.getattr_static(given, name, None) for name in ("identity", "embed"))
    if isinstance(given, type) or not has:
        raise InvalidInput("embedder", f"{shown(given)} is not an embedder", _REMEDY)
    embedder = cast(Embedder, given)
    identity = inspect.getattr_static(given, "identity")
    if inspect.isfunction(identity):
        raise InvalidInput("embedder", "its identity is a method", "make it a property")
    if not isinstance(identity, EmbedderIdentity) and not hasattr(identity, "__get__"):
        kind = type(identity).__name__
        raise InvalidInput("embedder", f"its identity is a {kind}", "give an EmbedderIdentity")
    if inspect.iscoroutinefunction(embedder.embed):
        raise InvalidInput("embedder", "its embed is async", "give one that returns the rows")
    try:
        inspect.signature(embedder.embed).bind([], kind="query")
    except TypeError as problem:
        remedy = 'write it as embed(self, texts, *, kind="document")'
        raise InvalidInput(
            "embedder", f"its embed takes other arguments: {problem}", remedy
        ) from None
    except ValueError:  # written in C, it does not say what it takes
        pass
    return embedder

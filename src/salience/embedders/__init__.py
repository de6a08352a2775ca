"""Embedders turn texts into the vectors that a search by meaning compares.

Importing this package is light: libraries and models are loaded when first used.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import cast

from salience.embedders._batching import (
    CachedEmbedder,
    EmbeddingFunction,
    FunctionEmbedder,
    is_function,
)
from salience.embedders.bundled import BundledEmbedder
from salience.embedders.openai import OpenAIEmbedder
from salience.embedders.protocol import Embedder, EmbedderIdentity, Kind, Rows
from salience.embedders.sentence_transformers import SentenceTransformerEmbedder
from salience.embedders.static import StaticEmbedder
from salience.errors import EmbedderError, InvalidInput, shown
from salience.extensions import load_entry_point

__all__ = [
    "BundledEmbedder",
    "CachedEmbedder",
    "Embedder",
    "EmbedderFactory",
    "EmbedderIdentity",
    "EmbedderLike",
    "FunctionEmbedder",
    "Kind",
    "OpenAIEmbedder",
    "Rows",
    "SentenceTransformerEmbedder",
    "StaticEmbedder",
    "best_installed",
    "register_embedder",
    "resolve",
]

EmbedderLike = str | Embedder | EmbeddingFunction
"""A name, an embedder, or a function from texts to rows; see `resolve`."""

EmbedderFactory = Callable[..., Embedder]
"""Called without arguments for "name", and with the text after the colon for "name:model"."""


def _openai(model: str) -> OpenAIEmbedder:
    # Names may hold an "@" themselves; only one before a URL separates.
    name, *base_url = re.split(r"@(?=https?://)", model, maxsplit=1)
    return OpenAIEmbedder(name, base_url=base_url[0] if base_url else None)


_BUILT_IN: dict[str, EmbedderFactory] = {
    "default": StaticEmbedder,
    "wordllama": StaticEmbedder,
    "multilingual": BundledEmbedder.multilingual,
    "minilm": BundledEmbedder.minilm,
    "sentence-transformers": SentenceTransformerEmbedder,
    "openai": _openai,
}
_registered: dict[str, EmbedderFactory] = {}
AUTO = "auto"
"""The name for `best_installed`."""


def register_embedder(name: str, factory: EmbedderFactory) -> None:
    """Make "name", or "name:model", name an embedder from now on, in this process.

    An installed package gets the same by an entry point in the group `salience.embedders`, whose
    name is the embedder's and whose object is the factory.

    Args:
        name: without a colon, and not one of the built-in names. A name can be registered again.
        factory: a class or function that returns the embedder. It is called without arguments for
            "name", and with the text after the colon for "name:model".

    Raises:
        InvalidInput: the name cannot be used, or the factory cannot be called.
    """
    if not isinstance(name, str) or not name or ":" in name:
        raise InvalidInput("name", f"{shown(name)} cannot name an embedder", "use text without ':'")
    if name in _BUILT_IN or name in ("none", AUTO):
        raise InvalidInput("name", f"{shown(name)} is a built-in embedder", "choose another name")
    if not callable(factory):
        raise InvalidInput("factory", "cannot be called", "give a class or a function")
    _registered[name] = factory


def resolve(spec: EmbedderLike | None) -> Embedder | None:
    """The embedder that a specification names.

    ======================================  =====================================================
    "default", "wordllama"                  `StaticEmbedder`
    "multilingual", "minilm"                `BundledEmbedder`, the method of that name
    "auto"                                  `best_installed`
    "sentence-transformers:<model>"         `SentenceTransformerEmbedder`; a name or a folder
    "openai:<model>"                        `OpenAIEmbedder` at the environment's endpoint
    "openai:<model>@<base_url>"             `OpenAIEmbedder` there; the URL starts with http(s)://
    "<name>", "<name>:<model>"              an embedder of `register_embedder` or an entry point
    None, "none"                            None: no embedder, recall by words only
    a function from texts to rows           `FunctionEmbedder`, by the name of the function
    an embedder                             itself
    ======================================  =====================================================

    Raises:
        InvalidInput: "embedder", for anything else.
        EmbedderError: its package or its API key is missing, or an entry point cannot be loaded.
    """
    if spec is None:
        return None
    if not isinstance(spec, str):
        return _checked(FunctionEmbedder(spec) if is_function(spec) else spec)
    spec = str.__str__(spec)
    if spec == "none":
        return None
    if spec == AUTO:
        return best_installed()
    name, colon, model = spec.partition(":")
    factory = _BUILT_IN.get(name) or _registered.get(name) or _from_entry_point(name)
    arguments = (model,) if colon else ()
    if factory is None or (colon and not model) or not _accepts(factory, arguments):
        raise InvalidInput("embedder", f"unknown embedder {shown(spec)}", _remedy())
    embedder = factory(*arguments)
    return embedder if name in _BUILT_IN else _checked(embedder)


def best_installed(stored: str | None = None) -> Embedder:
    """The embedder of stored vectors, or without any the best of those whose model is installed.

    That is "multilingual" before "minilm", and "default" where no extra brings either. It is the
    default, too, for a store whose embedder is none of the three.
    """
    for factory in (BundledEmbedder.multilingual, BundledEmbedder.minilm):
        embedder = factory()
        try:
            embedder.check()
        except EmbedderError:
            continue
        if stored in (None, str(embedder.identity)):
            return embedder
    return StaticEmbedder()


def _from_entry_point(name: str) -> EmbedderFactory | None:
    try:
        factory: EmbedderFactory | None = load_entry_point("embedders", name)
    except InvalidInput as problem:
        raise EmbedderError(str(problem)) from problem
    if factory is not None:
        register_embedder(name, factory)
    return factory


def _accepts(factory: EmbedderFactory, arguments: tuple[str, ...]) -> bool:
    try:
        inspect.signature(factory).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # written in C, it does not say what it takes
        pass
    return True


def _remedy() -> str:
    registered = "".join(f"{name!r}, " for name in sorted(_registered))
    return (
        "use 'default' (or 'wordllama'), 'multilingual', 'minilm', 'auto', "
        "'sentence-transformers:<model or folder>', 'openai:<model>', "
        f"'openai:<model>@<base_url>', {registered}'none', an Embedder instance, or a function"
    )


def _checked(candidate: object) -> Embedder:
    """The candidate, refused with InvalidInput unless it has what an embedder needs."""
    # Looked up statically: evaluating `identity` may load a model or call a service.
    has = all(inspect.getattr_static(candidate, name, None) for name in ("identity", "embed"))
    if isinstance(candidate, type) or not has:
        raise InvalidInput("embedder", f"{shown(candidate)} is not an embedder", _remedy())
    embedder = cast(Embedder, candidate)
    identity = inspect.getattr_static(candidate, "identity")
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

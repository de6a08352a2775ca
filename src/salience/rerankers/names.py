"""The names of rerankers in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from salience.errors import InvalidInput, shown
from salience.extensions import Registry
from salience.rerankers.cross_encoder import CrossEncoderReranker
from salience.rerankers.http import HttpReranker

Reranker = Callable[[str, Sequence[str]], Sequence[float]]
"""From a query and texts to a finite number for each text. Threads may call it at once."""

_BUILT_IN: dict[str, Callable[[str], Reranker]] = {
    "cross-encoder": CrossEncoderReranker,
    "cohere": HttpReranker.cohere,
    "jina": HttpReranker.jina,
    "http": HttpReranker.from_spec,
}
_REGISTERED = Registry[Reranker]("rerankers")


def register_reranker(name: str, reranker: Reranker) -> None:
    """Make a name stand for a reranker from now on, in this process.

    An installed package gets the same by an entry point in the group `salience.rerankers`, whose
    name is the reranker's and whose object is the reranker. Stages know rerankers by such names
    alone, so that a profile from elsewhere cannot have a model loaded or an address asked.

    Raises:
        InvalidInput: the name is empty, or the reranker cannot be called.
    """
    if not isinstance(name, str) or not name:
        raise InvalidInput("name", f"{shown(name)} cannot name a reranker", "use text")
    if not callable(reranker):
        raise InvalidInput("reranker", "cannot be called", "give a function of (query, texts)")
    _REGISTERED.register(name, reranker)


def get(name: str) -> Reranker:
    """The reranker that a name stands for in this process.

    Raises:
        InvalidInput: nobody registered one of that name.
    """
    reranker = _REGISTERED.get(name)
    if reranker is None:
        names = ", ".join(sorted(_REGISTERED)) or "none yet"
        raise InvalidInput(
            "model",
            f"no reranker is called {shown(name)} in this process (known: {names})",
            "register it by register_reranker(name, reranker) or rerank(model) before the search",
        )
    return reranker


def resolve(model: str | Reranker) -> str:
    """The name of a reranker, which is registered if it was not.

    ===============================  ===========================================================
    "cross-encoder:<model>"          `CrossEncoderReranker`: the name of a model, or its folder
    "cohere:<model>", "jina:<model>" `HttpReranker` at that service; its key is in the environment
    "http:<model>@<url>"             `HttpReranker` at any endpoint of the same protocol
    "<name>"                         one of `register_reranker` or an entry point
    a function of (query, texts)     itself, by the name of its module and its own
    ===============================  ===========================================================

    Raises:
        InvalidInput: "model", for anything else.
        RerankerError: its package or its API key is missing.
    """
    if not isinstance(model, str):
        return _registered_function(model)
    kind, colon, argument = model.partition(":")
    if colon and kind in _BUILT_IN and model not in _REGISTERED:
        if not argument:
            raise InvalidInput("model", f"{shown(model)} names no model", f"e.g. {kind}:<model>")
        register_reranker(model, _BUILT_IN[kind](argument))
    get(model)
    return model


def _registered_function(reranker: Any) -> str:
    owner = reranker if hasattr(reranker, "__qualname__") else type(reranker)
    if not callable(reranker) or isinstance(reranker, type):
        raise InvalidInput(
            "model",
            f"{shown(reranker)} is not a reranker",
            "give a function of (query, texts), or a name such as cross-encoder:<model>",
        )
    name = f"{owner.__module__}.{owner.__qualname__}"
    register_reranker(name, reranker)
    return name

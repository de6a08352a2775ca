"""Rerankers read a query and a text together, and tell how well the text answers.

A reranker is a function: `scores(query, texts)` gives a number for each text, the higher the
better, on a scale of its own. `rerank` makes stages of one:

    retrieve(...) >> score(...) >> rerank("cross-encoder:<model>", top=50) >> cut()

and `reranked("balanced", "cross-encoder:<model>")` puts them into a profile.

Importing this package is light: libraries and models are loaded when first used.
"""

from __future__ import annotations

from salience.rerankers.cross_encoder import CrossEncoderReranker
from salience.rerankers.http import HttpReranker
from salience.rerankers.names import Reranker, get, register_reranker, resolve
from salience.rerankers.pipeline import rerank, reranked

__all__ = [
    "CrossEncoderReranker",
    "HttpReranker",
    "Reranker",
    "get",
    "register_reranker",
    "rerank",
    "reranked",
    "resolve",
]

"""Scores of a cross-encoder of sentence-transformers, run on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from salience.embedders._batching import clean_texts, import_extra, require_positive
from salience.errors import EmbedderError, InvalidInput, RerankerError

MAX_CHARS = 8_192
"""Characters of a text that the model is given; it reads as many of their tokens as it can."""


class CrossEncoderReranker:
    """score(query, text) = the model's logit, or its probability if it has an activation.

    The model is loaded by the first call, which takes seconds; threads may share one instance and
    take turns.

    Args:
        model: a folder, or the name of a model, which is downloaded unless it is on this machine.
        device: the device to compute on, e.g. "cpu" or "cuda"; default: the best available.
        batch_size: pairs computed at once, at least 1.

    Raises:
        InvalidInput: `model` is empty or `batch_size` is below 1.
        RerankerError: when called: sentence-transformers is not installed, or the model cannot be
            loaded or run, or gives more than one number for a pair.
    """

    def __init__(
        self, model: str | os.PathLike[str], *, device: str | None = None, batch_size: int = 32
    ) -> None:
        self._source = os.fspath(model)
        if not self._source:
            raise InvalidInput("model", "is empty")
        require_positive("batch_size", batch_size)
        self._device = device
        self._batch_size = batch_size
        self._lock = Lock()
        self._model: Any = None

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number for each text; raises as the class says."""
        [question] = clean_texts([query], "query", MAX_CHARS)
        pairs = [(question, text) for text in clean_texts(texts, "document", MAX_CHARS)]
        with self._lock:  # fast tokenizers are not reentrant
            if self._model is None:
                self._model = self._load()
            try:
                scores = self._model.predict(
                    pairs,
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
            except RuntimeError as error:  # torch: out of memory, a device that is gone
                raise RerankerError(f"{self._source} cannot be run: {error}") from error
        if scores.ndim != 1:
            raise RerankerError(
                f"{self._source} gives {scores.shape[-1]} numbers for a pair; use a model with one"
            )
        return [float(score) for score in scores]

    def _load(self) -> Any:
        try:
            library = import_extra("sentence_transformers", "sentence-transformers")
        except EmbedderError as problem:
            raise RerankerError(str(problem), problem.brief) from problem
        try:
            return library.CrossEncoder(
                self._source,
                device=self._device,
                local_files_only=Path(self._source).is_dir(),
            )
        except Exception as error:  # anything from a missing file to a refused download
            raise RerankerError(f"{self._source} cannot be loaded: {error}") from error

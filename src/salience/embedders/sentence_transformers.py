"""Embeddings from a sentence-transformers model, run on this machine."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from salience.embedders._batching import (
    clean_texts,
    fingerprint,
    import_extra,
    prompt_tag,
    require_positive,
    unit_rows,
)
from salience.embedders.protocol import EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError, InvalidInput
from salience.lazily import regex

MAX_CHARS = 32_768
"""Characters of a text that the model is given; it reads as many of their tokens as it can."""

_HUB_NAME = regex(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_MODEL_FILES = frozenset({".safetensors", ".bin", ".json", ".txt"})


class SentenceTransformerEmbedder:
    """row(text) = v / |v|, v the model's embedding of prompt + text.

    Texts of a batch are padded to one length, so a number of a row may differ by about 1e-7 from
    batch to batch on a CPU. Blank texts get zero rows. The model is loaded by the first `embed` or
    `identity`, which takes seconds; threads may share one instance and take turns.

    Args:
        model: a folder, or the name of a model, which is downloaded unless it is on this machine.
        device: the device to compute on, e.g. "cpu" or "cuda"; default: the best available.
        query_prompt, document_prompt: put before each text of that kind; default: the model's own
            prompt for that kind, if it declares one; "" for none.
        batch_size: texts computed at once, at least 1.
        name: the name of the model in the identity; default: `model`, or the folder's last part.

    Raises:
        InvalidInput: `model` is empty or `batch_size` is below 1.
        EmbedderError: from `embed` and `identity`: sentence-transformers is not installed, or the
            model cannot be loaded or run.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        device: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        batch_size: int = 64,
        name: str | None = None,
    ) -> None:
        self._source = os.fspath(model)
        if not self._source:
            raise InvalidInput("model", "is empty")
        require_positive("batch_size", batch_size)
        self._is_folder = Path(self._source).is_dir()
        default = Path(self._source).resolve().name if self._is_folder else self._source
        self._name = name or default
        self._device = device
        self._prompts: dict[Kind, str | None] = {"query": query_prompt, "document": document_prompt}
        self._batch_size = batch_size
        self._lock = Lock()
        self._model: Any = None
        self._identity: EmbedderIdentity | None = None

    def check(self) -> None:
        """Refuse what cannot be mended by waiting; the model itself is loaded later.

        Raises:
            EmbedderError: sentence-transformers is not installed, or there is no such folder.
        """
        files = [Path(self._source, name) for name in ("modules.json", "config.json")]
        if self._is_folder and not any(file.is_file() for file in files):
            raise EmbedderError(
                f"{self._source} holds no model (no modules.json or config.json); name its folder"
            )
        if not self._is_folder and not _HUB_NAME.fullmatch(self._source):
            raise EmbedderError(
                f"there is no folder {self._source}, and no model has such a name; give the folder "
                "of a model, or a name as sentence-transformers/all-MiniLM-L6-v2"
            )
        if importlib.util.find_spec("sentence_transformers") is None:
            raise EmbedderError(
                "this embedder needs sentence_transformers, which is not installed; "
                "pip install 'salience[sentence-transformers]'"
            )

    @property
    def identity(self) -> EmbedderIdentity:
        """sentence-transformers/<name>; the revision stands for the model's files or commit."""
        with self._lock:
            if self._identity is None:
                dimensions = self._encode(["dimensions"], "document").shape[1]
                self._identity = EmbedderIdentity(
                    "sentence-transformers", self._name, dimensions, self._revision()
                )
            return self._identity

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows, float32 of shape (len(texts), dimensions).

        The first `MAX_CHARS` characters of each text are tokenised, and the model reads as many of
        the tokens as it can (256 for MiniLM). Raises as the class says.
        """
        clean = clean_texts(texts, kind, MAX_CHARS)
        filled = [position for position, text in enumerate(clean) if text]
        rows = np.zeros((len(clean), self.identity.dimensions), dtype=np.float32)
        if filled:
            with self._lock:
                encoded = self._encode([clean[position] for position in filled], kind)
            rows[filled] = unit_rows(encoded, self._name)
        return rows

    def _encode(self, texts: list[str], kind: Kind) -> Rows:
        """The rows of the model. The caller holds the lock: fast tokenizers are not reentrant."""
        if self._model is None:
            self._model = self._load()
        model = self._model
        encode = model.encode_query if kind == "query" else model.encode_document
        try:
            rows: Rows = encode(
                texts,
                prompt=self._prompts[kind],
                batch_size=self._batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        except RuntimeError as error:  # torch: out of memory, a device that is gone
            raise EmbedderError(f"{self._name} cannot be run: {error}") from error
        return rows

    def _load(self) -> Any:
        library = import_extra("sentence_transformers", "sentence-transformers")
        try:
            return library.SentenceTransformer(
                self._source, device=self._device, local_files_only=self._is_folder
            )
        except Exception as error:  # anything from a missing file to a refused download
            raise EmbedderError(f"{self._source} cannot be loaded: {error}") from error

    def _revision(self) -> str:
        if self._is_folder:
            files = sorted(
                path for path in Path(self._source).rglob("*") if path.suffix in _MODEL_FILES
            )
            revision = fingerprint(files)
        else:
            config = getattr(getattr(self._model[0], "auto_model", None), "config", None)
            revision = (getattr(config, "_commit_hash", None) or "unknown")[:8]
        return revision + prompt_tag(self._prompts["document"])

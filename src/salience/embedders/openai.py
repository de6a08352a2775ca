"""Embeddings from any service with the OpenAI embeddings protocol."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.closing import Closing
from salience.embedders._batching import (
    batches,
    clean_texts,
    prompt_tag,
    require_positive,
    unit_rows,
)
from salience.embedders._http import (
    PUBLIC_ENDPOINT,
    JsonPoster,
    Retries,
    bearer_key,
    endpoint_url,
)
from salience.embedders.protocol import EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError, InvalidInput

_BATCH_PATIENCE = 3.0  # times the timeout, for a request of several texts


class OpenAIEmbedder(Closing):
    """row(text) = v / |v|, v the answer of POST {base_url}/embeddings to prompt + text.

    Blank texts are not sent: their rows are zero. The others are sent in requests of at most
    `batch_size` texts and `request_chars` characters. A row may depend on its batch if the service
    works so; on GPUs rows typically agree to about 1e-4, not to the bit.
    Threads may share one instance.

    Args:
        model: the service's name for the model.
        base_url: the address of the API without "/embeddings"; default: the environment's
            OPENAI_BASE_URL, else the public endpoint.
        api_key: sent as a bearer token; default: the environment's OPENAI_API_KEY. Only the public
            endpoint needs one.
        dimensions: the length of a row to ask the service for; by default that of the model, read
            off the first answer (`identity` sends one short text if there was none yet).
        batch_size: texts in one request, at least 1.
        request_chars: characters in one request, at least 1 (one longer text goes alone).
        text_chars: characters of each text that are sent; the rest is cut off.
        timeout: seconds without a sign from the service before a try is given up; three times as
            long for a request of several texts.
        max_retries: tries after the first (see `Retries` for the waits), at least 0. A service that
            gives no sign at all is not tried again after 5 seconds.
        backoff: the scale of the waits in seconds.
        query_prompt, document_prompt: put before each text of that kind, for models that need it.

    Raises:
        InvalidInput: an argument is out of range, or not a URL, or not fit for a header.
        EmbedderError: no key for the public endpoint; httpx is not installed; from `embed` and
            `identity`: no answer after all tries, a refusal, or an answer that is not n finite
            rows of the expected length.
    """

    is_remote = True
    """It may fail for a while: memories stored meanwhile get their vectors later."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        batch_size: int = 256,
        request_chars: int = 200_000,
        text_chars: int = 20_000,
        timeout: float = 10.0,
        max_retries: int = 4,
        backoff: float = 0.5,
        query_prompt: str = "",
        document_prompt: str = "",
    ) -> None:
        if not model:
            raise InvalidInput("model", "is empty")
        for field, value in (
            ("dimensions", 1 if dimensions is None else dimensions),
            ("batch_size", batch_size),
            ("request_chars", request_chars),
            ("text_chars", text_chars),
            ("timeout", timeout),
            ("backoff", backoff),
        ):
            require_positive(field, value)
        if max_retries < 0:
            raise InvalidInput("max_retries", f"is below 0: {max_retries}")
        url = endpoint_url(base_url or os.environ.get("OPENAI_BASE_URL") or PUBLIC_ENDPOINT)
        key = bearer_key(api_key or os.environ.get("OPENAI_API_KEY") or "", url)
        self._poster = JsonPoster(
            f"{url}/embeddings", key, timeout, Retries(max_retries, backoff), "openai"
        )
        self._payload: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if dimensions is not None:
            self._payload["dimensions"] = dimensions
        self._model = model
        self._sizes = (batch_size, request_chars, text_chars)
        self._prompts: dict[Kind, str] = {"query": query_prompt, "document": document_prompt}
        self._lock = Lock()
        self._dimensions = dimensions

    @property
    def identity(self) -> EmbedderIdentity:
        """openai/<model>; the same model served elsewhere is taken to be the same model."""
        if self._dimensions is None:
            self._request(["dimensions"])
        assert self._dimensions is not None
        revision = "api" + prompt_tag(self._prompts["document"])
        return EmbedderIdentity("openai", self._model, self._dimensions, revision)

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows, float32 of shape (len(texts), dimensions); raises as the class says."""
        size, request_chars, text_chars = self._sizes
        clean = clean_texts(texts, kind, text_chars)
        filled = [position for position, text in enumerate(clean) if text]
        prompted = [self._prompts[kind] + clean[position] for position in filled]
        answers = [self._request(batch) for batch in batches(prompted, size, request_chars)]
        rows = np.zeros((len(clean), self.identity.dimensions), dtype=np.float32)
        if answers:
            rows[filled] = np.concatenate(answers)
        return rows

    def close(self) -> None:
        """Close the connections; a later `embed` opens new ones."""
        self._poster.close()

    def _request(self, texts: list[str]) -> Rows:
        patience = 1.0 if len(texts) == 1 else _BATCH_PATIENCE
        answer = self._poster.post({**self._payload, "input": texts}, patience)
        rows = np.stack(_in_order(answer, len(texts), self._model))
        self._check_dimensions(rows.shape[1])
        return unit_rows(rows, self._model)

    def _check_dimensions(self, dimensions: int) -> None:
        """Keep the length of the first row, and refuse any other after it."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = dimensions
            if dimensions != self._dimensions:
                raise EmbedderError(
                    f"{self._model} gave rows of {dimensions} numbers, not {self._dimensions}"
                )


def _in_order(answer: Any, count: int, model: str) -> list[NDArray[Any]]:
    """The vectors of an answer, put in the order of the texts by their `index`."""
    try:
        items = answer["data"]
        by_index = {item.get("index", i): item["embedding"] for i, item in enumerate(items)}
    except (AttributeError, KeyError, TypeError) as error:
        raise EmbedderError(f"{model} answered without embeddings ({error!r})") from None
    if len(items) != count or by_index.keys() != set(range(count)):
        raise EmbedderError(f"{model} answered {len(items)} embeddings to {count} texts")
    vectors = [_vector(by_index[i], model) for i in range(count)]
    if len({len(vector) for vector in vectors}) != 1:
        raise EmbedderError(f"{model} answered embeddings of different lengths")
    return vectors


def _vector(embedding: Any, model: str) -> NDArray[Any]:
    """One vector: a list of numbers, or base64 of little-endian float32."""
    try:
        if isinstance(embedding, str):
            vector = np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
        else:
            vector = np.array(embedding, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbedderError(f"{model} answered an embedding that is not numbers") from error
    if vector.ndim != 1 or not len(vector):
        raise EmbedderError(f"{model} answered an embedding of shape {vector.shape}")
    return vector

"""Scores from any service with the rerank protocol that Cohere and Jina share."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Self

from salience.closing import Closing
from salience.embedders._batching import clean_texts, require_positive
from salience.embedders._http import JsonPoster, Retries, bearer_key, endpoint_url
from salience.errors import EmbedderError, InvalidInput, RerankerError

MAX_CHARS = 20_000
"""Characters of a text that are sent; the rest is cut off."""
COHERE_URL = "https://api.cohere.com/v2"
JINA_URL = "https://api.jina.ai/v1"


class HttpReranker(Closing):
    """score(query, text) = `relevance_score` in the answer of POST {base_url}/rerank.

    The request holds `model`, `query`, `documents` and `top_n`, the answer `results`, each with the
    `index` of its document. Many servers speak this besides the two services, such as vLLM,
    Infinity and LocalAI. Threads may share one instance.

    Args:
        model: the service's name for the model.
        base_url: the address of the API without "/rerank".
        api_key: sent as a bearer token; none by default.
        timeout: seconds without a sign from the service before a try is given up.
        max_retries: tries after the first, at least 0; a search waits for each.
        backoff: the scale of the waits in seconds.

    Raises:
        InvalidInput: an argument is out of range, or not a URL, or not fit for a header.
        RerankerError: httpx is not installed; when called: no answer after all tries, a refusal, or
            an answer that is not one finite number for each text.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        timeout: float = 5.0,
        max_retries: int = 1,
        backoff: float = 0.25,
    ) -> None:
        if not model:
            raise InvalidInput("model", "is empty")
        require_positive("timeout", timeout)
        require_positive("backoff", backoff)
        if max_retries < 0:
            raise InvalidInput("max_retries", f"is below 0: {max_retries}")
        url = endpoint_url(base_url)
        key = bearer_key(api_key or "", url)
        self._model = model
        try:
            self._poster = JsonPoster(
                f"{url}/rerank", key, timeout, Retries(max_retries, backoff), "openai"
            )
        except EmbedderError as problem:
            raise RerankerError(str(problem), problem.brief) from problem

    @classmethod
    def cohere(cls, model: str) -> Self:
        """Cohere's service, with the key in the environment's COHERE_API_KEY."""
        return cls(model, base_url=COHERE_URL, api_key=_key("COHERE_API_KEY"))

    @classmethod
    def jina(cls, model: str) -> Self:
        """Jina's service, with the key in the environment's JINA_API_KEY."""
        return cls(model, base_url=JINA_URL, api_key=_key("JINA_API_KEY"))

    @classmethod
    def from_spec(cls, spec: str) -> Self:
        """The model before the "@" at the address after it; the key is RERANK_API_KEY, if set."""
        model, at, url = spec.rpartition("@")
        if not at or not model:
            remedy = "write http:<model>@<url>, e.g. http:bge-reranker@http://localhost:8080/v1"
            raise InvalidInput("model", "names no model or no address", remedy)
        return cls(model, base_url=url, api_key=os.environ.get("RERANK_API_KEY"))

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number for each text; raises as the class says."""
        [question] = clean_texts([query], "query", MAX_CHARS)
        documents = clean_texts(texts, "document", MAX_CHARS)
        if not documents:
            return []
        payload: dict[str, Any] = {
            "model": self._model,
            "query": question,
            "documents": documents,
            "top_n": len(documents),
        }
        try:
            answer = self._poster.post(payload)
        except EmbedderError as problem:
            raise RerankerError(str(problem), problem.brief) from problem
        return self._in_order(answer, len(documents))

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._poster.close()

    def _in_order(self, answer: Any, count: int) -> list[float]:
        """The scores of an answer, in the order of the texts."""
        try:
            scores = {item["index"]: float(item["relevance_score"]) for item in answer["results"]}
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise RerankerError(f"{self._model} answered without scores ({problem!r})") from None
        if scores.keys() != set(range(count)):
            raise RerankerError(f"{self._model} answered {len(scores)} scores to {count} texts")
        if not all(map(math.isfinite, scores.values())):
            raise RerankerError(f"{self._model} answered a score that is not finite")
        return [scores[place] for place in range(count)]


def _key(variable: str) -> str:
    key = os.environ.get(variable, "")
    if not key.strip():
        raise RerankerError(f"this service needs an API key: set {variable}")
    return key

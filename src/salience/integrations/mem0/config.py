"""The settings of mem0's `from_config`, as far as they mean something here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from salience.embedders import OpenAIEmbedder
from salience.engine.extraction import Extractor
from salience.errors import InvalidInput, shown

_MODEL_KEYS = frozenset({"model", "api_key"})
_KNOWN = ("vector_store", "llm", "embedder", "reranker", "custom_instructions")
_WITHOUT_MEANING = frozenset({"history_db_path", "version"})  # the store keeps the history


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Memory` for a configuration of mem0.

    `vector_store` is {"provider": "salience", "config": {"url": ..., ...}} with the settings of
    `salience.Memory.open`. `llm` and `embedder` may be of any provider that is asked by the
    protocol of OpenAI: "openai", or one whose `config` has `<provider>_base_url`. `reranker` is
    {"provider": "salience", "config": {"profile": ...}}.

    Raises:
        InvalidInput: a part is unknown, or of a provider that is not served here.
    """
    for name in config:
        if name not in _KNOWN and name not in _WITHOUT_MEANING:
            raise InvalidInput(str(name), "is no setting", f"use {', '.join(_KNOWN)}")
    values: dict[str, Any] = {"custom_instructions": config.get("custom_instructions")}
    if (part := _part(config, "vector_store")) is not None:
        store = _own(part, "vector_store", '{"url": "agent.db"}')
        values["memory"] = store.pop("url", store.pop("path", None))
        values |= store
    if (part := _part(config, "reranker")) is not None:
        values["rerank_profile"] = _own(part, "reranker", '{"profile": "composite"}').get("profile")
    if (part := _part(config, "llm")) is not None:
        url, rest = _endpoint(part, "llm")
        key = rest.get("api_key") or os.environ.get("OPENAI_API_KEY")
        values["extractor"] = Extractor(rest["model"], base_url=url, api_key=key)
    if (part := _part(config, "embedder")) is not None:
        url, rest = _endpoint(part, "embedder")
        values["embedder"] = OpenAIEmbedder(
            rest["model"],
            base_url=url,
            api_key=rest.get("api_key"),
            dimensions=rest.get("embedding_dims"),
        )
    return values


def _part(config: Mapping[str, Any], name: str) -> tuple[str, dict[str, Any]] | None:
    """The provider of a part, and its own configuration."""
    part = config.get(name)
    if part is None:
        return None
    if not isinstance(part, Mapping) or not isinstance(part.get("config", {}), Mapping):
        raise InvalidInput(name, f"is {shown(part)}", 'give {"provider": ..., "config": {...}}')
    return str(part.get("provider", "")), dict(part.get("config", {}))


def _own(part: tuple[str, dict[str, Any]], name: str, example: str) -> dict[str, Any]:
    """The configuration of a part that salience itself is.

    Raises:
        InvalidInput: it is of another provider.
    """
    provider, values = part
    if provider != "salience":
        raise InvalidInput(
            f"{name}.provider",
            f"is {shown(provider)}",
            f'leave it out, or give {{"provider": "salience", "config": {example}}}; what another '
            "store holds has to be imported",
        )
    return values


def _endpoint(part: tuple[str, dict[str, Any]], name: str) -> tuple[str, dict[str, Any]]:
    """The address of a provider that is asked by the protocol of OpenAI, and its other settings.

    Raises:
        InvalidInput: it is none, or no model is named.
    """
    provider, values = part
    url = values.pop(f"{provider}_base_url", None)
    if url is None and provider == "openai":
        url = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    if url is None:
        remedy = f'give "{provider}_base_url" in its config: where it is asked as OpenAI is'
        raise InvalidInput(f"{name}.provider", f"is {shown(provider)}", remedy)
    if provider == "ollama" and not url.rstrip("/").endswith("/v1"):
        url = f"{url.rstrip('/')}/v1"  # where Ollama is asked as OpenAI is
    if not values.get("model"):
        raise InvalidInput(f"{name}.config.model", "is missing", "name the model")
    return url, values

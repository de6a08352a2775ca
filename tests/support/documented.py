"""A client whose answers are held against the OpenAPI document: status, type and every field."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

import httpx
import jsonschema_rs

METHODS = ("get", "post", "patch", "delete")


class Document:
    """An OpenAPI document, and which of its operations have been answered how."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.answered: set[tuple[str, int]] = set()

    @cached_property
    def operations(self) -> dict[str, dict[str, Any]]:
        """The operations by "POST /v1/search"."""
        return {
            f"{method.upper()} {path}": entry[method]
            for path, entry in self.content["paths"].items()
            for method in METHODS
            if method in entry
        }

    @cached_property
    def _forms(self) -> list[tuple[str, re.Pattern[str]]]:
        """The names of the operations, those without a place in their path first."""
        names = sorted(self.operations, key=lambda name: "{" in name)
        return [(name, re.compile(re.sub(r"\{\w+\}", "[^/]+", name))) for name in names]

    def name_of(self, request: httpx.Request) -> str | None:
        """The name of the operation of a request."""
        called = f"{request.method} {request.url.raw_path.decode().partition('?')[0]}"
        return next((name for name, form in self._forms if form.fullmatch(called)), None)

    def check(self, response: httpx.Response) -> None:
        """Hold an answer against the document."""
        response.read()
        name = self.name_of(response.request)
        if name is None:
            return
        where = f"{name} {response.status_code}: {response.text[:300]}"
        documented = self.operations[name]["responses"].get(str(response.status_code))
        assert documented is not None, f"undocumented: {where}"
        self.answered.add((name, response.status_code))
        entry = self.resolved(documented)
        lacking = {"X-Request-Id", "ETag"} & set(entry["headers"]) - set(
            map(_title, response.headers)
        )
        assert not lacking, f"{lacking} of {where}"
        content = entry.get("content")
        if content is None:
            assert not response.content, where
            return
        kind = response.headers["content-type"].partition(";")[0]
        types = {media.partition(";")[0]: entry for media, entry in content.items()}
        assert kind in types, f"{kind} of {where}"
        if kind.endswith("json") and "ndjson" not in kind:
            self.validate(types[kind]["schema"], response.json())

    def validate(self, schema: dict[str, Any], value: Any) -> None:
        """Hold a value against a schema of the document."""
        whole = {**schema, "components": self.content["components"]}
        jsonschema_rs.Draft202012Validator(whole).validate(value)

    def resolved(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry, or the one that it refers to."""
        if "$ref" not in entry:
            return entry
        found: Any = self.content
        for part in entry["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return found


def _title(name: str) -> str:
    return {"etag": "ETag"}.get(name, name.title())


def documented(client: httpx.Client, document: Document) -> httpx.Client:
    """A client that checks each answer."""
    client.event_hooks["response"].append(document.check)
    return client

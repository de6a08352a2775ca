"""The page reads what the OpenAPI document says, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser

from inspector.test_inspector_page import QUESTION, walk
from support.browser import Inspector
from support.documented import Document
from support.real_server import RealServer

WATCH = """
const told = new Set();
const watched = (value, path) => (value && typeof value === "object" ? new Proxy(value, {
  get(target, name) {
    const inner = target[name];
    const isNamed = typeof name === "string" && !Array.isArray(target);
    const isField = isNamed && Object.hasOwn(target, name);
    const where = isField ? `${path}\\n${name}` : path;
    if (isField && !told.has(where)) {
      told.add(where);
      window.tell(where);
    }
    return typeof inner === "function" ? inner : watched(inner, where);
  },
}) : value);
const [asked, parse] = [window.fetch, JSON.parse];
let streamed = "";
JSON.parse = (text) => {
  const value = parse(text);
  return value?.progress || value?.answer ? watched(value, streamed) : value;
};
window.fetch = async (url, options) => {
  const answer = await asked(url, options);
  if (options.headers.Accept) streamed = `${options.method} ${answer.url}`;
  const json = answer.json.bind(answer);
  answer.json = async () => watched(await json(), `${options.method} ${answer.url}`);
  return answer;
};
"""
"""A script that tells each field of an answer that is read: the request, and the names to it."""


def known(document: Document, schema: dict[str, Any], names: list[str]) -> bool:
    """Test whether a schema has a field, by the names that lead to it."""
    schema = document.resolved(schema)
    if parts := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return any(known(document, part, names) for part in parts)
    if "items" in schema:
        return known(document, schema["items"], names)
    if not names:
        return True
    if names[0] in schema.get("properties", {}):
        return known(document, schema["properties"][names[0]], names[1:])
    others = schema.get("additionalProperties", not schema.get("properties"))
    return known(document, others, names[1:]) if isinstance(others, dict) else bool(others)


def schemas(document: Document, operation: str) -> Iterator[dict[str, Any]]:
    """The schemas of the JSON that an operation answers."""
    for answer in document.operations[operation]["responses"].values():
        for kind, content in document.resolved(answer).get("content", {}).items():
            if kind.endswith(("json", "event-stream")):
                yield content["schema"]


@pytest.mark.deep
def test_every_field_that_the_page_reads_is_documented(chrome: Browser, server: RealServer) -> None:
    document = Document(httpx.get(f"{server.url}/v1/openapi.json").json())
    read: set[str] = set()
    with chrome.new_context(viewport={"width": 1280, "height": 900}) as context:
        inspector = Inspector(context.new_page(), server)
        inspector.page.expose_function("tell", lambda field: read.add(field))
        inspector.page.add_init_script(WATCH)
        inspector.show("main .card", q=QUESTION)
        walk(inspector)
        inspector.check()
    unknown = []
    for field in read:
        request, *names = field.split("\n")
        operation = document.name_of(httpx.Request(*request.split(" ", 1)))
        assert operation is not None, request
        if not any(known(document, schema, names) for schema in schemas(document, operation)):
            unknown.append((operation, names))
    assert len(read) > 100
    tables = list(schemas(document, "POST /v1/candidates"))
    assert any(known(document, table, ["rows", "score"]) for table in tables)
    assert not any(known(document, table, ["rows", "nothing"]) for table in tables)
    assert unknown == []

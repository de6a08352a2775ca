"""The page of the OpenAPI document: every operation with its fields, in plain HTML, offline."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
details { border: 1px solid #8886; border-radius: 6px; margin: .4rem 0; padding: .3rem .8rem }
summary { cursor: pointer } code, pre { font: 13px/1.45 ui-monospace, monospace }
pre { overflow-x: auto; background: #8881; padding: .6rem; border-radius: 6px }
b { display: inline-block; min-width: 4.5em } td, th { text-align: left; vertical-align: top;
padding: .15rem .8rem .15rem 0 } p { white-space: pre-line }
:root { color-scheme: light dark }
"""


def page(document: Mapping[str, Any]) -> str:
    """The page of a document."""
    info = document["info"]
    return "".join(
        (
            '<!doctype html><html lang="en"><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(info['title'])}</title><style>{_STYLE}</style>",
            f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>",
            f"<p>{escape(info['description'])}</p>",
            '<p>The document itself: <a href="openapi.json">openapi.json</a>.</p>',
            *_sections(document),
        )
    )


def _sections(document: Mapping[str, Any]) -> Iterator[str]:
    for tag in document["tags"]:
        yield f"<h2>{escape(tag['name'])}</h2>"
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if tag["name"] in operation["tags"]:
                    yield _operation(document, method.upper(), path, operation)


def _operation(
    document: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]
) -> str:
    sample = operation["x-codeSamples"][0]["source"]
    rows = [*_parameters(operation), *_fields(document, operation)]
    fields = f"<table><tr><th>field<th>type<th>meaning</tr>{''.join(rows)}</table>" if rows else ""
    answers = ", ".join(operation["responses"])
    return (
        f'<details id="{escape(operation["operationId"])}"><summary><b>{method}</b> '
        f"<code>{escape(path)}</code> {escape(operation['summary'])}</summary>"
        f"<p>{escape(operation['description'])}</p>{fields}<pre>{escape(sample)}</pre>"
        f"<p>Answers: {answers}</p></details>"
    )


def _parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    for parameter in operation["parameters"]:
        if "name" in parameter:
            place = f"{parameter['name']} ({parameter['in']})"
            yield _row(place, parameter.get("schema", {}), parameter.get("description", ""))


def _fields(document: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[str]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return
    schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    for name, field in schema["properties"].items():
        needed = " *" if name in schema.get("required", ()) else ""
        yield _row(name + needed, field, field.get("description", ""))


def _row(name: str, schema: Mapping[str, Any], description: str) -> str:
    cells = f"<td><code>{escape(name)}</code><td><code>{escape(_kind(schema))}</code>"
    return f"<tr>{cells}<td>{escape(description)}</tr>"


def _kind(schema: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_kind(part) for part in schema["anyOf"])
    kind = schema.get("type", "any")
    kinds = [kind] if isinstance(kind, str) else kind
    return " | ".join(
        f"[{_kind(schema['items'])}]" if each == "array" and "items" in schema else each
        for each in kinds
    )

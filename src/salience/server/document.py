"""Other names of fields, which requests and answers may have: importance_score, threshold, results.

A search that gives one of them and names no profile is ranked by "six_factor", on whose scale a
threshold is a share; null gives none, but has its answer in these names. What answers a request
that uses one has the scores of the memory beside: 0.5 where it has none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from html import escape
from typing import Annotated, Any

from starlette.responses import Response

from salience.api.operations import OPERATIONS
from salience.display.result import Result
from salience.errors import InvalidInput
from salience.records.field_filters import OF_FIELD, with_fields
from salience.records.record import MemoryRecord
from salience.search.results import Hit, SearchResult
from salience.server.encoding import answer
from salience.server.models.arguments import Argument, Renamed
from salience.write.outcomes import AddResult

PROFILE = "six_factor"
FILTER_FIELDS = ("tier", "memory_nature", "content_type")
_THRESHOLD = "threshold"
FILTER_ARGUMENTS = {
    name: Argument(
        Annotated[str | None, OF_FIELD[name]],
        f"Only memories of this {name}, as `filters` say it.",
        None,
    )
    for name in FILTER_FIELDS
}
SEARCH_ARGUMENTS = {
    **FILTER_ARGUMENTS,
    _THRESHOLD: Argument(
        float | None,
        "Another name of options.min_score. With it (or tier, memory_nature, content_type) and "
        "without a profile, six_factor ranks, and the answer has `results`.",
        None,
    ),
}
RECORD_ARGUMENTS = {
    "importance_score": Argument(
        Annotated[float | None, OF_FIELD["importance"]], "Another name of importance.", None
    )
}

_OTHER_NAMES = {
    _THRESHOLD: "options.min_score",
    **{other: name for row in OPERATIONS for other, name in row.renamed.items()},
}

_HIT = Renamed("ResultHit", Hit, {"score": "combined_score", "importance": "importance_score"})
ANSWER = Renamed(
    "ResultsAnswer", SearchResult, {"min_score": _THRESHOLD, "hits": "results"}, {"results": _HIT}
)
"""The answer of a search in the other names."""
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_SCORES = {"importance_score": _SHARE, "relevance_score": _SHARE}
RECORD_ANSWER = Renamed("ScoredMemory", MemoryRecord, {}, plus=_SCORES)
"""The answer with a memory, and its scores."""
ADD_ANSWER = Renamed("ScoredAddResult", AddResult, {}, plus=_SCORES)
"""The answer of a write, and the scores of the memory."""


def rename(arguments: dict[str, Any], other: str, name: str) -> bool:
    """Give an argument its own name; True if it had the other one.

    Raises:
        InvalidInput: both names are there.
    """
    if other not in arguments:
        return False
    if name in arguments:
        raise InvalidInput(other, f"is another name of {name}", "give one of the two")
    arguments[name] = arguments.pop(other)
    return True


def as_sent(error: InvalidInput, sent: Collection[str]) -> InvalidInput:
    """An error by the name that the request used for the field."""
    for other, name in _OTHER_NAMES.items():
        if error.field == name and other in sent and name not in sent:
            return type(error)(other, error.problem, error.remedy)
    return error


def scored(result: Result, record: MemoryRecord | None) -> Result | dict[str, Any]:
    """A result with the scores of a memory beside, as they count; as it is without a memory."""
    if record is None:
        return result
    counted = record.in_effect()
    scores = {"importance_score": counted.importance, "relevance_score": counted.relevance_score}
    return {**result.to_dict(), **scores}


def stored(record: MemoryRecord, is_document: bool) -> Response:
    """The answer with a memory and its version, to a request with other names or without."""
    return answer(scored(record, record if is_document else None), etag=record.version)


def translate_filters(arguments: dict[str, Any]) -> bool:
    """Leave out the fields of a memory that are null; True if there were some, null or not."""
    names = [name for name in FILTER_FIELDS if name in arguments]
    for name in names:
        if arguments[name] is None:
            del arguments[name]
    if any(name in arguments for name in names):
        arguments["profile"] = arguments.get("profile") or PROFILE
        arguments.update(
            with_fields({n: arguments.pop(n) for n in (*names, "filters") if n in arguments}, names)
        )
    return bool(names)


def translate_search(arguments: dict[str, Any]) -> bool:
    """Give the arguments of a search their own names; True if there were others."""
    is_document = translate_filters(arguments)
    if _THRESHOLD in arguments:
        options = arguments["options"] = {**(arguments.get("options") or {})}
        threshold = arguments.pop(_THRESHOLD)
        rename(options | {_THRESHOLD: threshold}, _THRESHOLD, "min_score")
        options["min_score"] = threshold
        if threshold is not None:
            arguments["profile"] = arguments.get("profile") or PROFILE
        is_document = True
    return is_document


def search_answer(result: SearchResult) -> dict[str, Any]:
    """A search result in the other names."""
    values = {ANSWER.names.get(name, name): value for name, value in result.values().items()}
    hits: list[dict[str, Any]] = values["results"]
    values["results"] = [{_HIT.names.get(name, name): hit[name] for name in hit} for hit in hits]
    return values


# The page of the OpenAPI document: every operation with its fields, in plain HTML, offline

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

"""Whatever JSON a file has, its reader yields items that a memory takes, or names the problem."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.importers import ImportProblem, read
from support.examples import examples
from support.systems import (
    FILES,
    GRAPH,
    GRAPHITI,
    HINDSIGHT_LIST,
    LETTA,
    LETTA_FIRST,
    MEM0,
    transcript,
)

DOCUMENTS: list[tuple[str, str, Any]] = [
    ("mem0", "a.json", MEM0),
    ("letta", "a.af", LETTA),
    ("letta", "a.af", LETTA_FIRST),
    ("mcp-memory", "a.json", {"entities": GRAPH[:2], "relations": GRAPH[2:]}),
    ("zep", "a.json", GRAPHITI),
    ("hindsight", "a.json", HINDSIGHT_LIST),
    ("claude-code", "a.jsonl", transcript()),
]
strange: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1e300,
        "",
        " ",
        "x",
        "2026-13-99",
        "9" * 30,
        [],
        [None],
        [[]],
        {},
        {"a": {}},
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values within a document."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    if not path:
        return to
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], to)
    return copy


def assert_that_it_names(file: Path, problem: ImportProblem) -> None:
    assert str(problem).startswith(str(file))
    assert problem.remedy


@pytest.mark.parametrize(("format", "name", "document"), DOCUMENTS)
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(50))
@given(data=st.data())
def test_a_strange_value_is_named_or_read(
    format: str, name: str, document: Any, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(document)))
        document = changed(document, path, data.draw(strange))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, name)
        is_lines = name.endswith(".jsonl") and isinstance(document, list)
        file.write_text("\n".join(map(json.dumps, document)) if is_lines else json.dumps(document))
        try:
            items = list(read(file, format))
        except ImportProblem as problem:
            assert_that_it_names(file, problem)
            return
    with Memory.open("ram://", embedder=None) as memory:
        for item in items:
            memory.add_many([item])  # taken, or rejected with a reason


def test_all_formats_of_json_are_tried() -> None:
    databases = {"basic-memory", "langgraph", "openmem"}
    assert {format for format, _ in FILES.values()} - databases == {d[0] for d in DOCUMENTS}

"""The conformance suite of stores, through HTTP: what `Memory` promises, a server keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from support.served import NOT_OVER_HTTP, serve_memory
from support.suite.memory import MemoryConformance


class TestServedRam(MemoryConformance):
    persistent = False

    @pytest.fixture(autouse=True)
    def applies(self, request: pytest.FixtureRequest) -> None:
        if reason := NOT_OVER_HTTP.get(request.function.__name__):
            pytest.skip(reason)

    def open_memory(self, **settings: Any) -> Memory:
        return serve_memory("ram://", **settings)


def test_the_list_of_what_does_not_apply_names_tests_that_there_are() -> None:
    tests = Path(__file__).parents[1]
    others = "".join(path.read_text("utf-8") for path in tests.rglob("test_*.py"))
    names = [name for name in NOT_OVER_HTTP if not hasattr(MemoryConformance, name)]
    assert [name for name in names if f"def {name}(" not in others] == []

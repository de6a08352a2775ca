"""ARCHITECTURE.md shows how a search flows: the trace of one, which has to be what is printed."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "ARCHITECTURE.md"
_FLOW = re.compile(r"```python\n((?:(?!```).)*trace=print.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def without_times(trace: str) -> list[str]:
    """The lines of a trace with each duration as 0, and no time of the clock."""
    lines = [re.sub(r"^ *[\d.]+ ms", "0 ms", line) for line in trace.splitlines()]
    return [re.sub(r"(RetrievedTexts)\([^,]*", r"\1(", line) for line in lines]


def test_the_trace_in_the_architecture_is_what_a_search_prints() -> None:
    flow = _FLOW.search(PAGE.read_text("utf-8"))
    assert flow is not None
    source, expected = flow.groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(source, {})
    assert without_times(printed.getvalue()) == without_times(expected)

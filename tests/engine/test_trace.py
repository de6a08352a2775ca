"""A trace: a line for each batch of operations, written to where it is told."""

from __future__ import annotations

import asyncio
import io
import re
from typing import Any

import pytest

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput, StoreClosed
from salience.testing import WordHashEmbedder

LINE = re.compile(r" *\d+\.\d\d ms( {2}\w+\([^\n]*\))+")


def steps(memory: Memory) -> None:
    memory.add("Tea is in the green tin.", id="tea")
    memory.search("tea", profile="composite", now="2030-01-01")


def test_every_batch_has_a_line_with_its_time() -> None:
    lines: list[str] = []
    with Memory.open("ram://", embedder=WordHashEmbedder(), trace=lines.append) as memory:
        steps(memory)
        traced = len(lines)
        memory.for_namespace("other").get("nobody")
    assert all(map(LINE.fullmatch, lines))
    assert lines[1].endswith("Embed('Tea is in the green tin.', 'document')")
    assert lines[traced - 1].endswith("Touch(1 row, 2030-01-01 00:00:00+00:00)")
    assert [line.split("ms  ")[1] for line in lines[traced:]] == ["RowsById('nobody')"]


def test_the_awaited_trace_is_the_same() -> None:
    def operations(lines: list[str]) -> list[str]:
        return [line.split("ms  ")[1] for line in lines]

    lines: list[str] = []
    awaited: list[str] = []
    with Memory.open("ram://", embedder=WordHashEmbedder(), trace=lines.append) as memory:
        steps(memory)

    async def body() -> None:
        settings: Any = {"embedder": WordHashEmbedder(), "trace": awaited.append}
        async with await AsyncMemory.open("ram://", **settings) as memory:
            await memory.add("Tea is in the green tin.", id="tea")
            await memory.search("tea", profile="composite", now="2030-01-01")

    asyncio.run(body())
    assert operations(awaited) == operations(lines)


def test_it_is_written_to_stderr_or_a_stream(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream = io.StringIO()
    for trace in (True, stream):
        with Memory.open("ram://", embedder=None, trace=trace) as memory:
            memory.get("nobody")
    error = capsys.readouterr().err
    assert error.endswith("RowsById('nobody')\n")
    assert stream.getvalue().endswith("RowsById('nobody')\n")


def test_a_batch_that_fails_has_its_line_too() -> None:
    lines: list[str] = []
    with Memory.open("ram://", embedder=None, trace=lines.append) as memory:
        memory.close()
        with pytest.raises(StoreClosed):
            memory.get("nobody")
    assert len(lines) == 1


@pytest.mark.parametrize("trace", [5, "stderr", object()])
def test_what_can_take_no_lines_is_refused(trace: Any) -> None:
    with pytest.raises(InvalidInput, match=r"trace: is .*; give True, a stream or a function"):
        Memory.open("ram://", embedder=None, trace=trace)

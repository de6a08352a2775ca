"""docs/server.md: each example of a remote memory prints what the page says, against a server."""

from __future__ import annotations

import contextlib
import doctest
import io
from pathlib import Path
from typing import Any

import pytest
from mypy import api

from salience.server.openapi import EXAMPLE_ADDRESS
from support.pages import Block, blocks
from support.served import serve_memory

PAGE = "docs/server.md"
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def remote_examples() -> list[Block]:
    return [block for block in blocks(PAGE) if block.what and "remote memories" in block.what]


def test_the_examples_of_the_page_print_what_it_says() -> None:
    known: dict[str, Any] = {"__name__": "documentation"}
    examples = remote_examples()
    assert len(examples) == 4
    with serve_memory("ram://") as memory:
        for block in examples:
            printed, where = io.StringIO(), f"{PAGE}, line {block.line}"
            source = block.source.replace(EXAMPLE_ADDRESS, memory.url)
            with contextlib.redirect_stdout(printed):
                exec(
                    compile(source, f"{PAGE}, line {block.line}", "exec", dont_inherit=True), known
                )
            told = printed.getvalue().replace(memory.url, EXAMPLE_ADDRESS)
            assert block.expected is not None
            same = doctest.OutputChecker().check_output(block.expected, told, _SAME)
            assert same, f"{where} prints\n{told}"
        known["memory"].close()
        known["client"].close()


@pytest.mark.deep
def test_the_examples_of_the_page_pass_the_type_checker(tmp_path: Path) -> None:
    file = tmp_path / "page.py"
    file.write_text("".join(block.source for block in remote_examples()))
    report, problems, _ = api.run(["--strict", "--no-pretty", str(file)])
    errors = [line for line in report.splitlines() if ": error" in line]
    assert (errors, problems) == ([], "")

"""docs/server.md: each command prints what the page says, against a real server."""

from __future__ import annotations

import doctest
import os
import subprocess
from pathlib import Path

import httpx

from salience.server.openapi import EXAMPLE_ADDRESS
from support.pages import blocks
from support.real_server import RealServer, real_server

_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_commands_of_the_page_print_what_it_says(tmp_path: Path) -> None:
    with real_server(tmp_path / "memory.db") as server:
        commands = [
            block
            for block in blocks("docs/server.md")
            if block.language == "bash" and EXAMPLE_ADDRESS in block.source
        ]
        assert len(commands) > 6
        for block in commands:
            ran = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", address_of(server, block.source)],
                cwd=tmp_path,
                env=os.environ,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.returncode == 0, f"line {block.line}: {ran.stderr}"
            assert block.expected is not None, block
            same = doctest.OutputChecker().check_output(block.expected, ran.stdout, _SAME)
            assert same, f"line {block.line} prints\n{ran.stdout}"


def address_of(server: RealServer, command: str) -> str:
    return command.replace(EXAMPLE_ADDRESS, server.url)


def test_the_page_of_the_document_names_every_operation(server: RealServer) -> None:
    text = httpx.get(f"{server.url}/docs").text
    paths = httpx.get(f"{server.url}/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for operation in methods.values():
            assert f'id="{operation["operationId"]}"' in text
        assert path in text
    assert "http://" not in text.replace(EXAMPLE_ADDRESS, "")  # nothing is loaded from elsewhere
    assert "https://" not in text

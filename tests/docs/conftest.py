"""Shell blocks run their `salience` commands in copies of one warm process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_server import CommandServer


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a program `salience` that starts at once."""
    server = CommandServer(tmp_path_factory.mktemp("commands"))
    yield server.folder
    server.close()

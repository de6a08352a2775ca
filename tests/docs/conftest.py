"""Shell blocks run their `salience` commands in copies of one warm process."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_server import commands as warm_commands


@pytest.fixture(scope="session")
def commands() -> Path:
    """The folder of a program `salience` that starts at once."""
    return warm_commands()

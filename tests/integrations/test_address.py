"""Addresses in configurations that are written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.integrations._memory import written_address


@pytest.mark.parametrize(
    "address",
    [
        "agent.db",
        "a:b@c.db",
        "sqlite:///a:b@c.db",
        "postgresql://ana@host:5432/db?sslmode=require",
        "postgresql://host:5432/db",
        "http://127.0.0.1:8420",
    ],
)
def test_an_address_is_written_as_it_was_given(address: str) -> None:
    assert written_address(address) == address
    assert written_address(Path("agent.db")) == "agent.db"


@pytest.mark.parametrize(
    "address", ["postgresql://ana:secret@host/db", "postgres://host/db?user=ana&password=secret"]
)
def test_a_password_is_not_written(address: str) -> None:
    with pytest.raises(InvalidInput, match="PGPASSWORD") as refused:
        written_address(address)
    assert "secret" not in str(refused.value)


def test_an_open_memory_has_no_address_to_write() -> None:
    with Memory("ram://", embedder=None) as memory, pytest.raises(InvalidInput, match="address"):
        written_address(memory)

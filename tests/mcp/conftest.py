"""Connections to all tools over each way to the memory, each with a namespace of its own."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from salience.server.app import create_app
from salience.server.settings import ServerSettings
from support.mcp_client import ALL_TOOLS, Connection, in_process, over_http
from support.served import Server


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a server without keys."""
    server = Server(create_app(ServerSettings(db="ram://")))
    yield server.url
    server.close()


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("http", marks=pytest.mark.deep),
        pytest.param("bridge", marks=pytest.mark.deep),
    ]
)
def tools(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """All tools over a memory of this process, at a server, and of a bridge to that."""
    if request.param == "embedded":
        with in_process() as connection:
            yield connection
        return
    address, namespace = request.getfixturevalue("address"), uuid4().hex
    if request.param == "bridge":
        with in_process(address, namespace=namespace) as connection:
            yield connection
        return
    url, fields = f"{address}/mcp?tools={ALL_TOOLS}", {"Salience-Namespace": namespace}
    with over_http(url, fields) as connection:
        yield connection


@pytest.fixture
def embedded() -> Iterator[Connection]:
    """All tools over a memory of this process."""
    with in_process() as connection:
        yield connection

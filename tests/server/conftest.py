"""A real server for all tests of a session, and a client with a namespace of its own for each."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from support.documented import Document, documented
from support.real_server import RealServer, real_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder = tmp_path_factory.mktemp("server")
    with real_server(folder / "memory.db", log=folder / "server.log") as running:
        yield running


@pytest.fixture(scope="session")
def document(server: RealServer) -> Document:
    return Document(httpx.get(f"{server.url}/openapi.json").json())


@pytest.fixture
def client(server: RealServer, document: Document) -> Iterator[httpx.Client]:
    with documented(server.client(), document) as client:
        client.headers["Salience-Namespace"] = f"test-{uuid4().hex}"
        yield client

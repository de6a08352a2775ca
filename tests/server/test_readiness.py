"""Readiness: a server that cannot search yet says why, tries again, and becomes ready."""

from __future__ import annotations

import logging
import time

import pytest
from starlette.testclient import TestClient

from salience import AsyncMemory
from salience.errors import StoreError
from salience.server import app as module
from salience.server.app import create_app
from salience.server.settings import ServerSettings
from salience.stores import Store


class Waking(AsyncMemory):
    """A memory whose store fails a few times first."""

    failures = 2

    async def search(self, *arguments: object, **options: object):  # type: ignore[no-untyped-def]
        if Waking.failures:
            Waking.failures -= 1
            raise StoreError("the disk is away")
        return await super().search(*arguments, **options)  # type: ignore[arg-type]


def opened(store: Store) -> AsyncMemory:
    return Waking(store, embedder=None)


def test_a_store_that_fails_at_first_is_searched_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "WARM_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(logging.getLogger("salience.server"), "propagate", True)
    monkeypatch.setattr(Waking, "failures", 2)
    application = create_app(ServerSettings(db="ram://"), opened)
    with TestClient(application, base_url="http://127.0.0.1") as client:
        deadline = time.monotonic() + 30
        while client.get("/ready").status_code != 200 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert client.get("/ready").status_code == 200
    assert caplog.text.count("not ready: StoreError: the disk is away") == 2

"""Debian's Chromium, driven by Playwright: it is installed where that can be."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from support.real_server import RealServer

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ON_ITS_WAY = "Asking …"
_HANG_MS = 300_000.0
expect.set_options(timeout=_HANG_MS)
_INSTALL = "apt-get install --yes --no-install-recommends chromium fonts-dejavu-core"


@cache
def chromium() -> str:
    """The path of the browser; tests are skipped where it is not there and cannot be installed."""
    if _found() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        with open(Path(gettempdir(), "salience-tests-apt.lock"), "w") as lock:
            flock(lock, LOCK_EX)  # one worker installs it, the others wait
            for command in ("apt-get update", _INSTALL):
                if _found() is None:
                    subprocess.run(
                        command.split(), env=environment, capture_output=True, check=False
                    )
    found = _found()
    if found is None:
        pytest.skip(f"there is no Chromium; {_INSTALL}")
    return found


def _found() -> str | None:
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser during a block. While it is open, this thread has an event loop that runs."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            yield launched
        finally:
            launched.close()


class Inspector:
    """A page of the inspector, with what went wrong in it."""

    def __init__(self, page: Page, server: RealServer) -> None:
        self.page, self.server = page, server
        page.set_default_timeout(_HANG_MS)
        self.wrong: list[str] = []
        self.statuses: list[int] = []
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog {dialog.message}"))
        page.on("response", lambda response: self.statuses.append(response.status))
        page.add_init_script(
            "window.violations = [];"
            "addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective))"
        )

    def show(self, ready: str, **state: str) -> Page:
        """Show a state, given as the fragment has it; wait for something and for every answer.

        What `ready` names may be in several places, of which one is in view.
        """
        self.page.goto("about:blank")
        self.page.goto(f"{self.server.url}/ui/#{urlencode(state)}")
        self.page.locator(ready).locator("visible=true").first.wait_for()
        self.answered()
        return self.page

    def answered(self) -> None:
        """Wait until no part of the view waits for an answer."""
        expect(self.page.locator("main[aria-busy=true]")).to_have_count(0)
        waiting = self.page.locator("main [role=status]", has_text=_ON_ITS_WAY)
        expect(waiting).to_have_count(0)

    def round_trip(self, path: str) -> str:
        """The answer to a GET by the page: what the page sent before has reached the server."""
        text = "async path => (await fetch(`../v1${path}`)).text()"
        return str(self.page.evaluate(text, path))

    def check(self) -> None:
        """Refuse errors, dialogs and violations of the policy."""
        assert not self.wrong
        assert not self.page.evaluate("window.violations")

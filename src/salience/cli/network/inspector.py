"""The command `inspect`: the page on which a person sees what is remembered, and why."""

from __future__ import annotations

import time
import webbrowser
from threading import Thread
from typing import Annotated
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import typer

from salience.cli import output
from salience.cli.network.serve import check_installed
from salience.cli.settings import Settings
from salience.stores.address import public_url

DEFAULT_PORT = 8421
START_SECONDS = 60


def inspect(
    settings: Settings,
    port: Annotated[int, typer.Option(min=1, max=65535)] = DEFAULT_PORT,
    open_: bool = False,
    write: bool = False,
) -> None:
    """Show in a browser what is recalled and why, until interrupted.

    Only this machine is served, and nothing is written.
    """
    check_installed("inspect")
    from salience.server.connections import serve
    from salience.server.settings import ServerSettings

    settings.require()
    server = ServerSettings.from_environment(
        {},
        port=port,
        db=settings.db,
        embedder=settings.embedder,
        time_zone=settings.time_zone,
        namespace=settings.namespace,
        read_only=not write,
    )
    address = f"http://{server.host}:{server.port}/ui/"
    output.note(f"shows {public_url(settings.url)} at {address}")
    if open_:
        Thread(target=_open, args=(address,), daemon=True).start()
    serve(server)


def _open(address: str) -> None:
    """Open the page as soon as it is there."""
    direct = build_opener(ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            direct.open(address, timeout=1.0).close()
        except (URLError, OSError):
            time.sleep(0.1)
        else:
            webbrowser.open(address)
            return

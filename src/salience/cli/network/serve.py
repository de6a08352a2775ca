"""The commands `serve` and `openapi`: a server for other programs, languages and machines."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from typing import Annotated

import typer

from salience.cli import output
from salience.cli.demo import demo_settings, load
from salience.cli.settings import Settings
from salience.errors import InvalidInput
from salience.stores.address import public_url


def serve(
    settings: Settings,
    host: str | None = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535)] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=64)] = None,
    profile: str | None = None,
    allow_host: list[str] | None = None,
    cors_origin: list[str] | None = None,
    sample: bool = False,
) -> None:
    """Serve the memories over HTTP until interrupted.

    Without a key in the store (`salience keys create`) only this machine is served.
    """
    check_installed("serve")
    from salience.server.connections import check_address, free_port
    from salience.server.connections import serve as run
    from salience.server.settings import ServerSettings

    if sample:
        settings = demo_settings(settings)
        load(settings)
    server = ServerSettings.from_environment(
        host=host,
        port=port,
        db=settings.db,
        embedder=settings.embedder,
        time_zone=settings.time_zone,
        profile=profile,
        namespace=settings.namespace,
        workers=workers,
        allowed_hosts=tuple(allow_host or ()),
        cors_origins=tuple(cors_origin or ()),
    )
    check_address(server)
    server = replace(server, port=server.port or free_port(server.host))
    address = f"http://{'127.0.0.1' if server.is_loopback else server.host}:{server.port}"
    output.note(f"serves {public_url(settings.url)} at {address}; {address}/docs shows how to ask")
    if sample:
        for line in _SAMPLE_CALLS:
            print(line.format(address=address), file=sys.stderr)
    run(server)


_SAMPLE_CALLS = (
    """  curl {address}/v1/search --json '{{"query": "Why did the disk run full?", "limit": 2}}'""",
    """  curl {address}/v1/memories --json '{{"content": "The stand-up moved to 9:30."}}'""",
    """  curl {address}/v1/context --json '{{"query": "When do we meet?", "max_tokens": 600}}'""",
)
"""Three calls to try on the sample."""


def openapi(settings: Settings, whole: bool = False) -> None:
    """Print the server's OpenAPI document, from which clients are generated."""
    check_installed("openapi")
    from salience.server.app import create_app
    from salience.server.openapi import document
    from salience.server.routes import OPERATIONS

    output.emit(document(OPERATIONS, whole=True) if whole else create_app().openapi())


def check_installed(command: str) -> None:
    """Refuse a command whose packages are missing.

    Raises:
        InvalidInput: names them.
    """
    if missing := [n for n in ("fastapi", "uvicorn", "msgspec") if not importlib.util.find_spec(n)]:
        raise InvalidInput(
            command, f"needs {' and '.join(missing)}", "pip install 'salience[server]'"
        )

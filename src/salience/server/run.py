"""The server's processes: uvicorn with httptools and uvloop, one or several workers."""

from __future__ import annotations

import os

import uvicorn

from salience.server.settings import ServerSettings

GRACE_SECONDS = 30  # that requests in flight have when the server is told to stop


def serve(settings: ServerSettings) -> None:
    """Serve until the process is told to stop; then answer what is in flight, and write all."""
    os.environ.update(settings.to_environment())
    uvicorn.run(
        "salience.server.app:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        http="httptools",
        loop="uvloop",
        lifespan="on",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )

"""The processes of a server: uvicorn with httptools and uvloop, one worker or several."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import uvicorn

from salience.access import Keyring
from salience.errors import InvalidInput
from salience.server.connections import TimedHttpToolsProtocol
from salience.server.guard import ANSWERS_VARIABLE
from salience.server.guard.answers import is_alive
from salience.server.settings import ServerSettings
from salience.stores import open_store

IDLE_SECONDS = 15  # in which the head of a request has to arrive
GRACE_SECONDS = 30  # that requests in flight have when the server is told to stop
START_SECONDS = 60  # in which a worker is ready, or it is given up
_IN_MEMORY = "/dev/shm"
_ANSWERS = "salience-answers-"
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # the folder where workers share their metrics
_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "lines": {"format": "%(message)s"},
        "notes": {"format": "%(levelname)s %(name)s: %(message)s"},
    },
    "handlers": {
        "lines": {"class": "logging.StreamHandler", "formatter": "lines"},
        "notes": {"class": "logging.StreamHandler", "formatter": "notes"},
    },
    "loggers": {
        "salience.server": {"handlers": ["lines"], "level": "INFO", "propagate": False},
        "salience": {"handlers": ["notes"], "level": "WARNING"},
        "uvicorn": {"handlers": ["notes"], "level": "WARNING"},
    },
}


def serve(settings: ServerSettings) -> None:
    """Serve until the process is told to stop; then answer what is in flight, and write all."""
    os.environ.update(settings.to_environment())
    signal.signal(signal.SIGTERM, _leave)
    with (
        tempfile.TemporaryDirectory(prefix="salience-metrics-") as folder,
        _answers_folder() as answers,
    ):
        if settings.workers > 1:
            os.environ.setdefault(MULTIPROCESS_VARIABLE, folder)
            os.environ[ANSWERS_VARIABLE] = str(Path(answers) / "answers.db")
        uvicorn.run(
            "salience.server.app:create_app",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            http=TimedHttpToolsProtocol,
            ws="none",
            timeout_keep_alive=IDLE_SECONDS,
            loop="uvloop" if sys.platform != "win32" else "asyncio",
            lifespan="on",
            log_config=_LOGGING,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            timeout_worker_healthcheck=START_SECONDS,
        )


def _answers_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder in memory where there is one, as answers quote memories; those of the dead go."""
    parent = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else tempfile.gettempdir()
    for left in Path(parent).glob(f"{_ANSWERS}*"):
        owner = left.name.removeprefix(_ANSWERS).partition("-")[0]
        if not owner.isdigit() or not is_alive(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=f"{_ANSWERS}{os.getpid()}-", dir=parent)


def _leave(number: int, frame: object) -> None:
    """End the process well when uvicorn, which has stopped, passes the signal on."""
    sys.exit(0)


def check_address(settings: ServerSettings) -> None:
    """Refuse to serve other machines from a store without keys.

    Raises:
        InvalidInput: it listens beyond loopback, and there is no key.
    """
    if settings.is_loopback or settings.oauth is not None:
        return
    store = open_store(settings.db)
    try:
        with Keyring(store) as keyring:
            has_key = keyring.any_key()
    finally:
        store.close()
    if not has_key:
        raise InvalidInput(
            "host",
            f"{settings.host} is open to other machines, and the store has no key",
            "make one by `salience keys create`, or listen at 127.0.0.1",
        )

"""The log of the hooks: what was asked, what came of it, how long it took; never a text."""

from __future__ import annotations

import logging
import os
import traceback
from logging.handlers import RotatingFileHandler

from salience.coding_agents.paths import make_private, state_folder

_MAX_BYTES = 500_000
_logger = logging.getLogger("salience.hooks")


def log_path() -> str:
    """The file of the log; the one before it ends in .1."""
    return os.path.join(state_folder(), "hooks.log")


def open_log() -> None:
    """Let this process write to the log."""
    if not _logger.handlers:
        make_private(state_folder())
        handler = RotatingFileHandler(
            log_path(), maxBytes=_MAX_BYTES, backupCount=1, encoding="utf-8", delay=True
        )
        handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(message)s"))
        _logger.addHandler(handler)
        _logger.setLevel(logging.INFO)
        _logger.propagate = False


def log_event(event: str, **values: object) -> None:
    """Write one line: an event, and numbers or names of it."""
    _logger.info("%s %s", event, " ".join(f"{name}={value}" for name, value in values.items()))


def log_failure(event: str, problem: BaseException) -> None:
    """Write where a failure came from; not its message, which may quote a text."""
    frames = traceback.extract_tb(problem.__traceback__)
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-6:]))
    _logger.info("%s failed %s at %s", event, type(problem).__name__, places)

"""Work that is done once in a run of tests, whichever of its processes needs it first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

try:
    import fcntl
except ImportError:  # on Windows, where each process does it
    fcntl = None  # type: ignore[assignment]


def shared_folder(base: Path, worker: str) -> Path:
    """The folder for temporary files that the processes of a run share.

    `base` is that of one process: pytest-xdist makes one for each worker in that of the run.
    """
    return base if worker == "master" or fcntl is None else base.parent


def once(folder: Path, name: str, make: Callable[[Path], str | None]) -> Path:
    """The folder that `make` has filled, in this process or in another, which is waited for.

    `make` gives None, or the reason why it cannot: then each test that asks is skipped.
    """
    made, ready = folder / name, folder / f"{name}.ready"
    with (folder / f"{name}.lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            made.mkdir(exist_ok=True)
            ready.write_text(make(made) or "", "utf-8")
    if reason := ready.read_text("utf-8"):
        pytest.skip(reason)
    return made

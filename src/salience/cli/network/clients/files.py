"""Files of settings: read, compared, and written whole, with a copy of what was there."""

from __future__ import annotations

import difflib
import os
import shutil
from datetime import datetime, timezone
from pathlib import Path

_NEW_MODE = 0o644  # of a file that was not there


def read_text(path: Path) -> str:
    """The text of a file with its line ends as they are; "" if there is no file.

    Raises:
        ValueError: it is not in UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""


def difference(path: Path, before: str, after: str) -> str:
    """The lines that change, as `diff -u` shows them."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path)
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def write_text(path: Path, text: str, *, private: bool = False) -> Path | None:
    """Write a file whole or not at all, and return the copy of what was there, None if nothing was.

    A link stays one. A private file is one that only its user can read.

    Raises:
        OSError: it cannot be written.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    copy = None
    if target.exists():
        copy = _free_name(target)
        _write_private(copy, target.read_bytes())
        shutil.copystat(target, copy)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        _write_private(draft, text.encode("utf-8"))
        if not private:
            draft.chmod(_NEW_MODE if copy is None else copy.stat().st_mode)
        os.replace(draft, target)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return copy


def _write_private(path: Path, data: bytes) -> None:
    """Write a new file that only this user can read: the keys of others may stand in it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _free_name(path: Path) -> Path:
    time = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    names = (
        path.with_name(f"{path.name}.{time}{more}.bak")
        for more in ("", *map("-{}".format, range(1, 1_000)))
    )
    return next(name for name in names if not name.exists())

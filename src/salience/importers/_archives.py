"""Zips: their parts that hold text, unpacked to a folder while they are read."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from salience.importers._source import ZIP_DAMAGE, ImportProblem, head, unpacked

_SUFFIXES = frozenset(
    (".json", ".jsonl", ".ndjson", ".md", ".markdown", ".org", ".txt", ".csv", ".mbox", ".zip")
)
_DEPTH = 2  # zips in zips
_MAX_BYTES = 4 << 30  # of all parts together


def is_archive(path: Path) -> bool:
    """Test whether a file is a zip, or was one before it was damaged."""
    return path.is_file() and (
        path.suffix.lower() == ".zip" or head(path).startswith(b"PK\x03\x04")
    )


@contextmanager
def folder_of(path: Path) -> Iterator[Path]:
    """A folder with the parts of a zip that may hold text; it is gone afterwards.

    Raises:
        ImportProblem: the zip is damaged, or its parts are too large.
    """
    if not zipfile.is_zipfile(path):
        problem = "is a zip cut short, or none at all" if head(path) else "is empty"
        raise ImportProblem(path, problem, "download it again")
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:
        root = Path(folder)
        _unpack(path, path, root, _DEPTH)
        while len(inner := list(root.iterdir())) == 1 and inner[0].is_dir():
            root = inner[0]
        yield root


def _unpack(named: Path, path: Path, folder: Path, depth: int) -> None:
    left = _MAX_BYTES
    try:
        with zipfile.ZipFile(path) as archive:
            for part in archive.infolist():
                # No name leads out of the folder, and none is too long for it.
                names = [n for n in PurePosixPath(part.filename).parts if n not in ("/", "..", ".")]
                names = [re.sub(r'[\0:*?"<>|\\]', "_", name) for name in names]
                if part.is_dir() or not names or Path(names[-1]).suffix.lower() not in _SUFFIXES:
                    continue
                left -= part.file_size
                if left < 0:
                    problem = f"holds more than {_MAX_BYTES:,} bytes"
                    raise ImportProblem(named, problem, "unpack it, and give the files")
                target = folder.joinpath(*names)
                content = unpacked(named, archive, part.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                if target.suffix.lower() == ".zip" and depth > 1:
                    _unpack(named, target, target.parent, depth - 1)
                    target.unlink()
    except ZIP_DAMAGE as damage:
        raise ImportProblem(named, f"cannot be unpacked: {damage}", "download it again") from None

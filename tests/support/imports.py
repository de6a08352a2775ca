"""Files to import, and what comes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from salience.importers import ImportProblem, Item, read


def put(folder: Path, name: str, content: Any, encoding: str = "utf-8") -> Path:
    """Writes a file, as bytes, as text in an encoding or as JSON, and gives its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, (str, bytes)):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def items(path: Path | str, format: str | None = None) -> list[Item]:
    """The items read from a path."""
    return list(read(path, format))


def by_id(path: Path) -> dict[str, Item]:
    """The items read from a path, by id."""
    return {item["id"]: item for item in read(path)}


def problem(path: Path, format: str | None = None) -> ImportProblem:
    """The problem with a file, which names the file and a remedy."""
    with pytest.raises(ImportProblem) as caught:
        items(path, format)
    assert str(caught.value).startswith(str(path))
    assert caught.value.remedy
    return caught.value

"""The project that an agent works in, and the namespace of its memories.

A project is a git repository, known by its remote: every clone and worktree of it shares its
memories. Without a remote it is the folder of the repository, without git the folder itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote, urlsplit

from salience.records.validation import text

OFF_FILE = ".salience-off"
"""A file of this name in a folder switches the hooks off there, and in all folders beneath."""
PROJECT_FILE = ".salience-project"
"""A file of this name makes a folder of a repository a project of its own."""
NAMESPACE_VARIABLE = "SALIENCE_NAMESPACE"
PROJECT_FOLDER_VARIABLE = "CLAUDE_PROJECT_DIR"
"""The environment variable by which an agent says the folder of its project."""
_PREFIX = "code"
_REMOTES = ("origin", "upstream")  # the first that is there, else the first of all
_SECTION = re.compile(r'^\s*\[\s*remote\s+"([^"]*)"\s*\]', re.I)
_URL = re.compile(r"^\s*url\s*=\s*(.+?)\s*$", re.I)
_SHORT_ADDRESS = re.compile(r"^(?:[^@/]+@)?([^:/]{2,}):(?!//)(.+)$")  # git@github.com:ana/app.git
_MAX_NAMESPACE = 200


@dataclass(frozen=True)
class Project:
    """A project: its root folder, the namespaces of its memories, and whether it is switched off.

    What is learnt goes into the first namespace. The others are those of the projects around it,
    such as the repository of a folder, and are recalled as well.
    """

    root: Path
    namespaces: tuple[str, ...]
    is_off: bool = False


def find_project(folder: str, environment: Mapping[str, str]) -> Project:
    """The project of a folder; the namespace of the environment's SALIENCE_NAMESPACE goes first.

    Raises:
        InvalidInput: that is no name of a namespace.
    """
    here = Path(folder).resolve()
    above = (here, *here.parents)
    repository = next((path for path in above if (path / ".git").exists()), None)
    inside = above[: above.index(repository) + 1] if repository else above
    is_off = any((path / OFF_FILE).exists() for path in above)
    given = environment.get(NAMESPACE_VARIABLE)
    if given:
        namespaces: tuple[str, ...] = (text(NAMESPACE_VARIABLE, given, limit=256),)
        return Project(repository or here, namespaces, is_off)
    marked = next((path for path in inside if (path / PROJECT_FILE).exists()), None)
    if repository is None:
        root = marked or here
        return Project(root, (_of_folder(root),), is_off)
    whole = _of_repository(repository)
    if marked is None or marked == repository:
        return Project(repository, (whole,), is_off)
    part = marked.relative_to(repository).parts
    return Project(marked, (_bounded(f"{whole}//{_labels(part)}"), whole), is_off)


def _of_repository(root: Path) -> str:
    git = _common_folder(root / ".git")
    address = _remote_address(git / "config")
    if address is None:  # worktrees share the folder of the repository itself
        return _of_folder(git.parent if git.name == ".git" else git)
    return _bounded(f"{_PREFIX}/{_labels(_normalized(address))}")


def _common_folder(git: Path) -> Path:
    """The git folder that all worktrees share: `.git` of a worktree is a file that names its own.

    A submodule's own folder is the one of its repository.
    """
    if git.is_file():
        line = git.read_text("utf-8", "replace").strip()
        own = (git.parent / line.removeprefix("gitdir:").strip()).resolve()
        common = own / "commondir"
        if common.is_file():
            return (own / common.read_text("utf-8", "replace").strip()).resolve()
        return own
    return git.resolve()


def _remote_address(config: Path) -> str | None:
    """The address of a repository's remote, None if it has none."""
    try:
        lines = config.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    addresses: dict[str, str] = {}
    remote = None
    for line in lines:
        if line.lstrip().startswith("["):
            section = _SECTION.match(line)
            remote = section[1] if section else None
        elif remote is not None and (url := _URL.match(line)):
            addresses.setdefault(remote, url[1].strip('"'))
    named = (addresses[name] for name in _REMOTES if name in addresses)
    return next(named, next(iter(addresses.values()), None))


def _normalized(address: str) -> list[str]:
    """Host and path of a remote, the same for every way to write it; never a user or a password."""
    short = None if "://" in address else _SHORT_ADDRESS.match(address)
    if short:
        host, path = short[1], short[2]
    else:
        parts = urlsplit(address)
        host, path = parts.hostname or "", parts.path
    labels = [label for label in path.removesuffix("/").removesuffix(".git").split("/") if label]
    return [host.lower(), *labels] if host else ["local", *labels]


def _of_folder(root: Path) -> str:
    digest = blake2b(os.fsencode(root), digest_size=6).hexdigest()
    return _bounded(f"{_PREFIX}/local/{_labels([root.name or 'root'])}-{digest}")


def _labels(labels: tuple[str, ...] | list[str]) -> str:
    return "/".join(quote(label, safe="+@~") for label in labels)


def _bounded(namespace: str) -> str:
    """The name, or one of bounded length that no other name has."""
    if len(namespace) <= _MAX_NAMESPACE:
        return namespace
    digest = blake2b(namespace.encode(), digest_size=10).hexdigest()
    return f"{namespace[: _MAX_NAMESPACE - 21]}~{digest}"

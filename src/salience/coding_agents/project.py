"""The project that an agent works in, and the namespace of its memories.

A project is the folder of a git repository, which its worktrees share, or without git the folder
itself. What a repository says of itself, such as its remote, anybody may have written: an unpacked
folder could name another's. So clones share their memories only where the user says so, once.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from salience.closing import regular_file
from salience.coding_agents.paths import make_private, state_folder
from salience.lazily import asdict, dataclass, field
from salience.records.validation import namespace_name, text

OFF_FILE = ".salience-off"
"""A file of this name in a folder switches the hooks off there, and in all folders beneath."""
PROJECT_FILE = ".salience-project"
"""A file of this name makes a folder of a repository a project of its own."""
NAMESPACE_VARIABLE = "SALIENCE_NAMESPACE"
PROJECT_FOLDER_VARIABLE = "CLAUDE_PROJECT_DIR"
"""The environment variable by which an agent says the folder of its project."""
_PREFIX = "code"
_SHARED_FILE = "shared.json"  # of the folder of state: the namespaces given to folders
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
    """The project of a folder; the namespace of the environment's SALIENCE_NAMESPACE goes first."""
    here = Path(folder).resolve()
    above = (here, *here.parents)
    repository = next((path for path in above if (path / ".git").exists()), None)
    inside = above[: above.index(repository) + 1] if repository else above
    is_off = any((path / OFF_FILE).exists() for path in above)
    namespace = environment.get(NAMESPACE_VARIABLE)
    if namespace:
        namespaces: tuple[str, ...] = (text(NAMESPACE_VARIABLE, namespace, limit=256),)
        return Project(repository or here, namespaces, is_off)
    marked = next((path for path in inside if (path / PROJECT_FILE).exists()), None)
    if repository is None:
        root = marked or here
        return Project(root, (_of_folder(root),), is_off)
    label = _of_repository(repository)
    if marked is None or marked == repository:
        return Project(repository, (label,), is_off)
    part = marked.relative_to(repository).parts
    return Project(marked, (_bounded(f"{label}//{_labels(part)}"), label), is_off)


def share(folder: str, namespace: str | None) -> Path:
    """Give the repository of a folder the memories of a namespace, or its own again; its folder."""
    root = _home(find_project(folder, {}).root)
    shared = {**_shared(), str(root): None if namespace is None else namespace_name(namespace)}
    path = Path(make_private(state_folder())) / _SHARED_FILE
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps({place: name for place, name in shared.items() if name}, indent=2))
    draft.replace(path)
    return root


def _shared() -> dict[str, str]:
    """The namespaces that the user has given to folders."""
    try:
        shared: dict[str, str] = json.loads(_line_of(Path(state_folder()) / _SHARED_FILE))
    except FileNotFoundError:
        return {}
    return shared


def _of_repository(root: Path) -> str:
    home = _home(root)
    return _shared().get(str(home)) or _of_folder(home)


def _home(root: Path) -> Path:
    """The folder of the repository, the same for all of its worktrees.

    `.git` of a worktree is a file that names a folder of the repository, and that names the file.
    Where it does not, the worktree is none of it.
    """
    git = root / ".git"
    if not git.is_file() or git.is_symlink():
        return root
    try:
        folder = (root / _line_of(git).removeprefix("gitdir:").strip()).resolve()
        if Path(_line_of(folder / "gitdir")).resolve() != git.resolve():
            return root
        common = (folder / _line_of(folder / "commondir")).resolve()
    except (OSError, UnicodeDecodeError):
        return root
    return common.parent if common.name == ".git" else common


def _line_of(path: Path) -> str:
    with regular_file(path) as file:
        return file.read().decode("utf-8").strip()


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


# The state of a session between two hooks: how far its transcript was read, what was told

_KEPT_SECONDS = 60 * 86_400  # that the file of a session stays after its last hook
_MOST_TOLD = 2_000


@dataclass
class Session:
    """The state of a session: bytes of its transcript that were read, turns in them, ids told.

    `before` is where the reading before the last one began: from there on comes the context of what
    is read next.
    """

    path: Path
    transcript: str = ""
    before: int = 0
    read: int = 0
    turns: int = 0
    told: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, agent: str, session: str) -> Self:
        """The state of a session, a new one if there is none or it cannot be read."""
        folder = os.path.join(make_private(state_folder()), "sessions")
        name = blake2b(f"{agent} {session}".encode(), digest_size=12).hexdigest()
        path = Path(make_private(folder)) / f"{name}.json"
        try:
            values: Any = json.loads(_line_of(path))
            state = cls(path, **values)
            valid = all(
                isinstance(number, int) and number >= 0
                for number in (state.before, state.read, state.turns)
            )
            return state if valid and isinstance(state.told, list) else cls(path)
        except (OSError, ValueError, TypeError):
            return cls(path)

    def save(self) -> None:
        """Write the state, whole or not at all."""
        values = asdict(self)
        del values["path"]
        values["told"] = self.told[-_MOST_TOLD:]
        text = json.dumps(values)
        draft = self.path.with_suffix(f".{os.getpid()}.tmp")
        draft.write_text(text, "utf-8")
        os.replace(draft, self.path)


def forget_old_sessions() -> None:
    """Remove the files of sessions that ended long ago."""
    oldest = time.time() - _KEPT_SECONDS
    with suppress(OSError):
        for entry in os.scandir(os.path.join(state_folder(), "sessions")):
            if entry.stat().st_mtime < oldest:
                os.unlink(entry.path)

"""Folders and settings of the hooks, as the environment says them. It imports nothing heavy."""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Mapping

import salience

OFF_VARIABLE = "SALIENCE_HOOKS"
"""The environment variable that switches all hooks off."""
EMBEDDER_VARIABLE = "SALIENCE_HOOK_EMBEDDER"
"""The environment variable with the name of the embedder, "none" for none."""
HOME_VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""The environment variables of the folders where agents keep transcripts, if not at home."""
_OFF = ("0", "false", "no", "off")
_LONGEST_SOCKET_PATH = 100  # of the 104 or 108 bytes that a system allows
_LONGEST_NAME = 32  # of a socket's file


def switched_off(environment: Mapping[str, str]) -> bool:
    """Test whether the environment switches the hooks off."""
    return environment.get(OFF_VARIABLE, "").strip().lower() in _OFF


def data_file() -> str:
    """The path of the store that is used where SALIENCE_DB names none."""
    if sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Application Support")
    else:
        folder = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(folder, "salience", "coding-agents.db")


def state_folder() -> str:
    """The folder of the states of sessions and of the log."""
    if sys.platform in ("win32", "darwin"):
        return os.path.join(os.path.dirname(data_file()), "hooks")
    folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(folder, "salience", "hooks")


def runtime_folder() -> str:
    """The folder of the sockets, which is this user's alone."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    if folder and len(os.fsencode(folder)) + _LONGEST_NAME <= _LONGEST_SOCKET_PATH:
        return os.path.join(folder, "salience")
    return f"/tmp/salience-{os.getuid()}"


def socket_path() -> str:
    """The socket of the daemon of this installation: another version has another one."""
    installation = f"{salience.__version__} {os.path.dirname(salience.__file__)}"
    return os.path.join(runtime_folder(), f"hook-{zlib.crc32(installation.encode()):08x}.sock")


def lock_path() -> str:
    """The file that a running daemon has locked: it has its process id, and its time is fresh."""
    return f"{socket_path()}.lock"


def make_private(folder: str) -> str:
    """Make a folder that only this user can enter, and return its path.

    Raises:
        PermissionError: it is somebody else's.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if sys.platform != "win32":
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise PermissionError(f"{folder} belongs to somebody else; remove it")
        if status.st_mode & 0o077:
            os.chmod(folder, 0o700)
    return folder

"""Processes that end with the one that started them, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.waiting import HANG_SECONDS, until

PROGRAM = "import sys; from salience.cli import main; sys.exit(main())"
"""The command line."""
# Nothing is ever written to the pipe; it breaks when nobody holds its other end any more.
_ENDS_WITH_ITS_PARENT = """
import os, signal, threading
watch = lambda: os.read(0, 1) or os.killpg(0, signal.SIGKILL)
threading.Thread(target=watch, daemon=True).start()
"""


def start_child(program: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start Python with a program in a group of its own; `end_child` has to end it."""
    command = [sys.executable, "-c", _ENDS_WITH_ITS_PARENT + program, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, **options)


def end_child(process: Any) -> None:
    """End a process and those that it has started, at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(HANG_SECONDS)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def runs(pid: int) -> bool:
    """Whether a process is there, and no zombie that its parent has not seen."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def await_end(pid: int) -> None:
    """Wait until a process has ended."""
    until(lambda: not runs(pid))

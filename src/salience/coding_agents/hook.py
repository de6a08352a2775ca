"""The command `salience hook EVENT`: hand an event to the daemon, and print what it answers.

It runs before every prompt of an agent, so it imports little, and it never fails: whatever goes
wrong becomes a note on stderr and the exit code 0.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

from salience.coding_agents.paths import (
    HOME_VARIABLES,
    lock_path,
    make_private,
    runtime_folder,
    socket_path,
    switched_off,
)

EVENTS = ("session-start", "prompt", "pre-compact", "stop")
AGENTS = ("claude-code", "codex", "cursor")
SECONDS_VARIABLE = "SALIENCE_HOOK_SECONDS"
_SECONDS = {"prompt": 3.0}  # that a hook waits, by default; an answer takes hundredths of one
_OTHER_SECONDS = 8.0  # nobody waits for these, and a session begins with one
_FORWARDED = ("SALIENCE_", "CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", *HOME_VARIABLES)
_POLL_SECONDS = 0.02
_ENDING_SECONDS = 0.25  # that one more daemon is not started while another ends
_FROZEN_SECONDS = 2.5  # without a sign of life, which a daemon gives twice a second
_CHUNK = 65_536


def is_event(arguments: Sequence[str]) -> bool:
    """Test whether the arguments of the command line are those of a hook."""
    return (
        len(arguments) in (2, 4)
        and arguments[0] == "hook"
        and arguments[1] in EVENTS
        and (len(arguments) == 2 or (arguments[2] == "--agent" and arguments[3] in AGENTS))
    )


def run(event: str, agent: str | None = None) -> int:
    """Answer the event on standard input; the exit code, which is always 0."""
    try:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
        if not switched_off(os.environ):
            answer = _answer(event, agent, text)
            if answer.get("note"):
                _note(answer["note"])
            if answer.get("output"):
                print(answer["output"], flush=True)
    except KeyboardInterrupt:
        _note("interrupted")
    except Exception as problem:
        _note(f"{type(problem).__name__}: {problem}")
    return 0


def request(event: str, agent: str | None = None, text: str = "") -> dict[str, Any]:
    """The request of an event: it carries all that the daemon needs to know of the agent."""
    return {
        "event": event,
        "agent": agent,
        "input": text,
        "cwd": os.getcwd(),
        "environment": {k: v for k, v in os.environ.items() if k.startswith(_FORWARDED)},
    }


def exchange(message: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Send a request to the running daemon, and return its answer; one that is frozen is ended.

    Raises:
        OSError: no daemon runs, or it ended before it answered, or took too long.
    """
    deadline = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(max(seconds, _POLL_SECONDS))
        connection.connect(socket_path())
        connection.sendall(json.dumps(message).encode())
        connection.shutdown(socket.SHUT_WR)
        received = bytearray()
        while chunk := _received(connection, deadline):
            received += chunk
    if not received:
        raise ConnectionResetError("the daemon ended")
    answer: dict[str, Any] = json.loads(received)
    return answer


def _received(connection: socket.socket, deadline: float) -> bytes:
    """The next bytes over a connection, for as long as the daemon gives signs of life."""
    while True:
        seconds = deadline - time.monotonic()
        connection.settimeout(min(max(seconds, _POLL_SECONDS), _FROZEN_SECONDS))
        try:
            return connection.recv(_CHUNK)
        except TimeoutError:
            if end_frozen() is not None:
                raise ConnectionResetError("the daemon was frozen, and is ended") from None
            if seconds <= _FROZEN_SECONDS:
                raise


def _answer(event: str, agent: str | None, text: str) -> dict[str, Any]:
    message = request(event, agent, text)
    if not hasattr(socket, "AF_UNIX"):  # on Windows the hook itself does the daemon's work
        from salience.coding_agents.handling import Handler

        with Handler() as handler:
            return handler.answer(message)
    return _ask_daemon(message, time.monotonic() + _seconds(event))


def _ask_daemon(message: dict[str, Any], deadline: float) -> dict[str, Any]:
    """Ask the daemon, which is started if none answers; a stale socket is one without answer."""
    daemon = None
    while True:
        try:
            return exchange(message, deadline - time.monotonic())
        except TimeoutError:
            raise TimeoutError(f"no answer in time; {SECONDS_VARIABLE} gives it more") from None
        except OSError:
            end_frozen()  # one whose queue is full refuses at once
            if time.monotonic() > deadline:
                raise
        code = None if daemon is None else daemon.poll()
        if code:
            raise ChildProcessError(
                f"the daemon ended with code {code}; see `salience hook status`"
            )
        if daemon is None or code == 0:  # it ended because another was there, which ended since
            if code == 0:
                time.sleep(_ENDING_SECONDS)
            daemon = _start_daemon()
        time.sleep(_POLL_SECONDS)


def end_frozen() -> int | None:
    """End a daemon that shows no sign of life; its process id, None if there is no such daemon."""
    import fcntl  # which a warm hook does without
    import signal

    try:
        lock = os.open(lock_path(), os.O_RDWR)
    except OSError:
        return None
    try:
        process = os.read(lock, _CHUNK)
        if not process or time.time() - os.fstat(lock).st_mtime < _FROZEN_SECONDS:
            return None
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # which succeeds if its owner is gone
    except BlockingIOError:
        os.kill(int(process), signal.SIGKILL)  # no other signal reaches what is stopped
        return int(process)
    finally:
        os.close(lock)
    return None


def _start_daemon() -> Any:
    import subprocess  # which a warm hook does without

    make_private(runtime_folder())
    return subprocess.Popen(
        [sys.executable, "-m", "salience.coding_agents.daemon"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def _seconds(event: str) -> float:
    try:
        return float(os.environ[SECONDS_VARIABLE])
    except (KeyError, ValueError):
        return _SECONDS.get(event, _OTHER_SECONDS)


def _note(text: str) -> None:
    print("salience hook:", " ".join(text.split()), file=sys.stderr)

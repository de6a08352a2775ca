"""Commands in copies of one warm process, instead of a cold interpreter for each.

`commands()` is a folder with two programs: `salience ...`, and `python-m MODULE ...`. They run in
a fork of a process that has imported the command line and loaded the default embedder, with the
arguments, streams, folder and environment of whoever started them. A `Fork` needs no program in
between.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

from support.children import end_child, start_child

_TESTS = str(Path(__file__).parents[1])
_SERVE = f"""
import sys
sys.path.insert(0, {_TESTS!r})
from support.command_server import serve
serve(sys.argv[1])
"""
_PROGRAM = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]) + "\\n"
socket.send_fds(server, [request.encode()], [0, 1, 2])
sys.exit(int((server.makefile().read().split() + ["70"])[1]))
"""
_LOADED = {"serve": "salience.server.app", "mcp": "salience.mcp.server"}
"""Modules that a command needs besides the command line."""


class CommandServer:
    """A warm process that runs commands, until it is closed."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="salience-commands-"))
        self.address = str(self.folder / "socket")
        for name in ("salience", "python-m"):
            program = self.folder / name
            text = _PROGRAM.format(python=sys.executable, address=self.address, name=name)
            program.write_text(text, "utf-8")
            program.chmod(0o755)
        self._process = start_child(
            _SERVE,
            self.address,
            # Tokenizers warn in forks otherwise.
            env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        atexit.register(self.close)

    def close(self) -> None:
        end_child(self._process)
        shutil.rmtree(self.folder)


@cache
def _server() -> CommandServer:
    return CommandServer()


def commands() -> Path:
    """The folder of the programs `salience` and `python-m`."""
    return _server().folder


class Fork:
    """A copy of the warm process, in a group of its own, that has the methods of a `Popen`."""

    stdin = stdout = None
    returncode: int | None = None

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], output: int
    ) -> None:
        request = json.dumps(["salience", [*arguments], os.getcwd(), dict(environment)]) + "\n"
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(_server().address)
        with open(os.devnull) as nothing:
            streams = [nothing.fileno(), output, output]
            socket.send_fds(self._socket, [request.encode()], streams)
        self._told = self._socket.makefile()
        self.pid = int(self._told.readline())

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def poll(self) -> int | None:
        """The exit code of a process that has ended."""
        if self.returncode is None and select.select([self._socket], [], [], 0)[0]:
            self.returncode = int(self._told.readline() or -signal.SIGKILL)
            self._told.close()
            self._socket.close()
        return self.returncode

    def wait(self, timeout: float) -> int:
        """The exit code, once it has ended."""
        if self.returncode is None:
            select.select([self._socket], [], [], timeout)
        code = self.poll()
        assert code is not None, "the process does not end"
        return code


def serve(address: str) -> None:
    """Run each command that a client sends in a fork, and send its id and its exit code back."""
    from salience.cli import app  # noqa: F401  # imported here once, for all forks
    from salience.embedders.static import StaticEmbedder

    StaticEmbedder().embed(["warm"])
    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            client, _ = listener.accept()
            request, streams, _, _ = socket.recv_fds(client, 1 << 20, 3)
            while request and not request.endswith(b"\n"):
                request += client.recv(1 << 20)
            name, arguments, folder, environment = json.loads(request)
            for word in set(arguments) & _LOADED.keys():
                with suppress(ImportError):  # the command tells which package it needs
                    import_module(_LOADED[word])
            if os.fork() == 0:
                listener.close()
                _run(client, name, arguments, folder, environment, streams)
            client.close()
            for stream in streams:
                os.close(stream)


def _reap(number: int, frame: object) -> None:
    """Wait for the forks that have ended, so that their processor time is counted as this one's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _run(
    client: socket.socket,
    name: str,
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    streams: list[int],
) -> None:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        threading.Thread(target=_end_with, args=(client,), daemon=True).start()
        client.sendall(f"{os.getpid()}\n".encode())
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        if environment.get("PYTHONWARNINGS") == "default":
            warnings.simplefilter("default")
        code = _command(name, arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        client.sendall(f"{code}\n".encode())
        os._exit(code)


def _end_with(client: socket.socket) -> None:
    client.recv(1)  # it sends nothing more, and so has ended
    os.killpg(0, signal.SIGKILL)


def _command(name: str, arguments: list[str]) -> int:
    from salience.cli import main

    try:
        if name == "python-m":
            sys.argv = arguments
            sys.path.insert(0, os.getcwd())
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
            return 0
        sys.argv = ["salience", *arguments]
        return main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0

"""Commands of a shell in copies of one warm process, instead of a cold interpreter for each.

`CommandServer(folder)` puts a program `salience` into a folder: with the folder first in PATH, a
shell's `salience ...` runs in a fork of a process that has imported the command line and loaded the
default embedder, with the arguments, streams, folder and environment that the shell gave it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from pathlib import Path

from support.children import end_child, start_child

TESTS = str(Path(__file__).parents[1])
_CLIENT = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]) + "\\n"
socket.send_fds(server, [request.encode()], [0, 1, 2])
sys.exit(int(server.makefile().read() or 70))
"""


class CommandServer:
    """A warm process that runs the commands of `folder / "salience"`, until it is closed."""

    def __init__(self, folder: Path) -> None:
        address = str(folder / "socket")
        program = folder / "salience"
        program.write_text(_CLIENT.format(python=sys.executable, address=address), "utf-8")
        program.chmod(0o755)
        self.folder = folder
        self._process = start_child(
            f"import sys; sys.path.insert(0, {TESTS!r})\n"
            "from support.command_server import serve; serve(sys.argv[1])",
            address,
            env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},  # it warns in forks otherwise
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def close(self) -> None:
        end_child(self._process)


def serve(address: str) -> None:
    """Run each command that a client sends in a fork, and send its exit code back."""
    from salience.cli import app  # noqa: F401  # imported here once, for all forks
    from salience.embedders.static import StaticEmbedder

    StaticEmbedder().embed(["warm"])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            client, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _run(client)
            client.close()


def _run(client: socket.socket) -> None:
    from salience.cli import main

    code = 1
    try:
        request, streams, _, _ = socket.recv_fds(client, 1 << 20, 3)
        while not request.endswith(b"\n"):
            request += client.recv(1 << 20)
        arguments, folder, environment = json.loads(request)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["salience", *arguments]
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        client.sendall(str(code).encode())
        os._exit(code)

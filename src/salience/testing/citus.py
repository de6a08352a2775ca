"""A temporary Citus cluster, for tests and for trying things out: a coordinator and two workers.

    with CitusCluster() as cluster:
        migrate(cluster.url, citus=True)

Its servers are those of a PostgreSQL in which Citus, pgvector, pg_trgm and btree_gin are installed,
which the environment variable `PG_CONFIG` names by its program `pg_config`, or `PATH` or Debian's
folders have; each is a `PostgresServer`, and ends as that does.
`python -m salience.testing.citus COMMAND` runs a command with the address of the coordinator in
`SALIENCE_DB`, and without one the cluster until it is interrupted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

import psycopg

from salience.closing import Closing
from salience.errors import StoreError
from salience.testing.postgres import PostgresServer, run_command

_WORKERS = 2
_PORT = 5432  # of a socket, which each server has in a folder of its own
_SETTINGS = {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",  # which moving a shard needs
    "max_connections": "200",
    "max_prepared_transactions": "200",
    "citus.shard_count": "8",
    "citus.node_conninfo": "sslmode=disable",
}


class CitusCluster(Closing):
    """A coordinator at `url` and two workers, in its table `pg_dist_node`, each on its socket.

    `settings` are those of PostgreSQL.

    Raises:
        StoreError: no PostgreSQL with Citus is installed, or a server cannot be started.
    """

    def __init__(self, **settings: str) -> None:
        programs = find_citus()
        if programs is None:
            raise StoreError(
                "no PostgreSQL with Citus is installed; install one, and name its pg_config in "
                "PG_CONFIG if that is not in PATH"
            )
        self._servers: list[PostgresServer] = []
        try:
            for _ in range(1 + _WORKERS):
                server = PostgresServer(programs, **{**_SETTINGS, **settings})
                self._servers.append(server)
                with psycopg.connect(server.url, autocommit=True) as connection:
                    connection.execute("CREATE EXTENSION citus")
            hosts = [psycopg.conninfo.conninfo_to_dict(each.url)["host"] for each in self._servers]
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute("SELECT citus_set_coordinator_host(%s, %s)", (hosts[0], _PORT))
                for host in hosts[1:]:
                    connection.execute("SELECT citus_add_node(%s, %s)", (host, _PORT))
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """The address of the coordinator."""
        return self._servers[0].url

    def close(self) -> None:
        """Stop the servers and remove their folders."""
        for server in self._servers:
            server.close()


def find_citus() -> Path | None:
    """The folder of the programs of a PostgreSQL in which Citus is installed; None without one."""
    named = [os.environ.get("PG_CONFIG"), shutil.which("pg_config")]
    for program in (*named, *sorted(glob("/usr/lib/postgresql/*/bin/pg_config"), reverse=True)):
        if program and Path(program).is_file():
            asked = subprocess.run(
                [program, "--bindir", "--pkglibdir"], capture_output=True, text=True, check=False
            )
            bin, *libraries = map(Path, asked.stdout.splitlines())
            if any((folder / "citus.so").exists() for folder in libraries):
                return bin
    return None


if __name__ == "__main__":
    sys.exit(run_command(CitusCluster, sys.argv[1:]))

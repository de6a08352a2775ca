"""The workers of a server: which there are, and which of them holds a connection, by /proc."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

import httpx

from support.real_server import RealServer

MAX_CONNECTIONS = 200  # opened until a worker has taken one


def workers(server: RealServer) -> set[int]:
    """The ids of the processes that answer."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    found = set()
    for pid in map(int, children.read_text().split()):
        with suppress(OSError):  # it has ended just now
            if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text():
                found.add(pid)
    return found


def worker_of(server: RealServer, port: int) -> int:
    """The worker that holds the connection from a port of this machine."""
    inode = f"socket:[{_inode(server.port, port)}]"
    for pid in workers(server):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # it was closed just now
                if str(file.readlink()) == inode:
                    return pid
    raise AssertionError(f"no worker holds the connection from port {port}")


def _inode(local: int, remote: int) -> str:
    """The inode of the server's end of a connection."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        ports = tuple(int(address.partition(":")[2], 16) for address in fields[1:3])
        if ports == (local, remote):
            return fields[9]
    raise AssertionError(f"no connection leads from port {remote} to {local}")


def clients_by_worker(server: RealServer, key: str | None = None) -> dict[int, httpx.Client]:
    """A client for each worker, with one connection that stays open."""
    found: dict[int, httpx.Client] = {}
    with ExitStack() as opened:
        for _ in range(MAX_CONNECTIONS):
            client = server.client(key, limits=httpx.Limits(max_connections=1))
            opened.callback(client.close)
            with client.stream("GET", f"{server.url}/health") as answer:
                stream = answer.extensions["network_stream"]
                port = stream.get_extra_info("client_addr")[1]
                answer.read()
            pid = worker_of(server, port)
            if pid in found:
                client.close()
            else:
                found[pid] = client
            if len(found) == len(workers(server)):
                opened.pop_all()
                return found
    raise AssertionError(f"only {len(found)} of {workers(server)} took connections")

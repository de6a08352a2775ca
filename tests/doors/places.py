"""Places: a store and the doors to it; each party has a namespace and a name or key of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote
from uuid import uuid4

import httpx
from anyio.from_thread import start_blocking_portal

from doors.parties import (
    OfMemory,
    OverMcp,
    OverMem0,
    OverRest,
    OverTypeScript,
    Party,
    Refused,
    Waiting,
    refusing,
)
from salience import AsyncMemory, Memory
from salience.access import SCOPES, Keyring, NewKey
from salience.server.app import create_app
from salience.server.settings import ServerSettings
from support.mcp_client import ALL_TOOLS, Connection, connected, over_http, process
from support.served import Server


class Place:
    """A store in a file; `party` opens a door to it for somebody, `restart` starts over."""

    VERBS: ClassVar[frozenset[str]]
    keyed = False
    """Whether whoever comes has to have a key."""
    LONGEST_KEY = 512
    """The most characters of an idempotency key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack = ExitStack()

    def party(self, namespace: str, name: str = "ana", scopes: Iterable[str] = SCOPES) -> Party:
        """Somebody who comes through the door; those of one name and namespace are the same."""
        raise NotImplementedError

    def namespace(self) -> str:
        """An empty namespace for a case."""
        return f"n-{uuid4().hex}"

    def actor(self, namespace: str, name: str) -> str:
        """By which name the events tell who did something."""
        return name

    def leave(self) -> None:
        """Let all parties go."""
        self._stack.close()

    def restart(self) -> None:
        """Close everything; parties have to come again."""
        self.leave()

    def close(self) -> None:
        """Close everything for good."""
        self.restart()


class Embedded(Place):
    """A memory of this process."""

    VERBS = OfMemory.VERBS

    def party(self, namespace: str, name: str = "ana", scopes: Iterable[str] = SCOPES) -> Party:
        memory = Memory(self.path, namespace=namespace, actor=name, embedder=None)
        return OfMemory(self._stack.enter_context(memory))


class EmbeddedAwaited(Embedded):
    """A memory of this process that is awaited."""

    def party(self, namespace: str, name: str = "ana", scopes: Iterable[str] = SCOPES) -> Party:
        portal = self._stack.enter_context(start_blocking_portal())
        memory = AsyncMemory(self.path, namespace=namespace, actor=name, embedder=None)
        opened = portal.wrap_async_context_manager(memory)
        return OfMemory(Waiting(portal, self._stack.enter_context(opened)))


class McpProcess(Place):
    """`salience mcp` as a process, one for each namespace; they serve all cases."""

    VERBS = OverMcp.VERBS

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._processes = ExitStack()
        self._connections: dict[str, Connection] = {}

    def namespace(self) -> str:
        with Memory(self.path, embedder=None) as memory:
            for name in ("case", "case-ben"):
                memory.delete_all(namespace=name)
        return "case"

    def party(self, namespace: str, name: str = "ana", scopes: Iterable[str] = SCOPES) -> Party:
        if namespace not in self._connections:
            options = ("--db", str(self.path), "--namespace", namespace, "--embedder", "none")
            started = connected(process(*options, "mcp", "--tools", ALL_TOOLS))
            self._connections[namespace] = self._processes.enter_context(started)
        return OverMcp(self._connections[namespace])

    def actor(self, namespace: str, name: str) -> str:
        return "mcp"

    def close(self) -> None:
        self._processes.close()


class AtServer(Place):
    """A server of this process with keys; a subclass opens one of its doors."""

    keyed = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._keyring = Keyring.open(path)
        self._keys: dict[tuple[str, ...], NewKey] = {}
        self._keyring.create("*", SCOPES)  # so that nobody is let in without one
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """The address of the server, which runs."""
        if self._server is None:
            settings = ServerSettings(db=str(self.path), embedder="none")
            self._server = Server(create_app(settings))
        return self._server.url

    def key(self, namespace: str, name: str, scopes: Iterable[str] = SCOPES) -> NewKey:
        """The key of somebody, which is made if there is none."""
        whose = (namespace, name, *scopes)
        if whose not in self._keys:
            self._keys[whose] = self._keyring.create(namespace, tuple(scopes), name=name)
        return self._keys[whose]

    def actor(self, namespace: str, name: str) -> str:
        return self.key(namespace, name).key.id

    def party(self, namespace: str, name: str = "ana", scopes: Iterable[str] = SCOPES) -> Party:
        return self.enter(self.key(namespace, name, scopes).text)

    def enter(self, key: str, namespace: str | None = None) -> Party:
        """Whoever comes with a key, for a namespace that is the first of the key by default."""
        raise NotImplementedError

    def restart(self) -> None:
        self.leave()
        if self._server is not None:
            self._server.close()
            self._server = None

    def close(self) -> None:
        self.restart()
        self._keyring.close()


def named(namespace: str | None) -> dict[str, Any]:
    """The settings of a client for a namespace."""
    return {} if namespace is None else {"namespace": namespace}


def headers_of(key: str, namespace: str | None) -> dict[str, str]:
    """The header fields of whoever comes with a key."""
    named = {} if namespace is None else {"Salience-Namespace": quote(namespace, safe="")}
    return {"Authorization": f"Bearer {key}", **named}


class Rest(AtServer):
    """Plain HTTP."""

    VERBS = OverRest.VERBS
    LONGEST_KEY = 255  # of a header
    _KIND: ClassVar[type[OverRest]] = OverRest
    _PATH = "/v1"

    def enter(self, key: str, namespace: str | None = None) -> Party:
        headers = headers_of(key, namespace)
        client = httpx.Client(base_url=f"{self.url}{self._PATH}", headers=headers, timeout=300)
        return type(self)._KIND(self._stack.enter_context(client))


class Mem0(Rest):
    """The paths of mem0."""

    VERBS = OverMem0.VERBS
    _KIND = OverMem0
    _PATH = "/compat/mem0"


class Remote(AtServer):
    """The client for Python."""

    VERBS = OfMemory.VERBS

    def enter(self, key: str, namespace: str | None = None) -> Party:
        with refusing():
            memory = Memory(self.url, api_key=key, **named(namespace))
        return OfMemory(self._stack.enter_context(memory))


class RemoteAwaited(AtServer):
    """The client for Python, awaited."""

    VERBS = OfMemory.VERBS

    def enter(self, key: str, namespace: str | None = None) -> Party:
        portal = self._stack.enter_context(start_blocking_portal())
        with refusing():
            memory = AsyncMemory(self.url, api_key=key, **named(namespace))
            opened = self._stack.enter_context(portal.wrap_async_context_manager(memory))
        return OfMemory(Waiting(portal, opened))


class McpOverHttp(AtServer):
    """MCP at the server."""

    VERBS = OverMcp.VERBS

    def enter(self, key: str, namespace: str | None = None) -> Party:
        headers = headers_of(key, namespace)
        opened = over_http(f"{self.url}/mcp?tools={ALL_TOOLS}", headers)
        try:
            return OverMcp(self._stack.enter_context(opened))
        except BaseExceptionGroup as error:  # of a client that was shut out
            raise Refused("missing", str(error)) from error


class TypeScript(AtServer):
    """The client for TypeScript, in a process of Node."""

    VERBS = OverTypeScript.VERBS
    LONGEST_KEY = 255

    def __init__(self, path: Path, package: Path) -> None:
        super().__init__(path)
        program = Path(__file__).with_name("typescript.mjs")
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = ["node", str(program), str(package / "dist" / "index.js")]
        self._program = subprocess.Popen(command, **pipes)

    def enter(self, key: str, namespace: str | None = None) -> Party:
        return OverTypeScript(self._program, self.url, key, namespace)

    def close(self) -> None:
        super().close()
        self._program.communicate()


PLACES: dict[str, type[Place]] = {
    "embedded": Embedded,
    "embedded, awaited": EmbeddedAwaited,
    "rest": Rest,
    "remote": Remote,
    "remote, awaited": RemoteAwaited,
    "mcp process": McpProcess,
    "mcp over http": McpOverHttp,
    "mem0": Mem0,
    "typescript": TypeScript,
}

"""Doors: who speaks to a memory through each of them, in the same words.

A new door is one class here, which says in `VERBS` what it can, and one row in `places.py`.
"""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar

import httpx
from anyio.from_thread import BlockingPortal

from salience.display.for_models import clean
from salience.errors import (
    AccessDenied,
    InvalidInput,
    NotFound,
    SalienceError,
    StoreError,
    VersionConflict,
)
from support.mcp_client import Connection, text_of

Turns = Sequence[Mapping[str, Any]]
_REUSED = "belongs to"
"""The words of the refusal of an idempotency key that came with something else before."""


class Refused(Exception):
    """A call that was refused: it names what is "missing", in "conflict", "reused", "invalid",
    "denied", or the call "failed".
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind, self.text = kind, text


class Party:
    """Somebody who speaks through a door; a subclass has some verbs, and `read` tells all it can.

    `once` is an idempotency key. A text is kept for a user only where "users" is a verb.
    """

    VERBS: ClassVar[frozenset[str]]

    def add(self, text: str, *, once: str | None = None, **fields: Any) -> str:
        """Add a text; its id."""
        raise NotImplementedError

    def chat(self, turns: Turns, *, once: str | None = None) -> list[str]:
        """Add a chat; the ids of its memories."""
        raise NotImplementedError

    def batch(self, texts: Sequence[str], *, once: str | None = None) -> list[str]:
        """Add many texts; the ids of their memories."""
        raise NotImplementedError

    def get(self, id: str) -> str | None:
        """The text of a memory."""
        raise NotImplementedError

    def texts(self) -> list[str]:
        """All texts."""
        raise NotImplementedError

    def search(self, query: str, **options: Any) -> list[str]:
        """The texts that are found."""
        raise NotImplementedError

    def change(self, id: str, text: str, *, if_version: int | None = None) -> None:
        """Give a memory another text."""
        raise NotImplementedError

    def delete(self, id: str) -> None:
        """Erase a memory; refused if it is missing."""
        raise NotImplementedError

    def forget(self, user: str) -> dict[str, Any]:
        """Erase a user; the receipt."""
        raise NotImplementedError

    def actors(self, id: str) -> list[str | None]:
        """Who did what happened to a memory, in its order."""
        raise NotImplementedError

    def shown(self, text: str) -> str:
        """A text as the door shows it."""
        return text

    def read(self, query: str, id: str) -> str:
        """All that the door tells of a query and an id, as one text without them."""
        told = []
        for ask in self.reading(query, id):
            try:
                told.append(ask())
            except Refused as refusal:
                told.append(refusal.text)
        text = json.dumps(told, ensure_ascii=False, default=str)
        return text.replace(query, "").replace(id, "")

    def reading(self, query: str, id: str) -> Iterator[Callable[[], Any]]:
        """Every call that tells something."""
        yield from (partial(self.search, query), partial(self.get, id), self.texts)


# The library: embedded or at a server, waited for or awaited


class OfMemory(Party):
    """Whoever has a `Memory`; `raising` an error of the library is a refusal."""

    VERBS = frozenset(
        "add chat batch get texts search change delete forget actors ids users once versions limit"
        " halves".split()
    )

    def __init__(self, memory: Any) -> None:
        self.memory = memory

    def add(self, text: str, *, once: str | None = None, **fields: Any) -> str:
        return str(self._ask("add", text, idempotency_key=once, **fields).id)

    def chat(self, turns: Turns, *, once: str | None = None) -> list[str]:
        return [*self._ask("add", turns, idempotency_key=once).ids]

    def batch(self, texts: Sequence[str], *, once: str | None = None) -> list[str]:
        return [*self._ask("add_many", texts, idempotency_key=once).ids]

    def get(self, id: str) -> str | None:
        record = self._ask("get", id)
        return None if record is None else str(record.content)

    def texts(self) -> list[str]:
        return [record.content for record in self._ask("get_all", limit=1_000)]

    def search(self, query: str, **options: Any) -> list[str]:
        return [hit.content for hit in self._ask("search", query, cut="none", **options)]

    def change(self, id: str, text: str, *, if_version: int | None = None) -> None:
        self._ask("update", id, content=text, if_version=if_version)

    def delete(self, id: str) -> None:
        if not self._ask("delete", id):
            raise Refused("missing", "nothing was erased")

    def forget(self, user: str) -> dict[str, Any]:
        receipt: dict[str, Any] = self._ask("delete_user", user).to_dict()
        return receipt

    def actors(self, id: str) -> list[str | None]:
        return [event.actor for event in self._ask("history", id).events]

    def reading(self, query: str, id: str) -> Iterator[Callable[[], Any]]:
        yield from super().reading(query, id)
        for name in ("stats", "tags", "entities", "links", "events"):
            yield partial(self._ask, name)
        for name in ("inspect.zones", "upkeep.audit"):
            yield partial(self._ask, name)
        yield partial(self._ask, "get_context", query)
        yield partial(self._ask, "explain", query, id)
        yield partial(self._ask, "history", id)
        yield self._exported

    def _exported(self) -> str:
        target = io.BytesIO()
        self._ask("export", target)
        return target.getvalue().decode()

    def _ask(self, name: str, *arguments: Any, **options: Any) -> Any:
        with refusing():
            waits = isinstance(self.memory, Waiting)
            method = getattr(self.memory, name) if waits else attrgetter(name)(self.memory)
            answer = method(*arguments, **options)
        return answer.to_dict() if name in ("get_context", "explain") else answer


class Waiting:
    """An `AsyncMemory` whose methods are waited for."""

    def __init__(self, portal: BlockingPortal, memory: Any) -> None:
        self._portal, self._memory = portal, memory

    def __getattr__(self, name: str) -> Any:
        method = attrgetter(name)(self._memory)
        return lambda *a, **b: self._portal.call(partial(method, *a, **b))


_KINDS: dict[type[SalienceError], str] = {
    NotFound: "missing",
    VersionConflict: "conflict",
    AccessDenied: "denied",
    InvalidInput: "invalid",
    StoreError: "failed",
}


@contextmanager
def refusing() -> Iterator[None]:
    """Let errors of the library be refusals."""
    try:
        yield
    except SalienceError as error:
        kind = next(kind for each, kind in _KINDS.items() if isinstance(error, each))
        raise Refused("reused" if _REUSED in str(error) else kind, str(error)) from error


# Plain HTTP


class OverRest(Party):
    """A client of the documented operations."""

    VERBS = OfMemory.VERBS
    _STATUS: ClassVar[dict[int, str]] = {
        401: "denied", 403: "denied", 404: "missing", 409: "conflict", 412: "conflict",
        400: "invalid", 413: "invalid", 422: "invalid",
    }  # fmt: skip

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def add(self, text: str, *, once: str | None = None, **fields: Any) -> str:
        return str(self._ask("POST", "/memories", {"content": text, **fields}, once=once)["id"])

    def chat(self, turns: Turns, *, once: str | None = None) -> list[str]:
        return list(self._ask("POST", "/chats", {"messages": turns}, once=once)["ids"])

    def batch(self, texts: Sequence[str], *, once: str | None = None) -> list[str]:
        return list(self._ask("POST", "/memories/batch", {"items": texts}, once=once)["ids"])

    def get(self, id: str) -> str | None:
        [record] = self._ask("POST", "/memories/get", {"ids": [id]})["memories"]
        return record and str(record["content"])

    def texts(self) -> list[str]:
        listed = self._ask("GET", "/memories?limit=1000")["memories"]
        return [record["content"] for record in listed]

    def search(self, query: str, **options: Any) -> list[str]:
        found = self._ask("POST", "/search", {"query": query, "cut": "none", **options})
        return [hit["content"] for hit in found["hits"]]

    def change(self, id: str, text: str, *, if_version: int | None = None) -> None:
        version = {} if if_version is None else {"If-Match": f'"{if_version}"'}
        self._ask("PATCH", f"/memories/{id}", {"content": text}, **version)

    def delete(self, id: str) -> None:
        self._ask("DELETE", f"/memories/{id}")

    def forget(self, user: str) -> dict[str, Any]:
        erased = self._ask("POST", "/users/delete", {"user_id": user})
        receipt: dict[str, Any] = erased.get("receipt", erased)
        return receipt

    def actors(self, id: str) -> list[str | None]:
        return [event["actor"] for event in self._ask("GET", f"/memories/{id}/history")["events"]]

    def reading(self, query: str, id: str) -> Iterator[Callable[[], Any]]:
        yield from super().reading(query, id)
        for name in ("stats", "tags", "entities", "links", "zones", "events", "export", "key"):
            yield partial(self._ask, "GET", f"/{name}")
        yield partial(self._ask, "GET", f"/memories/{id}/history")
        yield partial(self._ask, "POST", "/context", {"query": query})
        yield partial(self._ask, "POST", "/explain", {"query": query, "id": id})
        yield partial(self._ask, "POST", "/feedback", {"id": id, "kind": "useful"})

    def _ask(
        self, method: str, path: str, body: Any = None, *, once: str | None = None, **headers: str
    ) -> Any:
        if once is not None:
            headers["Idempotency-Key"] = once
        # JSON with escapes, so that half an emoji can be sent
        content = None if body is None else json.dumps(body)
        headers["Content-Type"] = "application/json"
        answer = self.client.request(method, path, content=content, headers=headers)
        if answer.status_code >= 400:
            kind = self._STATUS.get(answer.status_code, "failed")
            raise Refused("reused" if _REUSED in answer.text else kind, answer.text)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.json() if answer.content and is_json else answer.text


class OverMem0(OverRest):
    """A client of mem0's paths."""

    VERBS = frozenset("add chat get texts search change delete forget users once halves".split())
    _USER = "somebody"

    def add(self, text: str, *, once: str | None = None, **fields: Any) -> str:
        return self.chat([{"role": "user", "content": text}], once=once, **fields)[0]

    def chat(self, turns: Turns, *, once: str | None = None, **fields: Any) -> list[str]:
        body = {"user_id": self._USER, **fields, "messages": turns, "infer": False}
        added = self._ask("POST", "/v3/memories/add/", body, once=once)["results"]
        return [each["id"] for each in added]

    def get(self, id: str) -> str | None:
        try:
            return str(self._ask("GET", f"/v1/memories/{id}/")["memory"])
        except Refused as refusal:
            if refusal.kind != "missing":
                raise
            return None

    def texts(self) -> list[str]:
        filters = {"filters": {"user_id": "*"}}
        listed = self._ask("POST", "/v3/memories/?page_size=1000", filters)["results"]
        return [each["memory"] for each in listed]

    def search(self, query: str, **options: Any) -> list[str]:
        body = {"query": query, "filters": {"user_id": "*"}, "threshold": 0, **options}
        return [
            each["memory"] for each in self._ask("POST", "/v3/memories/search/", body)["results"]
        ]

    def change(self, id: str, text: str, *, if_version: int | None = None) -> None:
        self._ask("PUT", f"/v1/memories/{id}/", {"text": text})

    def delete(self, id: str) -> None:
        self._ask("DELETE", f"/v1/memories/{id}/")

    def forget(self, user: str) -> dict[str, Any]:
        path = httpx.URL("/v1/memories/", params={"user_id": user})
        return {"memories": self._ask("DELETE", str(path))["deleted"]}

    def reading(self, query: str, id: str) -> Iterator[Callable[[], Any]]:
        yield from Party.reading(self, query, id)
        yield partial(self._ask, "GET", f"/v1/memories/{id}/history/")
        yield partial(self._ask, "GET", "/v1/entities/")
        yield partial(self._ask, "POST", "/search", {"query": query, "filters": {"user_id": "*"}})
        yield partial(self._ask, "POST", "/v1/exports/get/", {"filters": {"user_id": "*"}})
        judged = {"memory_id": id, "feedback": "POSITIVE"}
        yield partial(self._ask, "POST", "/v1/feedback/", judged)


# MCP


class OverMcp(Party):
    """A model that has all tools."""

    VERBS = frozenset("add chat get texts search change delete actors versions limit".split())
    _WORDS: ClassVar[dict[str, str]] = {
        "there is no memory": "missing", "no memory": "missing", "if_version": "conflict",
        "needs the scope": "denied",
    }  # fmt: skip

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def shown(self, text: str) -> str:
        return clean(text)

    def add(self, text: str, *, once: str | None = None, **fields: Any) -> str:
        return str(self._ask("add_memory", content=text, **fields)["id"])

    def chat(self, turns: Turns, *, once: str | None = None) -> list[str]:
        return list(self._ask("add_conversation", messages=turns)["ids"])

    def get(self, id: str) -> str | None:
        try:
            return str(self._ask("get_memory", id=id)["memories"][0]["content"])
        except Refused as refusal:
            if refusal.kind != "missing":
                raise
            return None

    def texts(self) -> list[str]:
        return [each["content"] for each in self._ask("list_memories", limit=50)["memories"]]

    def search(self, query: str, **options: Any) -> list[str]:
        found = self._ask("search_memories", query=query, cut="none", **options)["memories"]
        return [each["content"] for each in found]

    def change(self, id: str, text: str, *, if_version: int | None = None) -> None:
        self._ask("update_memory", id=id, content=text, if_version=if_version)

    def delete(self, id: str) -> None:
        self._ask("delete_memory", id=id)

    def actors(self, id: str) -> list[str | None]:
        return [event["actor"] for event in self._ask("get_history", id=id)["events"]]

    def reading(self, query: str, id: str) -> Iterator[Callable[[], Any]]:
        yield from super().reading(query, id)
        for name in ("list_tags", "list_entities", "get_stats"):
            yield partial(self._ask, name)
        for name in ("get_context", "search"):
            yield partial(self._ask, name, query=query)
        for name in ("get_history", "list_links", "fetch"):
            yield partial(self._ask, name, id=id)
        yield partial(self._ask, "explain_memory", query=query, id=id)
        yield partial(self._ask, "give_feedback", id=id, verdict="useful")

    def _ask(self, tool: str, **arguments: Any) -> Any:
        result = self.connection.result(tool, **arguments)
        if result.is_error:
            text = text_of(result)
            kinds = (kind for words, kind in self._WORDS.items() if words in text)
            raise Refused(next(kinds, "invalid"), text)
        return result.structured_content


# The client for TypeScript


class OverTypeScript(Party):
    """A program of Node that does what it is told in lines of JSON; see `typescript.mjs`."""

    VERBS = OfMemory.VERBS

    def __init__(
        self, program: subprocess.Popen[str], url: str, key: str, namespace: str | None
    ) -> None:
        self._program = program
        named = {} if namespace is None else {"namespace": namespace}
        self._settings = {"baseUrl": url, "apiKey": key, **named}

    def add(self, text: str, *, once: str | None = None, **fields: Any) -> str:
        return str(self._ask("add", {"content": text, **fields}, _once(once))["id"])

    def chat(self, turns: Turns, *, once: str | None = None) -> list[str]:
        return list(self._ask("addChat", {"messages": turns}, _once(once))["ids"])

    def batch(self, texts: Sequence[str], *, once: str | None = None) -> list[str]:
        return list(self._ask("addMany", {"items": texts}, _once(once))["ids"])

    def get(self, id: str) -> str | None:
        record = self._ask("get", id)
        return record and str(record["content"])

    def texts(self) -> list[str]:
        return [each["content"] for each in self._ask("getAll", {"limit": 1_000})["memories"]]

    def search(self, query: str, **options: Any) -> list[str]:
        found = self._ask("search", {"query": query, "cut": "none", **options})
        return [hit["content"] for hit in found["hits"]]

    def change(self, id: str, text: str, *, if_version: int | None = None) -> None:
        version = {} if if_version is None else {"ifVersion": if_version}
        self._ask("update", id, {"content": text}, version)

    def delete(self, id: str) -> None:
        if not self._ask("delete", id):
            raise Refused("missing", "nothing was erased")

    def forget(self, user: str) -> dict[str, Any]:
        receipt: dict[str, Any] = self._ask("deleteUser", user)
        return receipt

    def actors(self, id: str) -> list[str | None]:
        return [event["actor"] for event in self._ask("history", id)["events"]]

    def reading(self, query: str, id: str) -> Iterator[Callable[[], Any]]:
        yield from super().reading(query, id)
        for name in ("stats", "events"):
            yield partial(self._ask, name)
        yield partial(self._ask, "getContext", {"query": query})
        yield partial(self._ask, "history", id)
        yield partial(self._ask, "explain", {"query": query, "id": id})

    def _ask(self, method: str, *arguments: Any) -> Any:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        asked = {"settings": self._settings, "method": method, "arguments": arguments}
        self._program.stdin.write(f"{json.dumps(asked)}\n")
        self._program.stdin.flush()
        answer = json.loads(self._program.stdout.readline())
        if (error := answer.get("error")) is not None:
            kind = OverRest._STATUS.get(error["status"], "failed")
            raise Refused("reused" if _REUSED in error["message"] else kind, error["message"])
        return answer["value"]


def _once(key: str | None) -> dict[str, str]:
    return {} if key is None else {"idempotencyKey": key}

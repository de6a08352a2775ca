"""A memory at a server: opened by its address, refused settings, keys, retries, transfers."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import salience
from salience import AddResult, AsyncMemory, Memory
from salience.access import SCOPES, Keyring
from salience.errors import (
    AccessDenied,
    InvalidInput,
    NotFound,
    SalienceError,
    ServerBusy,
    StoreClosed,
    StoreError,
    VersionConflict,
)
from salience.ranking import profiles
from salience.records.filters import And, Compare, Not, Or
from salience.remote.calls import BUILT_ON_OTHERS, CALLS
from salience.remote.memory import RemoteMemory
from salience.search.context import Section
from salience.server.app import create_app
from salience.server.settings import ServerSettings
from salience.stores import open_store
from salience.testing import WordHashEmbedder
from salience.write.dedup import DedupPolicy
from support.doors import public_names
from support.served import Served, Server

CHAT = [{"role": "user", "content": "Hello."}]
NOW = datetime(2026, 3, 10, 12, tzinfo=timezone.utc)


def test_every_method_of_a_memory_is_there() -> None:
    assert public_names(Memory) == CALLS.keys() | BUILT_ON_OTHERS
    assert public_names(RemoteMemory) == public_names(Memory) | {"greeted", "over", "scopes"}
    for call in CALLS.values():
        own = inspect.signature(call.operation.of(RemoteMemory))
        assert own.parameters.keys() == inspect.signature(call.method).parameters.keys()


def test_an_address_opens_a_server(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Memory(served.url) as one, Memory.open(served.url + "/", namespace="日本 /%") as other:
        assert isinstance(one, Memory)
        assert repr(one) == f"RemoteMemory(url={served.url!r}, namespace='default')"
        one.add("An apple.", id="a")
        other.add("A pear.", id="a")
        assert (one["a"].content, other["a"].content) == ("An apple.", "A pear.")
        assert other["a"].namespace == other.namespace == "日本 /%"
        assert one.for_namespace("日本 /%")["a"] == other["a"]
    monkeypatch.setenv("SALIENCE_DB", served.url)
    with Memory() as one:
        assert [id in one for id in ("a", "b", 5, "")] == [True, False, False, False]
        assert len(one) == 1
    monkeypatch.setenv("SALIENCE_DB", str(tmp_path / "own.db"))
    with Memory(embedder=None) as own:
        assert type(own) is Memory
        assert len(own) == 0
    assert inspect.signature(Memory).parameters.keys() >= {"url", "api_key", "timeout"}


@pytest.mark.parametrize(
    ("url", "settings", "field"),
    [
        ("http://", {}, "url"),
        ("http://ana:secret@host", {}, "url"),
        ("http://host/?key=x", {}, "url"),
        ("http://host:port", {}, "url"),
        ("http://host", {"embedder": None}, "embedder"),
        ("http://host", {"clock": lambda: NOW}, "clock"),
        ("http://host", {"count_tokens": len}, "count_tokens"),
        ("http://host", {"actor": "ana"}, "actor"),
        ("http://host", {"api_key": "two\nlines"}, "api_key"),
        ("http://host", {"api_key": 5}, "api_key"),
        ("http://host", {"timeout": -1}, "timeout"),
        ("http://host", {"profile": "none.json"}, "profile"),
        ("ram://", {"api_key": "sal_key"}, "api_key"),
        ("ram://", {"timeout": 5}, "timeout"),
    ],
)
def test_wrong_settings_are_named(url: str, settings: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Memory(url, **settings)
    assert caught.value.field == field
    assert "secret" not in str(caught.value)


def test_wrong_keywords_raise_the_errors_of_an_embedded_memory(served: Served) -> None:
    with Memory("ram://", embedder=None) as own:
        calls: tuple[Callable[[Any], Any], ...] = (
            lambda m: m.search("x", top_k=5),
            lambda m: m.add("x", user="ana"),
            lambda m: m.upkeep.prune(now=5),
            lambda m: m.get_context("x", size=5),
        )
        for call in calls:
            told = []
            for memory in (own, served):
                with pytest.raises(TypeError) as caught:
                    call(memory)
                told.append(str(caught.value))
            assert told[0] == told[1]
        with pytest.raises(TypeError):
            served.get()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="colour"):
        Memory(served.url, colour="red")  # type: ignore[call-arg]


def test_what_a_memory_has_is_taken_back(served: Served) -> None:
    served.add("Ana likes tea.", id="tea", pinned=True)
    record = served["tea"]
    assert served.update("tea", pinned=record.pinned).pinned == record.pinned
    served.add("Ben has a cello.", id="cello", pinned=record.pinned)
    assert served["cello"].pinned == record.pinned


def test_a_question_to_keep_is_refused_as_it_is_elsewhere(served: Served) -> None:
    for memory in (served, served._behind):
        with pytest.raises(InvalidInput, match="query: has a lone surrogate"):
            memory.labels.add("Where is \ud83d?", ["tea"])
        assert memory.search("tea \ud83d", options={"lexical": "tea \ud83d"}).query == "tea ?"


def test_what_is_no_json_is_sent_in_its_json(served: Served) -> None:
    image: Any = np.array([1.0, 0.0])
    served.add("An apple a day.", id="a", vectors={"image": image}, created_at=NOW)
    items: list[Any] = ["A pear.", {"content": "A plum.", "tags": {"y", "x"}}]
    served.add_many(iter(items))
    one = And((Compare("kind", "eq", "note"), Not(Or((Compare("tags", "contains", "x"),)))))
    assert {each.content for each in served.get_all(one)} == {"An apple a day.", "A pear."}
    composite = profiles.get("composite").weighted({"similarity": 5.0})
    result = served.search("apple", profile=composite, now=NOW, namespaces=("default",))
    assert result[0].id == "a"
    text = served.get_context("apple", sections=[Section("memories", limit=1)], as_of=None).text
    assert "An apple a day." in text
    again = served.add("An apple a day.", dedup=DedupPolicy(None))
    assert again.items[0].outcome == "ADDED"


def test_profiles_of_files_are_read_on_this_side(served: Served, tmp_path: Path) -> None:
    served.add("An apple.", id="a")
    path = tmp_path / "own.json"
    path.write_text(profiles.get("composite").to_json(), encoding="utf-8")
    for profile in (path, str(path)):
        assert served.search("apple", profile=profile).profile == "composite"
    with Memory(served.url, profile=path) as memory:
        assert memory.search("apple").profile == "composite"
        assert memory.search("apple", profile="balanced").profile == "balanced"


def test_functions_are_refused_and_progress_is_told_of_what_is_sent(served: Served) -> None:
    for call, field in (
        (lambda: served.upkeep.consolidate(summarise=lambda members: "x"), "summarise"),
        (lambda: served.add_chat(CHAT, facets=lambda user, assistant: {}), "facets"),
        (lambda: served.get_context("x", options={"counter": len}), "options.counter"),
        (lambda: served.iterate(page_size=0), "limit"),
        (lambda: Memory.upkeep.reembed(served.url), "url"),
        (lambda: served.upkeep.reembed(served.url), "url"),
    ):
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.field == field
    seen: list[int] = []
    facts = (f"fact {number}" for number in range(2_100))
    served.add_many(facts, dedup=False, progress=seen.append)
    assert seen == [1_000, 2_000, 2_100]
    assert len(served) == 2_100


@pytest.mark.deep
def test_many_in_several_requests_are_as_in_one(served: Served) -> None:
    items: list[Any] = [{"content": f"fact {n}", "id": f"f{n}"} for n in range(1_200)]
    link = {"type": "mentions", "created_at": NOW}
    items[3]["links"] = [{"target": "f1100", **link}, {"target": "no", **link}]
    items[7] = {"content": 5}
    items[8] = {"content": "half \ud800", "id": "half"}
    with Memory("ram://", embedder=WordHashEmbedder()) as own:
        assert served.add_many(items, dedup=False) == own.add_many(items, dedup=False)
        with pytest.raises(InvalidInput) as caught:
            served.add_many([{"content": "x", "importance": 7}], strict=True)
        assert caught.value.field == "importance"


def test_iterating_goes_on_where_it_was(served: Served) -> None:
    served.add_many([{"content": f"fact {n}", "id": f"f{n}", "created_at": NOW} for n in range(7)])
    behind = served._behind
    for order in ("newest", "oldest"):
        walked, whole = served.iterate(order=order, page_size=3), behind.iterate(order=order)
        for _ in range(5):
            assert (next(walked), walked.cursor) == (next(whole), whole.cursor)
        rest = [one.id for one in served.iterate(order=order, cursor=walked.cursor)]
        assert rest == [one.id for one in whole]
    assert [one.id for one in served] == [one.id for one in behind]


def test_errors_carry_all_that_they_do_elsewhere(served: Served) -> None:
    served.add("An apple.", id="a")
    served.update("a", importance=0.5)
    with pytest.raises(VersionConflict) as conflict:
        served.update("a", importance=0.1, if_version=1)
    assert conflict.value.record == served["a"]
    assert conflict.value.if_version == 1
    with pytest.raises(VersionConflict):
        served.delete("a", if_version=1)
    with pytest.raises(NotFound, match="nobody"):
        served.update("nobody", importance=0.1)
    with pytest.raises(InvalidInput) as refused:
        served.search("x", limit=0)
    assert refused.value.__notes__[0].startswith("request ")
    assert served.delete("a", if_version=2)
    served.close()
    with pytest.raises(StoreClosed):
        served.search("x")


def test_an_export_goes_through_both_ways(served: Served, tmp_path: Path) -> None:
    facts = [{"content": f"fact {n} \u2028 ü", "id": f"f{n}"} for n in range(50)]
    served.add_many(facts, dedup={"similar": None, "contradictions": False})
    served.link("f1", "f2")
    behind, own = io.StringIO(), io.BytesIO()
    assert served.export(own) == served._behind.export(behind)
    assert own.getvalue().decode() == behind.getvalue()
    assert served.export(tmp_path / "all.jsonl", everywhere=True).namespaces == ("default",)
    other = served.for_namespace("other")
    told: list[Any] = []
    done = other.load(tmp_path / "all.jsonl", progress=lambda *step: told.append(step))
    assert (done.memories, done.links) == (50, 1)
    assert {one.content for one in other} == {one.content for one in served}
    with pytest.raises(StoreError, match="holds"):
        served.for_namespace("default").load(io.BytesIO(own.getvalue()))
    broken = own.getvalue().splitlines(keepends=True)
    with pytest.raises(InvalidInput):
        served.for_namespace("third").load(io.BytesIO(b"".join(broken[:3])))
    assert len(served.for_namespace("third")) == 0


def test_keys_open_what_they_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'keyed.db'}"
    with closing(open_store(url)) as store, Keyring(store) as keyring:
        ana = keyring.create(namespaces=("ana",), scopes=SCOPES).text
        reader = keyring.create(namespaces=("ana",), scopes=("memories:read",)).text
    with closing(Server(create_app(ServerSettings(db=url, embedder="none")))) as server:
        with pytest.raises(AccessDenied):
            Memory(server.url)
        monkeypatch.setenv("SALIENCE_API_KEY", ana)
        check_keys(Memory(server.url), server.url, ana, reader)


def check_keys(memory: Memory, url: str, ana: str, reader: str) -> None:
    with memory:
        assert memory.namespace == "ana"
        assert ana not in repr(memory) + repr(vars(memory))
        memory.add("An apple.", id="a")
        with Memory(url, api_key=reader) as other:
            assert other["a"].content == "An apple."
            with pytest.raises(AccessDenied, match="memories:write"):
                other.add("A pear.")
            with pytest.raises(NotFound):
                other.for_namespace("ben").search("apple")


def test_awaited_it_is_the_same(served: Served) -> None:
    async def awaited() -> None:
        async with AsyncMemory(served.url) as memory:
            added = await memory.add("An apple.", id="a", created_at=NOW)
            assert (type(added), added.id) == (AddResult, "a")
            assert await memory.get("a") == served.get("a")
            assert [one.id async for one in memory.iterate()] == ["a"]
            assert (await memory.search("apple")).ids == ("a",)
            with pytest.raises(NotFound):
                await memory.feedback("nobody", "promote")
            out = io.BytesIO()
            assert (await memory.export(out)).memories == 1
            assert (await memory.for_namespace("b").load(io.BytesIO(out.getvalue()))).memories == 1
            both = await asyncio.gather(*(memory.search("apple") for _ in range(20)))
            assert {result.ids for result in both} == {("a",)}
        with pytest.raises(StoreClosed):
            await memory.get("a")
        with pytest.raises(StoreClosed, match="not open yet"):
            await AsyncMemory(served.url).get("a")

    asyncio.run(awaited())


LOOPS = """
import asyncio, os, sys
from salience import AsyncMemory
from salience.errors import StoreError

async def added(memory, text):
    await memory.add(text)
    return text in {hit.content for hit in await memory.search(text)}

async def opened():
    return await AsyncMemory.open(sys.argv[1])

memory = asyncio.run(opened())
assert asyncio.run(added(memory, "An apple.")) and asyncio.run(added(memory, "A pear."))

async def forked(memory, same):
    assert await memory.count() == await same.count() == 2
    if child := os.fork():
        return os.waitpid(child, 0)[1]
    try:
        await memory.count()
    except StoreError as problem:
        if "forked inside" in str(problem):
            os._exit(0 if asyncio.run(memory.count()) == asyncio.run(same.count()) == 2 else 3)
        os._exit(2)
    os._exit(1)

assert asyncio.run(forked(memory, memory.for_namespace(memory.namespace))) == 0
asyncio.run(memory.close())
"""


def test_awaited_it_serves_one_event_loop_after_the_other_but_no_parents(served: Served) -> None:
    program = [sys.executable, "-W", "ignore", "-c", LOOPS, served.url]
    ran = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert len(served) == 2


def test_constants_of_a_profile_and_words_of_a_comparison_are_sent(served: Served) -> None:
    served.add("She runs the platform.", id="a", title="Sarah Chen")
    found = served.search(
        "boat",
        profile="vitality",
        options={"names": "Sara Chen", "activation_formula": "exact", "max_hops": None},
    )
    assert found.ids == ("a",)
    assert not served.search(
        "boat", profile="vitality", options={"names": "Sara Chen", "name_threshold": 1.0}
    )
    with pytest.raises(InvalidInput, match=r"^options.max_hops: balanced follows no links"):
        served.search("boat", options={"max_hops": 1})
    with pytest.raises(InvalidInput, match=r"^options.mmr_lambda: is 2"):
        served.search("boat", profile="multi_route", options={"mmr_lambda": 2})


def test_a_server_without_encryption_says_so_where_https_is_asked(served: Served) -> None:
    address = served.url.replace("http://", "https://")
    with pytest.raises(StoreError, match="does not encrypt; begin the address with http://"):
        Memory(address)


class Scripted(ThreadingHTTPServer):
    """A server that answers as told, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, dict[str, str], bytes] | None] = []
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Scripted

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/v1/key":
            return self._write(200, {}, b'{"version": "1", "namespace": "n"}')
        self.server.asked.append((self.command, self.path, dict(self.headers)))
        answer = self.server.answers.pop(0)
        if answer is None:  # the answer is lost
            self.connection.close()
            return None
        return self._write(*answer)

    def _write(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.setattr("salience.remote.errors.FIRST_PAUSE_SECONDS", 0.001)
    with Scripted() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


COUNT: tuple[int, dict[str, str], bytes] = (200, {}, b'{"count": 3}')


def problem(code: str, status: int, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return status, headers, json.dumps({"code": code, "detail": "so", "instance": "r1"}).encode()


def test_a_lost_answer_is_asked_for_again_where_that_is_safe(scripted: Scripted) -> None:
    with Memory(scripted.url) as memory:
        scripted.answers = [None, None, COUNT]
        assert memory.count() == 3
        added = {"id": "a", "items": [{"id": "a", "outcome": "ADDED"}], "ids": ["a"]}
        scripted.answers = [None, (201, {}, json.dumps(added).encode())]
        scripted.asked.clear()
        assert memory.add("x").id == "a"
        keys = {headers["Idempotency-Key"] for _, _, headers in scripted.asked}
        assert (len(scripted.asked), len(keys)) == (2, 1)
        scripted.answers = [None, (204, {}, b"")]
        scripted.asked.clear()
        assert memory.delete("a")
        keys = {headers["Idempotency-Key"] for _, _, headers in scripted.asked}
        assert (len(scripted.asked), len(keys)) == (2, 1)
        scripted.answers = [None]
        with pytest.raises(StoreError, match="broke off"):
            memory.load(io.BytesIO(b"{}"))
        scripted.answers = [None] * 4
        with pytest.raises(StoreError, match="broke off"):
            memory.count()
        assert scripted.answers == []


def test_a_busy_server_is_asked_again_when_it_says(scripted: Scripted) -> None:
    with Memory(scripted.url) as memory:
        scripted.answers = [
            problem("Busy", 503, **{"Retry-After": "0.01"}),
            problem("RateLimited", 429, **{"Retry-After": "0"}),
            COUNT,
        ]
        assert memory.count() == 3
        scripted.answers = [problem("RateLimited", 429, **{"Retry-After": "3600"})]
        with pytest.raises(ServerBusy) as busy:
            memory.count()
        assert busy.value.retry_after == 3600.0
        assert busy.value.__notes__ == ["request r1"]
        for code, status, kind in (
            ("StoreError", 503, StoreError),
            ("EmbedderError", 503, salience.errors.EmbedderError),
            ("EmbedderMismatch", 409, salience.errors.EmbedderMismatch),
            ("Locked", 409, salience.errors.Locked),
            ("KeyRequired", 401, AccessDenied),
            ("BodyTooLarge", 413, InvalidInput),
            ("Unheard", 418, SalienceError),
        ):
            scripted.answers, scripted.asked = [problem(code, status)], []
            with pytest.raises(kind, match="so"):
                memory.count()
            assert len(scripted.asked) == 1


def test_answers_that_are_no_memory_s_are_told(scripted: Scripted) -> None:
    with Memory(scripted.url) as memory:
        cases: tuple[tuple[tuple[int, dict[str, str], bytes], str], ...] = (
            ((200, {}, b"<html>"), "not as a memory does"),
            ((200, {}, b'{"number": 3}'), "another version"),
            ((404, {}, b"<html>"), "status 404"),
        )
        for answer, told in cases:
            scripted.answers = [answer]
            with pytest.raises(StoreError, match=told):
                memory.count()
    with pytest.raises(StoreError, match=r"no server answers at http://127\.0\.0\.1:1;"):
        Memory("http://127.0.0.1:1")


def test_a_trace_has_a_line_for_each_request(served: Served) -> None:
    lines: list[str] = []
    with Memory(served.url, trace=lines.append) as memory:
        memory.count()
    asked = [line.split()[2:] for line in lines]
    assert asked == [["GET", "/v1/key"], ["POST", "/v1/memories/count"]]

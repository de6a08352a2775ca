"""Random operations, right and wrong: library, client and plain REST give the same answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import httpx
import pytest

from salience import Memory
from salience.api.operations import BY_NAME
from salience.display.result import to_json
from salience.errors import IdTaken, InvalidInput, NotFound, SalienceError, VersionConflict
from salience.remote.calls import segment
from salience.retrieval.erasure import Erased
from support.served import Served, serve_memory
from support.waiting import HANG_SECONDS

WORDS = "Ana Ben moved Lisbon tea cello likes lives March nuts dentist river flat piano".split()
TIMES = ["2026-01-01", "20260201", 1767225600, "2026-02-30", "2026-02-03T04:05:06+05:00"]
FILTERS = [{"kind": "fact"}, {"nope": 1}, {"importance": {"gte": 0.5}}, {"or": [{"kind": "note"}]}]
_FILTERED = ("inspect.zones", "upkeep.prune")
PROFILES = ["balanced", "six_factor", "vitality", "nope", {}, {"name": "p"}]
STATUS = {IdTaken: 409, NotFound: 404, VersionConflict: 412, InvalidInput: 422}
# Who wrote it, under which key, when it was computed, and ids that each makes of its own
OWN = re.compile(
    r'"(actor|written_by|search_id|run)": ("[^"]*"|null)|"timings_ms": \{[^}]*\}'
    r'|"body": "[^"]*", "key": "[^"]*", |(, )?"(outcome": "[A-Z]+"|similarity": null|match": "\w+")'
)


class Drawn:
    """Calls of a memory, with arguments of which some are wrong."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.methods: list[Callable[[], tuple[str, dict[str, Any]]]] = [
            *[self.add] * 6, *[self.update] * 3, *[self.search] * 3, self.listed, self.listed,
            self.of_one, self.of_one, self.of_one, self.judged, self.linked, self.of_all, self.kept,
        ]  # fmt: skip

    def __call__(self) -> tuple[str, dict[str, Any]]:
        name, arguments = self.random.choice(self.methods)()
        return name, {k: v for k, v in arguments.items() if v is not None}

    def maybe(self, *values: Any, share: float = 0.25) -> Any:
        return self.random.choice(values) if self.random.random() < share else None

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=5)) + "."

    def id(self) -> str:
        return self.random.choice([f"m{n}" for n in range(12)] + ["nope", "a/b", "..", "ü ?#%"])

    def narrow(self) -> dict[str, Any]:
        return {
            "filters": self.maybe(*FILTERS),
            "kind": self.maybe("fact", share=0.1),
            "since": self.maybe(*TIMES, share=0.1),
        }

    def fields(self) -> dict[str, Any]:
        return {
            "kind": self.maybe("fact", "note", "task"),
            "tags": self.maybe(["a"], ["a", "b"], [""]),
            "importance": self.maybe(0.25, 1, 1.5),
            "metadata": self.maybe({"x": {"y": [1, 2.5, None]}}, {"": 1}),
            "pinned": self.maybe(True, 1.0),
            "expires_at": self.maybe(*TIMES, share=0.1),
        }

    def add(self) -> tuple[str, dict[str, Any]]:
        policy = self.maybe("replace", "update", "skip", "zz")
        return "add", {
            "content": self.text(), "id": self.id(), **self.fields(), "on_conflict": policy,
            "dedup": False,
        }  # fmt: skip

    def update(self) -> tuple[str, dict[str, Any]]:
        changes = {**self.fields(), "content": self.maybe(self.text())}
        return "update", {"id": self.id(), **changes, "if_version": self.maybe(1, 2, 3)}

    def search(self) -> tuple[str, dict[str, Any]]:
        name = self.random.choice(["search", "inspect.candidates", "explain", "get_context"])
        options = {
            "query": self.text(), **self.narrow(), "profile": self.maybe(*PROFILES),
            "now": self.maybe(*TIMES), "cut": self.maybe("none", "zz"),
        }  # fmt: skip
        if name == "explain":
            options["id"] = self.id()
        if name != "get_context":
            options["limit"] = self.maybe(1, 3, 0)
        return name, options

    def listed(self) -> tuple[str, dict[str, Any]]:
        name = self.random.choice(["get_all", "count", "tags", "entities"])
        limit = self.maybe(1, 2, 0) if name != "count" else None
        return name, {"limit": limit, **(self.narrow() if name in ("get_all", "count") else {})}

    def of_one(self) -> tuple[str, dict[str, Any]]:
        names = ["get", "delete", "pin", "unpin", "inspect.vitality", "links"]
        name = self.random.choice(names)
        points = {"points": 3} if name == "inspect.vitality" else {}
        return name, {"id": self.id(), **points}

    def judged(self) -> tuple[str, dict[str, Any]]:
        kind = self.random.choice(["useful", "incorrect", "promote", "demote", "reinforce", "zz"])
        return "feedback", {"id": self.id(), "kind": kind, "if_version": self.maybe(1, 2)}

    def linked(self) -> tuple[str, dict[str, Any]]:
        name = self.random.choice(["link", "supersede"])
        ends = ("source", "target") if name == "link" else ("old", "new")
        ids = dict(zip(ends, (self.id(), self.id()), strict=True))
        types = {"type": self.maybe("supports", "contradicts", "zz")} if name == "link" else {}
        return name, ids | types

    def of_all(self) -> tuple[str, dict[str, Any]]:
        name = self.random.choice(["prune", "consolidate", "audit", "verify"])
        name = self.random.choice([f"upkeep.{name}", "inspect.zones", "stats"])
        return name, {"filters": self.maybe(*FILTERS)} if name in _FILTERED else {}

    def kept(self) -> tuple[str, dict[str, Any]]:
        if self.random.random() < 0.3:
            return "labels.delete", {"id": self.random.choice(["q1", "q9"])}
        id = self.random.choice(["q1", "q2"])
        return "labels.add", {"query": self.text(), "relevant": [self.id()], "id": id}


def told(call: Callable[[], Any]) -> tuple[type[SalienceError] | None, Any]:
    """The class of an error and its words, or the answer in JSON."""
    try:
        answer = call()
        if isinstance(answer, Erased) and answer.restored:
            return None, {"deleted": int(answer), "restored": list(answer.restored)}
        return None, to_json(answer)
    except SalienceError as error:
        return type(error), str(error)


def plain(value: Any) -> str:
    return OWN.sub("*", json.dumps(value, sort_keys=True)).replace('"*, ', '"').replace("*", "")


def over_rest(client: httpx.Client, name: str, arguments: dict[str, Any]) -> httpx.Response:
    row, rest = BY_NAME[name], dict(arguments)
    path = row.path.replace("{id}", segment(rest.pop("id"))) if "{id}" in row.path else row.path
    if row.verb == "GET":
        query = {n: v if isinstance(v, str) else json.dumps(v) for n, v in rest.items()}
        return client.get(path, params=query)
    return client.request(row.verb, path, json=None if row.verb == "DELETE" else rest)


@pytest.fixture
def places(now: list[datetime]) -> Iterator[tuple[Memory, Served, Served]]:
    settings: dict[str, Any] = {"clock": lambda: now[0], "embedder": None}
    with (
        closing(Memory("ram://", **settings)) as embedded,
        closing(serve_memory("ram://", **settings)) as remote,
        closing(serve_memory("ram://", **settings)) as rest,
    ):
        yield embedded, remote, rest


@pytest.fixture
def now() -> list[datetime]:
    return [datetime(2026, 3, 1, 12, tzinfo=timezone.utc)]


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 80), *(pytest.param(seed, 300, marks=pytest.mark.deep) for seed in range(2, 8))],
)
def test_each_door_answers_as_the_library_does(
    places: tuple[Memory, Served, Served], now: list[datetime], seed: int, count: int
) -> None:
    embedded, remote, behind = places
    drawn = Drawn(seed)
    with httpx.Client(base_url=f"{behind.url}/v1", timeout=HANG_SECONDS) as client:
        for number in range(count):
            now[0] += timedelta(hours=drawn.random.choice([0, 1, 30, 480]))
            name, arguments = drawn()
            where = f"{number}: {name}({arguments})"
            kind, expected = told(lambda: BY_NAME[name].of(embedded)(**arguments))  # noqa: B023
            same = told(lambda: BY_NAME[name].of(remote)(**arguments))  # noqa: B023
            assert same[0] is kind, f"{where}: {expected} {same[1]}"
            assert plain(same[1]) == plain(expected), where
            answer = over_rest(client, name, arguments)
            row = BY_NAME[name]
            if kind is not None:
                status = next(code for each, code in STATUS.items() if issubclass(kind, each))
                assert answer.status_code == status, where
            elif row.absent is not ... and expected == row.absent:
                assert answer.status_code == 404, where
            elif answer.status_code == 204:
                assert expected in (None, True), where
            else:
                assert answer.is_success, f"{where}: {answer.text}"
                body = answer.json()[row.member] if row.member else answer.json()
                assert plain(body) == plain(expected), where

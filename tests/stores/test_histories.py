"""Random histories: memories follow from their log, and the past is ranked as it was."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from salience.errors import InvalidInput
from salience.stores.embedded import EmbeddedStore
from salience.testing import WordHashEmbedder
from support.examples import examples
from support.served import opened
from support.shared_postgres import Databases

START = datetime(2026, 3, 1, tzinfo=timezone.utc)
IDS = tuple("abcdef")
WORDS = ("red apple", "green pear", "Ana's apple", "the pear of Ben", "Ana likes apples")
PROFILES = ("balanced", "composite", "six_factor", "activation", "vitality")

ids = st.sampled_from(IDS)
words = st.sampled_from(WORDS)
share = st.floats(0.0, 1.0)
step = st.one_of(
    st.tuples(st.just("add"), ids, words),
    st.tuples(st.just("add"), ids, words),
    st.tuples(st.just("update"), ids, words),
    st.tuples(st.just("weigh"), ids, share),
    st.tuples(st.just("rewrite"), ids, share),
    st.tuples(st.just("search"), words, st.sampled_from(PROFILES)),
    st.tuples(st.just("search"), words, st.sampled_from(PROFILES)),
    st.tuples(st.just("touch"), ids, st.sampled_from(["read", "reference"])),
    st.tuples(
        st.just("feedback"),
        ids,
        st.sampled_from(["useful", "confirmed", "not_useful", "outdated", "incorrect"]),
    ),
    st.tuples(st.just("move"), ids, st.sampled_from(["promote", "demote", "reinforce", "pin"])),
    st.tuples(st.just("decay"), st.just(""), st.just("")),
    st.tuples(st.just("link"), ids, ids),
    st.tuples(st.just("supersede"), ids, ids),
    st.tuples(st.just("status"), ids, st.sampled_from(["active", "archived"])),
    st.tuples(st.just("delete"), ids, st.just("")),
)
pauses = st.floats(0.000001, 1e7)
histories = st.lists(st.tuples(step, pauses), min_size=4, max_size=30)


class Player:
    """Does the steps that are possible, and records the hits of each search."""

    def __init__(self, url: str) -> None:
        self.now = START
        self.memory = opened(url, embedder=WordHashEmbedder(), clock=lambda: self.now)
        self.ids: set[str] = set()
        self.searches: list[tuple[datetime, str, str, list[dict[str, Any]]]] = []

    def do(self, step: tuple[str, Any, Any], pause: float) -> None:
        self.now += timedelta(seconds=pause)
        action, one, other = step
        if action == "add" and one not in self.ids:
            self.memory.add(other, id=one, created_at=self.now - timedelta(days=1))
            self.ids.add(one)
        elif action == "search":
            self.searches.append((self.now, one, other, self.hits(one, other)))
        elif action == "decay":
            self.memory.upkeep.decay()
        elif one in self.ids and action in ("link", "supersede"):
            if other in self.ids and one != other:
                self.memory.link(one, other, "contradicts" if one < other else "supports", 0.5)
                if action == "supersede":
                    with suppress(InvalidInput):  # it was superseded by that one
                        self.memory.supersede(one, other)
        elif one in self.ids and action != "add":
            self._change(action, one, other)

    def _change(self, action: str, id: str, value: Any) -> None:
        memory = self.memory
        actions: dict[str, Callable[[], Any]] = {
            "update": lambda: memory.update(id, content=value),
            "weigh": lambda: memory.update(id, importance=value, metadata={"w": value}),
            "rewrite": lambda: memory.update(id, kind="note", importance=value),
            "touch": lambda: memory.touch(id, value),
            "feedback": lambda: memory.feedback(id, value),
            "move": lambda: memory.pin(id) if value == "pin" else memory.feedback(id, value),
            "status": lambda: memory.update(id, status=value),
            "delete": lambda: memory.delete(id),
        }
        actions[action]()
        if action == "delete":
            self.ids.remove(id)
            self.searches.clear()  # an erased memory is not in the past either

    def hits(self, query: str, profile: str, **options: Any) -> list[dict[str, Any]]:
        result = self.memory.search(query, profile=profile, explain=True, **options)
        return [hit.to_dict() for hit in result]


History = list[tuple[tuple[str, Any, Any], float]]


def check_history(url: str, history: History) -> None:
    player = Player(url)
    with player.memory as memory:
        for step, pause in history:
            player.do(step, pause)
        before = {record.id: record for record in memory.get_all()}
        assert memory.upkeep.verify()
        player.now += timedelta(days=1)
        for at, query, profile, hits in (*player.searches, *reversed(player.searches)):
            assert player.hits(query, profile, as_of=at) == hits
        assert {record.id: record for record in memory.get_all()} == before
        for id in player.ids:
            assert memory.history(id).versions[-1].record == before[id]


def edited_history(edit: tuple[str, Any, Any]) -> History:
    """Two memories, of which the older one is edited, so that its row is the newest."""
    return [
        (("add", "c", "red apple"), 1.0),
        (("add", "a", "red apple"), 1.0),
        (edit, 1.0),
        (("search", "red apple", "six_factor"), 1.0),
    ]


REWORDED = edited_history(("update", "c", "red apple"))
REWEIGHED = edited_history(("rewrite", "c", 0.5))


@settings(max_examples=examples(40), deadline=None)
@given(histories)
@example(REWORDED)
@example(REWEIGHED)
def test_in_memory(history: History) -> None:
    check_history("ram://", history)


@settings(max_examples=examples(25), deadline=None)
@given(histories)
@example(REWORDED)
@example(REWEIGHED)
def test_in_a_file(history: History) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_history(f"sqlite:///{Path(folder) / 'memory.db'}", history)


@settings(max_examples=examples(5), deadline=None)
@given(history=histories)
def test_any_history_at_a_server(history: History) -> None:
    check_history("http", history)


def check_moves(url: str, history: History, shares: list[float]) -> None:
    """Whatever times are asked for, one after the other, each is as if only it had been."""
    player = Player(url)
    with player.memory as memory:
        for step, pause in history:
            player.do(step, pause)
        memory.upkeep.flush()
        dispatcher = memory._core.dispatcher

        def asked(at: datetime) -> list[Any]:
            links = [link.to_dict() for link in memory.links(as_of=at)]
            hits = [player.hits("red apple", name, as_of=at) for name in PROFILES[::4]]
            return [*hits, links, memory.stats(as_of=at), [*memory.get_all(as_of=at)]]

        for share in shares:
            at = START + share * (player.now - START)
            moved, kept = asked(at), dict(dispatcher._pasts)
            dispatcher._pasts.clear()
            with patch.object(EmbeddedStore, "copied", return_value=None):
                assert moved == asked(at), share
            dispatcher._pasts.clear()
            dispatcher._pasts.update(kept)


shares = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=8)


@settings(max_examples=examples(25), deadline=None)
@given(histories, shares)
def test_any_times_in_a_file(history: History, shares: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_moves(f"sqlite:///{Path(folder) / 'memory.db'}", history, shares)


@settings(
    max_examples=examples(6, 2),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(history=histories, shares=shares)
def test_any_times_in_postgres(postgres: Databases, history: History, shares: list[float]) -> None:
    check_moves(postgres.fresh("histories"), history, shares)

"""Connections to SQLite that read the plan of every statement before they run it; a use of each."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from salience import Memory
from salience.access.keyring import Keyring
from salience.retrieval.operations import Put, SetFields
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import perform

GROWING = frozenset({"memories", "vectors", "links", "events", "former_vectors", "changes"})
"""Tables that grow with the memories of all namespaces."""
VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")
LINEAR = {
    "SELECT name, count(*) FROM memories": "figures: counts every namespace, in an index",
    "SELECT count(*) FROM links": "figures",
    "SELECT count(*) FROM memories WHERE space = ?": "figures, in an index",
    "SELECT count(*) FROM memories": "how far a re-embedding is, in an index",
    "SELECT count(*) FROM spaces JOIN vectors": "how far a re-embedding is, in an index",
    "DELETE FROM former_vectors WHERE space = ? AND (memory, event, name) IN": "and those of edits",
    "SELECT 1 FROM former_vectors WHERE space = ? AND name IN": "whether any of them is left",
    "SELECT row FROM memories WHERE space = ? ORDER BY sequence": "a copy reads everything",
    "SELECT row, checksum, space, sequence, id, content": "each checksum is verified",
    "SELECT row FROM memories WHERE space = ? AND NOT ((created_at": "each value is verified",
    "SELECT count(*) FROM events WHERE space = ? AND checksum IS NOT": "each checksum is verified",
    "SELECT count(*) FROM links WHERE space = ? AND checksum IS NOT": "each checksum is verified",
    "SELECT count(*) FROM vectors WHERE space = ? AND checksum IS NOT": "each checksum is verified",
    "SELECT count(*) FROM former_vectors WHERE space = ? AND checksum IS NOT": "and those of edits",
    **{
        f"SELECT 1 FROM {table} WHERE checksum IS NOT": "a backup is checked"
        for table in ("memories", "vectors", "former_vectors", "events", "links")
    },
    "SELECT event, name, vector FROM former_vectors": "a copy reads everything",
    "SELECT source, target, type, created_at, weight FROM links WHERE space = ? ORDER": "all links",
    "SELECT source, target, weight, type FROM links WHERE space = ? AND type": "kept by an index",
    "SELECT id FROM memories WHERE space = ?": "a snapshot is compared with its namespace",
    "SELECT id, row, sequence, created_at, written_by": "an event of all memories changes each",
    "SELECT row FROM memories WHERE space = ? AND NOT EXISTS": "an index says who lacks a vector",
    "INSERT INTO main.": "a past begins as a copy of the present",
    "SELECT seq, type, id, at, CASE type": "with all of its log",
    "DELETE FROM spaces WHERE space = ?": "looks for a row of the namespace, and there is none",
}
"""The beginnings of statements that may read a whole namespace or table, with the reason."""
_PAGE = re.compile(r"WHERE space = \? ORDER BY [\w, ]+ LIMIT \?$")  # off an index, if none sorts
_LISTED = re.compile(r"(?:memory|'\$\.key'\)) IN \(SELECT value FROM json_each")
_LOG_BY_PLACE = re.compile(r"^SEARCH events .*\(space=\? AND seq>\?\)$")
_KEYLESS = re.compile(r"^(?:SCAN (\w+)|SEARCH (\w+) .*\(space=\?\)$)")


class LinearPlan(AssertionError):
    """A statement reads a whole table, or all that a namespace has in it."""


class PlanReader(sqlite3.Connection):
    """Refuses statements that read all of a growing table, or all of a namespace of it.

    Plans are read without statistics, as a file has none that nobody analyzed.
    """

    read: set[tuple[str, int]] = set()  # noqa: RUF012  # by all connections; with their parameters

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        self._read_plan(sql, parameters)
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any]) -> sqlite3.Cursor:
        rows = list(parameters)
        if rows:
            self._read_plan(sql, rows[0])
        return super().executemany(sql, rows)

    def _read_plan(self, sql: str, parameters: Sequence[Any]) -> None:
        text = normal(sql)
        key = (text, len(parameters).bit_length())  # the planner looks at the length of a list
        is_migration = sql.rstrip().endswith(";")
        if key in self.read or is_migration or not text.startswith(VERBS):
            return
        plan = super().execute(f"EXPLAIN QUERY PLAN {sql}", parameters).fetchall()
        is_page = _PAGE.search(text) and "B-TREE" not in str(plan)
        tables = linear_tables(plan)
        if _LISTED.search(text) and any(_LOG_BY_PLACE.match(detail) for *_, detail in plan):
            tables.append("events")  # of which a few are asked for
        if tables and not is_page and not text.startswith(tuple(LINEAR)):
            raise LinearPlan(f"{', '.join(tables)} is read from end to end by: {text}")
        self.read.add(key)


def linear_tables(plan: Iterable[Sequence[Any]]) -> list[str]:
    """The growing tables of which a plan reads everything, or a whole namespace."""
    steps = (_KEYLESS.search(detail) for *_, detail in plan)
    names = [step[1] or step[2] for step in steps if step]
    return [name for name in names if name in GROWING]


def normal(sql: str) -> str:
    """A statement with its lists of parameters shortened, and each namespace by its number."""
    text = " ".join(sql.split()).replace("(SELECT space FROM spaces WHERE name = ?)", "?")
    text = re.sub(r"\?(?:, \?)+", "?", text)
    return re.sub(r"\(\?\)(?:, \(\?\))+", "(?)", text)


@contextmanager
def reading_plans() -> Iterator[None]:
    """Let the store's connections read the plan of every statement."""
    reading = partial(sqlite3.connect, factory=PlanReader)
    with patch("salience.stores.sqlite.connection.sqlite3.connect", reading):
        yield


def use_tables(url: str) -> None:
    """Let the store of an address issue each statement that all stores have."""
    with Memory.open(url, embedder=WordHashEmbedder()) as memory:
        memory.add_many([{"id": f"m{i}", "content": f"Fact number {i}."} for i in range(40)])
        memory.add([{"role": "user", "content": f"Hello {i}."} for i in range(5)])
        memory.add(
            "Fact number 7.",
            agent_id="bo",
            links=[{"target": "m1", "type": "mentions"}],
            idempotency_key="once",
        )
        for profile in ("balanced", "vitality", "activation"):
            memory.search("Which fact is number 7?", profile=profile)
        memory.history("m7")  # while the uses by the searches wait to be written
        memory.update("m1", content="Another fact.")
        memory.link("m2", "m3", "mentions")
        perform(memory, Put((), unlinks=tuple(memory.links("m2"))))
        memory.link("m4", "m5", "supports")
        memory.supersede("m10", "m11")
        memory.add("The one that was named.", id="later")
        memory.history("m1")
        memory.upkeep.decay()
        memory.undo(str(memory.archive(["m5", "m6"])))
        memory.upkeep.maintain()
        memory.upkeep.audit()
        memory.upkeep.verify(repair=True)
        perform(memory, SetFields("default", {"m1": {"metadata": {"read": "twice"}}}))
        memory.search("fact", as_of="2020-01-01")
        memory.stats()
        memory.get_all(limit=5)
        memory.delete("m9")
        memory.delete("m5")  # m4 was linked to it
        memory.add("Ana lives in Porto.", id="porto", kind="fact")
        memory.add("Ana lives in Lisbon.", kind="fact", idempotency_key="conflicting")
        memory.delete("porto")
        memory.update("m3", user_id="ana")
        memory.update("m3", user_id="bo")
        ana = memory.for_namespace("default", actor="ana")
        for id in ("hers", "gone"):
            ana.add(f"The boat is {id}.", id=id)
        ana.delete("gone")
        ana.labels.add("Whose is the boat?", "hers", filters={"user_id": "ana"})
        memory.delete_user("ana")
    with Keyring.open(url) as keyring:
        assert keyring.check(keyring.create("default", "memories:read").text)
        assert len(keyring.list()) == 1

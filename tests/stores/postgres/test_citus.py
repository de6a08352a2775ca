"""A Citus cluster as the store: everything that PostgreSQL does, each statement on one worker.

The cluster is the one that `SALIENCE_TEST_CITUS_URL` names, whose memories are erased; else one
that is started for the tests, where a PostgreSQL with Citus is installed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import count
from typing import Any
from urllib.parse import urlencode

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from salience import Memory
from salience.errors import EmbedderMismatch
from salience.stores import migrate
from salience.stores.migrations import migrations
from salience.stores.postgres import PostgresStore, schema
from salience.stores.postgres.large import indexes
from salience.stores.postgres.sql.columns import VERSION
from salience.stores.postgres.wire.connection import Connections
from salience.stores.postgres.wire.database import Database
from salience.stores.postgres.write.dialect import DIALECT
from salience.stores.tables.commands import Command, Copy, Many, Statement, set_local
from salience.testing import WordHashEmbedder
from salience.testing.citus import CitusCluster, find_citus
from support.suite.memory import MemoryConformance

URL = os.environ.get("SALIENCE_TEST_CITUS_URL", "")
pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        not URL and find_citus() is None,
        reason="needs a PostgreSQL with Citus, named by PG_CONFIG; or the address of a cluster in "
        "SALIENCE_TEST_CITUS_URL",
    ),
]
EMBEDDER, NEW = WordHashEmbedder(), WordHashEmbedder(48)
CONTROL = ("BEGIN", "COMMIT", "SET LOCAL ", "LOCK TABLE ")
WHOLE_STORE = {
    "stats: how many memories each namespace has": "SELECT namespace, living FROM spaces",
    "stats: how many links there are": "SELECT count(*) FROM links",
    "stats: how large the tables are": "SELECT sum(citus_total_relation_size",
    "reembed: which namespaces there are": "SELECT namespace FROM spaces",
    "reembed: how many memories there are": "SELECT coalesce(sum(living), 0)::bigint FROM spaces",
    "reembed: how many new vectors there are": "SELECT count(*) FROM vectors WHERE name",
    "reembed: what the last rows are": "SELECT json_object_agg(namespace, counter)",
    "reembed: which memories have no new vector": "SELECT m.namespace, m.id FROM spaces s JOIN",
    "reembed: how many memories there are to embed": "SELECT count(*) FROM memories",
    "reembed: how many of them are embedded": "SELECT count(*) FROM spaces JOIN vectors",
    "keys are read on any node": "SELECT id, version, last_used, entry FROM access_keys",
    "keys are written on every node": "INSERT INTO access_keys",
    "keys are used on every node": "UPDATE access_keys",
}
"""Statements that are about the whole store, by how they begin."""
EXPLAINED: set[str] = set()  # a statement is explained once a process


class Plans:
    """Statements sent to the server; `check` explains each statement that is new."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.said: dict[str, tuple[Any, ...]] = {}

    def heard(self, command: Command) -> None:
        if isinstance(command, Statement):
            self.said.setdefault(command.sql, tuple(command.parameters))
        elif isinstance(command, Many) and command.rows:
            self.said.setdefault(command.sql, tuple(command.rows[0]))
        elif isinstance(command, Copy):
            assert command.columns[0] == "namespace"  # by which each row finds its worker

    def check(self) -> int:
        """Every statement is one task of the cluster; how many were explained."""
        begins = (*CONTROL, *WHOLE_STORE.values())
        fresh = {
            sql: given
            for sql, given in self.said.items()
            if sql not in EXPLAINED and not (sql.startswith(begins) and "namespace = %s" not in sql)
        }
        with psycopg.connect(self._url, autocommit=True) as connection:
            cursor = psycopg.ClientCursor(connection)
            cursor.execute("SET search_path = salience, public")
            for sql, given in fresh.items():
                values = [literal(value) for value in given]
                asked = sql.removeprefix("EXPLAIN (FORMAT JSON) ")
                cursor.execute("EXPLAIN (COSTS OFF) " + asked, values or None)
                plan = "\n".join(line for (line,) in cursor.fetchall())
                assert "Task Count: 1\n" in plan, f"{sql}\n{plan}"
                EXPLAINED.add(sql)
        return len(fresh)


def literal(value: Any) -> Any:
    """A parameter as a value that can be written into a statement."""
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    return value


@pytest.fixture(scope="session")
def distributed() -> Iterator[str]:
    """The address of the cluster, once the tables are spread over it."""
    with nullcontext() if URL else CitusCluster(fsync="off", full_page_writes="off") as own:
        url = URL if own is None else own.url
        migrate(url, citus=True)
        yield url


@pytest.fixture
def cluster(distributed: str) -> Iterator[str]:
    """The address of a cluster without memories, which is this test's until it ends."""
    with psycopg.connect(distributed, autocommit=True) as connection:
        connection.execute("SET search_path = salience")
        connection.execute("SELECT pg_advisory_lock(5)")
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'salience' AND tablename <> 'meta'"
        ).fetchall()
        with connection.pipeline():
            for (table,) in tables:
                connection.execute(SQL("DELETE FROM {}").format(Identifier(table)))
        connection.execute("DELETE FROM meta WHERE key NOT IN ('schema', 'features')")
        yield distributed


@pytest.fixture
def plans(cluster: str, monkeypatch: pytest.MonkeyPatch) -> Plans:
    """Hears every statement of every store that the test opens."""
    heard = Plans(cluster)

    class Heard(Database):
        def __init__(self, url: str) -> None:
            super().__init__(url)
            self.on_command = heard.heard

    monkeypatch.setattr("salience.stores.postgres.store.Database", Heard)
    return heard


class TestCitus(MemoryConformance):
    """The conformance suite; after each test, every statement that was new in it is explained."""

    @pytest.fixture(autouse=True)
    def place(self, cluster: str, plans: Plans) -> Iterator[None]:
        self.url = cluster
        yield
        plans.check()

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(self.url, **settings)

    @pytest.mark.parametrize("writing", [0, 1])
    @pytest.mark.parametrize("cutting", [0, 1, 2])
    def test_a_cut_over_keeps_out_those_who_write_at_any_node(
        self, writing: int, cutting: int
    ) -> None:
        """The nodes are the coordinator and the workers."""
        nodes = nodes_of(self.url)
        with Memory.open(self.url, embedder=EMBEDDER) as memory:
            memory.add("An apple.")
        stop, problems = threading.Event(), list[BaseException]()

        def write(number: int) -> None:
            try:
                with Memory.open(nodes[writing], embedder=EMBEDDER) as own:
                    for i in count():
                        if stop.is_set():
                            return
                        team = f"team {number} {i % 3}"  # also new ones, at that moment
                        own.for_namespace(team).add_many(
                            [f"Crate {i} {place}" for place in range(3)]
                        )
            except EmbedderMismatch:
                pass
            except BaseException as problem:
                problems.append(problem)

        writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for writer in writers:
            writer.start()
        try:
            Memory.upkeep.reembedding(nodes[cutting], NEW, step="cut_over")
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        assert problems == []
        with Memory.open(self.url, embedder=NEW) as memory:
            for name in memory.stats(everywhere=True)["namespaces"]:
                self.check_vectors(memory.for_namespace(name))


def nodes_of(url: str) -> list[str]:
    """The addresses of the coordinator and of the workers."""
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid")
        kept = conninfo_to_dict(url)
        return [
            f"postgresql://?{urlencode({**kept, 'host': host, 'port': port})}"
            for host, port in found.fetchall()
        ]


@pytest.mark.parametrize("writing", [0, 1, 2])
@pytest.mark.parametrize("cutting", [0, 1, 2])
def test_who_writes_and_a_cut_over_exclude_each_other(
    cluster: str, writing: int, cutting: int
) -> None:
    nodes = nodes_of(cluster)
    options = "-c search_path=salience,public -c statement_timeout=700"
    with (
        psycopg.connect(nodes[writing], options=options) as writer,
        psycopg.connect(nodes[cutting], options=options) as cut_over,
    ):
        enter, [lock] = DIALECT.enter("new"), DIALECT.lock_sets()
        assert isinstance(lock, Statement)
        for first, then in ((writer, cut_over), (cut_over, writer)):
            sent = {writer: (enter.sql, enter.parameters), cut_over: (lock.sql, None)}
            first.execute(*sent[first])
            with pytest.raises(psycopg.errors.QueryCanceled):
                then.execute(*sent[then])
            then.rollback()
            first.rollback()
            then.execute(*sent[then])
            then.rollback()


def test_every_other_statement_is_one_task(
    cluster: str, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts beyond the suite above: large namespaces and their indexes, row-level security."""
    EXPLAINED.clear()
    with Memory.open(cluster, embedder=EMBEDDER) as memory:
        for start in range(0, 200, 40):
            memory.add_many(
                {"id": f"m{i}", "content": f"word{i % 37} number{i}", "session_id": f"s{i // 9}"}
                for i in range(start, start + 40)
            )
        memory.delete_all({"id": {"in": ["m3", "m9"]}})
        again = [f"the word{i % 37} and its number{i}" for i in range(20)]
        memory.add_many(again, dedup=True)
        memory.search('"word3 number3" numb*', profile="vitality")
    store = PostgresStore(cluster, memory=0)
    assert indexes.build_indexes(store.connections, 100) == 2
    with Memory.open(store, embedder=EMBEDDER) as memory:
        for profile in ("balanced", "composite", "multi_route", "activation"):
            assert memory.search("word3 number40", profile=profile, touch=False).approximate
        assert len([sql for sql in plans.said if "::halfvec(" in sql])
    store = PostgresStore(cluster)
    store.database.row_security = True
    with Memory.open(store, embedder=EMBEDDER) as memory:
        memory.search("word3")
        memory.update("m4", content="other words")
    said = " ".join(plans.said)
    assert 'v."row" > %s AND vector_dims' in said  # many held against all
    assert plans.check() > 40


def test_a_setting_reaches_the_worker(cluster: str) -> None:
    with Memory.open(cluster, embedder=EMBEDDER) as memory:
        memory.add("An apple.")
    database = Database(cluster)
    schema.open_database(database)
    connections = Connections(database)
    asked = Statement(
        "SELECT current_setting('hnsw.ef_search'), current_setting('transaction_isolation') "
        "FROM spaces WHERE namespace = %s",
        ("default",),
    )
    assert connections.read(lambda send: send(set_local("hnsw.ef_search", "77"), asked))[-1] == [
        ("77", "repeatable read")
    ]
    connections.close()


def test_tables_with_memories_are_distributed(cluster: str) -> None:
    with psycopg.connect(cluster, autocommit=True) as connection:
        connection.execute("DROP SCHEMA salience CASCADE")
    with Memory.open(cluster, embedder=EMBEDDER) as memory:
        for name in ("ana", "bo", "cleo"):
            memory.for_namespace(name).add_many(
                [f"{name} has {fruit}" for fruit in ("figs", "pears")]
            )
        before = memory.for_namespace("ana").search("figs", now=2e9, touch=False)
    steps = len(migrations("postgres"))
    assert migrate(cluster, citus=True) == (steps, steps)
    with Memory.open(cluster, embedder=EMBEDDER) as memory:
        after = memory.for_namespace("ana").search("figs", now=2e9, touch=False)
        assert [(h.content, h.score) for h in after] == [(h.content, h.score) for h in before]
        figures = memory.stats(everywhere=True)
        assert figures["namespaces"] == {"ana": 2, "bo": 2, "cleo": 2}
        assert figures["file_mb"] > 0
    with psycopg.connect(cluster) as connection:
        kinds = connection.execute(
            "SELECT citus_table_type, count(DISTINCT colocation_id) FROM citus_tables "
            "WHERE starts_with(table_name::text, 'salience.') GROUP BY 1 ORDER BY 1"
        ).fetchall()
    assert kinds == [("distributed", 1), ("reference", 1)]


def test_a_later_migration_is_distributed_too(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        *migrations("postgres"),
        'CREATE TABLE salience.later (namespace text COLLATE "C" PRIMARY KEY);'
        "ALTER TABLE memories ADD COLUMN later text; CREATE TABLE salience.about (a text);",
    ]
    with psycopg.connect(cluster, autocommit=True) as connection:
        try:
            with monkeypatch.context() as patch:
                patch.setattr(schema, "migrations", lambda store: steps)
                assert migrate(cluster) == (len(steps) - 1, len(steps))
            kinds = connection.execute(
                "SELECT table_name::text, citus_table_type FROM citus_tables WHERE table_name::text"
                " IN ('salience.later', 'salience.about') ORDER BY 1 DESC"
            ).fetchall()
            assert kinds == [("salience.later", "distributed"), ("salience.about", "reference")]
        finally:
            connection.execute("DROP TABLE IF EXISTS salience.later, salience.about")
            connection.execute("ALTER TABLE salience.memories DROP COLUMN IF EXISTS later")
            rename = f"ALTER TABLE salience.spaces RENAME version_{len(steps)} TO {VERSION}"
            connection.execute(rename.encode())
            connection.execute(
                "UPDATE salience.meta SET value = %s WHERE key = 'schema'", (str(len(steps) - 1),)
            )


def test_row_security_holds_on_the_workers(cluster: str) -> None:
    awkward = 'it\'s "a" \\ {b,c}'
    with psycopg.connect(cluster, autocommit=True) as owner:
        owner.execute("DROP OWNED BY app") if exists(owner, "app") else None
        owner.execute("DROP ROLE IF EXISTS app")
        owner.execute("CREATE ROLE app LOGIN")
        owner.execute("GRANT USAGE ON SCHEMA salience TO app")
        owner.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA salience TO app"
        )
        app = psycopg.conninfo.make_conninfo(cluster, user="app")
        app = f"postgresql://?{'&'.join(app.split())}"
        migrate(cluster, row_security=True)
        try:
            with Memory.open(app, embedder=EMBEDDER) as memory:
                memory.add("An apple.", id="mine")
                memory.for_namespace(awkward).add("A pear.", id="theirs")
                assert memory.search("apple").ids == ("mine",)
                found = memory.search("pear", namespaces=["default", awkward])
                assert found.ids[0] == "theirs"
                assert memory.delete("mine")
            with psycopg.connect(app, autocommit=True) as connection:
                assert connection.execute("SELECT FROM salience.memories").fetchall() == []
        finally:
            migrate(cluster, row_security=False)
            owner.execute("DROP OWNED BY app")
            owner.execute("DROP ROLE app")


def exists(connection: psycopg.Connection[Any], role: str) -> bool:
    found = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
    return found is not None

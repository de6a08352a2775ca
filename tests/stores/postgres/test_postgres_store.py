"""Behaviour that only the store on PostgreSQL has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from salience import Memory
from salience.embedders import EmbedderIdentity
from salience.errors import EmbedderMismatch, InvalidInput, NotWritable, StoreError
from salience.records.fields import LEXICAL
from salience.retrieval.erasure import Erasure
from salience.retrieval.operations import CheckWritable
from salience.stores import migrate, open_store
from salience.stores.migrations import migrations
from salience.stores.postgres import PostgresStore
from salience.stores.postgres.schema import _MEMORIES_AT_ONCE
from salience.stores.postgres.sql.columns import VERSION
from salience.stores.postgres.wire.breaker import WAIT_VARIABLE
from salience.stores.postgres.wire.connection import Connections
from salience.stores.tables import erase
from salience.stores.tables.commands import Command, Many, Statement
from salience.testing import WordHashEmbedder
from salience.testing.postgres import PostgresServer
from state_sentences import SENTENCES
from support.shared_postgres import Databases
from support.waiting import until

EMBEDDER = WordHashEmbedder()


@pytest.fixture
def empty(postgres: Databases) -> str:
    """The address of a database in which nothing is."""
    return postgres.fresh("empty")


def opened(url: str, **settings: Any) -> Memory:
    return Memory.open(url, embedder=EMBEDDER, **settings)


def filled(memory: Memory, count: int = 400) -> None:
    memory.add_many(
        {
            "id": f"m{i:04}",
            "content": f"word{i % 37} of topic{i % 11} said number{i}",
            "speaker": ("Ana", "Bo")[i % 2],
            "session_id": f"s{i // 20}",
            "importance": (i % 10) / 10,
        }
        for i in range(count)
    )


@pytest.mark.parametrize("before", [0, 400, 2000])
def test_the_server_knows_of_a_namespace_that_has_begun(empty: str, before: int) -> None:
    with opened(empty) as memory:
        if before:
            filled(memory, before)
        filled(memory.for_namespace("begun"), 300)
    with psycopg.connect(empty, options="-c search_path=salience") as connection:
        for table in ("memories", "words", "vectors"):
            told = connection.execute(
                f"EXPLAIN (FORMAT JSON) SELECT FROM {table} WHERE namespace = 'begun'".encode()
            ).fetchone()
            assert told is not None
            assert 100 <= told[0][0]["Plan"]["Plan Rows"] <= 900


def test_an_empty_database_is_made_ready(empty: str) -> None:
    steps = len(migrations("postgres"))
    assert migrate(empty) == (0, steps)
    assert migrate(empty) == (steps, steps)
    with opened(empty) as memory:
        memory.add("An apple.", id="one")
        assert memory.search("apple").ids == ("one",)


def test_a_newer_schema_is_refused(empty: str) -> None:
    migrate(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("UPDATE salience.meta SET value = '99' WHERE key = 'schema'")
    for attempt in (opened, migrate):
        with pytest.raises(StoreError, match=r"newer schema 99.*upgrade salience"):
            attempt(empty)


def test_words_of_an_older_version_are_worked_out_anew(empty: str) -> None:
    with opened(empty) as memory:
        memory.add("我家的貓今年三歲。", id="cat", title="HttpClient", tags=["Новый"])
        memory.add("A pear.", id="pear", session_id="s", entities=["梨"])
        memory.add("Gone.", id="gone")
        memory.delete("gone")
    told = (
        "SELECT m.*, w.* FROM salience.memories m "
        'JOIN salience.words w USING (namespace, "row") ORDER BY m."row"'
    )
    with psycopg.connect(empty, autocommit=True) as connection:
        kept = connection.execute(told).fetchall()
        connection.execute(
            "UPDATE salience.memories SET features = '\\x00', text_key = 1, spellings = '{}'"
        )
        connection.execute("UPDATE salience.words SET content = NULL, title = NULL, tags = NULL")
        connection.execute("UPDATE salience.meta SET value = '3' WHERE key = 'features'")
        with pytest.raises(StoreError, match=r"words are kept as by another.*salience migrate"):
            opened(empty)
        migrate(empty)
        assert connection.execute(told).fetchall() == kept
    with Memory.open(empty, embedder=None) as memory:
        assert memory.search("猫", profile="balanced", touch=False).ids[0] == "cat"
        assert memory.search("貓", profile="balanced").ids[0] == "cat"


def test_other_languages_are_ranked_as_in_memory(empty: str) -> None:
    told = [
        text.format(topic.values[place])
        for code in ("zh", "ja", "ko", "ru", "de", "es")
        for topic in SENTENCES[code].topics[:4]
        for place, text in enumerate(topic.told)
    ]
    questions = [
        question
        for code in ("zh", "ja", "ko", "ru", "de", "es")
        for topic in SENTENCES[code].topics[:4]
        for question in (topic.asked[1], topic.asked_former)
    ]
    ranked = []
    for url in ("ram://", empty):
        with Memory.open(url) as memory:
            memory.add_many(
                {"content": text, "id": f"{place:03}", "created_at": 1_700_000_000 + 3_600 * place}
                for place, text in enumerate(told)
            )
            searches = (memory.search(question, touch=False) for question in questions)
            ranked.append([[(hit.id, hit.score) for hit in found] for found in searches])
    assert ranked[0] == ranked[1]


def test_words_of_a_newer_version_are_refused(empty: str) -> None:
    migrate(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("UPDATE salience.meta SET value = '99' WHERE key = 'features'")
    for attempt in (opened, migrate):
        with pytest.raises(StoreError, match="upgrade salience"):
            attempt(empty)


def test_an_older_schema_names_the_command(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, kept = migrate(empty)
    steps = [*migrations("postgres"), "CREATE TABLE salience.later (namespace text)"]
    monkeypatch.setattr("salience.stores.postgres.schema.migrations", lambda store: steps)
    older = rf"older schema {kept}, this salience needs {kept + 1}.*salience migrate"
    with pytest.raises(StoreError, match=older):
        opened(empty)
    assert migrate(empty) == (kept, kept + 1)


GONE_TABLES = {
    "segments": "namespace text, data bytea",
    "chunks": "namespace text, data bytea",
    "places": 'namespace text, "row" integer, version bigint, living boolean, '
    + ", ".join(f"{name} integer" for name in ("previous", "following", "position", *LEXICAL)),
    "tallies": "namespace text, kind text, name text, number integer, size integer DEFAULT 0, "
    "version bigint, PRIMARY KEY (namespace, kind, name)",
}
GONE_NUMBERS = ("merged", "named", "erased", "linked")  # of namespaces


def without_last_steps(connection: psycopg.Connection[Any]) -> None:
    """Make a schema what it was after its fourth step."""
    added = ("outdated", "added_at", "version", "folded_tags", "folded_entities", "attribute_key")
    for column in (*added, "passages", "written_by", "write_count"):
        connection.execute(f"ALTER TABLE salience.memories DROP COLUMN {column}".encode())
    connection.execute("ALTER TABLE salience.words DROP COLUMN passages")
    connection.execute("DROP TABLE salience.access_keys")
    connection.execute("DROP TABLE salience.erasures")
    rename = f"ALTER TABLE salience.spaces RENAME COLUMN {VERSION} TO version"
    connection.execute(rename.encode())
    connection.execute("ALTER TABLE salience.spaces DROP COLUMN changes_from")
    connection.execute("DROP TABLE salience.changes, salience.indexes")
    connection.execute("DROP INDEX salience.vectors_by_row")
    for table, columns in GONE_TABLES.items():
        connection.execute(f"CREATE TABLE salience.{table} ({columns})".encode())
    for number in GONE_NUMBERS:
        connection.execute(f"ALTER TABLE salience.spaces ADD {number} integer DEFAULT 0".encode())
    connection.execute("DROP INDEX salience.events_by_mention")
    connection.execute(
        "CREATE INDEX events_by_target ON salience.events (namespace, (payload ->> 'target')) "
        "WHERE type = 'link'"
    )
    for key, version in (("schema", "4"), ("features", "4")):
        connection.execute("UPDATE salience.meta SET value = %s WHERE key = %s", (version, key))


def test_a_chat_that_an_older_program_continued_is_no_use_of_it(empty: str) -> None:
    with opened(empty) as memory:
        for role in ("user", "assistant"):
            memory.add_chat([{"role": role, "content": f"The {role} saw it."}], session_id="s")
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(
            "UPDATE salience.events SET payload = (payload::jsonb - 'continued')::json"
        )
        connection.execute("UPDATE salience.memories SET write_count = 7, accesses = '{1, 2, 3}'")
        connection.execute("ALTER TABLE salience.erasures DROP COLUMN key, DROP COLUMN body")
        connection.execute("UPDATE salience.meta SET value = '19' WHERE key = 'schema'")
    migrate(empty)
    with opened(empty) as memory:
        [chunk] = memory.get_all()
        assert (chunk.write_count, len(chunk.accesses)) == (0, 1)
        assert memory.upkeep.doctor().healthy


def test_an_older_schema_learns_from_its_log_what_is_outdated_and_when_all_came(
    empty: str,
) -> None:
    with opened(empty) as memory:
        memory.add("An apple.", id="a", created_at="2020-01-01")
        memory.add("A pear.", id="b")
        for kind in ("outdated", "incorrect"):
            memory.feedback("a", kind)
        memory.update("a", content="A plum.")
        before = list(memory.get_all())
    with psycopg.connect(empty, autocommit=True) as connection:
        without_last_steps(connection)
    migrate(empty)
    with opened(empty) as memory:
        assert list(memory.get_all()) == before
        assert {record.outdated for record in before} == {1.0, None}
        assert memory.upkeep.verify()


def test_an_older_schema_learns_which_attributes_facts_state(empty: str) -> None:
    count = _MEMORIES_AT_ONCE + 1
    with opened(empty) as memory:
        memory.add_many({"content": f"I eat dish {i}.", "kind": "fact"} for i in range(count))
        memory.add("Ana lives in Berlin.", kind="fact", id="ana")
    keys = "SELECT namespace, sequence, attribute_key FROM salience.memories ORDER BY 1, 2"
    with psycopg.connect(empty, autocommit=True) as connection:
        before = connection.execute(keys).fetchall()
        without_last_steps(connection)
    migrate(empty)
    with psycopg.connect(empty) as connection:
        assert connection.execute(keys).fetchall() == before
    with opened(empty) as memory:
        [added] = memory.add("Ana moved to Lisbon.", kind="fact")
        assert (added.outcome, added.match) == ("CONFLICTS", "ana")


def test_the_long_texts_of_an_older_schema_are_split(empty: str) -> None:
    with opened(empty) as memory:
        memory.add("We swept the floor of the barn. " * 60, id="long", title="Barn")
        memory.add("A pear.", id="short")
    told = (
        "SELECT m.passages, w.passages FROM salience.memories m "
        'JOIN salience.words w USING (namespace, "row") ORDER BY m."row"'
    )
    with psycopg.connect(empty, autocommit=True) as connection:
        before = connection.execute(told).fetchall()
        assert [row[0] is not None for row in before] == [True, False]
        without_last_steps(connection)
    migrate(empty)
    with psycopg.connect(empty) as connection:
        assert connection.execute(told).fetchall() == before


def test_only_a_cluster_distributes(empty: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"has no Citus.*shared_preload_libraries"):
        migrate(empty, citus=True)
    with pytest.raises(InvalidInput, match=r"citus.*PostgreSQL alone"):
        migrate(f"sqlite:///{tmp_path}/a.db", citus=True)


@pytest.mark.parametrize(
    "url", ["postgresql://nobody@/none?host=/nowhere", "postgresql://u@localhost:1/x"]
)
def test_a_server_that_is_not_there_is_named(url: str) -> None:
    with pytest.raises(StoreError, match="check the address, and that the server is running"):
        opened(url)


@pytest.mark.parametrize(
    ("profile", "linked"),
    [
        ("balanced", True),
        ("activation", True),
        *(
            pytest.param(profile, linked, marks=pytest.mark.deep)
            for profile in ("composite", "six_factor", "multi_route", "vitality")
            for linked in (False, True)
        ),
    ],
)
def test_a_search_takes_two_round_trips(database: str, profile: str, linked: bool) -> None:
    store = PostgresStore(database)
    with opened(store) as memory, Memory.open("ram://", embedder=EMBEDDER) as known:  # type: ignore[arg-type]
        for each in (memory, known):
            filled(each)
            for i in range(0, 380 if linked else 0, 3):
                each.link(f"m{i:04}", f"m{i + 7:04}", weight=0.5)
                each.link(f"m{i:04}", f"m{i + 19:04}", "contradicts")
        # Learns what this process has written.
        memory.search("word3 topic4", profile=profile, touch=False)
        trips: list[None] = []
        store.flush()
        store.database.on_trip = lambda: trips.append(None)
        asked: dict[str, Any] = {"profile": profile, "touch": False, "now": 2e9}
        for text in ("What did Ana say of topic5 word7 on 12 June?", "word3 topic4"):
            trips.clear()
            found = memory.search(text, **asked)
            # The threshold algorithm reads who came first before it can tell who is the best, and
            # of a question without capitals the words that are names are asked for.
            asks_names = profile in ("six_factor", "vitality") and text.islower()
            assert len(trips) <= (3 if profile == "composite" or asks_names else 2)
            assert found.ids == known.search(text, **asked).ids
            assert len(found) == 10 or profile == "vitality"
    store.close()


def test_where_no_thread_starts_an_access_is_written_at_once(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(timer: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    store = PostgresStore(database)
    with opened(store) as memory, Memory.open(database) as other:  # type: ignore[arg-type]
        memory.add("An apple.", id="one")
        monkeypatch.setattr(threading.Timer, "start", refuse)
        for count in (1, 2):
            assert memory.search("apple").ids == ("one",)
            found = other.get("one")
            assert found is not None
            assert found.access_count == count


def test_an_access_shows_before_it_is_written_and_counts_once(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salience.stores.access_queue.WRITE_DELAY_SECONDS", 3600.0)
    store = PostgresStore(database)
    with opened(store) as memory:  # type: ignore[arg-type]
        memory.add("An apple.", id="one", created_at="2026-01-01")
        day = 86_400.0
        start = memory.get("one").created_at.timestamp()  # type: ignore[union-attr]

        def seen() -> tuple[int, float | None, int]:
            [hit] = memory.search("apple", now=start + 9 * day, touch=False)
            last = hit.record.last_accessed
            days = None if last is None else (last.timestamp() - start) / day
            return hit.record.access_count, days, len(hit.record.accesses)

        assert seen() == (0, None, 1)  # that it was written is the first of its accesses
        said: list[str] = []
        store.database.on_command = lambda command: said.append(getattr(command, "sql", ""))
        for days in (1, 3, 2):
            memory.search("apple", now=start + days * day)
        assert seen() == (3, 3.0, 4)
        assert not any(sql.startswith("UPDATE") for sql in said)
        sent, during = Connections.trip, []

        def trip(self: Connections, connection: Any, commands: Any, **kept: Any) -> Any:
            if list(commands) == [Statement("COMMIT")]:
                during.append(seen())
                answer = sent(self, connection, commands, **kept)
                during.append(seen())
                return answer
            return sent(self, connection, commands, **kept)

        monkeypatch.setattr(Connections, "trip", trip)
        store.flush()
        assert any(sql.startswith("UPDATE") for sql in said)
        assert during == [(3, 3.0, 4)] * 2
        memory.search("apple", now=start + 4 * day)
        assert seen() == (4, 4.0, 5)
        assert memory.get_all({"access_count": {"gte": 4}}).total == 1
    store.close()


def test_every_statement_names_its_namespaces(database: str) -> None:
    store = PostgresStore(database)
    said: list[Command] = []
    store.database.on_command = said.append
    with opened(store) as memory:  # type: ignore[arg-type]
        filled(memory, 30)
        memory.link("m0001", "m0002")
        memory.search("word3", profile="vitality")
        memory.search("word3")
        memory.update("m0001", content="other words", importance=0.3)
        memory.get_all({"kind": "turn"}, limit=3)
        memory.delete("m0003")
        memory.delete_all({"kind": "note"})
        memory.upkeep.flush()
    store.close()
    control = ("BEGIN", "COMMIT", "SET LOCAL", "SELECT pg_advisory_xact_lock_shared")
    given = [command.sql for command in said if isinstance(command, Statement | Many)]
    about = [sql for sql in given if not sql.startswith(control) and " meta" not in sql]
    assert len(about) > 30
    for sql in about:
        assert "namespace" in sql, sql


def test_two_processes_see_each_other(database: str) -> None:
    with opened(database) as one, opened(database) as other:
        one.add("An apple for Kim.", id="a", speaker="Ana", session_id="s")
        assert other.search("apple").ids == ("a",)
        other.add("A pear for Ana.", id="b", speaker="Kim", session_id="s")
        assert one.search("pear").ids[0] == "b"
        one.update("a", content="A plum.")
        assert other.search("apple", profile="vitality").ids == ()
        one.delete_all(namespace="default")
        assert other.search("plum").ids == ()
        one.add("A second apple.", id="a")
        assert other.search("apple").ids == ("a",)


def test_row_security_hides_what_is_not_named(empty: str, postgres: Databases) -> None:
    migrate(empty, row_security=True)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("CREATE ROLE app LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA salience TO app")
        connection.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA salience TO app"
        )
    app = postgres.address("empty", "app")
    with opened(app) as memory:
        memory.add("An apple.", id="mine")
        memory.for_namespace("other").add("A pear.", id="theirs")
        assert memory.search("apple").ids == ("mine",)
        assert memory.search("pear", namespaces=["default", "other"]).ids[0] == "theirs"
        assert memory.update("mine", content="A plum.").content == "A plum."
        assert memory.delete("mine")
        memory.add("Another.", id="again")
    tables = ("memories", "words", "vectors", "spaces", "changes")
    with psycopg.connect(app, autocommit=True) as connection:
        for table in tables:
            rows = connection.execute(f"SELECT FROM salience.{table}".encode()).fetchall()
            assert rows == [], table
        with connection.transaction():
            connection.execute("SELECT set_config('salience.namespaces', '{other}', true)")
            seen = connection.execute("SELECT id FROM salience.memories").fetchall()
            assert seen == [("theirs",)]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    "INSERT INTO salience.changes VALUES ('default', 1, 1, 'removed')"
                )
    with opened(empty) as owner:
        assert owner.stats(everywhere=True)["namespaces"] == {"default": 1, "other": 1}
    with pytest.raises(StoreError, match="as the owner"):
        Memory.upkeep.reembed(app, embedder=WordHashEmbedder(dimensions=16))


def test_row_security_comes_to_tables_of_later_versions(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(empty, row_security=True)
    steps = [*migrations("postgres"), "CREATE TABLE salience.later (namespace text)"]
    monkeypatch.setattr("salience.stores.postgres.schema.migrations", lambda store: steps)
    migrate(empty)
    with psycopg.connect(empty) as connection:
        secured = connection.execute(
            "SELECT relrowsecurity FROM pg_class WHERE oid = 'salience.later'::regclass"
        ).fetchone()
        assert secured == (True,)
        left = "SELECT count(*) FROM pg_policies WHERE schemaname = 'salience'"
        assert (connection.execute(left).fetchone() or (0,))[0] > 10


@pytest.mark.parametrize("memory", [0, 1 << 30])
def test_row_security_does_not_hide_what_is_asked_for(
    empty: str, postgres: Databases, memory: int
) -> None:
    migrate(empty, row_security=True)
    with psycopg.connect(empty, autocommit=True) as connection:
        app = f"app_{memory}"
        connection.execute(f"CREATE ROLE {app} LOGIN".encode())
        connection.execute(f"GRANT USAGE ON SCHEMA salience TO {app}".encode())
        connection.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA salience TO {app}".encode())
    store = PostgresStore(postgres.address("empty", app), memory=memory)
    with opened(store) as other:  # type: ignore[arg-type]
        filled(other, 40)
        filled(other.for_namespace("other"), 20)
        for _ in range(2):
            assert len(other.search("word3 topic4")) == 10
            assert len(other.search("word3 topic4", namespaces=["default", "other"])) == 10
        assert set(store.replicas._indexes) == ({"default", "other"} if memory else set())


def test_no_acknowledged_write_is_lost_when_the_server_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, "300")  # a busy machine is slow to recover it
    with PostgresServer() as server, opened(server.url) as memory:
        memory.add("The first.", id="first")
        acknowledged: list[str] = []
        done = threading.Event()
        problems: list[BaseException] = []

        def write(who: int) -> None:
            number = 0
            try:
                while not done.is_set():
                    id = f"w{who}-{number}"
                    memory.add(f"apple number{number}", id=id)
                    acknowledged.append(id)
                    number += 1
            except BaseException as problem:
                problems.append(problem)

        writers = [threading.Thread(target=write, args=(who,)) for who in range(3)]
        for writer in writers:
            writer.start()

        def twenty_more(before: int) -> bool:
            return len(acknowledged) >= before + 20 or bool(problems)

        for _ in range(2):
            until(partial(twenty_more, len(acknowledged)))
            server.stop("immediate")
            server.start()
        until(partial(twenty_more, len(acknowledged)))
        done.set()
        for writer in writers:
            writer.join()
        assert problems == []
        kept = [record.id for record in memory.get_all(limit=10_000)]
        assert sorted(kept) == sorted(["first", *acknowledged])
        assert memory.search("apple", limit=5).ids


def broken_commits(monkeypatch: pytest.MonkeyPatch, committed: bool) -> Iterator[bool]:
    """The connection breaks once, right after or right before the server commits."""
    sent, breaks = Connections.trip, iter([True])

    def trip(self: Connections, connection: Any, commands: Any, **kept: Any) -> Any:
        last = list(commands) == [Statement("COMMIT")]
        if not last or not next(breaks, False):
            return sent(self, connection, commands, **kept)
        if committed:
            sent(self, connection, commands, **kept)
        connection.close()
        raise psycopg.OperationalError("the connection broke")

    monkeypatch.setattr(Connections, "trip", trip)
    return breaks


@pytest.mark.parametrize("committed", [True, False])
def test_a_write_whose_commit_was_not_answered_is_there_once(
    empty: str, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    with opened(empty) as memory:
        memory.add("The first.", id="first")
        breaks = broken_commits(monkeypatch, committed)
        result = memory.add("The second.", id="second")
        assert [item.outcome for item in result] == ["ADDED"]
        assert next(breaks, "used") == "used"
        assert sorted(record.id for record in memory.get_all()) == ["first", "second"]
        assert len([e for e in memory.history("second").events if e.type == "write"]) == 1


@pytest.mark.parametrize("committed", [True, False])
def test_an_erased_namespace_whose_commit_was_not_answered_is_counted_once(
    empty: str, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    with opened(empty, namespace="ana") as memory:
        memory.add_many(["An apple.", "A pear."])
        breaks = broken_commits(monkeypatch, committed)
        assert memory.delete_all(namespace="ana").memories == 2
        assert next(breaks, "used") == "used"
        assert memory.count() == 0


class Other(WordHashEmbedder):
    """Another model whose vectors are as long."""

    @property
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("other", "model", super().identity.dimensions, "1")


@pytest.mark.parametrize("megabytes", ["0", "64"])
def test_vectors_that_another_embedder_has_made_since_are_not_compared(
    empty: str, monkeypatch: pytest.MonkeyPatch, megabytes: str
) -> None:
    monkeypatch.setenv("SALIENCE_POSTGRES_MEMORY_MB", megabytes)
    with opened(empty) as memory:
        memory.add("Green tea", id="tea")
        for _ in range(2):  # with some memory, the namespace is kept in it by then
            assert memory.search("green tea").ids == ("tea",)
        Memory.upkeep.reembed(empty, embedder=Other())
        found = memory.search("green tea")  # by its words
        assert found.ids == ("tea",)
        assert "salience reembed" in found.degraded[0]
        assert "vector" not in found.hits[0].routes
        with pytest.raises(EmbedderMismatch, match="salience reembed"):
            memory.add("Black tea")
    with Memory.open(empty, embedder=Other()) as memory:
        assert memory.search("green tea").ids == ("tea",)
        memory.add("Green tea, too", id="too", vectors={"extra": [1.0, 0.0]})
        assert set(memory.search("green tea").ids) == {"tea", "too"}


@pytest.mark.parametrize("before", [0, 1], ids=["the first", "one more"])
def test_what_happens_to_all_happens_to_what_is_being_added(database: str, before: int) -> None:
    store = PostgresStore(database)
    with opened(store) as memory, opened(database) as other:  # type: ignore[arg-type]
        filled(memory, before)
        decay = threading.Thread(target=other.upkeep.decay)
        writes: list[str] = []

        def meanwhile(command: Command) -> None:
            sql = getattr(command, "sql", "")
            writes.extend([sql] * sql.startswith("INSERT INTO memories"))
            if sql == "COMMIT" and writes and decay.ident is None:
                decay.start()
                decay.join(0.3)  # it is to wait for the write

        store.database.on_command = meanwhile
        memory.add("An apple.", id="late", created_at="2025-01-01", dedup=False)
        decay.join()
        assert memory.get("late").strength is not None  # type: ignore[union-attr]
        assert memory.upkeep.verify()


@pytest.mark.parametrize("by", ["filter", "ids", "namespace"])
def test_each_transaction_erases_few_memories(
    database: str, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(erase, "ERASED_AT_ONCE", 10)
    store = PostgresStore(database)
    with Memory.open(store, embedder=None) as memory:
        ids = [f"m{i}" for i in range(45)]
        memory.add_many({"id": id, "content": f"Fact {id}.", "tags": ["t"]} for id in ids)
        write, counts = store.connections.write, []

        def counted(steps: Any, namespaces: Any) -> Any:
            counts.append(write(steps, namespaces))
            return counts[-1]

        monkeypatch.setattr(store.connections, "write", counted)
        if by == "filter":
            assert memory.delete_all({"tags": "t"}).memories == 45
        elif by == "ids":
            assert memory.delete_many(ids) == 45
        else:
            assert memory.delete_all(namespace=memory.namespace).memories == 45
        parts = [part[0] if isinstance(part, tuple) else part for part in counts if part]
        erasures = [part.memories for part in parts if isinstance(part, Erasure)]
        assert [count for count in erasures if count] == [10, 10, 10, 10, 5]
        assert memory.count() == 0


def test_erasing_a_namespace_that_is_cut_short_says_how_much_is_left_to_another_call(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "ERASED_AT_ONCE", 10)
    store = PostgresStore(database)
    with Memory.open(store, embedder=None) as memory, opened(database) as other:
        memory.add_many({"id": f"m{i}", "content": f"Fact {i}."} for i in range(45))
        memory.link("m1", "m44")
        write, left = store.connections.write, iter(range(2))

        def broken(steps: Any, namespaces: Any) -> Any:
            if next(left, None) is None:
                raise StoreError("the server has gone")
            return write(steps, namespaces)

        with monkeypatch.context() as patch:
            patch.setattr(store.connections, "write", broken)
            with pytest.raises(StoreError, match="gone; 20 are erased, erase again for the rest"):
                memory.delete_all(namespace=memory.namespace)
        assert other.count() == 25
        assert memory.delete_all(namespace=memory.namespace).memories == 25
        assert (memory.count(), other.count(), memory.links()) == (0, 0, [])
        assert memory.search("fact").ids == ()


def test_a_database_that_can_only_be_read_cannot_be_written(empty: str) -> None:
    store = open_store(empty)
    assert store.batch([CheckWritable()]) == [None]
    store.close()
    with psycopg.connect(empty, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    store = open_store(empty)
    with pytest.raises(NotWritable, match="read-only transaction") as caught:
        store.batch([CheckWritable()])
    assert caught.value.brief == "its database can only be read"
    store.close()

"""The order of turns on PostgreSQL, in which sessions that begin with a write do not need it."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.stores import migrate
from salience.stores.postgres.wire.commands import Statement
from salience.stores.postgres.write.session_order import (
    NOWHERE,
    Turn,
    relink_sessions,
    session_places,
)
from salience.testing import WordHashEmbedder
from support.examples import examples

TURNS = st.lists(
    st.tuples(
        st.sampled_from(["walk", "talk", ""]),
        st.sampled_from([None, "Ana", "Bo"]),
        st.integers(0, 5),
    ),
    max_size=20,
)


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(TURNS)
def test_new_sessions_are_put_in_the_order_that_the_server_gives(
    database: str, given: list[tuple[str, str | None, int]]
) -> None:
    migrate(database)
    turns = [
        Turn(session, row, float(at), row, speaker)
        for row, (session, speaker, at) in enumerate(given, 1)
    ]
    found = session_places(turns)
    commands = relink_sessions("here", 1, sorted({turn.session for turn in turns}))
    with psycopg.connect(database, options="-c search_path=salience,public") as connection:
        for turn in turns:
            connection.execute(
                'INSERT INTO memories (namespace, "row", sequence, id, created_at, updated_at, '
                "access_count, accesses, status, kind, speaker, session_id, features, spellings, "
                "content) VALUES ('here', %s, %s, %s, %s, 0, 0, '{}', 'active', 'turn', %s, %s, "
                "'', '{}', '')",
                (
                    turn.row,
                    turn.sequence,
                    str(turn.row),
                    turn.created_at,
                    turn.speaker,
                    turn.session,
                ),
            )
            connection.execute(
                "INSERT INTO places VALUES ('here', %s, 1, TRUE, %s, %s, %s, 0, 0, 0, 0, 0)",
                (turn.row, *NOWHERE),
            )
        for command in commands:
            assert isinstance(command, Statement)
            connection.execute(command.sql.encode(), command.parameters)
        told = connection.execute('SELECT "row", previous, following, position FROM places')
        assert {row: tuple(place) for row, *place in told} == found
        connection.rollback()


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_a_session_written_in_parts_is_one(database: str, parts: int) -> None:
    turns = [
        {
            "content": f"turn {i}",
            "session_id": f"s{i % 3}",
            "speaker": "ab"[i % 2],
            "created_at": i * 7 % 60,
        }
        for i in range(60)
    ]
    with Memory.open(database, embedder=WordHashEmbedder()) as memory:
        for part in range(parts):
            memory.add_many(turns[part::parts])
    with psycopg.connect(database, options="-c search_path=salience,public") as connection:
        told = connection.execute(
            "SELECT m.session_id, m.created_at, p.position, b.created_at, a.created_at "
            'FROM memories m JOIN places p USING (namespace, "row") '
            'LEFT JOIN memories b ON b.namespace = m.namespace AND b."row" = p.previous '
            'LEFT JOIN memories a ON a.namespace = m.namespace AND a."row" = p.following'
        ).fetchall()
    wanted = []
    for session in ("s0", "s1", "s2"):
        times = sorted(float(str(t["created_at"])) for t in turns if t["session_id"] == session)
        beside = zip([None, *times], times, [*times[1:], None], strict=False)
        wanted += [(session, at, n, b, a) for n, (b, at, a) in enumerate(beside)]
    assert sorted(told) == wanted

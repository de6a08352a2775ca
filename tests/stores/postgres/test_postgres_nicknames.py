"""Nicknames on PostgreSQL, which counts greetings in SQL, are those of Python."""

from __future__ import annotations

import uuid

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.language.features import greeted
from salience.language.speakers import count_greetings, nicknames
from salience.retrieval.operations import FindSpeakers
from support.examples import examples

NAMES = ("kate", "al", "bobby")
TURNS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two", "three", None]),
        st.sampled_from(["Katherine", "Albert", "Robert", None]),
        st.sampled_from(["Hey Kate!", "Hi Bobby, how are you?", "Hello.", "Bobby is late."]),
    ),
    max_size=30,
)


def speakers_by_nickname(memory: Memory, namespace: str) -> dict[str, frozenset[str]]:
    """The speakers that a store finds by their nicknames."""
    question = FindSpeakers((namespace,), NAMES, frozenset(), frozenset())
    [matches] = memory._core.dispatcher.store.batch([question])
    return dict(matches.names)


@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(turns=TURNS, times=st.integers(1, 4))
@example(turns=[("one", "Albert", "Hey Kate!"), ("one", "Katherine", "Hello.")], times=3)
@example(turns=[("one", None, "Hey Kate!"), ("one", "Katherine", "Hello.")], times=3)
@example(turns=[("one", "Albert", "Hey Kate!"), ("one", None, "Hello.")], times=3)
def test_greetings_counted_in_sql_give_the_nicknames_of_python(
    database: str, turns: list[tuple[str | None, str | None, str]], times: int
) -> None:
    namespace = uuid.uuid4().hex
    records = [
        {"content": content, "session_id": session, "speaker": speaker}
        for session, speaker, content in turns * times
    ]
    in_sessions = [(session, speaker, text) for session, speaker, text in turns * times if session]
    number = {session: i for i, (session, _, _) in enumerate(in_sessions)}
    counts = count_greetings(
        [
            (name, number[session], speaker)
            for session, speaker, text in in_sessions
            if (name := greeted(text))
        ],
        [(number[session], speaker) for session, speaker, _ in in_sessions],
    )
    expected = {name: frozenset({speaker}) for name, speaker in nicknames(counts).items()}
    for url in (database, "ram://"):
        with Memory.open(url, namespace=namespace, embedder=None) as memory:
            memory.add_many(records)
            assert speakers_by_nickname(memory, namespace) == expected

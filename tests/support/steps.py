"""Steps that change a store, for laws about whatever happened before; what they are followed by."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from salience import Memory, Profile
from salience.errors import NotFound
from salience.ranking.expressions import Col
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Lexical, Trigram
from salience.testing.conformance._case import START

IDS = ["a", "b", "c", "d", "e", "f"]
WORDS = ["apple", "pear", "plum", "went", "go", "Ana", "Bo", "2026", "March", "always", "山田太郎"]
NEIGHBOURS = Profile(
    "neighbours",
    retrieve(
        Lexical((("content", 1.0), ("title", 2.0), ("tags", 0.5)), before=0.5, after=0.25),
        Trigram(("title", "speaker"), min_similarity=0.1),
    )
    >> score(Col("lexical.score").default(0.0) + 0.1 * Col("trigram.score").default(0.0))
    >> cut(),
)
FILTERED: dict[str, Any] = {"filters": {"$or": [{"metadata.n": {"gte": 1}}, {"importance": 0.5}]}}
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("What did Ana say of apples in March?", {}),
    ("When did Bo go for plums", {"profile": "composite"}),
    ("apple pear went Ana Bo 2026", {"profile": NEIGHBOURS}),
    ("山田 always Ann", {"profile": NEIGHBOURS}),
    ("pear or plum", FILTERED),
]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
ids = st.sampled_from(IDS)
added = st.fixed_dictionaries(
    {"id": ids, "content": texts},
    optional={
        "title": st.sampled_from(["Ana", "Annabel Bo", "plum pear"]),
        "speaker": st.sampled_from(["Ana", "Bo", "user"]),
        "session_id": st.sampled_from(["s", "t"]),
        "created_at": st.integers(0, 5).map(lambda minutes: START - timedelta(minutes=minutes)),
        "importance": st.sampled_from([0.0, 0.5, 1.0]),
        "tags": st.lists(st.sampled_from(WORDS), max_size=2),
        "metadata": st.fixed_dictionaries({}, optional={"n": st.integers(0, 2)}),
    },
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "content": texts,
        "importance": st.sampled_from([None, 0.5, 1.0]),
        "metadata": st.fixed_dictionaries({"n": st.integers(0, 2)}),
        "status": st.sampled_from(["active", "archived"]),
        "session_id": st.sampled_from([None, "s", "t"]),
        "speaker": st.sampled_from([None, "Ana", "Bo"]),
        "created_at": st.integers(0, 5).map(lambda minutes: START - timedelta(minutes=minutes)),
    },
)
steps = st.one_of(
    st.tuples(st.just("add"), st.lists(added, min_size=1, max_size=3)),
    st.tuples(st.just("add"), st.lists(added, min_size=1, max_size=3)),
    st.tuples(st.just("update"), ids, changes),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("touch"), st.sampled_from(WORDS), st.integers(1, 3)),
    st.tuples(st.just("wait"), st.integers(1, 40)),
    st.tuples(st.just("reopen")),
)


def apply(memory: Memory, step: tuple[Any, ...]) -> None:
    kind, *arguments = step
    if kind == "add":
        memory.add_many(arguments[0])
    elif kind == "update":
        try:
            memory.update(arguments[0], **arguments[1])
        except NotFound:
            return
    elif kind == "delete":
        memory.delete(arguments[0])
    elif kind == "touch":
        memory.search(arguments[0], limit=arguments[1])

"""BM25 of the index against BM25 by dictionaries, and against SQLite's own."""

import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience.evaluation import sample
from salience.language.analysis_types import QueryAnalysis
from salience.language.tokens import terms, words
from salience.records.record import Draft, MemoryRecord
from salience.records.tombstones import Erasing
from salience.retrieval.operations import Collect, Delete, Put, RowsById
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index.words import postings
from salience.stores.sqlite.records import SqliteRecords
from support.examples import examples

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
WINDOW = 40
Idf = Callable[[int, int], float]
Term = tuple[str, ...]


@dataclass
class Doc:
    """A memory of the naive implementation: the terms of each of its fields."""

    content: str
    title: str | None = None
    tags: tuple[str, ...] = ()
    session: str | None = None
    speaker: str | None = None
    fields: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.fields = {
            "content": terms(self.content),
            "title": terms(self.title or ""),
            "tags": terms(" ".join(self.tags)),
        }

    def record(self, i: int) -> MemoryRecord:
        return MemoryRecord(
            id=f"m{i}",
            namespace="n",
            content=self.content,
            created_at=START + timedelta(minutes=i),
            updated_at=START,
            title=self.title,
            tags=self.tags,
            session_id=self.session,
            speaker=self.speaker,
        )


def our_idf(n: int, df: int) -> float:
    return math.log(1.0 + (n - df + 0.5) / (df + 0.5))


def naive(
    docs: Sequence[Doc], route: Lexical, query: Sequence[Term], idf: Idf = our_idf
) -> list[float]:
    """The formula of `Lexical`, word for word."""
    weights = dict(route.fields)
    length = [sum(len(doc.fields[name]) for name in weights) for doc in docs]
    average = sum(length) / len(docs)
    counts = [{name: Counter(doc.fields[name]) for name in weights} for doc in docs]

    def gain(tf: float, span: int) -> float:
        norm = span / average if average else 0.0
        return tf * (route.k1 + 1) / (tf + route.k1 * (1 - route.b + route.b * norm)) if tf else 0.0

    scores = [0.0] * len(docs)
    for forms in query:
        holding = [any(c[name][form] for name in weights for form in forms) for c in counts]
        weight = idf(len(docs), sum(holding))
        for i, doc in enumerate(docs):
            tf = sum(weights[name] * counts[i][name][form] for name in weights for form in forms)
            scores[i] += weight * gain(tf, length[i])
            if "content" not in weights:
                continue
            span = min(len(doc.fields["content"]), WINDOW)
            head = Counter(doc.fields["content"][:WINDOW])
            tail = Counter(doc.fields["content"][-WINDOW:])
            for near, lent, part in (
                (_step(docs, i, +1), route.before, tail),
                (_step(docs, i, -1), route.after, head),
            ):
                if near is not None:
                    scores[near] += lent * weight * gain(sum(part[f] for f in forms), span)
    return scores


def _step(docs: Sequence[Doc], i: int, step: int) -> int | None:
    """The turn right before or after in the same session; none where one known speaker is alone."""
    session = docs[i].session
    members = [j for j, doc in enumerate(docs) if doc.session == session]
    voices = {docs[j].speaker for j in members}
    if session is None or (len(voices) == 1 and None not in voices):
        return None
    place = members.index(i) + step
    return members[place] if 0 <= place < len(members) else None


def index_of(docs: Sequence[Doc], one_by_one: bool = False) -> tuple[NamespaceIndex, SqliteRecords]:
    records = SqliteRecords(":memory:")
    index = NamespaceIndex(records, "n")
    drafts = [Draft(doc.record(i), {}) for i, doc in enumerate(docs)]
    for part in [[draft] for draft in drafts] if one_by_one else [drafts]:
        records.put(Put(tuple(part)))
        if one_by_one:
            index.table.refresh()
    index.table.refresh()
    return index, records


def scored(
    index: NamespaceIndex, records: SqliteRecords, route: Lexical, query: Sequence[Term]
) -> list[float]:
    """By id, of the memories that there are."""
    ids = sorted(
        records.answer(RowsById("n", tuple(f"m{i}" for i in range(1000)))).items(),
        key=lambda e: e[1],
    )
    rows = np.array([row for _, row in ids], dtype=np.int64)
    asked = Query("x", ("n",), 0.0, reading=QueryAnalysis(terms=tuple(query)))
    op = Collect(asked, (route,), None, (), frozenset({f"{route.name}.score"}))
    [_, scores] = index.collected(op, index.table.ordinals(rows)).values()
    return [float(score) for score in scores.tolist()]


vocabulary = [f"w{i}" for i in range(12)]
short = st.lists(st.sampled_from(vocabulary), min_size=1, max_size=6).map(" ".join)
long = st.tuples(
    st.lists(st.sampled_from(vocabulary), min_size=30, max_size=45),
    st.integers(1, 3),
).map(lambda drawn: " ".join(drawn[0] * drawn[1]))
docs_ = st.lists(
    st.builds(
        Doc,
        content=st.one_of(short, short, long),
        title=st.one_of(st.none(), short),
        tags=st.lists(st.sampled_from(vocabulary), max_size=2, unique=True).map(tuple),
        session=st.sampled_from([None, "s", "s", "t"]),
        speaker=st.sampled_from([None, "Ana", "Bo"]),
    ),
    min_size=1,
    max_size=12,
)
queries = st.lists(
    st.lists(st.sampled_from([*vocabulary, "unheard"]), min_size=1, max_size=2, unique=True),
    min_size=1,
    max_size=4,
).map(lambda drawn: _distinct([tuple(forms) for forms in drawn]))
routes = st.builds(
    Lexical,
    fields=st.sampled_from(
        [
            (("content", 1.0),),
            (("content", 1.0), ("title", 1.0)),
            (("content", 1.0), ("title", 2.5), ("tags", 0.5)),
            (("title", 1.0), ("tags", 1.0)),
        ]
    ),
    before=st.sampled_from([0.0, 0.5]),
    after=st.sampled_from([0.0, 0.25]),
    k1=st.sampled_from([1.2, 0.9]),
    b=st.sampled_from([0.75, 0.0, 1.0]),
)


def _distinct(query: list[Term]) -> tuple[Term, ...]:
    """Terms of which no two share a form."""
    seen: set[str] = set()
    kept = []
    for forms in query:
        if not seen & set(forms):
            seen |= set(forms)
            kept.append(forms)
    return tuple(kept)


@settings(max_examples=examples(150), deadline=None)
@given(docs_, routes, queries)
def test_the_index_is_the_formula(docs: list[Doc], route: Lexical, query: tuple[Term, ...]) -> None:
    index, records = index_of(docs)
    assert scored(index, records, route, query) == pytest.approx(
        naive(docs, route, query), abs=1e-9
    )


@settings(max_examples=examples(100), deadline=None)
@given(docs_, routes, queries, st.data())
def test_what_was_erased_counts_for_nothing(
    docs: list[Doc], route: Lexical, query: tuple[Term, ...], data: st.DataObject
) -> None:
    gone = data.draw(st.sets(st.integers(0, len(docs) - 1), max_size=len(docs) - 1))
    index, records = index_of(docs)
    scored(index, records, route, query)
    erasing = Erasing(datetime.now(timezone.utc), None, "delete")
    records.delete(Delete("n", erasing, tuple(f"m{i}" for i in gone)))
    index.table.refresh()
    kept = [doc for i, doc in enumerate(docs) if i not in gone]
    scores = scored(index, records, route, query)
    assert scores == pytest.approx(naive(kept, route, query), abs=1e-9)
    fresh = NamespaceIndex(records, "n")
    fresh.table.refresh()
    assert scored(fresh, records, route, query) == scores  # to the last bit


@pytest.mark.deep
@settings(max_examples=examples(60), deadline=None)
@given(docs_, routes, queries, st.integers(2, 6), st.integers(0, 40))
def test_many_small_appends_are_one_big_build(
    docs: list[Doc], route: Lexical, query: tuple[Term, ...], full: int, recent: int
) -> None:
    whole = scored(*index_of(docs), route, query)
    assert scored(*index_of(docs, one_by_one=True), route, query) == whole
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "_MAX_MERGED_MEMORIES", full)  # segments of a few memories each
        patch.setattr(postings, "_MAX_RECENT_WORDS", recent)  # and few words beside them, or none
        assert scored(*index_of(docs), route, query) == whole
        assert scored(*index_of(docs, one_by_one=True), route, query) == whole


def test_the_figures_by_hand() -> None:
    docs = [Doc("w1 w2"), Doc("w1 w1 w3 w4"), Doc("w5 w6 w7")]
    index, records = index_of(docs)
    # N = 3, avgdl = 3; w1 is in 2 of them: idf = ln(1 + 1.5 / 2.5) = ln 1.6
    idf = math.log(1.6)
    expected = [
        idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3)),  # tf 1, dl 2
        idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 3)),  # tf 2, dl 4
        0.0,
    ]
    route = Lexical((("content", 1.0),))
    assert scored(index, records, route, [("w1",)]) == pytest.approx(expected, abs=1e-12)


def sqlite_idf(n: int, df: int) -> float:
    """ln((N - df + 0.5) / (df + 0.5)), and next to nothing for a word in half of them or more."""
    idf = math.log((n - df + 0.5) / (df + 0.5))
    return idf if idf > 0.0 else 1e-6


@pytest.fixture(scope="module")
def corpus() -> Iterator[tuple[list[Doc], sqlite3.Connection]]:
    # Without compound names and grouped figures, of which the index has the parts and the whole.
    docs = [Doc(memory["content"].lower().replace(",", " ")) for memory in sample.memories()]
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE texts USING fts5(content, tokenize='porter unicode61')")
    db.execute("CREATE VIRTUAL TABLE found USING fts5vocab(texts, 'instance')")
    db.executemany("INSERT INTO texts VALUES (?)", [(doc.content,) for doc in docs])
    yield docs, db
    db.close()


def in_sqlite(db: sqlite3.Connection, size: int, query: Sequence[str]) -> list[float]:
    match = " OR ".join(f'"{word}"' for word in query)
    rows = db.execute("SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?", (match,))
    found = dict(rows.fetchall())
    return [found.get(i + 1, 0.0) for i in range(size)]


def test_sqlite_finds_the_same_terms(corpus: tuple[list[Doc], sqlite3.Connection]) -> None:
    docs, db = corpus
    theirs = db.execute("SELECT doc, term FROM found ORDER BY doc, offset").fetchall()
    ours = [(i + 1, term) for i, doc in enumerate(docs) for term in doc.fields["content"]]
    assert ours == theirs


@pytest.mark.one_in(5)
@pytest.mark.parametrize("question", sample.questions()[::2], ids=lambda q: str(q["id"]))
def test_against_sqlite(
    corpus: tuple[list[Doc], sqlite3.Connection], question: dict[str, str]
) -> None:
    docs, db = corpus
    query = list(dict.fromkeys(words(question["text"])))
    asked = list(dict.fromkeys((term,) for term in terms(" ".join(query))))
    route = Lexical((("content", 1.0),))
    theirs = in_sqlite(db, len(docs), query)
    # Only the weight of a word is another: with theirs in its place, the scores are the same.
    assert naive(docs, route, asked, sqlite_idf) == pytest.approx(theirs, rel=1e-6, abs=1e-5)
    index, records = index_of(docs)
    assert scored(index, records, route, asked) == pytest.approx(
        naive(docs, route, asked), abs=1e-9
    )


def test_one_word_ranks_as_in_sqlite(corpus: tuple[list[Doc], sqlite3.Connection]) -> None:
    docs, db = corpus
    index, records = index_of(docs)
    route = Lexical((("content", 1.0),))
    compared = 0
    for word in ("sensor", "telemetry", "database", "meeting", "week", "coffee", "plan"):
        ours = scored(index, records, route, [(terms(word)[0],)])
        theirs = in_sqlite(db, len(docs), [word])
        assert [score > 0 for score in ours] == [score > 0 for score in theirs]
        for scores in (ours, theirs):
            assert all(score >= 0 for score in scores)
        by_ours = sorted(range(len(docs)), key=lambda i: (-round(ours[i], 9), i))
        by_theirs = sorted(range(len(docs)), key=lambda i: (-round(theirs[i], 9), i))
        assert by_ours == by_theirs
        compared += sum(score > 0 for score in ours)
    assert compared > 20


def test_a_word_in_most_memories_still_counts_here() -> None:
    docs = [Doc("w1 w2"), Doc("w1 w3"), Doc("w1 w1"), Doc("w4")]
    index, records = index_of(docs)
    ours = scored(index, records, Lexical((("content", 1.0),)), [("w1",)])
    assert ours[2] > ours[0] == ours[1] > 0.1 > ours[3] == 0.0
    assert sqlite_idf(4, 3) == 1e-6

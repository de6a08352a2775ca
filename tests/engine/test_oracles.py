"""The profiles and their parts, compared with other programs and with plain arithmetic.

On the sample, on synthetic texts, and on conversations of your own: see `conversations`.
"""

from __future__ import annotations

import importlib
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from openmem import MemoryEngine

from salience import Memory, MemoryRecord, Profile
from salience.embedders import StaticEmbedder
from salience.embedders.protocol import Embedder, Kind, Rows
from salience.language.analysis_types import QueryAnalysis
from salience.language.entities import (
    RULES,
    fold_name,
    has_capitals,
    known_names,
    possible_names,
)
from salience.language.tokens import (
    indexed_words,
    stem,
    strings_in,
    terms,
    trigram_similarity,
    trigrams,
    words,
)
from salience.ranking.expressions import Col
from salience.ranking.signals import rrf
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.candidates import Floats
from salience.retrieval.operations import Collect
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical, Vector
from salience.search.results import SearchResult
from salience.stores import open_store
from salience.stores.protocol import Store
from support.conversations import TALKS, Talk

MODEL = StaticEmbedder()
CONTENT = Lexical((("content", 1.0),))


class RecordingEmbedder:
    """An embedder that remembers the last query vector it made."""

    def __init__(self, embedder: Embedder) -> None:
        self.identity = embedder.identity
        self._embedder = embedder
        self.query = np.empty(0, dtype=np.float32)

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        rows = self._embedder.embed(texts, kind=kind)
        if kind == "query":
            self.query = rows[0]
        return rows


@dataclass(frozen=True)
class Stored:
    """A talk in a memory, the times at which each memory was accessed, and the vectors."""

    talk: Talk
    store: Store
    memory: Memory
    records: tuple[MemoryRecord, ...]
    accessed: dict[str, list[datetime]]
    vectors: Floats


@pytest.fixture(scope="module", params=TALKS)
def stored(request: pytest.FixtureRequest) -> Iterator[Stored]:
    talk: Talk = request.param
    store = open_store("ram://")
    memory = Memory.open(store, embedder=MODEL)
    varied = [
        {
            **item,
            "importance": (None, 0.0, 0.3, 0.9)[at % 4],
            "tier": (None, "short", "medium", "long")[at // 2 % 4],
            "layer": (None, "entity", "knowledge", "episodic", "activity")[at // 3 % 5],
            "title": item.get("title") or (item.get("speaker") if at % 5 == 0 else None),
        }
        for at, item in enumerate(talk.items)
    ]
    memory.add_many(varied, strict=True)
    accessed: dict[str, list[datetime]] = {}
    for at, question in enumerate(talk.questions[:12]):
        when = talk.now + timedelta(minutes=at)
        for id in memory.search(question, now=when, limit=5 + at).ids:
            accessed.setdefault(id, []).append(when)
    records = tuple(memory.get_all(limit=len(varied)))
    texts = [
        (f"{r.speaker}: " if r.speaker else "")
        + (f"{r.title}\n{r.content}" if r.title else r.content)
        for r in records
    ]
    vectors = MODEL.embed(texts).astype(np.float16).astype(np.float64)
    yield Stored(talk, store, memory, records, accessed, vectors)
    store.close()


# Full scans: what every memory scores, one by one


def days(stored: Stored, record: MemoryRecord, now: datetime) -> list[float]:
    """The ages of a memory's accesses in days, the writing included, newest first."""
    times = [record.created_at, *stored.accessed.get(record.id, ())]
    return sorted(max(0.0, (now - at).total_seconds()) / 86_400 for at in times)


def composite(stored: Stored, record: MemoryRecord, cosine: float, now: datetime, _: str) -> float:
    importance = 0.5 if record.importance is None else record.importance
    return 0.5 * cosine + 0.3 * importance + 0.2 * math.exp(-0.05 * days(stored, record, now)[0])


def named_in(stored: Stored, question: str, *fields: str) -> list[str]:
    """The entities of a question, by their spelling or because memories know them."""
    spelled = list(RULES.extract(question))
    if has_capitals(question):
        return spelled
    values = (getattr(record, field) for record in stored.records for field in fields)
    known = {fold_name(text) for value in values for text in strings_in(value)}
    return [*spelled, *known_names(possible_names(question), known, spelled)]


def six_factor(stored: Stored, record: MemoryRecord, cosine: float, now: datetime, q: str) -> float:
    half_life = {"short": 6.0, "medium": 168.0, "long": 2160.0}[record.tier or "long"]
    hours = 24.0 * days(stored, record, now)[0]
    query_names = {fold_name(name) for name in named_in(stored, q, "entities", "speaker")}
    own = {
        fold_name(name)
        for name in (*record.entities, *([record.speaker] if record.speaker else []))
    }
    return (
        0.40 * max(0.0, cosine)
        + 0.20 * 0.5 ** (hours / half_life)
        + 0.15 * (0.5 if record.importance is None else record.importance)
        + 0.10 * min(1.0, len(stored.accessed.get(record.id, ())) / 20)
        + 0.10 * 0.5
        + 0.05 * (len(query_names & own) / len(query_names) if query_names else 0.0)
    )


def alive(stored: Stored, record: MemoryRecord, now: datetime) -> float:
    """sigmoid of the base level, of memories that no link leads to."""
    rate = {"entity": 0.1, "knowledge": 1.0, "episodic": 2.0, "activity": 3.0}
    d = 0.5 * rate[record.layer or "knowledge"]
    level = math.log(sum(max(age, 0.05 / 86_400) ** -d for age in days(stored, record, now)))
    return 1.0 / (1.0 + math.exp(-level))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", [composite, six_factor], ids=lambda method: method.__name__)
def test_a_full_scan_is_the_formula_one_by_one(
    stored: Stored, method: Callable[[Stored, MemoryRecord, float, datetime, str], float]
) -> None:
    recording = RecordingEmbedder(MODEL)
    memory = Memory.open(stored.store, embedder=recording, profile=method.__name__)
    for question in stored.talk.questions:
        now = stored.talk.now + timedelta(days=3)
        result = memory.search(question, now=now, touch=False, limit=10, explain=True)
        cosines = (stored.vectors @ recording.query).tolist()
        by_hand = {
            record.id: method(stored, record, cosine, now, question)
            for record, cosine in zip(stored.records, cosines, strict=True)
        }
        assert_best(result, by_hand)


@pytest.mark.one_in(3)
def test_vitality_is_the_formula_one_by_one(stored: Stored) -> None:
    recording = RecordingEmbedder(MODEL)
    memory = Memory.open(stored.store, embedder=recording, profile="vitality")
    for question in stored.talk.questions:
        now = stored.talk.now + timedelta(days=3)
        result = memory.search(question, now=now, touch=False, limit=10)
        # The rank of words is compared with SQLite below; here it is taken as it is.
        ranks = memory.search(question, now=now, touch=False, limit=1000, profile=WORDS)
        text_rank = {hit.id: hit.score for hit in ranks if hit.score > 0.0}
        cosines = (stored.vectors @ recording.query).tolist()
        by_hand = {}
        entities = named_in(stored, question, "title")
        for record, cosine in zip(stored.records, cosines, strict=True):
            name = max(
                trigram_similarity(trigrams(text), trigrams(record.title or ""))
                for text in (question, *entities)
            )
            if record.id in text_rank or cosine >= 0.7 or name >= 0.4:
                share = text_rank.get(record.id, 0.0) / max(text_rank.values(), default=1.0)
                blend = 0.3 * share + 0.5 * max(0.0, cosine) + 0.2 * name
                by_hand[record.id] = blend * alive(stored, record, now)
        assert_best(result, by_hand)


WORDS = Profile(
    "words",
    retrieve(
        Lexical(
            (("title", 1.0), ("gist", 0.4), ("entities", 0.4), ("tags", 0.2), ("content", 0.1)),
            operators=True,
        ),
        depth=None,
    )
    >> score(Col("lexical.score"))
    >> cut(),
)


def assert_best(result: SearchResult, by_hand: dict[str, float]) -> None:
    """Assert that a result has the best by hand, in their order, up to single precision."""
    assert len(result) == min(10, len(by_hand))
    scores = {hit.id: hit.score for hit in result}
    assert scores == pytest.approx({id: by_hand[id] for id in scores}, abs=1e-6)
    lowest = min(scores.values(), default=0.0)
    assert all(value <= lowest + 1e-6 for id, value in by_hand.items() if id not in scores)


# Words, against SQLite and the original of the "activation" profile


@dataclass(frozen=True)
class Indexed:
    """The contents of a talk by number, in our index and in that of SQLite."""

    talk: Talk
    contents: tuple[str, ...]
    ours: Callable[[Sequence[str]], dict[int, float]]
    sqlite: sqlite3.Connection


@pytest.fixture(scope="module", params=TALKS)
def indexed(request: pytest.FixtureRequest) -> Iterator[Indexed]:
    talk: Talk = request.param
    contents = tuple(item["content"] for item in talk.items)
    store = open_store("ram://")
    Memory.open(store, embedder=None).add_many(
        ({"id": f"{at}", "content": text} for at, text in enumerate(contents)), strict=True
    )

    def ours(query_terms: Sequence[str]) -> dict[int, float]:
        reading = QueryAnalysis(terms=tuple((term,) for term in query_terms))
        query = Query("", ("default",), talk.now.timestamp(), reading=reading)
        scores = frozenset({f"{CONTENT.name}.score"})
        [found] = store.batch([Collect(query, (CONTENT,), None, (), scores)])
        places = map(int, found["id"].tolist())
        return dict(zip(places, found[f"{CONTENT.name}.score"].tolist(), strict=True))

    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE texts USING fts5(content, tokenize='unicode61')")
    # The same terms for both: how words are cut and stemmed is compared in the index's own tests.
    stems = [(at, _spelt_terms(text)) for at, text in enumerate(contents)]
    db.executemany("INSERT INTO texts(rowid, content) VALUES (?, ?)", stems)
    yield Indexed(talk, contents, ours, db)
    db.close()
    store.close()


def _spelt(term: str) -> str:
    """A term of any script as letters that no tokenizer cuts."""
    return "x" + term.encode().hex()


def _spelt_terms(text: str) -> str:
    return " ".join(_spelt(stem(word)) for word in indexed_words(text))


def in_sqlite(indexed: Indexed, query_terms: Sequence[str]) -> dict[int, float]:
    """SQLite's bm25() of the memories that hold one of some terms."""
    match = " OR ".join(map(_spelt, query_terms))
    rows = indexed.sqlite.execute(
        "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?", (match,)
    )
    return dict(rows.fetchall())


def terms_of(question: str) -> list[str]:
    return list(dict.fromkeys(terms(" ".join(words(question)))))


def in_order(scores: dict[int, float]) -> list[int]:
    return sorted(scores, key=lambda place: (-round(scores[place], 9), place))


@pytest.mark.one_in(3)
def test_bm25_is_that_of_sqlite(indexed: Indexed) -> None:
    """One word ranks the same memories in the same order; several add up to the same scores once
    SQLite's weight of each, next to nothing for a word in half of the memories, is exchanged.
    """
    size = len(indexed.contents)
    for question in indexed.talk.questions:
        expected: dict[int, float] = {}
        for term in terms_of(question):
            theirs, ours = in_sqlite(indexed, [term]), indexed.ours([term])
            assert theirs.keys() == ours.keys()
            df = len(theirs)
            if not df:
                continue
            odds = (size - df + 0.5) / (df + 0.5)
            idf = max(math.log(odds), 1e-6)
            if idf > 1e-6:
                assert in_order(ours) == in_order(theirs)
            for place, value in theirs.items():
                expected[place] = expected.get(place, 0.0) + value / idf * math.log1p(odds)
        ours = indexed.ours(terms_of(question))
        assert ours == pytest.approx(expected, rel=1e-6)


def test_words_seed_as_in_the_original(indexed: Indexed) -> None:
    """openmem-engine finds the same memories by a word, in the same order, and in the same
    proportion to the best. (Of several words it takes SQLite's weights, see above.)
    """
    original = MemoryEngine()
    for at, text in enumerate(indexed.contents):
        stems = _spelt_terms(text)
        original.store.conn.execute(
            "INSERT INTO memories (id, text, entities, created_at, updated_at) "
            "VALUES (?, ?, '', 0, 0)",
            (str(at), stems),
        )
    compared = 0
    for question in indexed.talk.questions:
        for term in terms_of(question):
            pairs = original.store.search_bm25(_spelt(term), limit=len(indexed.contents))
            theirs = {int(id): value for id, value in pairs}
            if 2 * len(theirs) >= len(indexed.contents) or not theirs:
                continue
            ours = indexed.ours([term])
            assert in_order(ours) == in_order(theirs)
            our_best, their_best = max(ours.values()), max(theirs.values())
            assert {at: value / our_best for at, value in ours.items()} == pytest.approx(
                {at: value / their_best for at, value in theirs.items()}
            )
            compared += 1
    assert compared > len(indexed.talk.questions)
    original.store.close()


# Fusion, against ranx


@pytest.fixture(scope="module")
def ranx() -> Any:
    """The library, whose first import takes longer than all that is asked of it."""
    return importlib.import_module("ranx")


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")  # of the compiler that ranx runs on
def test_fusion_is_that_of_ranx(stored: Stored, ranx: Any) -> None:
    routes = Lexical(), Vector()
    fusing = {
        k: Profile(
            "fusing",
            retrieve(*routes, depth=50) >> score(rrf("lexical", "vector", constant=k)) >> cut(),
        )
        for k in (15, 60)
    }
    alone = {
        route.name: Profile(
            route.name, retrieve(route, depth=50) >> score(Col(f"{route.name}.score")) >> cut()
        )
        for route in routes
    }

    def search(question: str, profile: Profile) -> SearchResult:
        return stored.memory.search(
            question, profile=profile, now=stored.talk.now, touch=False, limit=200
        )

    # ranx compiles itself again for ids of another length.
    number = {record.id: f"{at:05}" for at, record in enumerate(stored.records)}
    for question in stored.talk.questions:
        results = [search(question, profile) for profile in alone.values()]
        if not all(map(len, results)):
            continue
        runs = [
            ranx.Run({"q": {number[hit.id]: -float(hit.rank) for hit in result}})
            for result in results
        ]
        for k, profile in fusing.items():
            theirs = ranx.fuse(runs, method="rrf", params={"k": k}, norm=None).run["q"]
            ours = search(question, profile)
            assert {number[hit.id]: hit.score for hit in ours} == pytest.approx(dict(theirs))

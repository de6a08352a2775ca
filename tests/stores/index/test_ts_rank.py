"""ts_rank, held against PostgreSQL's own on the same words at the same places."""

from __future__ import annotations

import numpy as np
import psycopg
import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.ranking.expressions import Col
from salience.ranking.profile import Profile
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Lexical

WORDS = ("apple", "pear", "plum", "grape", "melon")
CLASSES = (("title", 1.0, "A"), ("gist", 0.4, "B"), ("tags", 0.2, "C"), ("content", 0.1, "D"))
ORDERS = {
    "heaviest first": CLASSES,
    "lightest first": CLASSES[::-1],
    "mixed": (CLASSES[2], CLASSES[0], CLASSES[3], CLASSES[1]),
}
QUERIES = ("apple", "apple pear", "pear plum grape", "melon melon apple", "plum nothing")


def said(seed: int) -> list[dict[str, list[str]]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "title": rng.choice(WORDS, rng.integers(0, 4)).tolist(),
            "gist": rng.choice(WORDS, rng.integers(0, 5)).tolist(),
            "tags": rng.choice(WORDS, rng.integers(0, 4), replace=False).tolist(),
            "content": [*rng.choice(WORDS, rng.integers(0, 9)).tolist(), "filler"],
        }
        for _ in range(30)
    ] + [{"title": ["apple"] * 2, "gist": [], "tags": [], "content": ["apple"] * 300}]


def vector(fields: dict[str, list[str]], order: tuple[tuple[str, float, str], ...]) -> str:
    """The words as a tsvector is written down, one field after the other."""
    places: dict[str, list[str]] = {}
    at = 0
    for name, _, letter in order:
        for word in fields[name]:
            at += 1
            places.setdefault(word, []).append(f"{at}{letter}")
    return " ".join(f"'{word}':{','.join(found)}" for word, found in places.items())


@pytest.mark.parametrize("store", ["ram", "postgres"])
@pytest.mark.parametrize("order", ORDERS)
def test_it_is_what_postgresql_computes(store: str, order: str, database: str) -> None:
    url = {"ram": "ram://", "postgres": database}[store]
    fields = ORDERS[order]
    profile = Profile(
        "ranked",
        retrieve(Lexical(tuple((n, w) for n, w, _ in fields), measure="ts_rank"), depth=None)
        >> score(Col("lexical.score"))
        >> cut(),
    )
    memories = said(len(order))
    with Memory.open(url, embedder=None, profile=profile) as memory:
        memory.add_many(
            {
                "id": f"m{i}",
                "content": " ".join(each["content"]),
                "title": " ".join(each["title"]) or None,
                "gist": " ".join(each["gist"]) or None,
                "tags": each["tags"],
            }
            for i, each in enumerate(memories)
        )
        found = [
            {hit.id: hit.score for hit in memory.search(query, limit=100)} for query in QUERIES
        ]
        for hit in memory.search("apple", explain=True):
            assert hit.explanation is not None
            assert hit.explanation.value == hit.score == found[0][hit.id]
    with psycopg.connect(database) as connection:
        for query, scores in zip(QUERIES, found, strict=True):
            wanted = {}
            for i, each in enumerate(memories):
                row = connection.execute(
                    "SELECT ts_rank('{0.1, 0.2, 0.4, 1.0}', %s::tsvector, %s::tsquery)",
                    (vector(each, fields), " | ".join(query.split())),
                ).fetchone()
                if row is not None and row[0] > 0.0:
                    wanted[f"m{i}"] = pytest.approx(row[0], rel=1e-5)
            assert scores == wanted, query


def test_one_word_is_worth_little() -> None:
    profile = Profile(
        "ranked",
        retrieve(Lexical((("content", 0.1),), measure="ts_rank"))
        >> score(Col("lexical.score"))
        >> cut(),
    )
    with Memory.open("ram://", embedder=None, profile=profile) as memory:
        memory.add("an apple")
        [hit] = memory.search("apple")
        assert hit.score == pytest.approx(0.0608, abs=5e-5)
        assert len(memory.search("pear")) == 0


def test_what_it_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidInput, match="measure: is 'tf'; use bm25 or ts_rank"):
        Lexical(measure="tf")
    with pytest.raises(InvalidInput, match="before: has no part in ts_rank"):
        Lexical(measure="ts_rank", after=0.3)

"""Routes from outside the package: by a SQL form, by a replica, or refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.ranking.expressions import Col
from salience.ranking.profile import Profile
from salience.ranking.stages import Cut, Pipeline, Score
from salience.ranking.stages.retrieve import Retrieve
from salience.retrieval.candidates import Floats
from salience.retrieval.query import Query
from salience.retrieval.routes import Route
from salience.stores.index import routes as index_routes
from salience.stores.index.memory_table import MemoryTable
from salience.stores.postgres import PostgresStore
from salience.stores.postgres.search import routes as server_routes
from salience.stores.postgres.sql.expressions import SqlExpression
from salience.testing import WordHashEmbedder


@dataclass(frozen=True)
class Important(Route):
    """score = importance - 0.5: memories that are more important than most."""

    name: str = "important"


class ImportantInMemory(index_routes.DenseSearch[Important]):
    def scores(self, table: MemoryTable, route: Important, query: Query) -> Floats:
        importance: Any = table.column("importance")
        return np.nan_to_num(importance.values - 0.5)


class ImportantOnServer(server_routes.SqlSearch[Important]):
    def score_expression(self, route: Important, query: Query) -> SqlExpression:
        return SqlExpression("coalesce(m.importance - %s::float8, 0)", (0.5,))


PROFILE = Profile(
    "important",
    Pipeline((Retrieve((Important(),)), Score(Col("important.score")), Cut())),
)


@pytest.fixture
def forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgets what a test registers."""
    monkeypatch.setattr(index_routes, "_SEARCHES", dict(index_routes._SEARCHES))
    monkeypatch.setattr(server_routes, "_SEARCHES", dict(server_routes._SEARCHES))


def important(url: str, memory: int, at_once: bool = False) -> list[tuple[str, float]]:
    store = PostgresStore(url, memory=memory)
    with Memory.open(store, embedder=WordHashEmbedder()) as opened:
        if opened.get("m00") is None:
            opened.add_many(
                {"id": f"m{i:02}", "content": f"word{i}", "importance": i / 20} for i in range(20)
            )
        hits = opened.search("anything", profile=PROFILE, limit=4, touch=False)
        return [(hit.id, hit.score) for hit in hits]


def test_a_route_without_a_form_says_what_to_do(database: str, forms: None) -> None:
    remedy = r"Important has no SQL form.*register.*SALIENCE_POSTGRES_MEMORY_MB.*SQLite"
    with pytest.raises(InvalidInput, match=remedy):
        important(database, memory=0)


def test_a_replica_answers_a_route_without_a_form(database: str, forms: None) -> None:
    index_routes.register(Important, ImportantInMemory())
    expected = [(f"m{i}", i / 20 - 0.5) for i in (19, 18, 17, 16)]
    assert important(database, memory=1 << 30) == expected


def test_a_registered_form_answers_as_the_index_does(database: str, forms: None) -> None:
    index_routes.register(Important, ImportantInMemory())
    server_routes.register(Important, ImportantOnServer())
    by_index = important(database, memory=1 << 30)
    assert important(database, memory=0) == by_index


def test_a_subclass_is_answered_as_its_class(forms: None) -> None:
    @dataclass(frozen=True)
    class MoreImportant(Important):
        pass

    assert not server_routes.is_searchable(MoreImportant())
    form = ImportantOnServer()
    server_routes.register(Important, form)
    assert server_routes.route_search(MoreImportant()) is form

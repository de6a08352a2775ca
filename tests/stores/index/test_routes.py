"""Routes in the index: one from outside the package, and one that nobody answers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.retrieval.candidates import Floats
from salience.retrieval.operations import Collect
from salience.retrieval.query import Query
from salience.retrieval.routes import Route
from salience.stores import Store, open_store
from salience.stores.index.memory_table import MemoryTable
from salience.stores.index.routes import SEARCHES, DenseSearch, register


@dataclass(frozen=True)
class LongIds(Route):
    """score = the length of the id, for memories whose id is not shorter than `least`."""

    least: int = 2
    name: str = "long_ids"


@dataclass(frozen=True)
class LongerIds(LongIds):
    """A subclass, which is answered like its base."""


class LongIdsSearch(DenseSearch[LongIds]):
    def min_score(self, route: LongIds) -> float:
        return float(route.least)

    def scores(self, table: MemoryTable, route: LongIds, query: Query) -> Floats:
        return np.array([float(len(id)) for id in table.ids])


@pytest.fixture
def store() -> Iterator[Store]:
    store = open_store("ram://")
    with Memory.open(store, embedder=None) as memory:
        memory.add_many({"id": "a" * n, "content": f"text {n}"} for n in (3, 1, 4, 2))
        yield store
    SEARCHES.pop(LongIds, None)


@pytest.mark.parametrize("route", [LongIds(), LongerIds()])
def test_a_registered_class_of_routes_is_answered(store: Store, route: LongIds) -> None:
    register(LongIds, LongIdsSearch())
    query = Query("any", ("default",), 0.0)
    score, rank = f"{route.name}.score", f"{route.name}.rank"
    asked = frozenset({score})
    [best] = store.batch([Collect(query, (route,), 2, (), asked)])
    assert dict(zip(best[score].tolist(), best[rank].tolist(), strict=True)) == {4.0: 1, 3.0: 2}
    [every] = store.batch([Collect(query, (route,), None, (), asked)])
    assert sorted(every[score].tolist()) == [2.0, 3.0, 4.0]
    rows = np.array([*best.rows, 999])
    [also] = store.batch([Collect(query, (route,), 1, (), asked, rows=rows)])
    assert also.rows.tolist() == best.rows.tolist()  # 999 is no memory
    assert also[score].tolist() == best[score].tolist()
    assert np.isnan(also[rank]).sum() == 1


def test_a_route_that_nobody_answers_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="LongIds is not one that this store can search by"):
        store.batch([Collect(Query("any", ("default",), 0.0), (LongIds(),), 2, ())])

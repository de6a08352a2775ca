from __future__ import annotations

from collections import Counter

import pytest

import everyday

PARTS = ("train", "choice", "test")


def test_the_stores_are_whole() -> None:
    stores = [store for part in PARTS for store in everyday.read(part)]
    assert len({store["name"] for store in stores}) == len(stores) >= 300
    assert sum(len(store["queries"]) for store in stores) >= 3_000
    assert len(Counter(store["lang"] for store in stores)) == 10
    for store in stores:
        ids = [memory["id"] for memory in store["memories"]]
        assert len(ids) == len(set(ids)), store["name"]
        for query in store["queries"]:
            named = {*query["relevant"], *query.get("outdated", ())}
            assert named <= set(ids), (store["name"], query["text"])
            assert bool(query["relevant"]) or query["category"] == "none", query["text"]


def test_no_domain_of_a_hand_is_in_two_parts() -> None:
    owned = [{(store["hand"], store["domain"]) for store in everyday.read(part)} for part in PARTS]
    assert not owned[0] & owned[1]
    assert not owned[0] & owned[2]
    assert not owned[1] & owned[2]


@pytest.mark.deep
@pytest.mark.parametrize("part", ["train", "choice"])
@pytest.mark.parametrize("others", [0, 300])
def test_balanced_is_not_below_its_parts(part: str, others: int) -> None:
    rows = list(everyday.measure(everyday.read(part), "default", others))
    assert everyday.report(rows, part)

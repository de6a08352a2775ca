from __future__ import annotations

import os
from collections import Counter

import pytest

import everyday
from salience import Memory
from salience.errors import EmbedderError
from support.conversations import VARIABLE

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
@pytest.mark.parametrize("others", [0, 300])
@pytest.mark.parametrize(
    ("embedder", "part"),
    [("default", "train"), ("default", "choice"), ("minilm", "choice"), ("multilingual", "choice")],
)
def test_balanced_is_not_below_its_parts(embedder: str, part: str, others: int) -> None:
    _installed(embedder)
    rows = list(everyday.measure(everyday.read(part), embedder, others))
    assert everyday.report(rows, part)


@pytest.mark.deep
@pytest.mark.parametrize("embedder", ["default", "minilm", "multilingual"])
@pytest.mark.parametrize("folder", os.environ.get(VARIABLE, "").split(os.pathsep))
def test_balanced_is_not_below_its_parts_in_conversations(embedder: str, folder: str) -> None:
    if not folder:
        pytest.skip(f"{VARIABLE} names no folder of conversations")
    _installed(embedder)
    assert everyday.report(list(everyday.measure_sets([folder], embedder)), folder)


def _installed(embedder: str) -> None:
    try:
        Memory("ram://", embedder=embedder).close()
    except EmbedderError as missing:
        pytest.skip(str(missing))

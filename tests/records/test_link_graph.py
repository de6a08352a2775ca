"""Figures of the link graph, kept current as they come and go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.records.link_graph import LinkGraph

Edge = tuple[int, int, str]
TYPES = st.sampled_from(["supports", "mentions", "contradicts"])
EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), TYPES), max_size=30)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("link"), st.integers(0, 11), st.integers(0, 11), TYPES),
        st.tuples(st.just("unlink"), st.integers(0, 11), st.integers(0, 11), TYPES),
        st.tuples(st.just("add"), st.integers(0, 11), st.just(0), TYPES),
        st.tuples(st.just("remove"), st.integers(0, 11), st.just(0), TYPES),
        st.tuples(st.just("edit"), st.integers(0, 11), st.just(0), TYPES),
        st.tuples(st.just("look"), st.integers(0, 11), st.just(0), TYPES),
    ),
    max_size=60,
)


def cuts(graph: LinkGraph, ids: Sequence[str]) -> set[str]:
    """The cut vertices among some memories."""
    values = graph.column("is_cut_vertex", ids)
    return {id for id, value in zip(ids, values, strict=True) if value}


class World:
    """Links as a store has them, and the graph that is told of their changes."""

    def __init__(self, edges: Sequence[Edge], living: set[int]) -> None:
        self.links = {(str(s), str(t), type): float(i) for i, (s, t, type) in enumerate(edges)}
        self.living = {str(id) for id in living}
        self.graph = LinkGraph(self.all_links(), self.living)
        self.kept: dict[str, dict[str, float]] = {}  # columns, brought up to date by what changed

    def all_links(self) -> list[tuple[str, str, str, float]]:
        return [(*key, at) for key, at in self.links.items()]

    def of(self, ids: Sequence[str]) -> list[tuple[str, str, str, float]]:
        return [one for one in self.all_links() if one[0] in ids or one[1] in ids]

    def do(self, what: str, one: int, other: int, type: str, time: float) -> None:
        id, end = str(one), str(other)
        if what == "link":
            self.links[id, end, type] = time
            self.graph.relinked([id])
        elif what == "unlink":
            self.links.pop((id, end, type), None)
            self.graph.relinked([id])
        elif what == "add" and id not in self.living:
            self.living.add(id)
            self.graph.added([id])
        elif what == "remove" and id in self.living:
            self.living.discard(id)
            self.links = {k: at for k, at in self.links.items() if id not in k[:2]}
            self.graph.removed([id])
        elif what == "edit" and id in self.living:
            self.graph.removed([id])
            self.graph.added([id])
        elif what == "look":
            self.check()

    def check(self) -> None:
        self.graph.settle(self.of)
        links = [one for one in self.all_links() if {*one[:2]} <= self.living and one[0] != one[1]]
        support = [(s, t, at) for s, t, type, at in links if type != "contradicts"]
        drawn = nx.Graph([(s, t) for s, t, _ in support])
        ids = [str(i) for i in range(12)]
        assert cuts(self.graph, ids) == set(nx.articulation_points(drawn))
        degrees = [sum(t == id for _, t, _ in support) for id in ids]
        assert self.graph.column("in_degree", ids).tolist() == degrees
        newest = [max((at for _, t, at in support if t == id), default=np.nan) for id in ids]
        assert np.array_equal(self.graph.column("newest_link", ids), newest, equal_nan=True)
        linked = [float(any(id in one[:2] for one in links)) for id in ids]
        assert self.graph.column("linked", ids).tolist() == linked
        self.check_kept_columns(ids)

    def check_kept_columns(self, ids: list[str]) -> None:
        for name in ("linked", "in_degree", "newest_link", "is_cut_vertex"):
            changed = sorted(self.graph.changed(name)) if name in self.kept else ids
            self.graph.changed(name)
            kept = self.kept.setdefault(name, {})
            kept.update(zip(changed, self.graph.column(name, changed).tolist(), strict=True))
            values = self.graph.column(name, ids)
            assert np.array_equal([kept[id] for id in ids], values, equal_nan=True), name


@given(EDGES, st.sets(st.integers(0, 11)))
def test_a_graph_tells_what_networkx_does(edges: list[Edge], living: set[int]) -> None:
    World(edges, living).check()


@given(EDGES, st.sets(st.integers(0, 11)), EDITS)
def test_it_does_after_any_edits(
    edges: list[Edge], living: set[int], edits: list[tuple[str, int, int, str]]
) -> None:
    world = World(edges, living)
    world.check()
    for time, (what, one, other, type) in enumerate(edits, start=100):
        world.do(what, one, other, type, float(time))
    world.check()


@given(EDGES)
def test_one_edge_after_another_gives_what_all_at_once_do(edges: list[Edge]) -> None:
    world = World([], set(range(12)))
    world.check()
    for time, (one, other, type) in enumerate(edges):
        world.do("link", one, other, type, float(time))
        world.check()


@pytest.mark.deep
@pytest.mark.parametrize("at_once", [True, False])
def test_a_long_chain_is_no_trouble(at_once: bool) -> None:
    ids = [str(i) for i in range(20_000)]
    links = [(left, right, "mentions", 0.0) for left, right in pairwise(ids)]
    graph = LinkGraph(links if at_once else [], ids)
    if not at_once:
        assert not cuts(graph, ids)
        graph.relinked(ids)
        graph.settle(lambda asked: links)
    assert cuts(graph, ids) == set(ids[1:-1])
    graph.relinked([ids[0]])
    graph.settle(lambda asked: [*links, (ids[0], ids[-1], "mentions", 0.0)])  # closes the ring
    assert not cuts(graph, ids)

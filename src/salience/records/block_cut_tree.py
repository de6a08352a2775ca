"""Cut vertices of a growing graph, maintained in its block-cut tree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

Adjacency = Callable[[str], Iterable[str]]


class BlockCutTree:
    """The blocks of an undirected graph as a forest; a vertex in two or more of them is a cut.

    A block is a maximal set of vertices that stays connected without any single one of them. The
    nodes of the forest are vertices and blocks in turn: the parent of a vertex is the block that
    leads to the root, the parent of a block a vertex. A new edge within a tree merges the blocks on
    the path between its ends; one between two trees makes the smaller a child of the larger:
    amortised O(log n) per edge. A removal may split blocks, so the component, and only that, is
    explored again in O(V + E), when a cut vertex is next asked for.

    Sources: Hopcroft and Tarjan, Algorithm 447, 1973 (a component at once); Westbrook and Tarjan,
    Maintaining bridge-connected and biconnected components on-line, 1992 (edge by edge).
    """

    def __init__(self, neighbors: Adjacency) -> None:
        self._neighbors = neighbors
        self._above: dict[str, int] = {}  # the block above a vertex; a root has none
        self._below: dict[str, int] = {}  # how many blocks hang on a vertex
        self._top: list[str] = []  # the vertex that a block hangs on
        self._merged: list[int] = []  # the block that a block was merged into
        self._leader: dict[
            str, str
        ] = {}  # by vertex, towards the leader of its component (union-find)
        self._size: dict[str, int] = {}  # of the component of a leader
        self._stale: dict[str, None] = {}  # vertices of components to be explored again
        self._changed: set[str] | None = None  # since `changed` was called, None before

    def connect(self, one: str, other: str) -> None:
        """Add an edge between two vertices."""
        if self._stale:  # components are not known now
            self._stale[one] = self._stale[other] = None
            return
        first, second = self._component(one), self._component(other)
        if first != second:
            if self._size[first] > self._size[second]:
                one, other, first, second = other, one, second, first
            self._leader[first] = second
            self._size[second] += self._size[first]
            self._turn(one)
            self._hang(other, (one,))
        elif not self._together(one, other):
            self._merge(*self._path(one, other))

    def disconnect(self, vertices: Iterable[str]) -> None:
        """Note that edges of these vertices were removed."""
        self._stale.update(dict.fromkeys(vertices))

    def is_cut(self, vertex: str) -> bool:
        """Test whether the component of a vertex would fall apart without it."""
        self.settle()
        return self._below.get(vertex, 0) + (vertex in self._above) > 1

    def changed(self) -> set[str]:
        """The vertices that may have become cuts, or none, since the last call.

        The first call gives none; what counts by then is what there is by then.
        """
        self.settle()
        changed, self._changed = self._changed or set(), set()
        return changed

    @property
    def nbytes(self) -> int:
        """Memory used, roughly, in bytes."""
        return 400 * len(self._leader)

    def settle(self) -> None:
        """Explore the components again that lost an edge or a vertex."""
        if not self._stale:
            return
        if len(self._top) > 4 * len(self._leader):  # most of the blocks do not exist any more
            self._stale.update(dict.fromkeys(self._leader))
            self._top, self._merged = [], []
            for table in (self._above, self._below, self._leader, self._size):
                table.clear()
        stale, self._stale = self._stale, {}
        explored: set[str] = set()
        for start in stale:
            if start not in explored:
                explored.update(self._explore(start))

    def _explore(self, root: str) -> Iterable[str]:
        """Find the blocks of the component of a vertex, depth first; returns its vertices."""
        entered = {root: 0}
        low = {root: 0}  # the earliest vertex reached from below by one edge back
        self._forget(root)
        waiting: list[str] = []  # entered, and not yet in the block above them
        path: list[tuple[str, str | None, Iterator[str]]] = [
            (root, None, iter(self._neighbors(root)))
        ]
        while path:
            vertex, parent, rest = path[-1]
            for other in rest:
                if other not in entered:
                    entered[other] = low[other] = len(entered)
                    self._forget(other)
                    waiting.append(other)
                    path.append((other, vertex, iter(self._neighbors(other))))
                    break
                if other != parent and entered[other] < low[vertex]:
                    low[vertex] = entered[other]
            else:
                path.pop()
                if parent is None:
                    continue
                low[parent] = min(low[parent], low[vertex])
                if low[vertex] >= entered[parent]:
                    members = [waiting.pop()]
                    while members[-1] != vertex:
                        members.append(waiting.pop())
                    self._hang(parent, members)
        self._leader.update(dict.fromkeys(entered, root))
        self._size[root] = len(entered)
        return entered

    def _note(self, vertices: Iterable[str]) -> None:
        """Note that vertices may be cuts now, or cuts no more."""
        if self._changed is not None:
            self._changed.update(vertices)

    def _forget(self, vertex: str) -> None:
        self._note((vertex,))
        self._above.pop(vertex, None)
        self._below.pop(vertex, None)
        self._size.pop(vertex, None)

    def _hang(self, top: str, members: Collection[str]) -> None:
        """Add a new block below a vertex."""
        block = len(self._top)
        self._top.append(top)
        self._merged.append(block)
        self._below[top] = self._below.get(top, 0) + 1
        for member in members:
            self._above[member] = block
        self._note((top, *members))

    def _component(self, vertex: str) -> str:
        """The leader of the component of a vertex."""
        if vertex not in self._leader:
            self._leader[vertex] = vertex
            self._size[vertex] = 1
        leader = vertex
        while self._leader[leader] != leader:
            leader = self._leader[leader]
        while self._leader[vertex] != leader:
            self._leader[vertex], vertex = leader, self._leader[vertex]
        return leader

    def _block(self, vertex: str) -> int | None:
        """The block above a vertex."""
        block = self._above.get(vertex)
        if block is None:
            return None
        last = block
        while self._merged[last] != last:
            last = self._merged[last]
        while self._merged[block] != last:
            self._merged[block], block = last, self._merged[block]
        return last

    def _together(self, one: str, other: str) -> bool:
        """Test whether a block has both vertices already."""
        first, second = self._block(one), self._block(other)
        if first is not None and (first == second or self._top[first] == other):
            return True
        return second is not None and self._top[second] == one

    def _turn(self, vertex: str) -> None:
        """Make a vertex the root of its tree."""
        block = self._block(vertex)
        self._above.pop(vertex, None)
        while block is not None:
            parent = self._top[block]
            following = self._block(parent)
            self._top[block] = vertex
            self._below[vertex] = self._below.get(vertex, 0) + 1
            self._below[parent] -= 1
            self._above[parent] = block
            self._note((vertex, parent))
            vertex, block = parent, following

    def _path(self, one: str, other: str) -> tuple[list[int], int | str]:
        """The blocks on the path between two vertices of a tree, and the node at its top.

        Both ends climb in turn, so that neither climbs much further than where they meet.
        """
        at: list[str | None] = [one, other]
        steps: tuple[dict[str, int], dict[str, int]] = ({}, {})
        blocks: tuple[dict[int, None], dict[int, None]] = ({}, {})
        side = 0
        while True:
            vertex = at[side]
            if vertex is not None:
                if vertex in steps[1 - side] or vertex == at[1 - side]:
                    return self._between(steps, vertex), vertex
                block = self._block(vertex)
                if block is None:
                    steps[side].setdefault(vertex, -1)
                    at[side] = None
                else:
                    steps[side][vertex] = block
                    if block in blocks[1 - side]:
                        return self._between(steps, block), block
                    blocks[side][block] = None
                    at[side] = self._top[block]
            side = 1 - side

    @staticmethod
    def _between(steps: Iterable[dict[str, int]], meeting: int | str) -> list[int]:
        """The blocks on both sides of the path up to its top."""
        blocks: dict[int, None] = {}
        for side in steps:
            for vertex, block in side.items():
                if vertex == meeting:
                    break
                blocks[block] = None
                if block == meeting:
                    break
        return list(blocks)

    def _merge(self, blocks: list[int], meeting: int | str) -> None:
        """Merge the blocks on a path into one."""
        self._note(self._top[block] for block in blocks)
        for block in blocks:
            if block != meeting:
                self._below[self._top[block]] -= 1
        if isinstance(meeting, str):
            last = next(block for block in blocks if self._top[block] == meeting)
            self._below[meeting] += 1
        else:
            last = meeting
        for block in blocks:
            self._merged[block] = last

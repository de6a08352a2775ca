"""What this process knows of the namespaces that it used lately."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from recollect.graph import LinkGraph
from recollect.stores.postgres.known import Known

_LIMIT = 512 << 20  # bytes; beyond it the namespace used longest ago is forgotten


class Spaces:
    """The last known state of namespaces, for all threads; a state never changes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._graphs: dict[str, tuple[int, LinkGraph]] = {}
        self._written: set[str] = set()
        self._size = 0
        self._lock = threading.Lock()

    def known(self, namespace: str) -> Known:
        """The last known state of a namespace."""
        with self._lock:
            found = self._known.get(namespace)
            if found is not None:
                self._known.move_to_end(namespace)
            return found or Known(namespace)

    def settled(self, namespace: str) -> Known | None:
        """The last known state, unless this process has written since."""
        with self._lock:
            return None if namespace in self._written else self._known.get(namespace)

    def learn(self, states: Iterable[Known]) -> None:
        """Take in what a search has seen."""
        with self._lock:
            for known in states:
                before = self._known.get(known.namespace)
                if before is known or (before is not None and before.newer(known)):
                    continue
                self._size += known.nbytes - (before.nbytes if before is not None else 0)
                self._known[known.namespace] = known
                self._known.move_to_end(known.namespace)
                self._written.discard(known.namespace)
            while self._size > _LIMIT and len(self._known) > 1:
                name, oldest = self._known.popitem(last=False)
                self._size -= oldest.nbytes
                self._graphs.pop(name, None)

    def written(self, namespaces: Iterable[str]) -> None:
        """Note that this process has written to namespaces."""
        with self._lock:
            self._written.update(namespaces)

    def graph(self, namespace: str, linked: int) -> LinkGraph | None:
        """The graph of links as of a version, if it is known."""
        with self._lock:
            found = self._graphs.get(namespace)
            return found[1] if found is not None and found[0] == linked else None

    def keep_graph(self, namespace: str, linked: int, graph: LinkGraph) -> None:
        """Remember a graph of links."""
        with self._lock:
            self._graphs[namespace] = (linked, graph)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._size

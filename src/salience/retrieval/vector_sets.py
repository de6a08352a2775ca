"""The two sets of vectors of a store: those that are searched, and those of another embedder.

Each vector has a name, such as "content", and is stored under that or under "_" and that: one of
the two is searched, the other belongs to the set beside. Cutting over changes which is which, and
touches no vector.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from salience.errors import StoreError

OTHER = "_"
"""The beginning of one of the two names under which a vector may be stored; no name begins so."""


class VectorSets(NamedTuple):
    """The names under which vectors are stored, and the embedder of the set beside.

    `underscored` are the names whose searched vectors are stored with an underscore. `searched` is
    the identity of the embedder of the searched vectors since the last cut-over, None before any.
    `beside` is that of the set beside, None where there is none, and `names` are the names of its
    vectors. `is_former` tells that it was searched before the last cut-over. `dropped` counts how
    often vectors were dropped.
    """

    underscored: frozenset[str] = frozenset()
    searched: str | None = None
    beside: str | None = None
    names: frozenset[str] = frozenset()
    is_former: bool = False
    dropped: int = 0

    def stored_name(self, name: str, *, beside: bool = False) -> str:
        """The name under which the vectors of a name are stored: those searched, or beside."""
        return f"{OTHER}{name}" if (name in self.underscored) != beside else name

    def searched_name(self, stored: str) -> str | None:
        """The name of stored vectors; None for those of the set beside."""
        name = self.plain_name(stored)
        return name if self.stored_name(name) == stored else None

    def searched_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Figures of stored vectors by the names of those that are searched."""
        searched = ((self.searched_name(stored), size) for stored, size in sizes.items())
        return {name: size for name, size in searched if name is not None}

    @staticmethod
    def plain_name(stored: str) -> str:
        """The name of stored vectors of either set."""
        return stored.removeprefix(OTHER)

    def names_beside(self) -> list[str]:
        """The names under which the vectors of the set beside are stored."""
        return sorted(self.stored_name(name, beside=True) for name in self.names)

    def with_beside(self, embedder: str, name: str) -> VectorSets:
        """The sets when the one beside has vectors of a name of an embedder.

        Raises:
            StoreError: it is another embedder's.
        """
        self._check_beside(embedder)
        return self._replace(beside=embedder, names=self.names | {name})

    def _check_beside(self, embedder: str) -> None:
        if self.beside not in (None, embedder):
            raise StoreError(
                f"the set of vectors beside the searched ones is of {self.beside}, not of "
                f"{embedder}; somebody else makes it, or it has to be dropped first"
            )

    def cut_over(self, former: str | None, embedder: str) -> VectorSets:
        """The sets when those of `embedder`, beside, are searched in the place of `former`.

        Raises:
            StoreError: the set beside is another embedder's.
        """
        self._check_beside(embedder)
        return self._replace(
            underscored=self.underscored ^ self.names,
            searched=embedder,
            beside=former if self.names else None,
            is_former=bool(self.names),
        )

    def previewed(self) -> VectorSets:
        """The sets as they would be after a cut-over; as they are if there is nothing beside."""
        return self if self.beside is None else self.cut_over(self.searched, self.beside)

    def dropping(self) -> VectorSets:
        """The sets when vectors of the one beside are about to be dropped."""
        return self._replace(dropped=self.dropped + 1)

    def alone(self) -> VectorSets:
        """The sets without the one beside."""
        return self._replace(beside=None, names=frozenset(), is_former=False)

    def to_json(self) -> str:
        """The sets as JSON."""
        return json.dumps(
            {
                name: sorted(value) if isinstance(value, frozenset) else value
                for name, value in self._asdict().items()
            }
        )

    @staticmethod
    @lru_cache(maxsize=16)
    def from_json(text: str | None) -> VectorSets:
        """The sets of `to_json`; those of a store that never had a second set for None."""
        if text is None:
            return VectorSets()
        values = json.loads(text)
        for name in ("underscored", "names"):
            values[name] = frozenset(values[name])
        return VectorSets(**values)


class VectorSetsFigures(NamedTuple):
    """The embedders of both sets of vectors of a store, and how far the one beside is.

    `memories` is the number of memories in the store, `embedded` that of those with a vector of
    their content in the set beside.
    """

    searched: str | None
    beside: str | None
    is_former: bool
    memories: int
    embedded: int

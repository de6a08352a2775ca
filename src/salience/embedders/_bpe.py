"""Byte-pair encoding: how the tokenizer of the default embedder divides a text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

_LONG = 32  # characters, from which on it pays to divide before merging


class BytePairs:
    """Joins the characters of a text, pair by pair, into the tokens of a vocabulary.

    The pair of lowest rank is joined first, and of equal ones the leftmost. A character that is
    no token is given as its bytes.

    Args:
        model: as in a `tokenizer.json`: `vocab`, ids by token, and `merges`, pairs by rank.
    """

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.ids: Mapping[str, int] = model["vocab"]
        self._ranks = {pair: rank for rank, pair in enumerate(model["merges"])}

    def tokens(self, text: str) -> list[int]:
        """The ids of a text's tokens."""
        if len(text) < _LONG:
            return self._merged(text)
        ids: list[int] = []
        start = 0
        for end, pair in enumerate(pairwise(text), 1):
            if pair not in self._neighbours:
                ids += self._merged(text[start:end])
                start = end
        return ids + self._merged(text[start:])

    @cached_property
    def _neighbours(self) -> set[tuple[str, str]]:
        """The characters that stand side by side in a token: no token goes over any others."""
        return {pair for token in self.ids for pair in pairwise(token)}

    def _merged(self, text: str) -> list[int]:
        ranks = self._ranks
        parts = [*text, ""]
        after = [*range(1, len(parts)), 0]
        before = [*range(-1, len(text))]
        pairs = map(" ".join, pairwise(text))
        waiting = [(ranks[pair], at, pair) for at, pair in enumerate(pairs) if pair in ranks]
        heapify(waiting)
        while waiting:
            _, at, pair = heappop(waiting)
            next = after[at]
            if f"{parts[at]} {parts[next]}" != pair:
                continue  # one of the two has been joined to another
            parts[at] += parts[next]
            parts[next] = ""
            after[at] = after[next]
            before[after[at]] = at
            for left in (before[at], at):
                pair = f"{parts[left]} {parts[after[left]]}"
                if pair in ranks:
                    heappush(waiting, (ranks[pair], left, pair))
        ids: list[int] = []
        for part in filter(None, parts):
            id = self.ids.get(part)
            ids += self._bytes(part) if id is None else [id]
        return ids

    def _bytes(self, character: str) -> list[int]:
        return [self.ids[f"<0x{byte:02X}>"] for byte in character.encode()]

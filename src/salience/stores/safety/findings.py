"""Findings that are the same in every store, in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from salience.retrieval.safety import Finding

EXAMPLES = 3
"""The most examples of a finding."""
FIX = "`salience doctor --fix`"
REMAKE = "`salience reembed --missing` makes them"


def moved_out(path: str) -> str:
    """The remedy for rows that go to the quarantine."""
    return f"{FIX} moves them to {path}"


def orphans(table: str, count: int, examples: Sequence[str], remedy: str) -> Finding:
    """Rows that belong to nothing."""
    problem = f"{count:,} rows of {table} belong to no memory"
    return Finding("orphans", problem, count, tuple(examples), remedy)


def usual_size(counts: Mapping[int, int]) -> int:
    """The size that most vectors of a name have, of the numbers by size; of equal ones the largest.

    The others cannot be compared with these.
    """
    return max(counts, key=lambda size: (counts[size], size))


def odd_dimensions(name: str, odd: int, usual: int, remedy: str) -> Finding:
    """Vectors of another length than the others of their name."""
    problem = f"{odd:,} vectors {name!r} have not the {usual} dimensions of others"
    return Finding("dimensions", problem, odd, remedy=f"{remedy}; then {REMAKE} again")


def missing_vectors(count: int) -> Finding:
    """Memories without a vector."""
    problem = f"{count:,} memories have no vector, and are found by their words alone"
    return Finding("vectors", problem, count, remedy=REMAKE, harmless=True)


def stale_words(count: int, examples: Sequence[str]) -> Finding:
    """Memories that are found by something else than their texts say."""
    problem = f"what {count:,} memories are found by is not that of their texts"
    remedy = f"{FIX} recomputes it from their texts"
    return Finding("words", problem, count, tuple(examples), remedy)

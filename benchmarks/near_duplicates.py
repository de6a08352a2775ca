"""Near-duplicates of conversations that say the same: those that dedup would leave out, and others.

    python benchmarks/near_duplicates.py SET...          the counts of each set
    python benchmarks/near_duplicates.py SET... --show   and each pair, to be judged by reading

A pair is a memory with the first earlier one of its conversation at a cosine of .92 or more, by the
default embedder; texts that are equal to the letter are none. It is left out if `says_same` holds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from salience.embedders import resolve
from salience.evaluation.datasets import load
from salience.lifecycle.clustering import similar_pairs
from salience.write.dedup import DUPLICATE_COSINE
from salience.write.dedup.sameness import says_same


def pairs(path: Path) -> Iterator[tuple[str, str, float]]:
    """The near-duplicates of the conversations in a folder or file, with their cosines."""
    embedder = resolve("default")
    assert embedder is not None
    for conversation in load(path):
        texts = [item["content"] for item in conversation.memories]
        vectors = embedder.embed(texts)
        for older, newer, cosine in similar_pairs(vectors, DUPLICATE_COSINE):
            if texts[older] != texts[newer]:
                yield texts[older], texts[newer], cosine


def main() -> None:
    """Count the pairs of each set."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("sets", nargs="+", type=Path)
    arguments.add_argument("--show", action="store_true", help="print each pair")
    given = arguments.parse_args()
    for path in given.sets:
        counts = {True: 0, False: 0}
        for older, newer, cosine in pairs(path):
            same = says_same(older, newer)
            counts[same] += 1
            if given.show:
                print(f"{'same ' if same else 'apart'} {cosine:.3f}\n  {older}\n  {newer}")
        print(f"{path.name}: {counts[True]} left out, {counts[False]} kept apart")


if __name__ == "__main__":
    main()

"""Exporting: namespaces as lines of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from salience.retrieval.operations import Op
from salience.retrieval.plan import drive
from salience.write.items import texts_to_embed
from salience.write.outcomes import Transferred
from salience.write.transfer import lines, parts

DIGEST_BYTES = 16
Perform = Callable[[Sequence[Op]], Sequence[Any]]
Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and how much there is."""


def export(
    namespaces: Sequence[str],
    perform: Perform,
    write: Callable[[str], object],
    *,
    vectors: bool,
    embedder: str | None,
    report: Progress,
) -> Transferred:
    """Write namespaces as lines, each as it was when its first line was written.

    Vectors that the embedder of the store makes of texts are left out unless `vectors`; all others
    are always written.

    Args:
        namespaces: their names.
        perform: answers operations.
        write: called with each line.
        vectors: write all vectors, also those that edits replaced.
        embedder: the identity of the embedder that the stored vectors came from.
        report: called with the progress.
    """
    digest = blake2b(digest_size=DIGEST_BYTES)
    counts = {"memories": 0, "links": 0, "events": 0}

    def put(line: lines.Fields) -> None:
        text = lines.dump(line)
        digest.update(text.encode())
        write(text)

    put(lines.header_line(vectors, embedder))
    for namespace in namespaces:
        source = drive(parts.outline(namespace), perform)
        put(lines.namespace_line(source))
        counts["events"] += len(source.events)
        done, total = 0, len(source.rows)
        for chunk in _chunks(source, perform, vectors, embedder):
            for part in chunk:
                put(lines.memory_line(part))
                counts["links"] += len(part.links)
                counts["events"] += len(part.events)
            counts["memories"] += len(chunk)
            done += len(chunk)
            report(f"exporting {namespace}", done, max(done, total))
    write(lines.dump({"end": {**counts, "digest": digest.hexdigest()}}))
    return Transferred(tuple(namespaces), counts["memories"], counts["links"], counts["events"])


def _chunks(
    source: parts.Outline, perform: Perform, vectors: bool, embedder: str | None
) -> Iterator[list[parts.Part]]:
    """The memories chunk by chunk, with the vectors that are written."""
    names = source.vector_names
    if vectors:
        former = drive(parts.former_vectors(source), perform)
        yield from parts.read_chunks(source, names, former, perform)
        return
    if embedder is None:  # all vectors were given
        yield from parts.read_chunks(source, names, {}, perform)
        return
    others = [name for name in names if name != "content"]
    for chunk in parts.read_chunks(source, others, {}, perform):
        yield [without_made_vectors(part) if part.vectors else part for part in chunk]


def without_made_vectors(part: parts.Part) -> parts.Part:
    """A memory without the vectors that an embedder makes of its texts."""
    made = texts_to_embed(part.record)
    return replace(part, vectors={n: v for n, v in part.vectors.items() if n not in made})

"""Making vectors anew: with another embedder, or for the memories that were kept without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from salience.records.record import MemoryRecord
from salience.retrieval.candidates import Rows
from salience.retrieval.operations import (
    STAGED,
    AdoptVectors,
    Embed,
    PutVectors,
    ReadRecords,
    ReadStats,
    Unembedded,
)
from salience.retrieval.plan import Plan, ask
from salience.write.items import texts_to_embed

_CHUNK = 1024  # memories embedded and written at once

Progress = Callable[[int, int], None]


def reembed(identity: str, *, missing: bool, progress: Progress | None = None) -> Plan[int]:
    """The plan of embedding every memory of a store, or only those without a vector; how many.

    All vectors that an embedder made are: that of the content, and those of a chunk's sides and
    facets. New vectors are kept beside the old ones, which are searched until all are made and then
    replaced at once. Broken off, it goes on where it was; vectors that callers gave in place of
    the embedder's are made anew, too.
    """
    staged = f"{STAGED}{identity}"
    done = 0
    while True:
        figures: dict[str, Any] = yield from ask(ReadStats(()))
        for namespace in figures["namespaces"]:
            while True:
                name = "content" if missing else staged
                rows: Rows = yield from ask(Unembedded(namespace, name, _CHUNK))
                if not len(rows):
                    break
                yield from _embed(namespace, None if missing else staged, rows)
                done += len(rows)
                if progress is not None:
                    progress(done, figures["memories"])
        # Somebody may have written since; then there is more to embed.
        if missing or (yield from ask(AdoptVectors(staged, "content", identity))):
            return done


def _embed(namespace: str, staged: str | None, rows: Rows) -> Plan[None]:
    """Give rows their vectors, under the names that these are staged by, or their own."""
    records: list[MemoryRecord | None] = yield from ask(ReadRecords(rows))
    texts = [{} if record is None else texts_to_embed(record) for record in records]
    distinct = tuple(dict.fromkeys(words for each in texts for words in each.values()))
    if not distinct:
        return
    vectors = yield from ask(Embed(distinct, "document"))
    made = dict(zip(distinct, vectors, strict=True))
    names = {name for each in texts for name in each} - {"content"}
    for name in (*sorted(names), "content"):  # a memory with the last of them has them all
        here = [at for at, each in enumerate(texts) if name in each]
        under = name if staged is None else staged if name == "content" else f"{staged}|{name}"
        given = [made[texts[at][name]] for at in here]
        yield from ask(PutVectors(namespace, under, rows[here], given))

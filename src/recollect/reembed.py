"""Making vectors anew: with another embedder, or for the memories that were kept without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.candidates import Rows
from recollect.items import embedded_text
from recollect.memory import MemoryRecord
from recollect.ops import STAGED, AdoptVectors, Embed, PutVectors, Read, Stats, Unembedded
from recollect.plan import Plan, ask

_CHUNK = 1024  # memories embedded and written at once

Progress = Callable[[int, int], None]


def reembed(identity: str, *, missing: bool, progress: Progress | None = None) -> Plan[int]:
    """The plan of embedding every memory of a store, or only those without a vector; how many.

    New vectors are kept beside the old ones, which are searched until all are made and then
    replaced at once. Broken off, it goes on where it was; vectors that callers gave in place of
    the embedder's are made anew, too.
    """
    staged = f"{STAGED}{identity}"
    name = "content" if missing else staged
    done = 0
    while True:
        figures: dict[str, Any] = yield from ask(Stats(()))
        for namespace in figures["namespaces"]:
            while True:
                rows: Rows = yield from ask(Unembedded(namespace, name, _CHUNK))
                if not len(rows):
                    break
                yield from _embed(namespace, name, rows)
                done += len(rows)
                if progress is not None:
                    progress(done, figures["memories"])
        # Somebody may have written since; then there is more to embed.
        if missing or (yield from ask(AdoptVectors(staged, "content", identity))):
            return done


def _embed(namespace: str, name: str, rows: Rows) -> Plan[None]:
    records: list[MemoryRecord | None] = yield from ask(Read(rows))
    here = [i for i, record in enumerate(records) if record is not None]
    texts = tuple(embedded_text(record) for record in records if record is not None)
    if texts:
        vectors = yield from ask(Embed(texts, "document"))
        yield from ask(PutVectors(namespace, name, rows[here], vectors))

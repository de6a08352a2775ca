"""Re-embedding: all vectors with another embedder, or those of memories that have none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from salience.language.passages import vector_name
from salience.records.record import MemoryRecord
from salience.retrieval.candidates import Rows
from salience.retrieval.operations import (
    STAGED,
    AdoptVectors,
    Embed,
    Note,
    Notes,
    PutVectors,
    ReadRecords,
    ReadStats,
    Unembedded,
)
from salience.retrieval.plan import Plan, ask
from salience.write.embedding import MISSING_NOTE
from salience.write.items import texts_to_embed

_CHUNK_MEMORIES = 1024  # embedded and written at once
_MADE_OF_TEXTS = ("content", vector_name(0))
"""The vectors that a memory has once it has all of its own: of its text, of its first passage."""

Progress = Callable[[int, int], None]


def reembed(identity: str, *, missing: bool, progress: Progress | None = None) -> Plan[int]:
    """The plan of embedding all memories of a store, or those without a vector: how many.

    This includes all vectors that an embedder made: of the content, and of a chunk's sides and
    facets; also those that callers gave in place of the embedder's. New vectors are kept beside
    the old ones, which are searched until all are made, and then replaced at once. If interrupted,
    it goes on where it was.
    """
    staged = f"{STAGED}{identity}"
    done = 0
    while True:
        figures: dict[str, Any] = yield from ask(ReadStats(()))
        for namespace in figures["namespaces"]:
            for name in _MADE_OF_TEXTS if missing else (staged,):
                while True:
                    rows: Rows = yield from ask(Unembedded(namespace, name, _CHUNK_MEMORIES))
                    if not len(rows):
                        break
                    yield from _embed(namespace, None if missing else staged, rows, identity)
                    done += len(rows)
                    if progress is not None:
                        progress(done, figures["memories"])
        # Somebody may have written since; then there is more to embed.
        if missing or (yield from ask(AdoptVectors(staged, "content", identity))):
            return done


def mend(namespace: str, identity: str, is_stopped: Callable[[], bool]) -> Plan[int]:
    """The plan of embedding what was kept without a vector as `note_missing` notes: how many."""
    notes: Mapping[str, str] = yield from ask(Notes(namespace))
    note = notes.get(MISSING_NOTE)
    done, last = 0, -1
    while note is not None and not is_stopped():
        rows: Rows = yield from ask(Unembedded(namespace, "content", _CHUNK_MEMORIES))
        if not len(rows) or rows[-1] == last:
            yield from ask(Note(namespace, MISSING_NOTE, None, note))
            break
        yield from _embed(namespace, None, rows, identity)
        done, last = done + len(rows), rows[-1]
    return done


def _embed(namespace: str, staged: str | None, rows: Rows, identity: str) -> Plan[None]:
    """Write the vectors of rows under the names by which they are staged, or their own."""
    records: list[MemoryRecord | None] = yield from ask(ReadRecords(rows))
    texts = [{} if record is None else texts_to_embed(record) for record in records]
    distinct = tuple(dict.fromkeys(text for by_name in texts for text in by_name.values()))
    if not distinct:
        return
    vectors = yield from ask(Embed(distinct, "document"))
    vector_of = dict(zip(distinct, vectors, strict=True))
    names = {name for by_name in texts for name in by_name} - {*_MADE_OF_TEXTS}
    for name in (*sorted(names), *reversed(_MADE_OF_TEXTS)):  # with the last it has them all
        places = [place for place, by_name in enumerate(texts) if name in by_name]
        stored_name = name
        if staged is not None:
            stored_name = staged if name == "content" else f"{staged}|{name}"
        if not places:
            continue
        named = [vector_of[texts[place][name]] for place in places]
        owner = identity if staged is None else None
        yield from ask(PutVectors(namespace, stored_name, rows[places], named, owner))

"""Re-embedding: all vectors with another embedder, or those of memories that have none.

The new vectors are made beside the searched ones. One transaction, the cut-over, exchanges the two
sets. The former vectors stay beside until they are dropped, and the cut-over can be taken back in
the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from salience.errors import InvalidInput
from salience.language.passages import vector_name
from salience.records.record import Embedding, MemoryRecord
from salience.retrieval.candidates import Rows
from salience.retrieval.operations import (
    CutOver,
    DropVectors,
    Embed,
    Note,
    Notes,
    Op,
    PutVectors,
    ReadRecords,
    ReadStats,
    ReadVectorSets,
    Unembedded,
)
from salience.retrieval.plan import Plan, ask, drive
from salience.retrieval.vector_sets import VectorSetsFigures
from salience.write.embedding import MISSING_NOTE
from salience.write.items import texts_to_embed

_CHUNK_MEMORIES = 1024  # embedded and written at once
_LAST_MEMORIES = 64  # embedded while those who write wait; twice as many with each attempt
_MADE_OF_TEXTS = ("content", vector_name(0))
"""The vectors that show that a memory has all of its own: of its text, of its first passage."""

Progress = Callable[[int, int], None]
Perform = Callable[[Sequence[Op]], Sequence[Any]]


def reembed(identity: str, perform: Perform, progress: Progress | None = None) -> Plan[int]:
    """The plan of embedding all memories of a store and keeping no former vector: how many.

    This includes all vectors that an embedder made (of the content, and of a chunk's sides and
    facets) and those that callers gave in place of the embedder's. If interrupted, it goes on
    where it was.
    """
    figures: VectorSetsFigures = yield from ask(ReadVectorSets())
    if figures.is_former:
        yield from ask(DropVectors())
    done = yield from cut_over(identity, perform, progress)
    yield from ask(DropVectors())
    return done


def embed_missing(identity: str, progress: Progress | None = None) -> Plan[int]:
    """The plan of embedding the memories of a store that have no vector: how many."""
    done = 0
    figures: dict[str, Any] = yield from ask(ReadStats(()))
    for namespace in figures["namespaces"]:
        for name in _MADE_OF_TEXTS:
            while True:
                rows: Rows = yield from ask(Unembedded(namespace, name, _CHUNK_MEMORIES))
                if not len(rows):
                    break
                yield from _embed(namespace, rows, identity, beside=False)
                done += len(rows)
                if progress is not None:
                    progress(done, figures["memories"])
    return done


def fill(identity: str, progress: Progress | None = None) -> Plan[int]:
    """The plan of making the vectors of an embedder beside the searched ones: how many.

    It makes only missing vectors, and so goes on after an interruption. It first drops an
    unfinished set of another embedder.

    Raises:
        InvalidInput: the former vectors of another embedder are still kept there.
    """
    sets: VectorSetsFigures = yield from ask(ReadVectorSets())
    if sets.beside not in (None, identity):
        if sets.is_former:
            raise InvalidInput(
                "to",
                f"is {identity}, but the former vectors of {sets.beside} are still kept",
                "finish with them first: `salience reembed --finish`",
            )
        yield from ask(DropVectors())
    done, before = 0, sets.embedded if sets.beside == identity else 0
    figures: dict[str, Any] = yield from ask(ReadStats(()))
    for namespace, left in figures["namespaces"].items():
        while left > 0:  # what others write meanwhile, maybe without end, is left
            size = min(left, _CHUNK_MEMORIES)
            rows: Rows = yield from ask(Unembedded(namespace, "content", size, beside=True))
            if not len(rows):
                break
            yield from _embed(namespace, rows, identity, beside=True)
            done, left = done + len(rows), left - len(rows)
            if progress is not None:
                progress(before + done, max(before + done, figures["memories"]))
    return done


def cut_over(identity: str, perform: Perform, progress: Progress | None = None) -> Plan[int]:
    """The plan of searching the vectors of an embedder in the place of others: how many it made.

    Memories written since then get their vectors first, the last few while writers wait; so it
    ends, however fast they write.
    """
    done, most = 0, _LAST_MEMORIES
    while True:
        done += yield from fill(identity, progress)
        last = yield from ask(CutOver(identity, most, lambda own: drive(_vectors(own), perform)))
        if last is not None:
            return done + last
        most *= 2


def roll_back(identity: str, perform: Perform, progress: Progress | None = None) -> Plan[int]:
    """The plan of searching the former vectors again: how many it made, for newer memories.

    Raises:
        InvalidInput: there are none of that embedder.
    """
    sets: VectorSetsFigures = yield from ask(ReadVectorSets())
    if not sets.is_former:
        raise InvalidInput("roll-back", "has no former vectors to go back to")
    if sets.beside != identity:
        raise InvalidInput(
            "to", f"is {identity}, and the former vectors are of {sets.beside}", "name that"
        )
    return (yield from cut_over(identity, perform, progress))


def finish(*, gives_up: bool = False) -> Plan[None]:
    """The plan of dropping the former vectors, or those of an abandoned re-embedding.

    Raises:
        InvalidInput: the set beside is not of that kind.
    """
    sets: VectorSetsFigures = yield from ask(ReadVectorSets())
    if sets.beside is not None and sets.is_former == gives_up:
        raise InvalidInput(
            "give-up" if gives_up else "finish",
            f"would drop the vectors of {sets.beside}, which "
            + ("are the former ones" if gives_up else "are not searched yet"),
            "use --finish" if gives_up else "use --cut-over first, or --give-up",
        )
    yield from ask(DropVectors())


def mend(namespace: str, identity: str, is_stopped: Callable[[], bool]) -> Plan[int]:
    """The plan of embedding the memories that `note_missing` noted: how many."""
    notes: Mapping[str, str] = yield from ask(Notes(namespace))
    note = notes.get(MISSING_NOTE)
    done, last = 0, -1
    while note is not None and not is_stopped():
        rows: Rows = yield from ask(Unembedded(namespace, "content", _CHUNK_MEMORIES))
        if not len(rows) or rows[-1] == last:
            yield from ask(Note(namespace, MISSING_NOTE, None, note))
            break
        yield from _embed(namespace, rows, identity, beside=False)
        done, last = done + len(rows), rows[-1]
    return done


def _embed(namespace: str, rows: Rows, identity: str, *, beside: bool) -> Plan[None]:
    """Write the vectors of rows, to be searched or beside."""
    records: list[MemoryRecord | None] = yield from ask(ReadRecords(rows))
    for name, places, vectors in (yield from _vectors(records)):
        yield from ask(PutVectors(namespace, name, rows[places], vectors, identity, beside))


def _vectors(
    records: Sequence[MemoryRecord | None],
) -> Plan[list[tuple[str, list[int], list[Embedding]]]]:
    """The vectors of records by name, each name with the places of those that have one."""
    texts = [{} if record is None else texts_to_embed(record) for record in records]
    distinct = tuple(dict.fromkeys(text for by_name in texts for text in by_name.values()))
    if not distinct:
        return []
    vectors = yield from ask(Embed(distinct, "document"))
    vector_of = dict(zip(distinct, vectors, strict=True))
    names = {name for by_name in texts for name in by_name} - {*_MADE_OF_TEXTS}
    by_name = []
    for name in (*sorted(names), *reversed(_MADE_OF_TEXTS)):  # with the last it has them all
        places = [place for place, own in enumerate(texts) if name in own]
        if places:
            by_name.append((name, places, [vector_of[texts[place][name]] for place in places]))
    return by_name

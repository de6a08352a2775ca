"""Replacements: a memory with the contents of an item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from salience.records.events import ACCESSES, STATE, WRITTEN
from salience.records.fields import FIELDS
from salience.records.record import EMPTY, Edit, Embedding, Link, MemoryRecord
from salience.write.idempotency import key_payload
from salience.write.items import (
    CONTENT_VECTORS,
    Item,
    WriteContext,
    check_validity_period,
    follows_text,
    texts_to_embed,
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A memory as it is and as it will be, by an item."""

    old: MemoryRecord
    new: MemoryRecord
    item: Item
    links: tuple[Link, ...]  # that it lacks

    @property
    def is_needed(self) -> bool:
        same = self.new.equals_except(("updated_at", *ACCESSES), self.old)
        return not same or bool(self.item.vectors or self.links)

    @property
    def texts(self) -> dict[str, str]:
        """The texts whose vectors have to be made, by the names of these."""
        return {
            name: words
            for name, words in texts_to_embed(self.new).items()
            if name in self.stale and name not in self.item.vectors
        }

    @property
    def stale(self) -> tuple[str, ...]:
        """The names of the vectors whose texts differ, or that have none any more."""
        old, new = texts_to_embed(self.old), texts_to_embed(self.new)
        names = {name for name in (*old, *new) if old.get(name) != new.get(name)}
        if "content" in names:
            names |= {*CONTENT_VECTORS, *filter(follows_text, (*old, *new))}
        return tuple(sorted(names))

    def edit(self, vector_of: Mapping[str, Embedding]) -> Edit:
        """The edit that writes it, with the vectors of its texts as far as there are any."""
        made = {name: vector_of[words] for name, words in self.texts.items() if words in vector_of}
        key = key_payload(self.item)
        note = {**(WRITTEN if self.new.content != self.old.content else EMPTY), **key}
        if key:
            note["outcome"] = "UPDATED"
        vectors = {**self.item.vectors, **made}
        return Edit(self.new, vectors, note, was=self.old, stale=self.stale)


def replacement_of(
    old: MemoryRecord, new: MemoryRecord, item: Item, links: Iterable[Link], scope: WriteContext
) -> Replacement:
    """The contents (fields that are not of STATE) of an item in a memory.

    The fields of STATE, which judgements change, stay unless the item gives them.
    """
    names = [
        name
        for name in FIELDS
        if name not in ("id", *ACCESSES) and (name not in STATE or name in item.given)
    ]
    values = {name: getattr(new, name) for name in names}
    changed = replace(old, **values, updated_at=scope.now)
    check_validity_period(changed)
    return Replacement(old, changed, item, tuple(links))

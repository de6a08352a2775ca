"""What is about to be written to one namespace, collected before it is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from salience.records.events import link_event, unlink_event
from salience.records.record import Link
from salience.retrieval import operations
from salience.stores import codec
from salience.stores.postgres.wire.commands import Command, Many, Statement
from salience.stores.postgres.write import event_log
from salience.stores.postgres.write.session_order import (
    Place,
    Turn,
    relink_sessions,
    session_places,
)

_ADD_TALLY = (
    "INSERT INTO tallies (namespace, kind, name, number, size, version) VALUES (%s, %s, %s, %s,"
    " %s, %s) ON CONFLICT (namespace, kind, name) DO UPDATE SET number = tallies.number +"
    " excluded.number, size = greatest(excluded.size, CASE WHEN excluded.number < 0 THEN"
    " tallies.size END), version = excluded.version"
)
_MARK_NAMES_CHANGED = (
    "UPDATE spaces SET named = version WHERE namespace = %s AND (%s OR EXISTS (SELECT FROM "
    "memories WHERE namespace = %s AND greets IS NOT NULL AND session_id = ANY(%s::text[])))"
)


@dataclass(eq=False)
class NamespaceBatch:
    """What is written to one namespace."""

    namespace: str
    counter: int
    version: int
    merged: int
    old: dict[str, dict[str, Any]] = field(default_factory=dict)  # by id
    vectors: dict[int, set[str]] = field(default_factory=dict)  # names by old row
    sizes: dict[str, int] = field(default_factory=dict)  # dimensions by vector name
    tallies: Counter[tuple[str, str]] = field(default_factory=Counter)
    sessions: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)  # of these, those with turns before this write
    turns: list[Turn] = field(default_factory=list)
    memories: list[list[Any]] = field(default_factory=list)
    words: list[list[Any]] = field(default_factory=list)
    lengths: list[tuple[int, list[int]]] = field(default_factory=list)  # of fields, by row
    given: list[list[Any]] = field(default_factory=list)  # vectors
    keys: set[str] = field(default_factory=set)  # of drafts that an event has already
    sequences: dict[str, int] = field(default_factory=dict)  # of memories that links come from
    unlinked: set[tuple[str, ...]] = field(default_factory=set)  # links from where some go
    states: Sequence[Any] = ()  # of memories to which something happens besides
    entries: list[event_log.LogEntry] = field(default_factory=list)
    former: list[tuple[int, int, int, list[str]]] = field(default_factory=list)  # see `_take`
    moved: list[tuple[int, str, str, int]] = field(default_factory=list)  # to, namespace, name, row

    def lose(self, row: int, kept: Mapping[str, Any], handed: Iterable[str] = ()) -> None:
        """Note that an old row goes, but for some of its vectors."""
        if kept["speaker"]:
            self.tallies["speaker", kept["speaker"]] -= 1
        for name in self.vectors.get(row, set()) - set(handed):
            self.tallies["vector", name] -= 1
        if kept["session_id"] is not None:
            self.sessions.add(kept["session_id"])
            self.begun.add(kept["session_id"])

    def tally(self) -> list[Command]:
        """What has to be counted."""
        rows = [
            (self.namespace, kind, name, number, self.sizes.get(name, 0), self.version)
            for (kind, name), number in sorted(self.tallies.items())
            if number
        ]
        return [Many(_ADD_TALLY, rows)] if rows else []

    def placed(self) -> dict[int, Place]:
        """The places of the turns about to be written, in sessions that begin with them."""
        return session_places([turn for turn in self.turns if turn.session not in self.begun])

    def relink(self, sure: bool) -> list[Command]:
        """Put the turns of sessions there already in order; `sure` if names may have changed
        anyway."""
        found = relink_sessions(self.namespace, self.version, sorted(self.sessions & self.begun))
        if self.sessions or sure:
            sessions = sorted(self.sessions)
            found.append(
                Statement(_MARK_NAMES_CHANGED, (self.namespace, sure, self.namespace, sessions))
            )
        return found


def log_links(space: NamespaceBatch, op: operations.Put) -> None:
    """Note what happens to the memories that links come from."""
    for link in op.unlinks:
        if link.namespace == space.namespace and (
            (link.source, link.target, link.type) in space.unlinked
            and link.source in space.sequences
        ):
            space.entries.append((space.sequences[link.source], unlink_event(link, op.actor)))
    for link in op.links:
        if link.namespace == space.namespace and link.source in space.sequences:
            space.entries.append((space.sequences[link.source], link_event(link, op.actor)))


def link_commands(op: operations.Put, spaces: Mapping[str, NamespaceBatch]) -> list[Command]:
    """Make and remove links; the version of the links moves with them."""
    commands: list[Command] = []
    if op.unlinks:
        commands.append(
            Many(
                "DELETE FROM links WHERE namespace = %s AND source = %s AND target = %s "
                "AND type = %s",
                [(each.namespace, each.source, each.target, each.type) for each in op.unlinks],
            )
        )
    if op.links:
        commands.append(
            Many(
                "INSERT INTO links (namespace, source, target, type, weight, created_at) "
                "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (namespace, source, target, type) "
                "DO UPDATE SET weight = excluded.weight,"
                " created_at = excluded.created_at",
                [_link_values(link) for link in op.links],
            )
        )
    changed = {link.namespace for link in (*op.links, *op.unlinks)}
    commands += [
        Statement(
            # What was linked to before it was there has its links from now on.
            "UPDATE spaces SET linked = version WHERE namespace = %s AND (%s OR EXISTS (SELECT "
            "FROM links WHERE namespace = %s AND target = ANY(%s::text[])))",
            (name, name in changed or bool(space.old), name, list(space.sequences)),
        )
        for name, space in spaces.items()
    ]
    return commands


def _link_values(link: Link) -> tuple[Any, ...]:
    created = codec.encode("created_at", link.created_at)
    return (link.namespace, link.source, link.target, link.type, link.weight, created)

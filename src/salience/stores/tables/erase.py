"""Erasing memories with all they have, and the names of users and namespaces.

The same transaction counts what it erases before, and looks it up again after.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from salience.display.result import to_json
from salience.errors import StoreError
from salience.records.events import FILE_ACTOR, Event, link_event, without_mention, without_user
from salience.records.record import Link
from salience.records.tombstones import Erasing, id_hashes, name_hash
from salience.retrieval.erasure import Erasure, Tally, checked
from salience.retrieval.operations import Delete, Events, Log
from salience.retrieval.questions import QUESTION_NOTE, without_erased
from salience.stores import codec
from salience.stores.tables.commands import Abandon, Command, Many, Send, Statement, shared, worded
from salience.stores.tables.dialect import (
    Dialect,
    lock,
    payload_text,
    select_states,
    states_by_id,
)
from salience.stores.tables.event_log import append_events, events, forget_actor, write_events

ERASED_AT_ONCE = 2_000
"""The most memories to erase in one transaction; other writers wait for it."""
NOTHING_ERASED = Erasure({}, {}, "")
_NAMES_OTHER = "payload IS NOT NULL AND $other IS NOT NULL AND $other $any_text"
_BY_OTHER = "events $events_by_mention"
_NAMES_USER = f"$text IN (actor, payload -> 'was' ->> 'user_id', payload ->> '{FILE_ACTOR}')"
_LINKS = "SELECT source, target, type FROM links WHERE $own AND"
_QUESTIONS = (
    "SELECT key, value FROM notes WHERE $own AND "
    f"substr(key, 1, {len(QUESTION_NOTE)}) = '{QUESTION_NOTE}'"
)
_STATUS_OF_LINK = {"supersedes": "superseded", "consolidates": "consolidated"}
"""The status that the source of a link gave its target, by the type of the link."""
_SUCCESSIONS = (
    "SELECT source, target, type FROM links WHERE $own "
    "AND type IN ('supersedes', 'consolidates') AND"
)
_Key = tuple[str, str, str]
_ANY_MEMORY = "SELECT 1 FROM memories WHERE $own AND id >= '' LIMIT 1"


class ErasedMemory(NamedTuple):
    """A memory to be erased."""

    id: str
    row: int
    sequence: int


class _Erased:
    """The memories of a namespace to erase, by everything that refers to them."""

    def __init__(self, namespace: str, memories: Sequence[ErasedMemory], dialect: Dialect) -> None:
        self._own = namespace
        self._dialect = dialect
        columns = zip(*memories, strict=True)
        self._ids, self._rows, self._sequences = (list(column) for column in columns)

    def counts(self) -> list[Statement]:
        """Count the rows of each kind that are of them, or name them."""
        own, ids, sequences = self._own, self._ids, self._sequences
        of_memory = "memory $any_row"
        return [
            shared(
                "SELECT 'memories', count(*) FROM (SELECT \"row\" FROM memories WHERE "
                '$own AND $row $any_row UNION SELECT $row FROM memories '
                "WHERE $own AND id $any_text) AS found",
                (own, self._rows, own, ids),
            ),
            *self._dialect.count_parts(own, self._rows),
            _counted("former_vectors", "former_vectors", of_memory, own, sequences),
            shared(
                f"SELECT 'links', count(*) FROM ({_LINKS} source $any_text UNION "
                f"{_LINKS} target $any_text) AS found",
                (own, ids, own, ids),
            ),
            _counted("events", "events", of_memory, own, sequences),
            shared(
                "SELECT 'idempotency_keys', count($key) FROM events $events_by_memory "
                f"WHERE $own AND {of_memory}",
                (own, sequences),
            ),
            _counted(
                "mentions", _BY_OTHER, f"{_NAMES_OTHER} AND NOT {of_memory}", own, ids, sequences
            ),
        ]  # fmt: skip

    def commands(self) -> list[Command]:
        """Erase them, their links, events and former vectors, and the links in other events."""

        def without(table: str, condition: str, values: Sequence[Any]) -> Statement:
            return shared(f"DELETE FROM {table} WHERE $own AND {condition}", (self._own, values))

        return [
            without("links", "source $any_text", self._ids),
            without("links", "target $any_text", self._ids),
            without("events", "memory $any_row", self._sequences),
            without("former_vectors", "memory $any_row", self._sequences),
            without(_BY_OTHER, f"{_NAMES_OTHER} AND type = 'link'", self._ids),
            *self._dialect.erase_rows(self._own, self._rows),
        ]

    def forget_mentions(self, send: Send) -> None:
        """Remove what names them from the events of others."""
        [naming] = send(
            shared(
                f"SELECT seq, actor, $payload FROM {_BY_OTHER} WHERE $own AND {_NAMES_OTHER}",
                (self._own, self._ids),
            )
        )
        rewritten = [
            (seq, actor, without_mention(json.loads(payload))) for seq, actor, payload in naming
        ]
        send(*_rewrite_events(self._own, rewritten, self._dialect))


def erase(
    namespace: str,
    memories: Sequence[ErasedMemory],
    erasing: Erasing | None,
    dialect: Dialect,
    send: Send,
) -> tuple[Erasure, bool]:
    """Erase memories of a locked namespace; True if it has no others.

    It leaves a tombstone, unless nobody is `erasing`.
    """
    if not memories:
        return NOTHING_ERASED, False
    erased = _Erased(namespace, memories, dialect)
    ids = {memory.id for memory in memories}
    counts, questions = erased.counts(), shared(_QUESTIONS, (namespace,))
    *before, notes = send(*counts, questions)
    naming = without_erased(notes, ids)
    send(*erased.commands(), *_rewrite_notes(namespace, naming, dialect))
    erased.forget_mentions(send)
    *after, notes, others = send(*counts, questions, shared(_ANY_MEMORY, (namespace,)))
    still = without_erased(notes, ids)
    erasure = checked(_sums(before, naming), _sums(after, still), dialect.erased)
    _bury(namespace, erasing, [memory.id for memory in memories], dialect, send)
    return erasure, not others


def _counted(kind: str, table: str, condition: str, *parameters: Any) -> Statement:
    """Count the rows of a table in a namespace, the first parameter, as a kind."""
    select = f"SELECT '{kind}', count(*) FROM {table} WHERE $own AND {condition}"
    return shared(select, parameters)


def _sums(answers: Iterable[Any], naming: Sized = ()) -> dict[str, int]:
    """The answers of counting statements, by kind; `naming` questions are mentions."""
    sums = {kind: int(number or 0) for [[kind, number]] in answers}
    return {**sums, "mentions": sums["mentions"] + len(naming)} if naming else sums


def _rewrite_notes(
    namespace: str, values: Mapping[str, str | None], dialect: Dialect
) -> list[Command]:
    """Give notes of some keys another value, and erase those that have none."""
    erased_keys = [key for key, value in values.items() if value is None]
    left = [(namespace, key, value) for key, value in values.items() if value is not None]
    delete = "DELETE FROM notes WHERE $own AND key $any_text"
    erasing = [shared(delete, (namespace, erased_keys))] if erased_keys else []
    return [*erasing, *(dialect.replace("notes", left) if left else [])]


def _rewrite_events(
    namespace: str, events: Sequence[tuple[int, str | None, Any]], dialect: Dialect
) -> list[Command]:
    """Give events of some places another actor and payload."""
    rows = [(actor, payload_text(payload), namespace, seq) for seq, actor, payload in events]
    update = "UPDATE events SET actor = %s, payload = $json WHERE $own AND seq = %s"
    keys = [(namespace, seq) for seq, *_ in events]
    return [Many(worded(update), rows), *dialect.renew("events", "$own AND seq = %s", keys)]


def _bury(
    namespace: str, erasing: Erasing | None, ids: Sequence[str], dialect: Dialect, send: Send
) -> None:
    """Leave a tombstone at the next place of the log, with the hashes of the erased ids."""
    if erasing is None:
        return
    [[[place]]] = send(dialect.reserve(namespace, 1))
    who = (codec.encode("created_at", erasing.at), erasing.actor, erasing.kind)
    what = (len(ids), id_hashes(namespace, ids), erasing.key, erasing.body)
    send(*dialect.insert("erasures", [(name_hash(namespace), place, *who, *what)]))


def erase_user(op: Delete, after: int, dialect: Dialect, send: Send) -> tuple[Erasure, int | None]:
    """Remove the name of a user from the next events of a namespace after a place.

    Memories that the user wrote no longer say so. The second part is the place of the last of the
    events, None at the end of the log.
    """
    namespace, user_id = op.namespace, str(op.user_id)
    _, naming = send(
        lock(namespace),
        shared(
            "SELECT seq, actor, $payload, memory, type FROM events WHERE $own "
            f"AND seq > %s AND {_NAMES_USER} ORDER BY seq LIMIT %s",
            (namespace, after, user_id, ERASED_AT_ONCE),
        ),
    )
    forget_actor(namespace, user_id, dialect, send)
    if not naming:
        return NOTHING_ERASED, None
    written = [
        memory for _, actor, _, memory, type in naming if (actor, type) == (user_id, "write")
    ]
    select = "SELECT $row FROM memories WHERE $own AND sequence $any_row"
    [matches] = send(shared(select, (namespace, written)))
    rows = [row for (row,) in matches]
    rewritten = [
        (
            seq,
            None if actor == user_id else actor,
            without_user(json.loads(payload) if payload else {}, user_id),
        )
        for seq, actor, payload, *_ in naming
    ]
    places = [seq for seq, *_ in naming]
    *_, left = send(
        *dialect.set_rows(namespace, {row: {"written_by": None} for row in rows}),
        *_rewrite_events(namespace, rewritten, dialect),
        _counted(
            "mentions",
            "events",
            f"seq $any_number AND {_NAMES_USER}",
            *(namespace, places, user_id),
        ),
    )
    _bury(namespace, op.erasing, (), dialect, send)
    last = places[-1] if len(places) == ERASED_AT_ONCE else None
    return checked({"mentions": len(naming)}, _sums([left]), dialect.erased), last


def _forget_in_questions(op: Delete, dialect: Dialect, send: Send) -> tuple[Erasure, None]:
    """Erase the labelled questions whose filter is about a user."""
    questions = shared(_QUESTIONS, (op.namespace,))
    _, notes = send(lock(op.namespace), questions)
    naming = without_erased(notes, user_id=op.user_id)
    if not naming:
        raise Abandon((NOTHING_ERASED, None))
    *_, notes = send(*_rewrite_notes(op.namespace, naming, dialect), questions)
    left = without_erased(notes, user_id=op.user_id)
    _bury(op.namespace, op.erasing, (), dialect, send)
    return checked({"mentions": len(naming)}, {"mentions": len(left)}, dialect.erased), None


def erase_name(namespace: str, kept: Sequence[str], dialect: Dialect, send: Send) -> Erasure | None:
    """Erase the name of a namespace without memories, and all else: a name can reveal something.

    None, with nothing done, if it has memories or does not exist. `kept` notes stay, and the name
    with them.
    """
    there, memories = send(lock(namespace), shared(_ANY_MEMORY, (namespace,)))
    if memories or not there:
        return None
    others = "NOT key $any_text"
    counts = [
        _counted("events", "events", "memory = 0", namespace),
        _counted("notes", "notes", others, namespace, list(kept)),
    ]
    before = _sums(send(*counts))
    *_, left = send(
        shared("DELETE FROM events WHERE $own AND memory = 0", (namespace,)),
        shared(f"DELETE FROM notes WHERE $own AND {others}", (namespace, list(kept))),
        shared("SELECT 1 FROM notes WHERE $own LIMIT 1", (namespace,)),
    )
    if not left:
        send(*dialect.erase_name(namespace))
    return checked(before, _sums(send(*counts)), dialect.erased)


def forget_user(
    tally: Tally,
    op: Delete,
    dialect: Dialect,
    run: Callable[[Callable[[Send], tuple[Erasure, int | None]]], tuple[Erasure, int | None]],
) -> None:
    """Remove the name of a user from all that a namespace keeps, in short transactions."""
    tally.add(run(partial(_forget_in_questions, op, dialect))[0])
    after: int | None = 0
    while after is not None:
        erased, after = run(partial(erase_user, op, after, dialect))
        tally.add(erased)


@contextmanager
def adding_up(tally: Tally) -> Iterator[None]:
    """Say how many memories are erased if an erasure is cut short."""
    try:
        yield
    except StoreError as problem:
        if not tally.memories:
            raise
        rest = f"{tally.memories:,} are erased, erase again for the rest"
        raise StoreError(f"{problem}; {rest}") from problem


# What holds again without the erased


def let_hold(
    namespace: str,
    memories: Sequence[ErasedMemory],
    erasing: Erasing | None,
    dialect: Dialect,
    send: Send,
) -> tuple[str, ...]:
    """Let what memories had superseded or merged hold again, before these are erased; its ids.

    It becomes what it was before. If a memory that stays has superseded an erased one, it
    supersedes what that one did: of Porto, Lisbon and Faro, Faro holds without Lisbon, not Porto.
    """
    ids = [memory.id for memory in memories]
    if erasing is None or not ids:
        return ()
    out, into = send(
        shared(f"{_SUCCESSIONS} source $any_text", (namespace, ids)),
        shared(f"{_SUCCESSIONS} target $any_text", (namespace, ids)),
    )
    erased = set(ids)
    lost = [link for link in map(tuple, out) if link[1] not in erased]
    if not lost:
        return ()
    targets = sorted({target for _, target, _ in lost})
    beside, rows = send(
        shared(f"{_SUCCESSIONS} target $any_text", (namespace, targets)),
        select_states(namespace, targets),
    )
    kept = {(target, type) for source, target, type in beside if source not in erased}
    heirs = _heirs(map(tuple, into), erased)
    handed = {
        (heir, target, type)
        for source, target, type in lost
        if type == "supersedes"
        for heir in heirs.get(source, ())
        if heir != target and (target, type) not in kept
    }
    kept |= {(target, type) for _, target, type in handed}
    _hand_on(namespace, sorted(handed), erasing, dialect, send)
    states = states_by_id(rows, dialect)
    free = {
        target
        for _, target, type in lost
        if (target, type) not in kept
        and target in states
        and states[target]["status"] == _STATUS_OF_LINK[type]
    }
    restoring = _restoring(namespace, {id: states[id] for id in sorted(free)}, erasing, send)
    if restoring:
        log = Log(namespace, restoring)
        free_states = {id: states[id] for id in free}
        [reserved] = send(dialect.reserve(namespace, len(restoring)))
        write_events(log, free_states, reserved, dialect, send)
    return tuple(event.id or "" for event in restoring)


def _heirs(into: Iterable[tuple[str, ...]], erased: set[str]) -> dict[str, set[str]]:
    """The memories that stay and have superseded each erased one, directly or through others."""
    by: dict[str, set[str]] = {}
    for source, target, type in into:
        if type == "supersedes":
            by.setdefault(target, set()).add(source)
    heirs: dict[str, set[str]] = {}
    for id in by:
        seen, waiting = {id}, [id]
        while waiting:
            for source in by.get(waiting.pop(), set()) - seen:
                seen.add(source)
                waiting += [source] if source in erased else []
        heirs[id] = seen - erased
    return heirs


def _hand_on(
    namespace: str,
    links: Sequence[_Key],
    erasing: Erasing,
    dialect: Dialect,
    send: Send,
) -> None:
    """Link memories with what they have superseded through others."""
    if not links:
        return
    at, actor = erasing.at, erasing.actor
    new_links = [Link(namespace, *link, 1.0, at) for link in links]
    sources = sorted({link.source for link in new_links})
    select = "SELECT id, sequence FROM memories WHERE $own AND id $any_text"
    sequences, [[last]] = send(
        shared(select, (namespace, sources)), dialect.reserve(namespace, len(new_links))
    )
    sequence_of = dict(sequences)
    entries = [(sequence_of[link.source], link_event(link, actor, at)) for link in new_links]
    rows = [
        (*(namespace, link.source, link.target, link.type, link.weight),
         codec.encode("created_at", at))
        for link in new_links
    ]  # fmt: skip
    send(
        *dialect.replace("links", rows),
        *dialect.note_linked(namespace, sources),
        *append_events(namespace, last, entries, dialect),
    )


def _restoring(
    namespace: str,
    states: Mapping[str, dict[str, Any]],
    erasing: Erasing,
    send: Send,
) -> tuple[Event, ...]:
    """The events by which memories become again what they were before they were superseded."""
    if not states:
        return ()
    payloads: dict[str | None, list[Mapping[str, Any]]] = {}
    for event in reversed(events(Events(namespace, tuple(states)), send)):
        payloads.setdefault(event.id, []).append(event.payload)
    before = {id: _before(state, payloads.get(id, ())) for id, state in states.items()}
    at, actor = erasing.at, erasing.actor
    return tuple(
        Event("status", id, at, actor, payload={"set": values, "restored": True})
        for id, values in before.items()
    )


def _before(state: Mapping[str, Any], payloads: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The status and the end of a memory before it was superseded, if unchanged since.

    `payloads` are those of its events, the last first.
    """
    now, end = state["status"], to_json(state["valid_to"])
    before: dict[str, Any] = {"status": "active"}
    for payload in payloads:
        values, was = payload.get("set", {}), payload.get("was", {})
        if "status" not in values:
            continue
        if values["status"] != now:
            break
        before["status"] = was.get("status") or "active"
        if values.get("valid_to") is not None and values["valid_to"] == end:
            before["valid_to"] = end = was.get("valid_to")
    return before

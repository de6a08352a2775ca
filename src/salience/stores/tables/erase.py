"""Erasing memories with all they have, and the names of users and namespaces.

What is erased is counted before, and looked up again after, in the same transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from salience.errors import StoreError
from salience.records.events import FILE_ACTOR, without_mention, without_user
from salience.records.tombstones import Erasing, id_hashes, name_hash
from salience.retrieval.erasure import Erasure, Tally, checked
from salience.retrieval.operations import Delete
from salience.retrieval.questions import QUESTION_NOTE, without_erased
from salience.stores import codec
from salience.stores.tables.commands import Abandon, Command, Many, Send, Statement
from salience.stores.tables.dialect import Dialect, lock, payload_text
from salience.stores.tables.event_log import forget_actor

ERASED_AT_ONCE = 2_000
"""The most memories that are erased in one transaction; other writers wait for it."""
NOTHING_ERASED = Erasure({}, {}, "")
_OTHER = "coalesce(payload ->> 'target', payload ->> 'match', payload ->> 'into')"
_NAMES_OTHER = f"payload IS NOT NULL AND {_OTHER} IS NOT NULL AND {_OTHER} = ANY(%s::text[])"
_NAMES_USER = f"%s::text IN (actor, payload -> 'was' ->> 'user_id', payload ->> '{FILE_ACTOR}')"
_LINKS = "SELECT source, target, type FROM links WHERE namespace = %s AND"
_QUESTIONS = (
    "SELECT key, value FROM notes WHERE namespace = %s AND "
    f"substr(key, 1, {len(QUESTION_NOTE)}) = '{QUESTION_NOTE}'"
)
_ANY_MEMORY = "SELECT 1 FROM memories WHERE namespace = %s AND id >= '' LIMIT 1"


class ErasedMemory(NamedTuple):
    """A memory to be erased."""

    id: str
    row: int
    sequence: int


class _Erased:
    """The memories of a namespace that are to be erased, by all that tells of them."""

    def __init__(self, namespace: str, memories: Sequence[ErasedMemory], dialect: Dialect) -> None:
        self._own = namespace
        self._dialect = dialect
        columns = zip(*memories, strict=True)
        self._ids, self._rows, self._sequences = (list(column) for column in columns)

    def counts(self) -> list[Statement]:
        """Count the rows of each kind that are of them, or name them."""
        own, ids, sequences = self._own, self._ids, self._sequences
        of_memory = "memory = ANY(%s::integer[])"
        return [
            Statement(
                "SELECT 'memories', count(*) FROM (SELECT \"row\" FROM memories WHERE "
                'namespace = %s AND "row" = ANY(%s::integer[]) UNION SELECT "row" FROM memories '
                "WHERE namespace = %s AND id = ANY(%s::text[])) AS found",
                (own, self._rows, own, ids),
            ),
            *self._dialect.count_parts(own, self._rows),
            _counted("former_vectors", "former_vectors", of_memory, own, sequences),
            Statement(
                f"SELECT 'links', count(*) FROM ({_LINKS} source = ANY(%s::text[]) UNION "
                f"{_LINKS} target = ANY(%s::text[])) AS found",
                (own, ids, own, ids),
            ),
            _counted("events", "events", of_memory, own, sequences),
            Statement(
                "SELECT 'idempotency_keys', count(payload ->> 'key') FROM events "
                f"WHERE namespace = %s AND {of_memory}",
                (own, sequences),
            ),
            _counted(
                "mentions", "events", f"{_NAMES_OTHER} AND NOT {of_memory}", own, ids, sequences
            ),
        ]  # fmt: skip

    def commands(self) -> list[Command]:
        """Erase them, their links, events and former vectors, and the links in other events."""

        def without(table: str, condition: str, values: Sequence[Any]) -> Statement:
            return Statement(
                f"DELETE FROM {table} WHERE namespace = %s AND {condition}", (self._own, values)
            )

        return [
            without("links", "source = ANY(%s::text[])", self._ids),
            without("links", "target = ANY(%s::text[])", self._ids),
            without("events", "memory = ANY(%s::integer[])", self._sequences),
            without("former_vectors", "memory = ANY(%s::integer[])", self._sequences),
            without("events", f"{_NAMES_OTHER} AND type = 'link'", self._ids),
            *self._dialect.erase_rows(self._own, self._rows),
        ]

    def forget_mentions(self, send: Send) -> None:
        """Take what names them out of the events of others."""
        [naming] = send(
            Statement(
                "SELECT seq, actor, payload::text FROM events WHERE namespace = %s "
                f"AND {_NAMES_OTHER}",
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
    """Erase memories of a namespace that is locked; True if it has no others.

    It leaves a tombstone, unless nobody is `erasing`.
    """
    if not memories:
        return NOTHING_ERASED, False
    erased = _Erased(namespace, memories, dialect)
    ids = {memory.id for memory in memories}
    counts, questions = erased.counts(), Statement(_QUESTIONS, (namespace,))
    *before, notes = send(*counts, questions)
    naming = without_erased(notes, ids)
    send(*erased.commands(), *_rewrite_notes(namespace, naming, dialect))
    erased.forget_mentions(send)
    *after, notes, others = send(*counts, questions, Statement(_ANY_MEMORY, (namespace,)))
    still = without_erased(notes, ids)
    erasure = checked(_sums(before, naming), _sums(after, still), dialect.erased)
    _bury(namespace, erasing, [memory.id for memory in memories], dialect, send)
    return erasure, not others


def _counted(kind: str, table: str, condition: str, *parameters: Any) -> Statement:
    """Count the rows of a table that are of a namespace, the first parameter, as a kind."""
    select = f"SELECT '{kind}', count(*) FROM {table} WHERE namespace = %s AND {condition}"
    return Statement(select, parameters)


def _sums(answers: Iterable[Any], naming: Sized = ()) -> dict[str, int]:
    """The answers of statements that count, by kind; questions that are `naming` are mentions."""
    sums = {kind: int(number or 0) for [[kind, number]] in answers}
    return {**sums, "mentions": sums["mentions"] + len(naming)} if naming else sums


def _rewrite_notes(
    namespace: str, values: Mapping[str, str | None], dialect: Dialect
) -> list[Command]:
    """Give notes of some keys another value, and erase those that have none."""
    gone = [key for key, value in values.items() if value is None]
    left = [(namespace, key, value) for key, value in values.items() if value is not None]
    delete = "DELETE FROM notes WHERE namespace = %s AND key = ANY(%s::text[])"
    erasing = [Statement(delete, (namespace, gone))] if gone else []
    return [*erasing, *(dialect.replace("notes", left) if left else [])]


def _rewrite_events(
    namespace: str, events: Sequence[tuple[int, str | None, Any]], dialect: Dialect
) -> list[Command]:
    """Give events of some places another actor and payload."""
    rows = [(actor, payload_text(payload), namespace, seq) for seq, actor, payload in events]
    update = "UPDATE events SET actor = %s, payload = %s::json WHERE namespace = %s AND seq = %s"
    keys = [(namespace, seq) for seq, *_ in events]
    return [Many(update, rows), *dialect.renew("events", "namespace = %s AND seq = %s", keys)]


def _bury(
    namespace: str, erasing: Erasing | None, ids: Sequence[str], dialect: Dialect, send: Send
) -> None:
    """Leave a tombstone at the next place of the log, with the hashes of the ids that are gone."""
    if erasing is None:
        return
    [[[place]]] = send(dialect.reserve(namespace, 1))
    who = (codec.encode("created_at", erasing.at), erasing.actor, erasing.kind)
    hashes = id_hashes(namespace, ids)
    send(*dialect.insert("erasures", [(name_hash(namespace), place, *who, len(ids), hashes)]))


def erase_user(op: Delete, after: int, dialect: Dialect, send: Send) -> tuple[Erasure, int | None]:
    """Take the name of a user out of the next events of a namespace after a place.

    Memories that the user wrote no longer say so. The second part is the place of the last of the
    events, None at the end of the log.
    """
    namespace, user_id = op.namespace, str(op.user_id)
    _, naming = send(
        lock(namespace),
        Statement(
            "SELECT seq, actor, payload::text, memory, type FROM events WHERE namespace = %s "
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
    select = 'SELECT "row" FROM memories WHERE namespace = %s AND sequence = ANY(%s::integer[])'
    [found] = send(Statement(select, (namespace, written)))
    rows = [row for (row,) in found]
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
            f"seq = ANY(%s::bigint[]) AND {_NAMES_USER}",
            *(namespace, places, user_id),
        ),
    )
    _bury(namespace, op.erasing, (), dialect, send)
    last = places[-1] if len(places) == ERASED_AT_ONCE else None
    return checked({"mentions": len(naming)}, _sums([left]), dialect.erased), last


def _forget_in_questions(op: Delete, dialect: Dialect, send: Send) -> tuple[Erasure, None]:
    """Erase the labelled questions whose filter is about a user."""
    questions = Statement(_QUESTIONS, (op.namespace,))
    _, notes = send(lock(op.namespace), questions)
    naming = without_erased(notes, user_id=op.user_id)
    if not naming:
        raise Abandon((NOTHING_ERASED, None))
    *_, notes = send(*_rewrite_notes(op.namespace, naming, dialect), questions)
    left = without_erased(notes, user_id=op.user_id)
    _bury(op.namespace, op.erasing, (), dialect, send)
    return checked({"mentions": len(naming)}, {"mentions": len(left)}, dialect.erased), None


def erase_name(namespace: str, kept: Sequence[str], dialect: Dialect, send: Send) -> Erasure | None:
    """Erase the name of a namespace without memories, with all else it has: a name can be telling.

    None, with nothing done, if it has memories, or is not there. Notes that are `kept` stay, and
    the name with them.
    """
    there, memories = send(lock(namespace), Statement(_ANY_MEMORY, (namespace,)))
    if memories or not there:
        return None
    others = "NOT key = ANY(%s::text[])"
    counts = [
        _counted("events", "events", "memory = 0", namespace),
        _counted("notes", "notes", others, namespace, list(kept)),
    ]
    before = _sums(send(*counts))
    *_, left = send(
        Statement("DELETE FROM events WHERE namespace = %s AND memory = 0", (namespace,)),
        Statement(f"DELETE FROM notes WHERE namespace = %s AND {others}", (namespace, list(kept))),
        Statement("SELECT 1 FROM notes WHERE namespace = %s LIMIT 1", (namespace,)),
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
    """Take the name of a user out of all that a namespace keeps, in short transactions."""
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

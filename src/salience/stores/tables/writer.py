"""Operations that write to the tables of a store, in one transaction or several short ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from salience.records.tombstones import Erasing
from salience.retrieval.erasure import Erasure, Tally
from salience.retrieval.operations import (
    WORK_NOTES,
    Delete,
    Log,
    Note,
    Put,
    PutKey,
    SetFields,
    UseKey,
)
from salience.stores import codec
from salience.stores.access_queue import AccessQueue
from salience.stores.tables import erase, event_log, values
from salience.stores.tables.commands import Abandon, Command, Send
from salience.stores.tables.dialect import Dialect
from salience.stores.tables.put import PreparedDrafts, put, written_namespaces

T = TypeVar("T")


class TableWriter(ABC):
    """Writes to the tables of a dialect; waiting accesses come before what may see them."""

    dialect: Dialect
    _accesses: AccessQueue

    @abstractmethod
    def run(self, work: Callable[[Send], T], namespaces: Sequence[str] = ()) -> T:
        """Run what writes in one transaction, which it may abandon with an answer."""

    @abstractmethod
    def ask(self, work: Callable[[Send], T], namespaces: Sequence[str] = ()) -> T:
        """Run what only reads: each round trip sees one state of the store."""

    def put(self, op: Put) -> tuple[str, ...]:
        """Write everything in one transaction; or nothing, and return the conflicting ids."""
        prepared = [(draft, codec.encode_draft(draft)) for draft in op.drafts]
        namespaces = written_namespaces(op)
        self._accesses.flush(namespaces)
        return self.run(partial(self._put, op, prepared), namespaces)

    def _put(self, op: Put, prepared: PreparedDrafts, send: Send) -> tuple[str, ...]:
        put(op, prepared, self.dialect, send)
        return ()

    def log(self, op: Log) -> tuple[str, ...]:
        """Append events and apply them in one transaction; or return the ids in the way."""
        self._accesses.flush((op.namespace,))
        refused = self.run(partial(self._erase_and_log, op), (op.namespace,))
        if op.erased and not refused:
            self._erase_name(op.namespace, Tally(), WORK_NOTES)
            self._end_erasing(op.namespace, everything=False)
        return refused

    def _erase_and_log(self, op: Log, send: Send) -> tuple[str, ...]:
        if op.erased and op.erasing is not None:
            chosen = Delete(op.namespace, op.erasing, op.erased)
            self._erase_chosen(chosen, op.erased, False, send)
        return event_log.log(op, self.dialect, send)

    def set_fields(self, op: SetFields) -> None:
        """Set patchable fields by id without an event."""
        self._accesses.flush((op.namespace,))
        self.run(partial(event_log.set_fields, op, self.dialect), (op.namespace,))

    def note(self, op: Note) -> bool:
        """Set a note if it has not changed; return whether it was set."""
        is_set = self.run(partial(values.note, op, self.dialect), (op.namespace,))
        if is_set and op.value is None and op.key in WORK_NOTES:  # the name was kept for it
            self._erase_name(op.namespace, Tally(), WORK_NOTES)
        return is_set

    def put_key(self, op: PutKey) -> bool:
        """Write a new access key or the next version of one; return whether it was written."""
        return self.run(partial(values.put_key, op, self.dialect))

    def use_key(self, op: UseKey) -> None:
        """Note the last use of an access key."""
        self.run(partial(values.use_key, op))

    # Erasing

    def delete(self, op: Delete) -> Erasure:
        """Erase memories with all they have, and the name of a user.

        Each transaction erases at most 2,000, which keeps other writers from waiting long, and
        leaves a tombstone, unless nobody is `erasing`. Another call continues one cut short.

        Raises:
            StoreError: it was cut short; says how many are erased.
        """
        names = (op.namespace,)
        everything = op.ids is None and op.where is None
        self._accesses.flush(names)
        tally, left, is_empty = Tally(), "", False
        try:
            with erase.adding_up(tally):
                for ids in [*self._chosen(op)]:  # those that were there when the call came
                    erased, is_empty = self.run(partial(self._erase_chosen, op, ids, True), names)
                    tally.add(erased, ids)
                if op.user_id is not None:
                    self.run(partial(self._begin_erasing, op.namespace), names)
                    erase.forget_user(tally, op, self.dialect, partial(self.run, namespaces=names))
                if is_empty or everything:
                    kept = () if everything else WORK_NOTES
                    left = self._erase_name(op.namespace, tally, kept)
        finally:
            if everything or tally.memories or op.user_id is not None:
                self._end_erasing(op.namespace, everything=everything)
        return tally.erasure(self._left_on_disk(op, tally, left) if tally.has_erased else "")

    def _chosen(self, op: Delete) -> Iterator[Sequence[str]]:
        """The ids of memories to erase, as many as one transaction erases."""
        if op.ids is not None:
            for at in range(0, len(op.ids), erase.ERASED_AT_ONCE):
                yield op.ids[at : at + erase.ERASED_AT_ONCE]
            return
        after, size = 0, erase.ERASED_AT_ONCE
        while True:
            page = self.dialect.select_matching(op.namespace, op.where, after, size)
            [rows] = self.ask(partial(_sent, page), (op.namespace,))
            if not rows:
                return
            after = rows[-1][0]
            if ids := [id for _, id in rows if id is not None]:
                yield ids

    def _erase_chosen(
        self, op: Delete, ids: Sequence[str], alone: bool, send: Send
    ) -> tuple[Erasure, bool]:
        """Erase memories of some ids that pass the filter; True if the namespace has no others.

        If it runs `alone` and there are none, nothing is written.
        """
        select = self.dialect.select_chosen(op.namespace, ids, op.where)
        *_, rows = send(self.dialect.lock(op.namespace), select)
        if alone and not rows:
            raise Abandon((erase.NOTHING_ERASED, False))
        if rows:
            self._begin_erasing(op.namespace, send)
        memories = [erase.ErasedMemory(*row) for row in rows]
        restored: tuple[str, ...] = ()
        if alone:  # else other events of the same transaction say what holds
            again = None if op.again is None else Erasing(op.again, None, "delete")
            erasing = op.erasing or again
            restored = erase.let_hold(op.namespace, memories, erasing, self.dialect, send)
        erasure, is_empty = erase.erase(op.namespace, memories, op.erasing, self.dialect, send)
        return replace(erasure, restored=restored), is_empty

    def _erase_name(self, namespace: str, tally: Tally, kept: Sequence[str]) -> str:
        """Erase the name of a namespace that has no memories; says what may still have it."""
        erased = self.run(partial(self._erase_namespace, namespace, kept), (namespace,))
        if erased is not None:
            tally.add(erased)
        return ""

    def _erase_namespace(self, namespace: str, kept: Sequence[str], send: Send) -> Any:
        erased = erase.erase_name(namespace, kept, self.dialect, send)
        if erased is None:
            raise Abandon(None)
        return erased

    def _begin_erasing(self, namespace: str, send: Send) -> None:
        """Release what else holds data about to be erased, in its transaction."""

    @abstractmethod
    def _end_erasing(self, namespace: str, *, everything: bool) -> None:
        """Release what else holds erased data, even if the erasure was cut short."""

    @abstractmethod
    def _left_on_disk(self, op: Delete, tally: Tally, named: str) -> str:
        """The state of the bytes of erased data; `named` says what has the namespace's name."""


def _sent(command: Command, send: Send) -> list[Any]:
    return send(command)

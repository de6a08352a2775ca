"""`Keyring`: the keys of a store, made, listed, rotated, revoked, and checked at every request."""

from __future__ import annotations

import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any, Literal, NamedTuple, Self, cast

from salience.access import plans
from salience.access.plans import KeyText, NewKey
from salience.access.principal import Principal
from salience.api.operations import Scope
from salience.closing import Closing
from salience.records.access_key import AccessKey
from salience.retrieval.operations import ReadKeys, UseKey
from salience.retrieval.plan import Plan, T, ask, drive, in_thread
from salience.stores import open_store
from salience.stores.address import Address
from salience.stores.protocol import Store

CHECK_SECONDS = 5.0
"""The time for which a key that was looked up counts as read: the longest a revoked one lives."""
USE_SECONDS = 60.0
"""The time between two notes of the last use of a key."""
_MAX_KNOWN = 10_000  # look-ups that are remembered, also of ids that no key has
_ALL = ""  # the look-up of all keys
_log = logging.getLogger(__name__)

Refusal = Literal["malformed", "unknown", "expired", "revoked"]
"""The reasons to refuse a presented key; callers never learn which one applied."""


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


class _Known(NamedTuple):
    """The keys that a look-up found, and when it began, by a steady clock."""

    keys: Sequence[AccessKey]
    asked_at: float


class Keyring(Closing):
    """The keys of a store.

    It is safe to share between threads. A key that is revoked or rotated, in any process, is
    noticed within `CHECK_SECONDS`.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], datetime] = _utc_now,
        check_seconds: float = CHECK_SECONDS,
        owns_store: bool = False,
    ) -> None:
        self._store = store
        self._clock = clock
        self._check_seconds = check_seconds
        self._owns_store = owns_store
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._noted: dict[str, datetime] = {}
        self._notes = ThreadPoolExecutor(1, "salience-key-use")

    @classmethod
    def open(cls, url: Address | Store | None = None, **settings: Any) -> Self:
        """Open the keys of a store, or of the one at an address; closing closes only the latter.

        Args:
            url: as `Memory.open` takes it.
            settings: `clock`, a function that gives the present; `check_seconds`.

        Raises:
            InvalidInput: the address is of no known form.
            StoreError: the store cannot be used.
        """
        if isinstance(url, Store):
            return cls(url, **settings)
        return cls(open_store(url), owns_store=True, **settings)

    def create(
        self,
        namespaces: Any,
        scopes: Any,
        *,
        expires_at: Any = None,
        name: str | None = None,
        time_zone: str | None = None,
    ) -> NewKey:
        """Create a key; only this answer has its text.

        Args:
            namespaces: names, patterns as `ana/*`, or `*`; one text or several.
            scopes: some of `SCOPES`; one text or several.
            expires_at: a time, as memories take it; None for never.
            name: what it is for, to be shown.
            time_zone: the zone of its requests, as Europe/Berlin; that of the memory by default.
        """
        plan = plans.create(namespaces, scopes, expires_at, name, self._clock(), time_zone)
        created = self._run(plan)
        self._forget(created.key.id)
        return created

    def list(self) -> list[AccessKey]:
        """List all keys, oldest first, including revoked and expired ones."""
        keys: list[AccessKey] = self._run(ask(ReadKeys()))
        return keys

    def get(self, id: str) -> AccessKey:
        """Get a key by its id; raises `NotFound` without it."""
        return self._run(plans.read(id))

    def rotate(
        self, id: str, *, overlap: timedelta = timedelta(), expires_at: Any = None
    ) -> NewKey:
        """Give a key a new secret; the old one stays valid during the overlap.

        The key keeps its id, namespaces and scopes, and its end, unless there is another. At most
        two secrets are valid at a time: a further rotation ends the oldest.

        Raises:
            NotFound: there is no such key.
            InvalidInput: an argument is wrong; or the key is revoked, or has expired and gets no
                later end.
        """
        rotated = self._run(plans.rotate(id, overlap, expires_at, self._clock()))
        self._forget(id)
        return rotated

    def revoke(self, id: str) -> AccessKey:
        """Revoke a key for good, with both of its secrets.

        Raises:
            NotFound: there is no such key.
        """
        revoked = self._run(plans.revoke(id, self._clock()))
        self._forget(id)
        return revoked

    # Checks

    def check(self, presented: str) -> Principal | None:
        """Find the owner of a presented key; None if it is not valid."""
        verdict = self.verify(presented)
        return verdict if isinstance(verdict, Principal) else None

    async def acheck(self, presented: str) -> Principal | None:
        """`check`, awaited."""
        verdict = await self.averify(presented)
        return verdict if isinstance(verdict, Principal) else None

    def verify(self, presented: str) -> Principal | Refusal:
        """Find the owner of a presented key, or say why it is refused."""
        text = KeyText.parse(presented)
        if text is None:
            return "malformed"
        keys, asked_at = self._recall(text.id), time.monotonic()
        if keys is None:
            keys = self._run(ask(ReadKeys((text.id,))))
            self._learn(text.id, keys, asked_at)
        return self._verdict(text, keys)

    async def averify(self, presented: str) -> Principal | Refusal:
        """`verify`, awaited; most checks read nothing."""
        text = KeyText.parse(presented)
        if text is None:
            return "malformed"
        keys, asked_at = self._recall(text.id), time.monotonic()
        if keys is None:
            keys = await self._aread(ReadKeys((text.id,)))
            self._learn(text.id, keys, asked_at)
        return self._verdict(text, keys)

    def any_key(self) -> bool:
        """Test whether the store has ever had a key."""
        keys, asked_at = self._recall(_ALL), time.monotonic()
        if keys is None:
            keys = self._run(ask(ReadKeys()))
            self._learn(_ALL, keys, asked_at)
        return bool(keys)

    async def aany_key(self) -> bool:
        """`any_key`, awaited."""
        keys, asked_at = self._recall(_ALL), time.monotonic()
        if keys is None:
            keys = await self._aread(ReadKeys())
            self._learn(_ALL, keys, asked_at)
        return bool(keys)

    def _verdict(self, text: KeyText, keys: Sequence[AccessKey]) -> Principal | Refusal:
        """The owner of a presented key, from the keys that the store has under its id."""
        digest, now = text.digest, self._clock()
        if not keys:
            hmac.compare_digest(digest, digest)  # as long as with a wrong secret
            return "unknown"
        [key] = keys
        is_current = hmac.compare_digest(digest, key.digest)
        is_former = hmac.compare_digest(digest, key.former_digest or "")
        if not is_current and not is_former:
            return "unknown"
        if key.revoked_at is not None:
            return "revoked"
        ends = [key.expires_at, None if is_current else key.former_until]
        if any(end is not None and end <= now for end in ends):
            return "expired"
        self._note_use(key, now)
        scopes = frozenset(cast(tuple[Scope, ...], key.scopes))
        return Principal(key.id, key.namespaces, scopes, key.time_zone)

    # What is known

    def _recall(self, id: str) -> Sequence[AccessKey] | None:
        """The keys that a look-up found lately; None if it has to be made."""
        entry = self._known.get(id)
        if entry is None or time.monotonic() - entry.asked_at >= self._check_seconds:
            return None
        return entry.keys

    def _learn(self, id: str, keys: Sequence[AccessKey], asked_at: float) -> None:
        self._known[id] = _Known(keys, asked_at)
        with suppress(KeyError):  # another thread has done it
            self._known.move_to_end(id)
            if len(self._known) > _MAX_KNOWN:
                self._known.popitem(last=False)

    def _forget(self, id: str) -> None:
        for each in (id, _ALL):
            self._known.pop(each, None)

    # The last use

    def _note_use(self, key: AccessKey, now: datetime) -> None:
        """Let another thread note a use, unless one of the last minute is noted."""
        last = max(filter(None, (self._noted.get(key.id), key.last_used)), default=None)
        if last is None or (now - last).total_seconds() >= USE_SECONDS:
            self._noted[key.id] = now
            with suppress(RuntimeError):  # the keyring is closed
                self._notes.submit(self._write_use, UseKey(key.id, now))

    def _write_use(self, op: UseKey) -> None:
        try:
            self._store.batch([op])
        except Exception as problem:  # nobody waits for it who could be told
            _log.warning("the last use of the key %s is not noted: %s", op.id, problem)

    # The store

    def _run(self, plan: Plan[T]) -> T:
        return drive(plan, self._store.batch)

    async def _aread(self, op: ReadKeys) -> Sequence[AccessKey]:
        [keys] = await in_thread(self._store.batch, [op])
        return cast(Sequence[AccessKey], keys)

    def close(self) -> None:
        """Write the uses that wait; close the store that was opened by its address."""
        self._notes.shutdown()
        if self._owns_store:
            self._store.close()

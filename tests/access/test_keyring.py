from __future__ import annotations

import asyncio
import hmac
import logging
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.access import Keyring, NewKey, Principal
from salience.access.plans import KeyText
from salience.errors import InvalidInput, NotFound, StoreClosed, StoreError
from salience.retrieval.operations import Op, ReadKeys
from salience.stores import open_store

START = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)


class Clock:
    now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def keys(url: str, clock: Clock) -> Iterator[Keyring]:
    with Keyring.open(url, clock=clock) as keys:
        yield keys


def create(keys: Keyring, **options: Any) -> NewKey:
    return keys.create("ana", ["memories:read", "memories:write"], **options)


class CountingStore:
    """A store that counts the look-ups of keys."""

    def __init__(self, url: str) -> None:
        self.inner = open_store(url)
        self.look_ups = 0
        self.embedder, self.flush, self.close = (
            self.inner.embedder,
            self.inner.flush,
            self.inner.close,
        )

    def batch(self, ops: Sequence[Op]) -> Sequence[Any]:
        self.look_ups += sum(isinstance(op, ReadKeys) for op in ops)
        return self.inner.batch(ops)


def test_a_key_is_checked_to_its_principal(keys: Keyring) -> None:
    created = create(keys, name="the web app")
    expected = Principal(created.key.id, ("ana",), frozenset({"memories:read", "memories:write"}))
    assert keys.check(created.text) == expected
    assert asyncio.run(keys.acheck(created.text)) == expected


def test_the_secret_is_in_no_answer_and_not_in_the_store(
    keys: Keyring, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    created = create(keys)
    rotated = keys.rotate(created.key.id, overlap=DAY)
    keys.check(rotated.text)
    texts = [repr(each) for each in (created, rotated, *keys.list())]
    texts += [str(each.to_dict()) for each in keys.list()] + [caplog.text]
    keys.close()
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for each in (created, rotated):
        secret = KeyText.parse(each.text)
        assert secret is not None
        assert not any(secret.secret in text for text in texts)
        assert not any(secret.digest in text for text in texts)
        assert secret.secret.encode() not in files
        assert secret.digest.encode() in files


def test_every_way_to_be_refused(keys: Keyring, clock: Clock) -> None:
    created = create(keys, expires_at=START + DAY)
    other = KeyText.random(created.key.id)
    assert keys.verify(str(other)) == "unknown"  # the id of another
    assert keys.verify(str(KeyText.random())) == "unknown"
    assert keys.verify(created.text[:-1] + "_") == "malformed"
    assert keys.verify("") == "malformed"
    clock.now = START + DAY
    assert keys.verify(created.text) == "expired"
    assert keys.check(created.text) is None
    clock.now = START
    keys.revoke(created.key.id)
    assert keys.verify(created.text) == "revoked"
    assert asyncio.run(keys.averify(created.text)) == "revoked"


def test_secrets_are_compared_in_constant_time(
    keys: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = create(keys)
    compared: list[tuple[str, str]] = []
    compare_digest = hmac.compare_digest

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return compare_digest(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for text in (created.text, str(KeyText.random(created.key.id)), str(KeyText.random())):
        compared.clear()
        keys.check(text)
        assert compared  # also where there is no such key
        secret = KeyText.parse(text)
        assert secret is not None
        assert {one for one, _ in compared} == {secret.digest}


def test_a_rotation_keeps_the_key_and_lets_the_secrets_overlap(keys: Keyring, clock: Clock) -> None:
    created = create(keys, expires_at=START + 10 * DAY)
    rotated = keys.rotate(created.key.id, overlap=DAY)
    assert rotated.text != created.text
    assert rotated.key.id == created.key.id
    assert keys.check(created.text) == keys.check(rotated.text) is not None
    clock.now = START + DAY
    assert keys.verify(created.text) == "expired"
    assert keys.check(rotated.text)
    clock.now = START + 10 * DAY
    assert keys.verify(rotated.text) == "expired"


def test_without_an_overlap_the_former_secret_ends_at_once(keys: Keyring) -> None:
    created = create(keys)
    rotated = keys.rotate(created.key.id)
    assert keys.verify(created.text) == "expired"
    assert keys.check(rotated.text)


def test_at_most_two_secrets_are_valid(keys: Keyring) -> None:
    first = create(keys)
    second = keys.rotate(first.key.id, overlap=DAY)
    third = keys.rotate(first.key.id, overlap=DAY)
    assert keys.verify(first.text) == "unknown"
    assert keys.check(second.text)
    assert keys.check(third.text)


def test_a_former_secret_never_outlives_the_end_that_it_had(keys: Keyring, clock: Clock) -> None:
    created = create(keys, expires_at=START + DAY)
    rotated = keys.rotate(created.key.id, overlap=5 * DAY, expires_at=START + 30 * DAY)
    clock.now = START + 2 * DAY
    assert keys.verify(created.text) == "expired"
    assert keys.check(rotated.text)


def test_an_expired_key_is_rotated_to_a_later_end_only(keys: Keyring, clock: Clock) -> None:
    created = create(keys, expires_at=START + DAY)
    clock.now = START + 2 * DAY
    with pytest.raises(InvalidInput, match="has expired; give expires_at"):
        keys.rotate(created.key.id)
    rotated = keys.rotate(created.key.id, expires_at=START + 9 * DAY)
    assert keys.check(rotated.text)
    assert keys.verify(created.text) == "expired"


def test_a_revoked_key_stays_revoked(keys: Keyring, clock: Clock) -> None:
    created = create(keys)
    revoked = keys.revoke(created.key.id)
    clock.now = START + DAY
    assert keys.revoke(created.key.id) == revoked
    with pytest.raises(InvalidInput, match="is revoked; create another"):
        keys.rotate(created.key.id)


def test_keys_that_are_not_there(keys: Keyring) -> None:
    for call in (keys.get, keys.rotate, keys.revoke):
        with pytest.raises(NotFound, match="no key 'missing1'"):
            call("missing1")


def test_wrong_arguments(keys: Keyring) -> None:
    with pytest.raises(InvalidInput, match=r"^scopes: has no 'upkeep,keys'.*, several as a list$"):
        keys.create("ana", "upkeep,keys")
    with pytest.raises(InvalidInput, match=r"^expires_at: is 2026-03-01.* which is past"):
        create(keys, expires_at=START)
    with pytest.raises(InvalidInput, match=r"^expires_at: 'soon' is not a date"):
        create(keys, expires_at="soon")
    with pytest.raises(InvalidInput, match=r"^name: is empty"):
        create(keys, name=" ")
    id = create(keys).key.id
    for overlap in (-DAY, 400 * DAY, 5):
        with pytest.raises(InvalidInput, match=r"^overlap: "):
            keys.rotate(id, overlap=overlap)  # type: ignore[arg-type]
    assert keys.get(id).version == 1


def test_a_check_reads_the_store_once_in_a_while(url: str) -> None:
    store = CountingStore(url)
    with Keyring.open(store, check_seconds=3600) as keys:
        created = create(keys)
        store.look_ups = 0
        for _ in range(50):
            assert keys.check(created.text)
            assert keys.check(created.text[:-1] + "_") is None
        assert store.look_ups == 1
    store.close()


def test_a_slow_look_up_does_not_lengthen_the_life_of_a_revoked_key(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = [0.0]
    monkeypatch.setattr("salience.access.keyring.time.monotonic", lambda: moments[-1])

    class SlowStore(CountingStore):
        def batch(self, ops: Sequence[Op]) -> Sequence[Any]:
            answers = super().batch(ops)
            moments.append(moments[-1] + 5.0)
            return answers

    store = SlowStore(url)
    with Keyring.open(store, check_seconds=5.0) as keys:
        created = create(keys)
        with Keyring.open(url) as others:
            assert keys.check(created.text)
            others.revoke(created.key.id)
            assert keys.verify(created.text) == "revoked"
    store.close()


def test_another_process_notices_a_revocation(url: str, clock: Clock) -> None:
    with (
        Keyring.open(url, clock=clock, check_seconds=0) as keys,
        Keyring.open(url, clock=clock, check_seconds=0) as others,
        Keyring.open(url, clock=clock, check_seconds=3600) as late,
    ):
        created = create(keys)
        assert others.check(created.text)
        assert late.check(created.text)
        keys.revoke(created.key.id)
        assert others.verify(created.text) == "revoked"
        assert late.check(created.text)  # for check_seconds


def test_a_keyring_notices_its_own_changes_at_once(keys: Keyring) -> None:
    created = create(keys)
    assert keys.check(created.text)
    keys.revoke(created.key.id)
    assert keys.verify(created.text) == "revoked"


def test_the_last_use_is_noted_once_a_minute(url: str, clock: Clock) -> None:
    def last_used() -> datetime | None:
        with Keyring.open(url) as keys:
            return keys.list()[0].last_used

    with Keyring.open(url, clock=clock) as keys:
        created = create(keys)
    for seconds, noted in ((0, 0), (59, 0), (60, 60), (61, 60)):
        with Keyring.open(url, clock=clock) as keys:
            clock.now = START + timedelta(seconds=seconds)
            assert keys.check(created.text)
        assert last_used() == START + timedelta(seconds=noted)


def test_a_refused_key_is_not_used(keys: Keyring, url: str) -> None:
    created = create(keys)
    keys.check(str(KeyText.random(created.key.id)))
    keys.revoke(created.key.id)
    keys.check(created.text)
    keys.close()
    with Keyring.open(url) as again:
        assert again.get(created.key.id).last_used is None


def test_a_last_use_that_cannot_be_noted_is_logged_and_refuses_nobody(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = CountingStore(url)
    with Keyring.open(store) as keys:
        created = create(keys)
        assert keys.verify(str(KeyText.random(created.key.id))) == "unknown"  # it is known now
        store.close()
        assert keys.check(created.text)
    assert f"the last use of the key {created.key.id} is not noted" in caplog.text


def test_a_store_open_for_reading_only_checks_keys(keys: Keyring, url: str) -> None:
    created = create(keys)
    with Keyring.open(f"{url}?mode=ro") as reading:
        assert reading.check(created.text)
        with pytest.raises(StoreError, match="reading only"):
            create(reading)


def test_a_store_never_is_open_again_after_its_first_key(url: str) -> None:
    with Keyring.open(url, check_seconds=0) as keys:
        assert not keys.any_key()
        assert not asyncio.run(keys.aany_key())
        created = create(keys)
        assert keys.any_key()
        keys.revoke(created.key.id)
        assert keys.any_key()
    with Keyring.open(url) as again:
        assert asyncio.run(again.aany_key())


def test_keys_are_in_the_store_of_the_memories_and_no_part_of_them(url: str) -> None:
    with Memory.open(url, embedder=None) as memory, Keyring.open(url) as keys:
        memory.add("A fact.")
        created = create(keys)
        assert keys.check(created.text)
        assert created.key.id not in str(memory.stats(everywhere=True))


def test_closing_leaves_a_store_that_was_given_open(url: str) -> None:
    store = open_store(url)
    Keyring.open(store).close()
    store.batch([ReadKeys()])
    store.close()
    keys = Keyring.open(url)
    keys.close()
    with pytest.raises(StoreClosed):
        keys.list()


def test_threads_rotate_one_key_without_losing_a_version(keys: Keyring) -> None:
    created = create(keys)
    threads = [
        threading.Thread(target=keys.rotate, args=(created.key.id,), kwargs={"overlap": DAY})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert keys.get(created.key.id).version == 5

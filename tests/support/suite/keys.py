"""Access keys: kept once, changed by one at a time, and no part of any namespace."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from salience import Memory
from salience.access import Keyring
from salience.records.access_key import AccessKey
from salience.retrieval.operations import PutKey, ReadKeys, UseKey
from salience.testing.conformance._case import START, StoreCase, perform


def access_key(id: str, days: int = 0) -> AccessKey:
    """A key that was made some days after the start."""
    return AccessKey(id, "0" * 64, ("ana", "tëam/*"), ("upkeep",), START + timedelta(days=days))


def read(memory: Memory, *ids: str) -> list[AccessKey]:
    """Keys as the store has them, all or of some ids."""
    return list(perform(memory, ReadKeys(ids or None)))


class AccessKeys(StoreCase):
    """The operations ReadKeys, PutKey and UseKey."""

    def test_a_key_is_read_as_it_was_written(self, memory: Memory) -> None:
        plain = access_key("a")
        full = AccessKey(
            *("b", "1" * 64, ("*",), ("memories:read", "keys")),
            created_at=START + timedelta(microseconds=1),
            expires_at=START + timedelta(days=1, microseconds=123456),
            name="Ana's “web” app \\ 日本",
            former_digest="2" * 64,
            former_until=START + timedelta(hours=1),
            revoked_at=START + timedelta(hours=2),
        )
        assert read(memory) == []
        assert perform(memory, PutKey(full)) is True
        assert perform(memory, PutKey(plain)) is True
        assert read(memory) == [plain, full]  # oldest first
        assert read(memory, "b", "missing") == [full]
        assert perform(memory, ReadKeys(())) == []

    def test_keys_last(self, memory: Memory) -> None:
        perform(memory, PutKey(access_key("a")))
        again = self.reopen(memory)
        assert read(again) == [access_key("a")]
        again.close()

    def test_only_the_next_version_is_written(self, memory: Memory) -> None:
        first = access_key("a")
        second = replace(first, version=2, name="second")
        perform(memory, PutKey(first))
        assert perform(memory, PutKey(replace(first, name="another"))) is False
        assert perform(memory, PutKey(replace(second, version=3))) is False
        assert perform(memory, PutKey(second)) is True
        assert perform(memory, PutKey(replace(second, name="late"))) is False
        assert perform(memory, PutKey(first)) is False
        assert read(memory) == [second]

    def test_a_write_may_be_repeated(self, memory: Memory) -> None:
        for version in (1, 2):
            key = replace(access_key("a"), version=version, name=f"version {version}")
            assert [perform(memory, PutKey(key)) for _ in range(2)] == [True, True]
            perform(memory, UseKey("a", START))
            assert perform(memory, PutKey(key)) is True
            assert read(memory) == [replace(key, last_used=START)]

    def test_the_last_use_only_moves_on_and_outlives_changes(self, memory: Memory) -> None:
        perform(memory, PutKey(access_key("a")))
        late = START + timedelta(seconds=90, microseconds=7)
        for at in (START, late, START + timedelta(seconds=1)):
            perform(memory, UseKey("a", at))
        perform(memory, UseKey("missing", late))
        perform(memory, PutKey(replace(access_key("a"), version=2)))
        assert read(memory) == [replace(access_key("a"), version=2, last_used=late)]

    def test_one_of_several_concurrent_changes_succeeds(self, memory: Memory) -> None:
        perform(memory, PutKey(access_key("a")))
        keys = [replace(access_key("a"), version=2, name=f"{n}") for n in range(4)]
        written: list[AccessKey] = []

        def put(key: AccessKey) -> None:
            if perform(memory, PutKey(key)):
                written.append(key)

        threads = [threading.Thread(target=put, args=(key,)) for key in keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert read(memory) == written

    def test_keys_are_no_part_of_any_namespace(self, memory: Memory, tmp_path: Path) -> None:
        memory.add("Ana has a cello.", id="m")
        before = memory.stats(everywhere=True)["namespaces"]
        perform(memory, PutKey(access_key("thekeyid")))
        perform(memory, UseKey("thekeyid", START))
        assert memory.stats(everywhere=True)["namespaces"] == before
        assert memory.count() == 1
        assert memory.export(tmp_path / "export.jsonl")
        assert "thekeyid" not in (tmp_path / "export.jsonl").read_text("utf-8")
        memory.delete_all(namespace=memory.namespace)
        memory.for_namespace("tëam/x").delete_all(namespace="tëam/x")
        assert [key.id for key in read(memory)] == ["thekeyid"]

    def test_a_keyring_stands_on_the_store(self, memory: Memory) -> None:
        with Keyring.open(memory._core.dispatcher.store) as keys:
            created = keys.create("ana/*", ["memories:read"])
            principal = keys.check(created.text)
            assert principal is not None
            assert principal.sees("ana/x")
            assert not principal.sees("anabel")
            assert [key.id for key in keys.list()] == [created.key.id]
            keys.revoke(created.key.id)
            assert keys.verify(created.text) == "revoked"

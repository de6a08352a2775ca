"""The queue of accesses by itself, for stores that write namespaces together or one by one."""

from collections.abc import Mapping

import pytest

from salience.errors import StoreError
from salience.stores import access_queue
from salience.stores.access_queue import AccessQueue, Batch, Use

FIRST: Use = ((1,), 10.0, "retrieval", None, None)
SECOND: Use = ((2,), 20.0, "read", None, None)


class Writer:
    """Notes what is written; refuses some namespaces."""

    def __init__(self) -> None:
        self.written: list[dict[str, list[Use]]] = []
        self.refused: set[str] = set()

    def __call__(self, batches: Mapping[str, Batch]) -> None:
        if self.refused & batches.keys():
            raise StoreError(f"no connection for {sorted(batches)}")
        self.written.append({name: batch.uses for name, batch in batches.items()})
        for batch in batches.values():
            batch.seq = len(self.written)


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture(autouse=True)
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written on its own during the test."""
    monkeypatch.setattr(access_queue, "WRITE_DELAY_SECONDS", 3600.0)


def test_namespaces_are_written_in_one_call(writer: Writer) -> None:
    queue = AccessQueue(writer)
    queue.add("a", FIRST)
    queue.add("b", SECOND)
    queue.flush(["a"])
    assert writer.written == [{"a": [FIRST], "b": [SECOND]}]
    assert queue.is_empty()


def test_one_by_one_each_namespace_is_written_by_itself(writer: Writer) -> None:
    queue = AccessQueue(writer, one_by_one=True)
    for namespace in "abc":
        queue.add(namespace, FIRST)
    queue.flush(["b", "unknown"])
    assert writer.written == [{"b": [FIRST]}]
    queue.flush()
    assert writer.written[1:] == [{"a": [FIRST]}, {"c": [FIRST]}]
    assert queue.is_empty()


def test_one_by_one_a_failure_keeps_no_other_namespace_waiting(writer: Writer) -> None:
    queue = AccessQueue(writer, one_by_one=True)
    for namespace in "abc":
        queue.add(namespace, FIRST)
    writer.refused = {"a"}
    with pytest.raises(StoreError, match="'a'"):
        queue.flush()
    assert writer.written == [{"b": [FIRST]}, {"c": [FIRST]}]
    queue.add("a", SECOND)
    assert [batch.uses for batch in queue.waiting("a")] == [[FIRST], [SECOND]]
    writer.refused = set()
    queue.flush()
    assert writer.written[2:] == [{"a": [FIRST, SECOND]}]
    assert queue.is_empty()


def test_a_batch_waits_until_it_is_written(writer: Writer) -> None:
    during: list[tuple[Batch, ...]] = []

    def write(batches: Mapping[str, Batch]) -> None:
        queue.add("a", SECOND)
        writer(batches)
        during.append(queue.waiting("a"))

    queue = AccessQueue(write)
    queue.add("a", FIRST)
    queue.flush()
    [(first, second)] = during
    assert (first.uses, first.waits(0), first.waits(1)) == ([FIRST], True, False)
    assert queue.waiting("a") == (second,)
    assert (second.uses, second.waits(1)) == ([SECOND], True)
    assert queue.waiting("b") == ()


def test_a_batch_that_somebody_has_already_waits_no_more_once_it_is_written(writer: Writer) -> None:
    queue = AccessQueue(writer)
    queue.add("a", FIRST)
    [before] = queue.waiting("a")
    writer.refused = {"a"}
    with pytest.raises(StoreError):
        queue.flush()
    [failed] = queue.waiting("a")
    assert before.waits(1)
    writer.refused = set()
    queue.flush()
    assert [(batch.waits(0), batch.waits(1)) for batch in (before, failed)] == [(True, False)] * 2

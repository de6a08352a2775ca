"""The queue for slots: its laws, and requests that wait in it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.server.guard.admission import FairQueue, Slots, Waiter
from support.guarded import Guarded, with_guard
from support.waiting import until_awaited

NAMES = st.sampled_from("abc")


def in_loop(body: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await body()

    asyncio.run(run())


@given(st.lists(NAMES, max_size=30))
def test_the_queue_serves_names_in_turn_and_each_name_in_its_order(names: list[str]) -> None:
    async def body() -> None:
        queue = FairQueue()
        owners: dict[Waiter, tuple[str, int]] = {}
        for place, name in enumerate(names):
            waiter = Waiter()
            owners[waiter] = (name, place)
            queue.push(name, waiter)
        assert len(queue) == len(names)
        waiting = Counter(names)
        served: Counter[str] = Counter()
        places: dict[str, int] = {}
        while (popped := queue.pop()) is not None:
            name, place = owners[popped[1]]
            assert popped[0] == name
            assert place > places.get(name, -1)
            places[name] = place
            served[name] += 1
            for other in waiting:
                # Nobody who still waits is more than one turn behind.
                if served[other] < waiting[other]:
                    assert served[name] <= served[other] + 1
        assert served == waiting

    in_loop(body)


ACTS = st.lists(
    st.tuples(st.just("enter"), st.tuples(NAMES, st.integers(1, 4)))
    | st.tuples(st.sampled_from(["release", "leave"]), st.integers(0, 20)),
    max_size=60,
)


@given(ACTS, st.integers(1, 3), st.integers(0, 4))
def test_slots_are_never_overdrawn_lost_or_idle(
    acts: list[tuple[str, Any]], capacity: int, length: int
) -> None:
    async def body() -> None:
        slots = Slots(capacity, length)
        holders: list[tuple[str, Waiter]] = []  # who entered at once, or got slots
        waiters: list[tuple[str, Waiter]] = []

        def note() -> None:
            for name, waiter in list(waiters):
                if waiter.done():
                    waiters.remove((name, waiter))
                    holders.extend([(name, waiter)] if waiter.result() else [])

        for act, argument in acts:
            if act == "enter":
                waiters.append((argument[0], slots.enter(*argument)))
            elif act == "release" and holders:
                slots.release(*holders.pop(argument % len(holders)))
            elif act == "leave" and waiters:
                slots.leave(*waiters.pop(argument % len(waiters)))
            note()
            held = Counter[str]()
            for name, waiter in holders:
                held[name] += waiter.result()
                assert 1 <= waiter.result() <= waiter.cost
            assert slots.taken == held.total() <= capacity + 1
            assert max(held.values(), default=0) <= capacity
            assert len(slots.queue) == len(waiters) <= length
            if waiters:  # nobody who may begin waits, so nobody without a slot for those with all
                assert slots.taken >= capacity
                assert slots.taken > capacity or {name for name, _ in waiters} <= {*held}

    in_loop(body)


@given(st.integers(1, 20), st.integers(1, 6))
def test_a_busy_name_cannot_keep_others_out_of_the_queue(crowd: int, length: int) -> None:
    async def body() -> None:
        slots = Slots(1, length)
        assert slots.enter("busy").result() == 1
        busy = [slots.enter("busy") for _ in range(length + crowd)]
        assert sum(waiter.done() for waiter in busy) == crowd
        other = slots.enter("other")
        assert other.result() == 1
        if length > 1:
            waiter = slots.enter("quiet")
            slots.release("other", other)
            assert waiter.result() == 1

    in_loop(body)


def search(
    client: httpx.AsyncClient, key: str = "ana", **fields: Any
) -> asyncio.Task[httpx.Response]:
    headers, body = {"Authorization": f"Bearer {key}"}, {"key": key, **fields}
    return asyncio.create_task(client.post("/v1/search", json=body, headers=headers))


def test_heavy_operations_run_so_many_at_once_and_others_begin_at_once() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        searches = [search(client) for _ in range(5)]
        slots = waiting(guarded)
        await until_awaited(lambda: len(guarded.calls) == 2 and slots() == 3)
        assert (await client.get("/v1/memories/x")).status_code == 200
        page = guarded.metrics.text().decode()
        assert 'salience_operations_in_flight{kind="heavy"} 2.0' in page
        assert 'salience_operations_waiting{kind="heavy"} 3.0' in page
        guarded.gate.set()
        answers = await asyncio.gather(*searches)
        assert [answer.status_code for answer in answers] == [200] * 5
        page = guarded.metrics.text().decode()
        assert 'salience_operations_in_flight{kind="heavy"} 0.0' in page
        assert 'salience_operations_waiting{kind="heavy"} 0.0' in page

    with_guard(body, heavy_slots=2)


def test_a_key_that_asks_once_does_not_wait_for_one_that_asks_often() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        searches = [search(client, "busy") for _ in range(8)]
        await until_awaited(lambda: waiting(guarded)() == 7)
        searches += [search(client, "quiet") for _ in range(2)]
        await until_awaited(lambda: waiting(guarded)() == 8 and "quiet" in guarded.calls)
        guarded.gate.set()
        await asyncio.gather(*searches)
        assert guarded.calls[:2] == ["busy", "quiet"]
        assert "quiet" in guarded.calls[2:5]

    with_guard(body, heavy_slots=1)


def test_a_key_whose_requests_are_slow_leaves_a_slot_to_others() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        searches = [search(client, "slow") for _ in range(4)]
        await until_awaited(lambda: guarded.calls == ["slow"] * 2)
        searches += [search(client, name) for name in ("ana", "ben")]
        await until_awaited(lambda: waiting(guarded)() == 3)
        assert guarded.calls == ["slow", "slow", "ana"]
        guarded.gate.set()
        assert [(await each).status_code for each in searches] == [200] * 6

    with_guard(body, heavy_slots=2)


@pytest.mark.parametrize("costly", [{"limit": 1_000}, {"limit": 50, "explain": True}])
def test_what_costs_much_takes_several_slots_and_leaves_one_to_others(
    costly: dict[str, Any],
) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        searches = [search(client, "slow", **costly) for _ in range(3)]
        await until_awaited(lambda: waiting(guarded)() == 2)
        assert guarded.calls == ["slow"]
        searches.append(search(client, "ana"))
        await until_awaited(lambda: guarded.calls == ["slow", "ana"])
        assert waiting(guarded)() == 2
        guarded.gate.set()
        assert [(await each).status_code for each in searches] == [200] * 4
        assert b'in_flight{kind="heavy"} 0.0' in guarded.metrics.text()

    with_guard(body, heavy_slots=3)


@pytest.mark.parametrize("cheap", [{"limit": 10, "explain": True}, {"limit": "x"}, {"limit": -9}])
def test_what_costs_little_takes_one_slot(cheap: dict[str, Any]) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        searches = [search(client, **cheap) for _ in range(3)]
        await until_awaited(lambda: len(guarded.calls) == 3)
        guarded.gate.set()
        await asyncio.gather(*searches)

    with_guard(body, heavy_slots=3)


def test_the_history_of_a_memory_needs_a_slot() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        searches = [search(client), search(client)]
        await until_awaited(lambda: waiting(guarded)() == 1)
        history = asyncio.create_task(client.get("/v1/memories/a/history"))
        await until_awaited(lambda: waiting(guarded)() == 2)
        guarded.gate.set()
        await asyncio.gather(*searches, history)

    with_guard(body, heavy_slots=1)


def test_a_full_queue_answers_503_and_when_to_ask_again() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        searches = [search(client) for _ in range(2)]
        await until_awaited(lambda: waiting(guarded)() == 1)
        answer = await search(client)
        assert answer.status_code == 503
        assert answer.json()["code"] == "Busy"
        assert int(answer.headers["retry-after"]) >= 1
        page = guarded.metrics.text().decode()
        assert 'method="POST",route="/v1/search",status="503"} 1.0' in page
        guarded.gate.set()
        assert [(await each).status_code for each in searches] == [200, 200]

    with_guard(body, heavy_slots=1, queue_length=1)


def test_nobody_waits_longer_than_the_limit_and_no_slot_is_lost() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        first = search(client)
        await until_awaited(lambda: len(guarded.calls) == 1)
        assert (await search(client)).status_code == 503
        guarded.gate.set()
        assert (await first).status_code == 200
        assert (await search(client)).status_code == 200
        assert guarded.calls == ["ana", "ana"]

    with_guard(body, heavy_slots=1, queue_seconds=0.02)


def test_a_task_that_is_cancelled_while_it_waits_leaves_no_trace() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        first, second = search(client), search(client)
        await until_awaited(lambda: waiting(guarded)() == 1)
        second.cancel()
        await until_awaited(lambda: waiting(guarded)() == 0)
        guarded.gate.set()
        assert (await first).status_code == 200
        assert (await search(client)).status_code == 200

    with_guard(body, heavy_slots=1)


def test_a_failed_search_gives_its_slot_back() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        for _ in range(3):
            assert (await client.post("/v1/fail/store", json={})).status_code == 503
        assert (await client.get("/v1/memories/x")).status_code == 200

    with_guard(body, heavy_slots=1, heavy_operations=("POST /v1/fail/store",))


def test_a_long_operation_holds_its_slot_until_its_answer_has_ended() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        first = asyncio.create_task(client.get("/v1/export"))
        await until_awaited(lambda: b'in_flight{kind="long"} 1.0' in guarded.metrics.text())
        second = asyncio.create_task(client.get("/v1/export"))
        await until_awaited(lambda: b'waiting{kind="long"} 1.0' in guarded.metrics.text())
        guarded.gate.set()
        assert (await first).text == (await second).text == "{}\n" * 3
        assert b'in_flight{kind="long"} 0.0' in guarded.metrics.text()

    with_guard(body, long_slots=1)


def test_head_runs_what_get_runs_and_needs_a_slot_as_well() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        first = asyncio.create_task(client.head("/v1/export"))
        await until_awaited(lambda: b'in_flight{kind="long"} 1.0' in guarded.metrics.text())
        guarded.gate.set()
        assert (await first).status_code == 200

    with_guard(body)


def test_an_upload_that_waits_for_a_slot_loses_none_of_its_parts() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        taken = 0

        async def parts() -> Any:
            nonlocal taken
            for taken in range(1, 6):  # noqa: B007
                yield b"{}\n"

        guarded.gate.clear()
        export = asyncio.create_task(client.get("/v1/export"))
        await until_awaited(lambda: b'in_flight{kind="long"} 1.0' in guarded.metrics.text())
        headers = {"Content-Type": "application/x-ndjson"}
        upload = asyncio.create_task(client.post("/v1/load", content=parts(), headers=headers))
        await until_awaited(lambda: b'waiting{kind="long"} 1.0' in guarded.metrics.text())
        await until_awaited(lambda: taken > 0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert taken == 1  # the others stay with the client
        guarded.gate.set()
        assert (await upload).json() == {"bytes": 15}
        await export

    with_guard(body, long_slots=1)


def test_an_operation_that_takes_too_long_is_given_up_and_its_slot_is_free() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        answer = await search(client)
        assert answer.status_code == 503
        assert answer.json()["code"] == "TimeLimit"
        guarded.gate.set()
        assert (await search(client)).status_code == 200

    with_guard(body, heavy_slots=1, handling_seconds=0.02)


def test_an_answer_that_has_begun_in_time_may_take_longer() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        answer = asyncio.create_task(client.get("/v1/fail/slow"))
        await until_awaited(lambda: guarded.in_flight.count == 1)
        await asyncio.sleep(0.2)
        guarded.gate.set()
        assert (await answer).text == "the first part, and the last"

    with_guard(body, handling_seconds=0.1)


def test_a_long_answer_may_take_longer_but_not_forever() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        with pytest.raises(Exception, match="see the log"):  # over a socket: the connection closes
            await client.get("/v1/export")
        guarded.gate.set()
        assert (await client.get("/v1/export")).text == "{}\n" * 3

    with_guard(body, handling_seconds=0.001, long_seconds=0.05)


def waiting(guarded: Guarded) -> Callable[[], int]:
    """The number of heavy operations that wait."""
    gauge = guarded.metrics.queue("heavy")
    return lambda: int(gauge._value.get())

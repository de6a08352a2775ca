"""Listings: memories in their order, pages under concurrent writes; names; events."""

from __future__ import annotations

import random
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.records.events import Event
from salience.records.record import MemoryRecord
from salience.retrieval.operations import Order
from salience.search.listing import NamePage
from salience.testing.conformance._case import START, Clock, StoreCase, get_record, list_ids

TURNS = [{"role": "user" if i % 2 else "assistant", "content": f"Turn {i:02}"} for i in range(12)]
FILTERS = {"kind": "note"}
Lister = Callable[[Memory, Any, Order], Iterator[MemoryRecord]]


def by_pages(memory: Memory, filters: Any, order: Order) -> Iterator[MemoryRecord]:
    """All memories in pages of three."""
    cursor = None
    while True:
        page = memory.get_all(filters, limit=3, order=order, cursor=cursor)
        yield from page
        cursor = page.cursor
        if cursor is None:
            return


def one_by_one(memory: Memory, filters: Any, order: Order) -> Iterator[MemoryRecord]:
    """All memories by an iteration that is given up and gone on with after every second one."""
    cursor = None
    while True:
        iteration = memory.iterate(filters, order=order, page_size=3, cursor=cursor)
        for count, record in enumerate(iteration):
            yield record
            if count == 1:
                break
        else:
            return
        cursor = iteration.cursor


class Listing(StoreCase):
    """`get_all`, `iterate`, `count`, `get_many` and what Python has for collections."""

    def test_questions_are_kept_changed_dropped_and_erased_with_the_namespace(
        self, memory: Memory
    ) -> None:
        memory.add_many([{"content": f"about {id}", "id": id} for id in "abc"])
        first = memory.labels.add("about a?", "a", ["b"], at="2026-01-01", filters={"kind": "note"})
        none = memory.labels.add("about nothing?")
        assert sorted(memory.labels.questions(), key=lambda one: one.query) == [first, none]
        changed = memory.labels.add("about a?", ["a", "c"], id=first.id)
        assert (changed.id, changed.relevant, changed.filters) == (first.id, ("a", "c"), None)
        assert set(memory.labels.questions()) == {changed, none}
        assert (memory.labels.delete(none.id), memory.labels.delete(none.id)) == (True, False)
        assert not memory.for_namespace("other").labels.questions().questions
        assert [*memory.labels.questions()] == [changed]
        for wrong in (
            {"query": ""},
            {"query": "x", "relevant": "a", "not_relevant": "a"},
            {"query": "x", "filters": {"nothing": 1}},
            {"query": "x", "at": "soon"},
        ):
            with pytest.raises(InvalidInput, match=[*wrong][-1]):
                memory.labels.add(**wrong)
        memory.delete_all(namespace=memory.namespace)
        assert not memory.labels.questions().questions

    def test_newest_first_then_what_was_written_later(self, memory: Memory) -> None:
        for id, days in (("b", 1), ("c", 2), ("a", 1), ("d", 0)):
            memory.add("x", id=id, created_at=START + timedelta(days=days))
        assert list_ids(memory) == ["c", "a", "b", "d"]
        oldest = [record.id for record in memory.get_all(order="oldest")]
        assert oldest == ["d", "b", "a", "c"]

    @pytest.mark.parametrize("filters", [None, {"session_id": "s"}], ids=["all", "filtered"])
    def test_turns_of_one_add_keep_their_order(self, memory: Memory, filters: Any) -> None:
        memory.add(TURNS, session_id="s")
        said = [turn["content"] for turn in TURNS]
        for lister in (by_pages, one_by_one):
            assert [one.content for one in lister(memory, filters, "oldest")] == said
            assert [one.content for one in lister(memory, filters, "newest")] == said[::-1]

    def test_chunks_of_one_session_keep_their_order(self, memory: Memory) -> None:
        memory.add_chat(
            [m for i in range(8) for m in (
                {"role": "user", "content": f"Question {i}"},
                {"role": "assistant", "content": f"Answer {i}"},
            )],
            session_id="s",
        )  # fmt: skip
        chunks = [one.content for one in memory.iterate({"session_id": "s"}, order="oldest")]
        assert [f"Question {i}" in chunk for i, chunk in enumerate(chunks)] == [True] * 8

    def test_an_edit_keeps_the_place(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": f"Words {i}"} for i in range(5))
        memory.update("m2", content="Other words")
        memory.update("m3", importance=0.5)
        memory.pin("m1")
        memory.search("words", limit=2)
        for filters in (None, FILTERS):
            assert list_ids(memory, filters) == ["m4", "m3", "m2", "m1", "m0"]
        reopened = self.reopen(memory) if self.persistent else memory
        assert list_ids(reopened) == ["m4", "m3", "m2", "m1", "m0"]

    def test_pages_are_disjoint_and_complete(self, memory: Memory) -> None:
        memory.add_many(
            {"id": f"m{i:02}", "content": "x", "created_at": START + timedelta(days=i // 3)}
            for i in range(25)
        )
        assert memory.get_all(limit=4).total == 25
        for order in ("newest", "oldest"):
            ids = [one.id for one in by_pages(memory, None, order)]
            assert ids == sorted(ids, reverse=order == "newest")
            assert len(set(ids)) == 25

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize("lister", [by_pages, one_by_one])
    @pytest.mark.parametrize("filters", [None, FILTERS], ids=["all", "filtered"])
    def test_pages_hold_under_writes(
        self, memory: Memory, clock: Clock, lister: Lister, filters: Any
    ) -> None:
        """No memory comes twice, and none is left out that was there all the time."""
        for seed in range(8):
            chance = random.Random(seed)
            own = memory.for_namespace(f"run{seed}")
            there: list[str] = []
            written = 0

            def write(many: int) -> None:
                nonlocal written
                times = [START + timedelta(days=chance.randrange(3)) for _ in range(many)]  # noqa: B023
                items: list[dict[str, Any]] = [
                    {"id": f"m{written + i:03}", "content": f"x {i}", "created_at": at}
                    for i, at in enumerate(times)
                ]
                own.add_many(items)  # noqa: B023
                there.extend(item["id"] for item in items)  # noqa: B023
                written += many

            write(12)
            order: Order = chance.choice(["newest", "oldest"])
            steady, listed = set(there), []
            for record in lister(own, filters, order):
                listed.append(record)
                for _ in range(chance.randrange(3)):
                    id = chance.choice(there)
                    match chance.randrange(5):
                        case 0:
                            write(1)
                        case 1 if len(there) > 3:
                            own.delete(id)
                            there.remove(id)
                            steady.discard(id)
                        case 2:
                            own.update(id, content=f"y {chance.random()}")
                        case 3:
                            own.update(id, importance=chance.random())
                        case _:
                            own.archive(id)
            ids = [record.id for record in listed]
            assert len(ids) == len(set(ids)), seed
            assert steady <= set(ids), seed
            places = [(record.created_at, record.id) for record in listed]
            assert places == sorted(places, reverse=order == "newest"), seed

    def test_a_cursor_stays_good_when_its_memory_goes(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": "x"} for i in range(6))
        for filters in (None, FILTERS):
            page = memory.get_all(filters, limit=2)
            memory.delete(page[-1].id)
            rest = memory.get_all(filters, limit=2, cursor=page.cursor)
            expected = ["m3", "m2"] if filters is None else ["m2", "m1"]
            assert [record.id for record in rest] == expected

    def test_a_cursor_belongs_to_an_order(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": "x"} for i in range(3))
        cursor = memory.get_all(limit=1, order="oldest").cursor
        with pytest.raises(InvalidInput, match=r"^cursor: .*oldest first; give order='oldest'"):
            memory.get_all(cursor=cursor)
        with pytest.raises(InvalidInput, match=r"^order: there is no 'up'; use newest or oldest"):
            memory.get_all(order="up")  # type: ignore[arg-type]

    @pytest.mark.one_in(4)
    @pytest.mark.parametrize(
        "text",
        [
            "", "{}", "[1]", '["newest", 1]', '["up", 1, 1]', '["newest", "x", 1]', "[1, 5, 1]",
            '["newest", NaN, 1]', '["newest", -Infinity, 1]', f'["newest", 1{"0" * 400}, 1]',
            '["newest", 1, 1.5]', '["newest", 1, true]', '["newest", 1, -1]', '["newest", 1, null]',
            f'["newest", 1, {2**63}]', r'["\u0000", 1, 1]', "[" * 100_000,
        ],
        ids=range(17),
    )  # fmt: skip
    def test_a_cursor_that_no_listing_has_made_is_refused(self, memory: Memory, text: str) -> None:
        memory.add_many({"id": f"m{i}", "content": "x"} for i in range(3))
        for read in (memory.get_all, memory.iterate):
            with pytest.raises(InvalidInput, match=r"^cursor: is not one of a listing"):
                read(cursor=urlsafe_b64encode(text.encode()).decode())

    def test_nothing_is_an_empty_page(self, memory: Memory) -> None:
        for filters in (None, FILTERS):
            page = memory.get_all(filters)
            assert (page.memories, page.total, page.cursor) == ((), 0, None)
        assert (list(memory), len(memory), memory.count(FILTERS)) == ([], 0, 0)
        assert memory  # a store without memories is one, too

    def test_a_filter_counts_too(self, memory: Memory) -> None:
        items = [{"content": "x", "kind": "fact" if i % 3 else "note"} for i in range(9)]
        memory.add_many(items, dedup=False)
        page = memory.get_all({"kind": "fact"}, limit=2)
        assert (len(page), page.total, memory.count({"kind": "fact"})) == (2, 6, 6)
        assert page[0] is page.memories[0]

    def test_numbers_of_memories(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": f"Words {i}"} for i in range(9))
        memory.for_namespace("other").add("Somebody else's")
        memory.archive(["m1", "m2"])
        memory.delete("m3")
        memory.update("m4", content="Other words")
        assert len(memory) == memory.count() == memory.get_all().total == len(list(memory)) == 8
        assert (memory.count(archived=True), memory.count(archived=False)) == (2, 6)
        assert memory.count({"id": {"in": ["m1", "m5"]}}, archived=False) == 1
        memory.search("words", limit=3)
        assert memory.count({"access_count": {"gte": 1}}) == 3
        with pytest.raises(InvalidInput, match="archived"):
            memory.count(archived="no")  # type: ignore[arg-type]

    def test_what_python_has_for_collections(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": f"Words {i}"} for i in range(3))
        memory.for_namespace("other").add("Somebody else's", id="other")
        assert [record.id for record in memory] == ["m2", "m1", "m0"]
        assert [id in memory for id in ("m1", "other", "", 1, None)] == [True, *[False] * 4]
        memory.delete("m1")
        assert "m1" not in memory

    def test_many_are_got_in_the_order_of_their_ids(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": f"Words {i}"} for i in range(5))
        ids = ["m3", "nobody", "m0", "m3"]
        records = memory.get_many(ids)
        assert [record and record.id for record in records] == ["m3", None, "m0", "m3"]
        assert records[0] == get_record(memory, "m3")
        assert (memory.get_many([]), memory.get_many("m1")) == ([], [get_record(memory, "m1")])
        assert len(memory.get_many(f"m{i}" for i in range(3_000))) == 3_000
        for wrong in (5, None, b"m1", ["m1", 5], [""], {"m1": 1}):
            with pytest.raises(InvalidInput, match="ids"):
                memory.get_many(wrong)  # type: ignore[arg-type]
        assert all(record.access_count == 0 for record in memory)

    def test_an_iteration_goes_on_with_what_came_since(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": f"Words {i}"} for i in range(4))
        iteration = memory.iterate(order="oldest", page_size=2)
        assert iteration.cursor is None
        assert [record.id for record in iteration] == ["m0", "m1", "m2", "m3"]
        memory.add("Words 4", id="m4")
        later = memory.iterate(order="oldest", cursor=iteration.cursor)
        assert [record.id for record in later] == ["m4"]


NAMES = (
    *("home", "Home", "HOME", "Straße", "STRASSE", "straße", "é", "É", "e\u0301", "zebra", "Zoo"),
    *("-dash", "_", "日本", "\U0001f600", "a b", "A%b", "100%", "ǅ", "ﬁ", "fi"),
)
PREFIXES = ("H", "hO", "ß", "SS", "str", "e", "É", "-", "_", "100%", "A%", "日", "x")


def pages_of_names(list_names: Callable[..., NamePage], limit: int, **options: Any) -> list[Any]:
    """The names of all pages with their counts."""
    names: list[Any] = []
    cursor = None
    while True:
        page = list_names(limit=limit, cursor=cursor, **options)
        assert len(page) <= limit
        names += [(one.name, one.memories) for one in page]
        cursor = page.cursor
        if cursor is None:
            return names


def counted_names(records: Iterable[MemoryRecord], field: str, prefix: str = "") -> list[Any]:
    """The names of records with their counts, by what they say of themselves."""
    spellings: dict[str, Counter[str]] = {}
    memories: Counter[str] = Counter()
    for record in records:
        listed = getattr(record, field)
        for name in listed:
            spellings.setdefault(name.casefold(), Counter())[name] += 1
        memories.update({name.casefold() for name in listed})
    return [
        (
            min(spellings[folded], key=lambda name: (-spellings[folded][name], name)),
            memories[folded],
        )
        for folded in sorted(spellings)
        if folded.startswith(prefix.casefold())
    ]


class Names(StoreCase):
    """`tags` and `entities`: names as filters compare them, with the number of their memories."""

    def test_names_are_those_of_the_memories(self, memory: Memory) -> None:
        chance = random.Random(5)
        memory.add_many(
            {
                "id": f"m{at}",
                "content": f"Memory {at}.",
                "kind": chance.choice(["note", "fact"]),
                "tags": chance.sample(NAMES, chance.randrange(4)),
                "entities": chance.sample(NAMES, chance.randrange(3)),
            }
            for at in range(60)
        )
        for at in range(0, 60, 7):  # by rows that are new, and by rows that are gone
            memory.update(f"m{at}", tags=chance.sample(NAMES, 2))
        memory.delete_many([f"m{at}" for at in range(0, 60, 11)])
        records = list(memory.iterate())
        facts = [record for record in records if record.kind == "fact"]
        for field, list_names in (("tags", memory.tags), ("entities", memory.entities)):
            assert pages_of_names(list_names, 100) == counted_names(records, field)
            assert pages_of_names(list_names, 1) == counted_names(records, field)
            assert pages_of_names(list_names, 4, filters={"kind": "fact"}) == counted_names(
                facts, field
            )
            for prefix in (
                "H",
                "hO",
                "ß",
                "SS",
                "str",
                "e",
                "É",
                "-",
                "_",
                "100%",
                "A%",
                "日",
                "x",
            ):
                listed = pages_of_names(list_names, 2, prefix=prefix)
                assert listed == counted_names(records, field, prefix), prefix
            for name, memories in pages_of_names(list_names, 100):
                assert memory.count({field: name}) == memories

    def test_names_of_other_namespaces_are_not_listed(self, memory: Memory) -> None:
        memory.add("A.", tags=["own"], entities=["Ana"])
        other = memory.for_namespace("other")
        assert list(other.tags()) == list(other.entities()) == []
        other.add("B.", tags=["own", "other"])
        assert [(one.name, one.memories) for one in memory.tags()] == [("own", 1)]
        assert len(other.entities()) == 0

    def test_a_cursor_passes_no_name_over(self, memory: Memory) -> None:
        memory.add_many({"content": f"{name}.", "tags": [name]} for name in "bdfh")
        page = memory.tags(limit=2)
        assert [one.name for one in page] == ["b", "d"]
        memory.add_many({"content": f"{name} later.", "tags": [name]} for name in "ace")
        memory.delete_all({"tags": "d"})
        assert [one.name for one in memory.tags(cursor=page.cursor)] == ["e", "f", "h"]

    def test_wrong_arguments_of_names(self, memory: Memory) -> None:
        memory.add_many(["One.", "Two."])
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("prefix", {"prefix": 5}),
            ("prefix", {"prefix": "\0"}),
            ("limit", {"limit": 0}),
            ("limit", {"limit": 10_001}),
            ("cursor", {"cursor": "x"}),
            ("cursor", {"cursor": memory.get_all(limit=1).cursor}),
            ("cursor", {"cursor": memory.events().cursor}),
            ("cursor", {"cursor": urlsafe_b64encode(b'["names", "\\ud800"]').decode()}),
            ("filters.colour", {"filters": {"colour": 1}}),
        ]
        for field, arguments in wrong:
            for list_names in (memory.tags, memory.entities):
                with pytest.raises(InvalidInput) as caught:
                    list_names(**arguments)
                assert caught.value.field == field


class EventPages(StoreCase):
    """`events`: what has happened in a namespace, in its order."""

    def test_pages_bring_each_event_once_in_order(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": f"m{at}", "content": f"Memory {at}."} for at in range(7))
        clock.pass_(hours=1)
        memory.update("m1", content="Another text.")
        memory.link("m2", "m3", "mentions")
        memory.feedback("m2", "useful")
        memory.upkeep.decay()
        memory.touch(["m4"])
        memory.upkeep.flush()
        events = list(memory.events(limit=1_000))
        assert [event.type for event in events] == [
            *["write"] * 7, "edit", "link", "feedback", "decay", "reference"
        ]  # fmt: skip
        assert [event.id for event in events] == [
            *(f"m{at}" for at in range(7)), "m1", "m2", "m2", None, "m4"
        ]  # fmt: skip
        for limit in (1, 3, 12):
            read: list[Event] = []
            page = memory.events(limit=limit)
            while page:
                read += page
                page = memory.events(page.cursor, limit=limit)
            assert read == events

    def test_the_cursor_at_the_end_finds_what_happens_later(self, memory: Memory) -> None:
        end = memory.events()
        assert list(end) == []
        assert memory.events(end.cursor).cursor == end.cursor
        memory.add("One.", id="one")
        later = memory.events(end.cursor)
        assert [(event.type, event.id) for event in later] == [("write", "one")]
        assert list(memory.events(later.cursor)) == []
        memory.pin("one")
        assert [event.type for event in memory.events(later.cursor)] == ["pin"]

    def test_erased_memories_and_other_namespaces_have_no_events_here(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"{id}."} for id in ("one", "two"))
        memory.for_namespace("other").add("Three.", id="three")
        memory.link("one", "two", "mentions")
        memory.delete("two")
        assert {event.id for event in memory.events() if event.type != "erase"} == {"one"}
        assert {event.id for event in memory.for_namespace("other").events()} == {"three"}
        assert "two" not in str(memory.events().to_dict())

    def test_a_use_that_waits_is_no_event_before_it_is_written(self, memory: Memory) -> None:
        memory.add("A red apple.", id="apple")
        cursor = memory.events().cursor
        seen: list[Event] = []
        for _ in range(3):
            memory.search("apple")
            page = memory.events(cursor)
            seen, cursor = [*seen, *page], page.cursor
        memory.upkeep.flush()
        seen += memory.events(cursor)
        assert [event.type for event in seen] == ["retrieval"] * 3
        assert seen == list(memory.events())[1:]

    def test_wrong_arguments_of_events(self, memory: Memory) -> None:
        memory.add_many(["One.", "Two."])
        for field, arguments in (
            ("limit", {"limit": 0}),
            ("limit", {"limit": 10_001}),
            ("after", {"after": "x"}),
            ("after", {"after": 5}),
            ("after", {"after": memory.get_all(limit=1).cursor}),
        ):
            with pytest.raises(InvalidInput) as caught:
                memory.events(**arguments)
            assert caught.value.field == field

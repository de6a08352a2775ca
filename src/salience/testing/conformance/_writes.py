"""Writes: adding, listing, updating, deleting, linking, counting."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from itertools import islice
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput, NotFound
from salience.retrieval.operations import Embed, Op
from salience.retrieval.plan import drive
from salience.testing.conformance._case import (
    EVERYTHING,
    START,
    Clock,
    StoreCase,
    get_record,
    list_ids,
    search_ids,
)
from salience.write.update import update

FULL: dict[str, Any] = {
    "id": "full",
    "content": "Mira moved to Lisbon in spring.",
    "title": "Moving",
    "kind": "fact",
    "speaker": "Mira",
    "session_id": "s1",
    "agent_id": "scribe",
    "user_id": "mira",
    "tags": ("home", "city"),
    "entities": ("Mira", "Lisbon"),
    "metadata": {"source": "chat", "nested": {"list": [1, 2.5, None, True, "x"], "empty": {}}},
    "importance": 0.75,
    "created_at": datetime(2025, 12, 24, 18, 30, 15, 123456, tzinfo=timezone.utc),
}


class Adding(StoreCase):
    """`add`, `add_many`, `get`."""

    def test_every_field_comes_back_as_given(self, memory: Memory, clock: Clock) -> None:
        fields = dict(FULL)
        assert memory.add(fields.pop("content"), **fields).id == "full"
        record = get_record(memory, "full")
        assert {name: getattr(record, name) for name in FULL} == FULL
        assert (record.namespace, record.status, record.updated_at) == (
            "default",
            "active",
            clock.now,
        )
        assert (record.access_count, record.last_accessed) == (0, None)

    def test_what_is_not_given_has_its_default(self, memory: Memory, clock: Clock) -> None:
        record = get_record(memory, memory.add("Just a note.").id)
        assert (record.kind, record.created_at, record.updated_at) == ("note", clock.now, clock.now)
        assert (
            record.title is record.speaker is record.session_id is record.agent_id is record.user_id
        )
        assert (record.title, record.importance) == (None, 0.5)
        assert (record.tags, record.entities, dict(record.metadata)) == ((), (), {})
        assert get_record(memory, memory.add("Said.", session_id="s").id).kind == "turn"

    def test_nobody_is_none(self, memory: Memory) -> None:
        assert memory.get("nobody") is None

    def test_chat_messages_become_the_turns_of_a_session(self, memory: Memory) -> None:
        result = memory.add(
            [
                {"role": "user", "content": "Where is the key?"},
                {"role": "assistant", "content": ""},
                {"role": "assistant", "content": [{"type": "text", "text": "In the drawer."}]},
            ]
        )
        turns = [get_record(memory, id) for id in result.ids]
        assert [turn.speaker for turn in turns] == ["user", "assistant"]
        assert [turn.content for turn in turns] == ["Where is the key?", "In the drawer."]
        assert len({turn.session_id for turn in turns}) == 1
        assert {turn.kind for turn in turns} == {"turn"}

    @pytest.mark.parametrize("mode", ["chunks", "hybrid"])
    def test_a_chat_leaves_the_same_chunks_at_once_and_bit_by_bit(
        self, memory: Memory, mode: str
    ) -> None:
        chat = [
            {"role": "user", "content": "They wrote:\nAssistant: No.\n\nUser: Why?"},
            {"role": "assistant", "content": "User: is a label.\n"},
            {"role": "assistant", "name": "Bot", "content": "Assistant:"},
            {"role": "user", "content": " Thanks \n"},
        ]
        once = memory.for_namespace("once")
        once.add_chat(chat, mode=mode, session_id="s")
        for message in chat:
            memory.add_chat([message], mode=mode, session_id="s")
        chunks = [
            sorted((record.kind, record.content, repr(record.metadata)) for record in chunks_of)
            for chunks_of in (memory.get_all(), once.get_all())
        ]
        assert chunks[0] == chunks[1]

    def test_chat_messages_keep_their_times_and_ids(self, memory: Memory) -> None:
        first = {"role": "user", "content": "Hello.", "created_at": START.isoformat(), "id": "m1"}
        later = START + timedelta(days=1)
        result = memory.add([first, {"role": "assistant", "content": "Hi."}], created_at=later)
        assert result.ids[0] == "m1"
        assert [get_record(memory, id).created_at for id in result.ids] == [START, later]

    @pytest.mark.parametrize(
        "moment",
        [
            datetime(1, 1, 1, tzinfo=timezone.utc),
            datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
            START + timedelta(days=36_500),
        ],
    )
    def test_times_keep_their_microseconds(self, memory: Memory, moment: datetime) -> None:
        assert get_record(memory, memory.add("When?", created_at=moment).id).created_at == moment

    def test_a_day_is_its_first_moment(self, memory: Memory) -> None:
        memory.add("Packed.", id="before", created_at=date(2026, 3, 1))
        memory.add("Moved.", id="moved", created_at=date(2026, 3, 2))
        assert get_record(memory, "moved").created_at == datetime(2026, 3, 2, tzinfo=timezone.utc)
        since = {"created_at": {"gte": date(2026, 3, 2)}}
        assert search_ids(memory, "moved packed", filters=since) == ["moved"]

    def test_the_last_moment_there_is_can_be_read_again(self, memory: Memory) -> None:
        record = get_record(memory, memory.add("Doomsday.", created_at=datetime.max).id)
        assert (
            abs(datetime.max.replace(tzinfo=timezone.utc) - record.created_at).total_seconds() < 2
        )

    def test_many_are_added_in_order_and_counted(self, memory: Memory) -> None:
        counts: list[int] = []
        items = [{"id": f"m{i:04}", "content": f"number {i}"} for i in range(5_000)]
        result = memory.add_many(iter(items), progress=counts.append)
        assert [item.id for item in result] == [item["id"] for item in items]
        assert {item.outcome for item in result} == {"ADDED"}
        assert counts == sorted(counts)
        assert counts[-1] == 5_000
        assert memory.get_all(limit=1).total == 5_000

    def test_what_is_wrong_is_rejected_and_the_rest_added(self, memory: Memory) -> None:
        memory.add("Here first.", id="taken")
        items: list[Any] = [
            "plain text",
            {"id": "taken", "content": "Too late."},
            {"id": "a", "content": "  "},
            {"id": "b", "content": "Good.", "importance": 7},
            {"id": "c", "content": "Good."},
            {"id": "c", "content": "Twice."},
            {"content": "Odd.", "colour": "red"},
            42,
        ]
        result = memory.add_many(items)
        outcomes = [item.outcome for item in result]
        assert outcomes == ["ADDED", *["REJECTED"] * 3, "ADDED", *["REJECTED"] * 3]
        assert all(item.reason for item in result.rejected)
        assert [item.id for item in result.rejected] == ["taken", "a", "b", "c", None, None]
        assert get_record(memory, "taken").content == "Here first."
        assert get_record(memory, "c").content == "Good."
        assert memory.get_all().total == 3

    def test_strict_writes_nothing_of_the_chunk(self, memory: Memory) -> None:
        with pytest.raises(InvalidInput) as caught:
            memory.add_many(["fine", {"content": "not", "importance": 2}], strict=True)
        assert caught.value.field == "importance"
        with pytest.raises(InvalidInput, match="twice"):
            memory.add_many([{"id": "x", "content": "1"}, {"id": "x", "content": "2"}], strict=True)
        assert memory.get_all().total == 0

    def test_a_taken_id_is_refused_and_nothing_changes(self, memory: Memory) -> None:
        memory.add("The first.", id="one")
        with pytest.raises(InvalidInput) as caught:
            memory.add("The second.", id="one")
        assert caught.value.field == "id"
        assert get_record(memory, "one").content == "The first."
        assert search_ids(memory, "second") == []

    def test_an_id_is_free_again_after_its_memory_was_erased(self, memory: Memory) -> None:
        memory.add("An old thing.", id="one")
        memory.delete("one")
        memory.add("A new thing.", id="one")
        assert search_ids(memory, "old") == []
        assert search_ids(memory, "new") == ["one"]


class Updating(StoreCase):
    """`update`."""

    def test_new_words_replace_the_old(self, memory: Memory, clock: Clock) -> None:
        memory.add("The meeting is on Monday.", id="one", tags=["work"], importance=0.3)
        before = get_record(memory, "one")
        clock.pass_(hours=1)
        changed = memory.update("one", content="The workshop is on Friday.")
        assert changed == get_record(memory, "one")
        assert (changed.created_at, changed.updated_at) == (before.created_at, clock.now)
        assert (changed.tags, changed.importance) == (("work",), 0.3)
        assert search_ids(memory, "meeting Monday") == []
        assert search_ids(memory, "workshop Friday") == ["one"]
        [hit] = memory.search("the workshop is on friday", profile=EVERYTHING)
        assert hit.score > 0.99

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("title", "A headline"),
            ("kind", "fact"),
            ("speaker", "Mira"),
            ("session_id", "s9"),
            ("agent_id", "scribe"),
            ("user_id", "mira"),
            ("status", "archived"),
            ("tags", ("new",)),
            ("entities", ("Lisbon",)),
            ("metadata", {"a": {"b": [1]}}),
            ("importance", 0.9),
            ("created_at", START - timedelta(days=3)),
        ],
    )
    def test_one_field_changes_alone(self, memory: Memory, field: str, value: Any) -> None:
        memory.add("Words.", id="one", vectors={"image": [0.0, 1.0]}, metadata={"k": 1})
        similar = _similarity(memory, "Words.")
        before = get_record(memory, "one").to_dict()
        memory.update("one", **{"replace_metadata" if field == "metadata" else field: value})
        after = get_record(memory, "one")
        assert getattr(after, field) == value
        changed = {n for n, v in after.to_dict().items() if v != before[n]}
        assert changed <= {field, "updated_at", "version", "write_count", "accesses"}
        assert list_ids(memory, {field: value} if field != "metadata" else None) == ["one"]
        if field not in ("title", "speaker"):  # these are part of what is embedded
            assert _similarity(memory, "Words.") == similar

    def test_optional_fields_can_be_emptied(self, memory: Memory) -> None:
        fields = dict(FULL)
        memory.add(fields.pop("content"), **fields)
        empty = memory.update(
            "full", title=None, speaker=None, tags=None, metadata=None, importance=None
        )
        assert (empty.title, empty.speaker, empty.importance) == (None, None, 0.5)
        assert (empty.tags, dict(empty.metadata)) == ((), {})
        assert get_record(memory, "full") == empty

    def test_accesses_survive_new_words(self, memory: Memory) -> None:
        memory.add("An apple.", id="one")
        memory.search("apple")
        memory.update("one", content="A pear.")
        assert get_record(memory, "one").access_count == 1
        memory.search("pear")
        assert get_record(memory, "one").access_count == 2

    def test_links_survive_new_words(self, memory: Memory) -> None:
        memory.add_many([{"id": "a", "content": "x"}, {"id": "b", "content": "y"}])
        memory.link("a", "b", "supports")
        memory.update("a", content="z")
        assert [(link.source, link.target) for link in memory.links("a")] == [("a", "b")]

    def test_what_cannot_change_is_refused(self, memory: Memory) -> None:
        memory.add("x", id="one")
        for field, value in (("colour", 1), ("namespace", "n"), ("access_count", 5)):
            with pytest.raises(InvalidInput) as caught:
                memory.update("one", **{field: value})
            assert caught.value.field == field
        with pytest.raises(InvalidInput, match="content"):
            memory.update("one", content=None)
        with pytest.raises(NotFound, match="nobody"):
            memory.update("nobody", importance=0.1)

    def test_changing_nothing_changes_nothing(self, memory: Memory, clock: Clock) -> None:
        memory.add("x", id="one")
        before = get_record(memory, "one")
        clock.pass_(days=1)
        assert memory.update("one") == before == get_record(memory, "one")

    def test_an_update_undoes_nothing_that_others_did_while_it_embedded(
        self, memory: Memory
    ) -> None:
        memory.add("The tea budget.", id="x", importance=0.2)
        times = iter(range(3))

        def batch(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, Embed) for op in ops):
                for _ in islice(times, 1):
                    memory.update("x", importance=0.9)
                    memory.update("x", title="Plan")
                    memory.feedback("x", "incorrect")
            return memory._core.dispatcher.batch(ops)

        drive(
            update("x", {"content": "The tea budget, edited."}, memory._core.write_context()), batch
        )
        record = get_record(memory, "x")
        assert record.content == "The tea budget, edited."
        assert (record.importance, record.title, record.review) == (0.9, "Plan", "incorrect")
        assert memory.upkeep.verify()

    def test_an_update_of_what_is_erased_meanwhile_says_so(self, memory: Memory) -> None:
        memory.add("The tea budget.", id="x")

        def batch(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, Embed) for op in ops):
                memory.delete("x")
            return memory._core.dispatcher.batch(ops)

        with pytest.raises(NotFound):
            drive(update("x", {"content": "Edited."}, memory._core.write_context()), batch)
        assert memory.get("x") is None


class Deleting(StoreCase):
    """`delete` and `delete_all`."""

    def test_a_deleted_memory_is_gone_with_its_links(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abc")
        memory.link("a", "b")
        memory.link("c", "a")
        memory.link("b", "c")
        assert memory.delete("a")
        assert not memory.delete("a")
        assert memory.get("a") is None
        assert list_ids(memory) == ["c", "b"]
        assert search_ids(memory, "thing") == ["b", "c"]
        assert [(link.source, link.target) for link in memory.links()] == [("b", "c")]

    def test_what_a_filter_names_goes(self, memory: Memory) -> None:
        memory.add_many(
            {"id": f"m{i}", "content": "x", "tags": ["odd"] * (i % 2)} for i in range(7)
        )
        assert memory.delete_all({"tags": "odd"}).memories == 3
        assert list_ids(memory) == ["m6", "m4", "m2", "m0"]
        assert memory.delete_all({"tags": "odd"}).memories == 0

    def test_a_namespace_goes_when_it_is_named(self, memory: Memory) -> None:
        other = memory.for_namespace("other")
        memory.add("x", id="mine")
        other.add("x", id="theirs")
        assert memory.delete_all(namespace="other").memories == 1
        assert list_ids(other) == []
        assert list_ids(memory) == ["mine"]
        assert memory.delete_all(namespace="nowhere").memories == 0

    def test_nothing_named_is_refused(self, memory: Memory) -> None:
        memory.add("x", id="one")
        nothing: tuple[Any, ...] = (None, {}, {"$or": []}, {"$and": []}, {"$not": {}})
        for filters in nothing:
            with pytest.raises(InvalidInput) as caught:
                memory.delete_all(filters)
            assert caught.value.field == "filters"
        with pytest.raises(InvalidInput, match="namespace"):
            memory.delete_all(namespace="")
        assert list_ids(memory) == ["one"]


class Linking(StoreCase):
    """`link`, `links` and `stats`."""

    def test_links_are_seen_from_both_ends(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": "x"} for id in "abcd")
        memory.link("a", "b", "supports", 0.5)
        memory.link("c", "a", "mentions")
        memory.link("b", "c", "contradicts", 0.0)
        assert [(e.source, e.target, e.type, e.weight) for e in memory.links("a")] == [
            ("a", "b", "supports", 0.5),
            ("c", "a", "mentions", 1.0),
        ]
        assert len(memory.links()) == 3
        assert memory.links("d") == memory.links("nobody") == []
        assert {(e.namespace, e.created_at) for e in memory.links()} == {("default", clock.now)}

    def test_linking_again_replaces_the_weight(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": "x"} for id in "ab")
        memory.link("a", "b", "supports", 0.2)
        memory.link("a", "b", "supports", 0.9)
        memory.link("a", "b", "mentions", 0.1)
        assert [(e.type, e.weight) for e in memory.links()] == [
            ("mentions", 0.1),
            ("supports", 0.9),
        ]

    def test_links_come_with_the_memory(self, memory: Memory) -> None:
        memory.add("x", id="a")
        memory.add("y", id="b", links=[{"target": "a", "type": "depends_on", "weight": 0.4}])
        [link] = memory.links("b")
        assert (link.source, link.target, link.type, link.weight) == ("b", "a", "depends_on", 0.4)

    def test_a_rejected_memory_brings_no_link(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": "x"} for id in "ab")
        link = {"target": "b", "type": "mentions"}
        memory.add_many([{"id": "a", "content": "again", "links": [link]}])
        assert memory.links() == []

    def test_wrong_links_are_refused(self, memory: Memory) -> None:
        memory.add("x", id="a")
        with pytest.raises(NotFound, match="nobody"):
            memory.link("a", "nobody")
        with pytest.raises(NotFound, match="nobody"):
            memory.link("nobody", "a")
        wrong: dict[str, Any] = {"type": "likes", "weight": 1.5}
        for field, value in wrong.items():
            with pytest.raises(InvalidInput) as caught:
                memory.link("a", "a", **{field: value})
            assert caught.value.field == field
        assert memory.links() == []

    def test_figures(self, memory: Memory) -> None:
        other = memory.for_namespace("other")
        memory.add_many(({"content": "x"} for _ in range(3)), dedup=False)
        other.add("y", id="y")
        other.link("y", "y", "mentions")
        assert memory.stats()["memories"] == 3
        assert [each.stats()["links"] for each in (memory, other)] == [0, 1]
        assert other.stats()["namespaces"] == {"other": 1}
        everywhere = memory.stats(everywhere=True)
        assert everywhere["memories"] == 4
        assert everywhere["links"] == 1
        assert everywhere["namespaces"] == {"default": 3, "other": 1}
        assert everywhere["embedder"] == str(self.embedder.identity)
        assert memory.for_namespace("nowhere").stats()["memories"] == 0


def _similarity(memory: Memory, query: str) -> float:
    options: dict[str, Any] = {"filters": {"status": {"exists": True}}, "touch": False}
    [hit] = memory.search(query, profile=EVERYTHING, **options)
    return hit.score

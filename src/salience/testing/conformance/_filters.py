"""Every operator of a filter, on every type of field, in listings, searches and erasures."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from salience import Memory, Profile
from salience.errors import InvalidInput
from salience.ranking.profiles import BUILT_IN
from salience.records.filters import Compare, filter_fields, parse_filter
from salience.testing.conformance._case import (
    EVERYTHING,
    START,
    StoreCase,
    check_cases,
    list_ids,
    search_ids,
)

DAY = timedelta(days=1)
ITEMS: list[dict[str, Any]] = [
    {
        "id": "a", "content": "Common ground, alpha.", "kind": "fact", "speaker": "Ana",
        "session_id": "s1", "agent_id": "x", "user_id": "u1", "tags": ["red", "Blue"],
        "entities": ["Lisbon"], "importance": 0.25, "created_at": START - 3 * DAY,
        "metadata": {"n": 1, "flag": True, "s": "Hello", "list": [1, "two"], "deep": {"k": "v"}},
    },
    {
        "id": "b", "content": "Common ground, beta.", "speaker": "Bo", "title": "Second",
        "tags": ["blue"], "importance": 0.5, "created_at": START - 2 * DAY,
        "metadata": {"n": 2.5, "flag": False, "s": "hello", "list": [True], "a.b": "dotted"},
    },
    {
        "id": "c", "content": "Common ground, gamma.", "user_id": "u1", "tags": ["red"],
        "importance": 1.0, "created_at": START - DAY,
        "metadata": {"n": "1", "flag": 1, "s": "", "list": [], "deep": {"k": None}},
    },
    {
        "id": "d", "content": "Common ground, delta.", "kind": "fact", "created_at": START,
        "metadata": {"n": None, "list": [[1], {"x": 2}], "deep": "flat"},
    },
]  # fmt: skip

Case = tuple[dict[str, Any], str]
"""A filter, and the ids of the items that pass it."""

CASES: list[Case] = [
    ({}, "abcd"),
    # text
    ({"kind": "fact"}, "ad"),
    ({"kind": {"eq": "fact"}}, "ad"),
    ({"kind": {"$ne": "fact"}}, "bc"),
    ({"kind": {"in": ["turn", "fact"]}}, "ad"),
    ({"kind": {"in": []}}, ""),
    ({"kind": {"nin": ["turn", "fact"]}}, "bc"),
    ({"speaker": None}, "cd"),
    ({"speaker": {"ne": None}}, "ab"),
    ({"speaker": {"ne": "Ana"}}, "bcd"),
    ({"speaker": {"in": ["Ana", None]}}, "acd"),
    ({"speaker": {"exists": True}}, "ab"),
    ({"speaker": {"exists": False}}, "cd"),
    ({"speaker": {"contains": "AN"}}, "a"),
    ({"speaker": {"gt": "Ana"}}, "b"),
    ({"speaker": {"lte": "Ana"}}, "a"),
    ({"content": {"contains": "GAMMA"}}, "c"),
    ({"id": {"in": ["a", "d", "zz"]}}, "ad"),
    ({"title": "Second"}, "b"),
    ({"session_id": "s1"}, "a"),
    ({"agent_id": "x", "user_id": "u1"}, "a"),
    ({"status": "active"}, "abcd"),
    ({"status": "archived"}, ""),
    # numbers
    ({"importance": 0.5}, "b"),
    ({"importance": {"gt": 0.25}}, "bc"),
    ({"importance": {"gte": 0.25, "lt": 1}}, "ab"),
    ({"importance": {"lte": 0.5}}, "ab"),
    ({"importance": {"ne": 0.5}}, "acd"),
    ({"importance": {"in": [1, 0.25]}}, "ac"),
    ({"importance": {"nin": [1, 0.25]}}, "bd"),
    ({"importance": None}, "d"),
    ({"importance": {"exists": True}}, "abc"),
    ({"importance": {"exists": False}}, "d"),
    ({"access_count": 0}, "abcd"),
    # times
    ({"created_at": {"gte": START - DAY}}, "cd"),
    ({"created_at": {"lt": (START - DAY).isoformat()}}, "ab"),
    ({"created_at": {"eq": START.timestamp()}}, "d"),
    ({"created_at": {"gt": datetime(2026, 2, 26, 13), "lte": START - DAY}}, "bc"),
    ({"created_at": {"in": [START, START - 3 * DAY]}}, "ad"),
    ({"last_accessed": {"exists": True}}, ""),
    ({"last_accessed": None}, "abcd"),
    ({"last_accessed": {"lt": START}}, ""),
    # lists
    ({"tags": "red"}, "ac"),
    ({"tags": {"contains": "blue"}}, "ab"),
    ({"$and": [{"tags": {"contains": "RED"}}, {"tags": {"contains": "Blue"}}]}, "a"),
    ({"tags": {"in": ["blue", "green"]}}, "ab"),
    ({"tags": {"nin": ["BLUE"]}}, "cd"),
    ({"tags": {"ne": "red"}}, "bd"),
    ({"tags": ["Red", "blue"]}, "a"),
    ({"tags": ["Blue", "red"]}, "a"),
    ({"tags": ["red"]}, "ac"),
    ({"tags": ["red", "green"]}, ""),
    ({"tags": {"eq": ["Red", "blue"]}}, "a"),
    ({"tags": {"eq": ["Blue", "red"]}}, ""),
    ({"$not": {"tags": ["blue", "red"]}}, "bcd"),
    ({"tags": {"ne": ["red"]}}, "abd"),
    ({"tags": []}, "d"),
    ({"tags": None}, "d"),
    ({"tags": {"exists": True}}, "abc"),
    ({"tags": {"exists": False}}, "d"),
    ({"entities": {"contains": "Lisbon"}}, "a"),
    ({"entities": "lisbon"}, "a"),
    # metadata
    ({"metadata.n": 1}, "a"),
    ({"metadata.n": "1"}, "c"),
    ({"metadata.n": {"gte": 1}}, "ab"),
    ({"metadata.n": {"lt": "2"}}, "c"),
    ({"metadata.n": {"in": [2.5, "1"]}}, "bc"),
    ({"metadata.n": None}, "d"),
    ({"metadata.n": {"ne": 1}}, "bcd"),
    ({"metadata.n": {"gt": [1]}}, ""),
    ({"metadata.flag": True}, "a"),
    ({"metadata.flag": False}, "b"),
    ({"metadata.flag": 1}, "c"),
    ({"metadata.flag": {"exists": False}}, "d"),
    ({"metadata.flag": {"gte": 1}}, "c"),
    ({"metadata.flag": {"lte": 1}}, "c"),
    ({"metadata.flag": {"gte": False}}, ""),
    ({"metadata.n": {"gte": True}}, ""),
    ({"metadata.s": {"contains": "hell"}}, "ab"),
    ({"metadata.s": "hello"}, "b"),
    ({"metadata.s": ""}, "c"),
    ({"metadata.list": {"contains": 1}}, "a"),
    ({"metadata.list": {"contains": True}}, "b"),
    ({"metadata.list": {"contains": [1]}}, "d"),
    ({"metadata.list": [1, "two"]}, "a"),
    ({"metadata.list": []}, "c"),
    ({"metadata.list": "two"}, "a"),
    ({"metadata.list": {"ne": "two"}}, "bcd"),
    ({"metadata.list": {"in": [True, {"x": 2}]}}, "bd"),
    ({"metadata.list": {"eq": {"x": 2}}}, "d"),
    ({"metadata.list": {"exists": True}}, "abcd"),
    ({"metadata.deep.k": "v"}, "a"),
    ({"metadata.deep.k": {"exists": True}}, "a"),
    ({"metadata.deep": "flat"}, "d"),
    ({"metadata.deep": {"eq": {"k": "v"}}}, "a"),
    ({"metadata.deep.k.further": None}, "abcd"),
    ({"metadata.a.b": "dotted"}, "b"),
    ({"metadata.unknown": {"exists": True}}, ""),
    ({"metadata.unknown": {"ne": 5}}, "abcd"),
    ({"metadata": {"n": 1, "s": "Hello"}}, "a"),
    # several
    ({"kind": "fact", "tags": "red"}, "a"),
    ({"$and": [{"kind": "fact"}, {"importance": None}]}, "d"),
    ({"$or": [{"speaker": "Bo"}, {"metadata.n": "1"}]}, "bc"),
    ({"or": [{"speaker": "Bo"}, {"and": [{"kind": "fact"}, {"tags": "red"}]}]}, "ab"),
    ({"$not": {"kind": "fact"}}, "bc"),
    ({"$not": {"importance": {"gt": 0.3}}}, "ad"),
    ({"$not": {"$or": [{"tags": "red"}, {"tags": "blue"}]}}, "d"),
    ({"$or": []}, ""),
    ({"$and": []}, "abcd"),
    ({"$not": {"$or": []}}, "abcd"),
    ({"$not": {}}, ""),
    ({"$or": [{"kind": "fact"}], "speaker": "Ana"}, "a"),
]

# A filter that names no field is refused.
ERASURES = [case for case in CASES[1::7] if filter_fields(parse_filter(case[0]))]

WRONG: list[tuple[Any, str]] = [
    ("kind", "filters"),
    ({"colour": "red"}, "filters.colour"),
    ({"metadata.": 1}, "filters.metadata."),
    ({"kind": {"like": "f"}}, "filters.kind"),
    ({"kind": {}}, "filters.kind"),
    ({"kind": 5}, "filters.kind"),
    ({"kind": {"in": "fact"}}, "filters.kind"),
    ({"kind": {"in": [5]}}, "filters.kind"),
    ({"kind": {"exists": 1}}, "filters.kind"),
    ({"kind": {"gt": None}}, "filters.kind"),
    ({"importance": "high"}, "filters.importance"),
    ({"importance": True}, "filters.importance"),
    ({"importance": float("nan")}, "filters.importance"),
    ({"importance": 10**400}, "filters.importance"),
    ({"created_at": "yesterday"}, "filters.created_at"),
    ({"created_at": {"gt": float("inf")}}, "filters.created_at"),
    ({"tags": {"gt": "a"}}, "filters.tags"),
    ({"tags": 5}, "filters.tags"),
    ({"tags": {"contains": ["red"]}}, "filters.tags"),
    ({"$not": {"entities": {"contains": []}}}, "filters.$not.entities"),
    (Compare("tags", "contains", ("red",)), "filters.tags"),
    ({"metadata.x": {1, 2}.__class__}, "filters.metadata.x"),
    ({"metadata": "x"}, "filters.metadata"),
    ({"$or": {"kind": "fact"}}, "filters.$or"),
    ({"$or": [{"kind": "fact"}, {"colour": 1}]}, "filters.$or[1].colour"),
    ({5: "x"}, "filters"),
    ({"speaker": "a\0b"}, "filters.speaker"),
    ({"speaker": {"contains": "\ud800"}}, "filters.speaker"),
    ({"speaker": {"in": ["Ana", "\0"]}}, "filters.speaker"),
    ({"tags": "\0"}, "filters.tags"),
    ({"tags": ["\ud800"]}, "filters.tags"),
    ({"metadata.x": "\0"}, "filters.metadata.x"),
    ({"metadata.\0": 1}, "filters"),
    ({"metadata": {"\ud800": {"exists": True}}}, "filters"),
]


class Filters(StoreCase):
    """Filters select the same memories in listings, searches and erasures."""

    def test_a_filter_in_a_listing(self, memory: Memory) -> None:
        memory.add_many(ITEMS)

        def check(case: Case) -> None:
            filters, passing = case
            assert sorted(list_ids(memory, filters)) == list(passing)
            assert memory.get_all(filters, limit=1).total == len(passing)

        check_cases(CASES, check)

    @pytest.mark.parametrize("profile", [EVERYTHING, "balanced"], ids=["everything", "balanced"])
    def test_a_filter_in_a_search(self, memory: Memory, profile: Profile | str) -> None:
        memory.add_many(ITEMS)

        def check(case: Case) -> None:
            filters, passing = case
            hits = memory.search("common ground", profile=profile, filters=filters, touch=False)
            assert sorted(hits.ids) == list(passing)

        check_cases(CASES, check)

    def test_a_filter_in_an_erasure(self, memory: Memory) -> None:
        def check(case: Case) -> None:
            filters, passing = case
            space = memory.for_namespace(str(filters))
            space.add_many(ITEMS)
            assert space.delete_all(filters).memories == len(passing)
            assert set(list_ids(space)) == set("abcd") - set(passing)

        check_cases(ERASURES, check)

    def test_tags_and_entities_are_equal_in_any_case_of_any_script(self, memory: Memory) -> None:
        names = ["Straße", "Σίσυφος", "ŠKODA", "ﬁsh", "İzmir", "ǅ", "ᏣᎳᎩ", "Žluťoučký kůň", "'ŉ"]
        for at, name in enumerate(names):
            memory.add(f"note {at}", id=str(at), tags=["x", name], entities=[name, "y"])

        def check(case: tuple[int, str]) -> None:
            at, name = case
            for field in ("tags", "entities"):
                for spelling in (name, name.upper(), name.casefold()):
                    for filters in ({field: spelling}, Compare(field, "contains", spelling)):
                        assert list_ids(memory, filters) == [str(at)]
                        assert search_ids(memory, "note", filters=filters) == [str(at)]
            assert list_ids(memory, {"tags": ["X", name.upper()]}) == [str(at)]

        check_cases(enumerate(names), check)
        assert list_ids(memory, {"tags": "skoda"}) == []  # an accent makes another word
        for name in names[:-1]:
            assert memory.delete_all({"entities": name.casefold()}).memories == 1
        memory.update("8", tags=["New"], entities=["Newer"])
        assert list_ids(memory, {"tags": "NEW"}) == ["8"]
        assert list_ids(memory, {"entities": "newer"}) == ["8"]
        assert list_ids(memory, {"tags": "x"}) == []

    def test_a_wrong_filter_names_its_field(self, memory: Memory) -> None:
        def check(case: tuple[Any, str]) -> None:
            filters, field = case
            for ask in (
                lambda: memory.get_all(filters),
                lambda: memory.search("x", filters=filters),
                lambda: memory.delete_all(filters),
            ):
                with pytest.raises(InvalidInput) as caught:
                    ask()
                assert caught.value.field.endswith(field)

        check_cases(WRONG, check)

    def test_filters_apply_before_the_limit(self, memory: Memory) -> None:
        memory.add_many(
            {"id": f"m{i:03}", "content": "common ground " * (1 + (i < 300)), "kind": kind}
            for i, kind in enumerate(["note"] * 300 + ["fact"] * 3)
        )
        by_names = "vitality.identity"  # no words
        profiles: list[Any] = [EVERYTHING, *(name for name in BUILT_IN if name != by_names)]
        for profile in profiles:
            hits = memory.search(
                "common ground", profile=profile, limit=3, filters={"kind": "fact"}
            )
            assert sorted(hits.ids) == ["m300", "m301", "m302"]

    @pytest.mark.parametrize("profile", ["activation", "vitality.knowledge"])
    def test_filters_hold_at_every_hop(self, memory: Memory, profile: str) -> None:
        memory.add_many(
            {"id": id, "content": "common ground" if id == "a" else f"word {id}", "kind": kind}
            for id, kind in {"a": "fact", "b": "note", "c": "fact", "d": "fact"}.items()
        )
        for source, target in ("ab", "bc", "ad"):
            memory.link(source, target)
        options: dict[str, Any] = {"profile": profile, "touch": False}
        assert set(memory.search("common ground", **options).ids) == set("abcd")
        hits = memory.search("common ground", filters={"kind": "fact"}, **options)
        assert set(hits.ids) == {"a", "d"}  # c is reached only by way of b

    def test_memories_that_are_not_active_are_found_only_when_asked_for(
        self, memory: Memory
    ) -> None:
        memory.add_many(ITEMS)
        memory.update("b", status="archived")
        for filters, passing in (
            (None, "acd"),
            ({"speaker": {"exists": True}}, "a"),
            ({"status": "archived"}, "b"),
            ({"status": {"in": ["active", "archived"]}}, "abcd"),
        ):
            hits = memory.search("common ground", filters=filters, profile=EVERYTHING)
            assert sorted(hits.ids) == list(passing)
        assert sorted(list_ids(memory)) == ["a", "b", "c", "d"]

    def test_a_filter_sees_what_has_changed(self, memory: Memory) -> None:
        memory.add_many(ITEMS)
        filters = {"metadata.n": 7, "importance": {"gte": 0.9}, "updated_at": {"gte": START}}
        assert list_ids(memory, filters) == []
        memory.update("d", metadata={"n": 7}, importance=0.95)
        assert list_ids(memory, filters) == ["d"]
        memory.update("d", metadata={"n": 8})
        assert list_ids(memory, filters) == []
        memory.search("delta", filters={"id": "d"})
        assert list_ids(
            memory, {"access_count": {"gte": 1}, "last_accessed": {"exists": True}}
        ) == ["d"]

    def test_tags_are_filtered_where_memories_were_erased(self, memory: Memory) -> None:
        memory.add_many([{"id": id, "content": id, "tags": ["red"]} for id in ("one", "two")])
        assert sorted(list_ids(memory, {"tags": "red"})) == ["one", "two"]
        memory.delete("one")
        assert list_ids(memory, {"tags": "red"}) == ["two"]
        assert list_ids(memory, {"tags": {"eq": ["red"]}}) == ["two"]

    def test_a_time_without_a_zone_is_utc(self, memory: Memory) -> None:
        memory.add("x", id="one", created_at=datetime(2026, 1, 1))
        utc = datetime(2026, 1, 1, tzinfo=timezone.utc)
        assert list_ids(memory, {"created_at": utc}) == ["one"]
        assert list_ids(memory, {"created_at": datetime(2026, 1, 1)}) == ["one"]
        east = timezone(timedelta(hours=2))
        assert list_ids(memory, {"created_at": datetime(2026, 1, 1, 2, tzinfo=east)}) == ["one"]

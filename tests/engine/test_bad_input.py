"""Any input: a sensible result, or InvalidInput that names the field, with nothing written."""

import re
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.errors import InvalidInput, NotFound, StoreError, shown
from salience.importers import ImportProblem
from salience.records.fields import FIELDS as FIELD_TYPES
from salience.write.items import ITEM_KEYS
from support.bad_input import HUGE, LONE, NAN, NO_TIME, NOW, label
from support.examples import examples

INF = float("inf")


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"k": [value]}
    return value


def endless() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["itself"] = value
    return value


FIELDS: list[tuple[str, Any, str]] = [  # argument, value, the field that the error names
    ("content", "", "content"),
    ("content", " \t\n\u3000", "content"),
    ("content", "x" * 10_000_000, "content"),
    ("content", "nul \0 byte", "content"),
    ("content", LONE, "content"),
    ("content", None, "content"),
    ("content", 5, "content"),
    ("content", b"bytes", "content"),
    ("content", [], "content"),
    ("content", ["text"], "content[0]"),
    ("content", [{"role": "user", "content": "  "}], "content"),
    ("content", [{"role": "user", "content": LONE}], "content"),
    ("content", [{"content": "who?"}], "content[0]"),
    ("content", [{"role": "user", "content": "x"}, {"role": "user", "content": 5}], "content[1]"),
    ("content", [{"role": "user", "content": {"type": "image"}}], "content"),
    ("content", [{"role": "user", "content": ["x", 5]}], "content[0]"),
    ("id", "", "id"),
    ("id", "x" * 513, "id"),
    ("id", "nul\0", "id"),
    ("id", LONE, "id"),
    ("id", 5, "id"),
    ("id", "taken", "id"),
    ("speaker", " ", "speaker"),
    ("speaker", 5, "speaker"),
    ("session_id", LONE, "session_id"),
    ("agent_id", "x" * 513, "agent_id"),
    ("user_id", ["a"], "user_id"),
    ("title", "x" * 2_001, "title"),
    ("kind", "x" * 65, "kind"),
    ("importance", 7, "importance"),
    ("importance", -1, "importance"),
    ("importance", 1.0000001, "importance"),
    ("importance", NAN, "importance"),
    ("importance", INF, "importance"),
    ("importance", "x", "importance"),
    ("importance", "0.5", "importance"),
    ("importance", True, "importance"),
    ("created_at", "yesterday", "created_at"),
    ("created_at", "2026-13-45", "created_at"),
    ("created_at", "1710120112", "created_at"),  # seconds as text, no day in the year 1710
    ("created_at", "1" * 5_000, "created_at"),
    ("created_at", "", "created_at"),
    ("created_at", NAN, "created_at"),
    ("created_at", INF, "created_at"),
    ("created_at", 1e18, "created_at"),
    ("created_at", -1e18, "created_at"),
    ("created_at", True, "created_at"),
    ("created_at", [2026, 1, 1], "created_at"),
    ("created_at", datetime.min.replace(tzinfo=timezone(timedelta(hours=5))), "created_at"),
    ("importance", HUGE, "importance"),
    ("created_at", HUGE, "created_at"),
    ("created_at", "x" * 100_000, "created_at"),
    *((name, NO_TIME, name) for name in ("created_at", "expires_at", "valid_from", "valid_to")),
    ("created_at", np.timedelta64(5, "s"), "created_at"),
    ("metadata", {"at": NO_TIME}, "metadata.at"),
    ("tier", "x" * 100_000, "tier"),
    ("tier", HUGE, "tier"),
    ("pinned", HUGE, "pinned"),
    ("metadata", {HUGE: 1}, "metadata"),
    ("tags", ["fine", ""], "tags"),
    ("tags", ["x" * 513], "tags"),
    ("tags", ["fine", 5], "tags"),
    ("tags", [LONE], "tags"),
    ("tags", 5, "tags"),
    ("tags", {"a": 1}, "tags"),
    ("tags", b"abc", "tags"),
    ("entities", [None], "entities"),
    ("metadata", "text", "metadata"),
    ("metadata", [("a", 1)], "metadata"),
    ("metadata", {"": 1}, "metadata"),
    ("metadata", {5: 1}, "metadata"),
    ("metadata", {"k" * 513: 1}, "metadata"),
    ("metadata", {"nul\0": 1}, "metadata"),
    ("metadata", {LONE: 1}, "metadata"),
    ("metadata", {"k": NAN}, "metadata.k"),
    ("metadata", {"k": [1, {"deep": INF}]}, "metadata.k.deep"),
    ("metadata", {"k": LONE}, "metadata.k"),
    ("metadata", {"k": "nul\0"}, "metadata.k"),
    ("metadata", {"k": object()}, "metadata.k"),
    ("metadata", {"k": b"bytes"}, "metadata.k"),
    ("metadata", {"k": 1 + 2j}, "metadata.k"),
    ("metadata", {"k": 10**5000}, "metadata.k"),
    ("metadata", {"k": np.zeros(2)}, "metadata.k"),
    ("metadata", {"k": nested(200)}, "metadata.k"),
    ("metadata", {"k": nested(100_000)}, "metadata.k"),
    ("metadata", endless(), "metadata.itself"),
    ("vectors", [1.0], "vectors"),
    ("vectors", {"": [1.0]}, "vectors"),
    ("vectors", {5: [1.0]}, "vectors"),
    ("vectors", {LONE: [1.0]}, "vectors"),
    ("vectors", {"own": []}, "vectors.own"),
    ("vectors", {"own": 5}, "vectors.own"),
    ("vectors", {"own": None}, "vectors.own"),
    ("vectors", {"own": "abc"}, "vectors.own"),
    ("vectors", {"own": [1.0, NAN]}, "vectors.own"),
    ("vectors", {"own": [INF, 1.0]}, "vectors.own"),
    ("vectors", {"own": [[1.0, 2.0]]}, "vectors.own"),
    ("vectors", {"own": [[1.0], [1.0, 2.0]]}, "vectors.own"),
    ("vectors", {"own": ["1", "2"]}, "vectors.own"),
    ("vectors", {"own": [1.0, None]}, "vectors.own"),
    ("vectors", {"own": [True, False]}, "vectors.own"),
    ("vectors", {"own": [1j]}, "vectors.own"),
    ("vectors", {"own": [10**400]}, "vectors.own"),
    ("vectors", {"content": [1.0, 0.0]}, "vectors.content"),
    ("vectors", {"image": [1.0, 0.0, 0.0]}, "vectors.image"),
    ("links", "taken", "links"),
    ("links", ["taken"], "links"),
    ("links", {"target": "taken", "type": "mentions"}, "links"),
    ("links", 5, "links"),
    ("links", [{"target": "taken"}], "type"),
    ("links", [{"target": "taken", "type": ["mentions"]}], "type"),
    ("links", [{"target": 5, "type": "mentions"}], "target"),
    ("links", [{"target": "taken", "type": "mentions", "weight": 2}], "weight"),
    ("links", [{"target": "taken", "type": "mentions", "weight": NAN}], "weight"),
    ("supersedes", 5, "supersedes"),
    ("supersedes", [], "supersedes"),
    ("idempotency_key", 5, "idempotency_key"),
    ("idempotency_key", {}, "idempotency_key"),
]


def everything(memory: Memory) -> Any:
    return memory.get_all(limit=1000).memories, memory.links()


def named(problem: InvalidInput, field: str) -> bool:
    """Test whether an error is about a field, or about a value inside it."""
    return problem.field == field or problem.field.startswith(field + ".")


@pytest.mark.parametrize(("argument", "value", "field"), FIELDS, ids=label)
def test_a_wrong_field_is_named_and_nothing_written(
    memory: Memory, argument: str, value: Any, field: str
) -> None:
    before = everything(memory)
    fields = {"content": "Fine words.", argument: value}
    with pytest.raises(InvalidInput) as caught:
        memory.add(fields.pop("content"), **fields)
    assert named(caught.value, field), caught.value
    assert str(caught.value).startswith(caught.value.field)
    assert len(str(caught.value)) < 2_000
    str(caught.value).encode()
    assert everything(memory) == before


@pytest.mark.parametrize(
    ("argument", "value", "field"),
    [case for case in FIELDS if case[0] not in ("content", "vectors", "links", "id")],
    ids=label,
)
def test_an_update_refuses_the_same(memory: Memory, argument: str, value: Any, field: str) -> None:
    before = everything(memory)
    with pytest.raises(InvalidInput) as caught:
        memory.update("taken", **{argument: value})
    assert named(caught.value, field)
    assert everything(memory) == before


@pytest.mark.parametrize(
    ("argument", "value", "field"),
    # A list of messages is no item of many: it names its own place.
    [case for case in FIELDS if not (case[0] == "content" and isinstance(case[1], list))],
    ids=label,
)
def test_many_reject_the_wrong_one_and_take_the_rest(
    memory: Memory, argument: str, value: Any, field: str
) -> None:
    before = everything(memory)
    wrong = {"content": "Fine words.", argument: value}
    result = memory.add_many([{"content": "one"}, wrong, "three"])
    assert [item.outcome for item in result] == ["ADDED", "REJECTED", "ADDED"]
    [rejected] = result.rejected
    assert field in rejected.reason or "id is taken" in rejected.reason
    for id in result.ids:
        memory.delete(id)
    assert everything(memory) == before


class Hidden:
    def __repr__(self) -> str:
        raise RuntimeError("not to be shown")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("short", "'short'"),
        (2**64, "18446744073709551616"),
        (HUGE, "a whole number of 16,610 bits"),
        ([HUGE], "[a whole number of 16,610 bits]"),
        (LONE, r"'half \ud800 a pair'"),
    ],
    ids=label,
)
def test_a_value_is_shown(value: Any, written: str) -> None:
    assert shown(value) == written


@pytest.mark.parametrize("value", ["x" * 100_000, ["x"] * 100_000, Hidden()], ids=label)
def test_a_value_is_shown_briefly(value: Any) -> None:
    assert len(shown(value)) <= 100


@pytest.mark.parametrize("part", [LONE, "x" * 100_000])
def test_every_error_can_be_printed_and_read(part: str) -> None:
    for problem in (
        InvalidInput(part, part, part),
        NotFound(part),
        StoreError(part),
        ImportProblem(part, part, part),
    ):
        assert len(str(problem).encode()) <= 2_000


@pytest.mark.parametrize("items", ["text", b"bytes", {"content": "x"}, 5, None])
def test_what_is_no_list_of_items_is_refused(memory: Memory, items: Any) -> None:
    before = everything(memory)
    with pytest.raises(InvalidInput) as caught:
        memory.add_many(items)
    assert caught.value.field == "items"
    assert everything(memory) == before


@pytest.mark.parametrize("item", [5, None, [], b"x", {}, {"text": "x"}, {5: 1, "content": "x"}])
def test_what_is_no_item_is_rejected(memory: Memory, item: Any) -> None:
    [outcome] = memory.add_many([item])
    assert outcome.outcome == "REJECTED"
    assert outcome.reason


def test_an_id_given_twice_is_taken_by_the_first(memory: Memory) -> None:
    result = memory.add_many([{"id": "x", "content": "1"}, {"id": "x", "content": "2"}])
    assert [item.outcome for item in result] == ["ADDED", "REJECTED"]
    record = memory.get("x")
    assert record is not None
    assert record.content == "1"
    memory.delete("x")


SENSIBLE: list[tuple[str, Any, Any]] = [  # argument, value, the stored value
    ("created_at", NOW + timedelta(days=3_650), NOW + timedelta(days=3_650)),
    ("created_at", 0, datetime(1970, 1, 1, tzinfo=timezone.utc)),
    ("created_at", "2026-05-31T14:00:00+02:00", datetime(2026, 5, 31, 12, tzinfo=timezone.utc)),
    ("created_at", " 2026-05-31 ", datetime(2026, 5, 31, tzinfo=timezone.utc)),
    ("importance", 0, 0.0),
    ("importance", np.float32(0.5), 0.5),
    ("importance", np.int64(1), 1.0),
    ("pinned", np.bool_(True), 1.0),
    ("created_at", np.int64(3_600), datetime(1970, 1, 1, 1, tzinfo=timezone.utc)),
    ("created_at", np.float32(3_600), datetime(1970, 1, 1, 1, tzinfo=timezone.utc)),
    ("metadata", {"n": np.int64(3), "l": [np.float32(0.5)]}, {"n": 3, "l": [0.5]}),
    ("metadata", {"b": np.bool_(False)}, {"b": False}),
    ("tags", "one", ("one",)),
    ("tags", ["b", "a", "b"], ("b", "a")),
    ("tags", {"b", "a", "c"}, ("a", "b", "c")),
    ("metadata", {"k": {"b", "a"}, "t": (1, 2)}, {"k": ["a", "b"], "t": [1, 2]}),
    ("metadata", {"at": NOW, "blank": " "}, {"at": "2026-03-01T00:00:00Z", "blank": " "}),
    ("metadata", {"big": 2**64 - 1, "low": -(2**63)}, {"big": 2**64 - 1, "low": -(2**63)}),
    ("title", None, None),
    ("kind", None, "note"),
]


@pytest.mark.parametrize(("argument", "value", "expected"), SENSIBLE, ids=label)
def test_a_sensible_value_is_kept(memory: Memory, argument: str, value: Any, expected: Any) -> None:
    id = memory.add("Fine words.", **{argument: value}).id
    record = memory.get(id)
    assert record is not None
    assert getattr(record, argument) == expected
    assert memory.search("Fine words.", profile="composite", filters={"id": id}).ids == (id,)
    memory.delete(id)


def test_times_of_pandas_are_taken_for_what_they_are(memory: Memory) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidInput, match="NaT, which is no time"):
        memory.add("Fine words.", created_at=pandas.NaT)
    id = memory.add("Fine words.", created_at=pandas.Timestamp("2026-01-01T00:00:00.123456789")).id
    record = memory.get(id)
    assert record is not None
    assert type(record.created_at) is datetime
    assert record.created_at == datetime(2026, 1, 1, 0, 0, 0, 123_456, timezone.utc)
    memory.delete(id)


def test_a_wrong_number_is_told_how_to_become_right(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="divide milliseconds by 1000"):
        memory.add("x", created_at=1_767_225_600_000)
    with pytest.raises(InvalidInput, match="make it text, a number, a list or a mapping"):
        memory.add("x", metadata={"k": object()})


def test_an_iterator_of_tags_is_kept(memory: Memory) -> None:
    id = memory.add("Fine words.", tags=(tag for tag in ["x", "y"])).id  # type: ignore[arg-type]
    record = memory.get(id)
    assert record is not None
    assert record.tags == ("x", "y")


def test_an_iterator_of_links_is_kept(memory: Memory) -> None:
    link = {"target": "taken", "type": "mentions"}
    linked = memory.add("A linked word.", links=iter([link])).id  # type: ignore[arg-type]
    assert memory.add("A linked word.", links=iter(())).id == linked  # type: ignore[arg-type]
    turns = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Two."}]
    turn_ids = memory.add(turns, links=iter([link])).ids  # type: ignore[arg-type]
    assert {end.source for end in memory.links("taken")} == {linked, *turn_ids}
    for id in (linked, *turn_ids):
        memory.delete(id)


@settings(max_examples=examples(200), deadline=None)
@given(content=st.text(st.characters(codec=None), max_size=60))
def test_any_text_is_kept_as_it_is_or_refused(memory: Memory, content: str) -> None:
    id = ""
    try:
        id = memory.add(content, title=content or None).id
    except InvalidInput as problem:
        refused = problem.field
    else:
        refused = ""
    lone = any("\ud800" <= character <= "\udfff" for character in content)
    assert refused == ("content" if not content.strip() or "\0" in content or lone else "")
    if refused:
        return
    record = memory.get(id)
    assert record is not None
    assert (record.content, record.title) == (content, content)
    memory.search(content)
    memory.delete(id)


def test_an_unknown_field_is_told_all_that_there_are() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        [rejected] = memory.add_many([{"content": "x", "colour": 1}]).rejected
        assert all(name in (rejected.reason or "").split("use ")[1] for name in ITEM_KEYS)
        with pytest.raises(InvalidInput) as refused:
            memory.get_all({"colour": 1})
        named = set(re.findall(r"\w+", refused.value.remedy))
        assert FIELD_TYPES.keys() - {"namespace", "accesses"} <= named

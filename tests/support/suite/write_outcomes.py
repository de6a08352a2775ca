"""The outcome of each item of a write, contradictions among them, and idempotency keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.retrieval.operations import FindByHash, NearestVectors, Op, Put
from salience.retrieval.plan import drive
from salience.testing.conformance._case import WORDS, Clock, StoreCase, get_record, list_ids
from salience.write.add import add
from salience.write.dedup import NO_DEDUP, DedupPolicy
from salience.write.outcomes import Added

FACT = "Ana keeps the spare key of the flat under the blue pot."


def outcome(memory: Memory, content: str, **fields: Any) -> Added:
    """The outcome of adding one text."""
    [added] = memory.add(content, **fields)
    return added


def told(memory: Memory, content: str, **fields: Any) -> Added:
    """The outcome of a fact."""
    return outcome(memory, content, kind="fact", **fields)


def meanwhile(
    memory: Memory, item: dict[str, Any], moment: type[Op], happens: Callable[[], object]
) -> Added:
    """The outcome of an item if `happens` is called right before an operation that follows."""
    batch, once = memory._core.dispatcher.batch, iter([True])
    judged = False

    def late(ops: Sequence[Op]) -> Sequence[Any]:
        nonlocal judged
        if judged and any(isinstance(op, moment) for op in ops) and next(once, False):
            happens()
        judged = judged or any(isinstance(op, FindByHash) and op.column == "text_key" for op in ops)
        return batch(ops)

    fields = {name: value for name, value in item.items() if name != "dedup"}
    policy = DedupPolicy.of(item.get("dedup"), memory._core.dedup)
    plan = add([fields], memory._core.write_context(), policy, strict=True)
    [added] = drive(plan, late)
    assert not next(once, False)  # the moment came
    return added


def before_put(
    memory: Memory, change: Callable[[Memory], Any]
) -> Callable[[Sequence[Op]], Sequence[Any]]:
    """A `batch` that calls `change` right before the first write."""
    batch, once = memory._core.dispatcher.batch, iter([True])

    def answers(ops: Sequence[Op]) -> Sequence[Any]:
        if any(isinstance(op, Put) for op in ops) and next(once, False):
            change(memory)
        return batch(ops)

    return answers


class WriteOutcomes(StoreCase):
    """Duplicates, merges, conflicts, superseding, loops."""

    def test_the_same_text_is_known(self, memory: Memory, clock: Clock) -> None:
        first = memory.add(FACT, importance=0.4).id
        at = clock.pass_(days=1)
        again = outcome(memory, f"  {FACT.upper()} ", importance=0.9)
        assert (again.outcome, again.id, again.match) == ("DUPLICATE", first, first)
        assert memory.add(FACT, importance=0.1).id == first
        assert memory.add(FACT).ids == ()
        record = get_record(memory, first)
        assert (record.importance, record.access_count, record.last_accessed) == (0.9, 3, at)
        assert memory.get_all().total == 1

    @pytest.mark.parametrize(
        ("first", "again", "effective"),
        [(None, 0.3, 0.5), (None, 0.8, 0.8), (0.3, None, 0.5), (0.8, None, 0.8), (0.2, 0.3, 0.3)],
    )
    @pytest.mark.parametrize("together", [False, True])
    def test_importance_is_the_maximum_where_unset_counts_as_half(
        self,
        memory: Memory,
        first: float | None,
        again: float | None,
        effective: float,
        together: bool,
    ) -> None:
        items = [{"content": FACT, "importance": first}, {"content": FACT, "importance": again}]
        for batch in [items] if together else [[item] for item in items]:
            memory.add_many(batch)
        [record] = memory.get_all()
        assert record.effective_importance == effective

    def test_it_is_known_of_its_owner_alone(self, memory: Memory) -> None:
        memory.add(FACT)
        for owner in ({"agent_id": "b"}, {"user_id": "u"}, {"speaker": "Ben"}):
            assert outcome(memory, FACT, **owner).outcome == "ADDED"
            assert outcome(memory, FACT, **owner).outcome == "DUPLICATE"
        assert outcome(memory.for_namespace("other"), FACT).outcome == "ADDED"

    def test_what_is_not_active_does_not_count(self, memory: Memory) -> None:
        first = memory.add(FACT).id
        memory.update(first, status="archived")
        assert outcome(memory, FACT).outcome == "ADDED"

    def test_turns_are_no_facts(self, memory: Memory) -> None:
        memory.add("Yes, exactly!")
        turns = [{"role": "user", "content": "Yes, exactly!"}] * 3
        assert {one.outcome for one in memory.add(turns, dedup=True)} == {"ADDED"}
        assert outcome(memory, "Yes, exactly!", session_id="s").outcome == "ADDED"
        for _ in range(2):
            assert outcome(memory, "Yes, exactly!", kind="turn").outcome == "ADDED"
        assert outcome(memory, "Yes, exactly!").outcome == "DUPLICATE"

    def test_an_id_of_its_own_makes_a_memory_of_its_own(self, memory: Memory) -> None:
        memory.add(FACT, id="a")
        assert outcome(memory, FACT, id="b").outcome == "ADDED"
        assert outcome(memory, FACT, id="c", dedup=True).outcome == "DUPLICATE"
        assert outcome(memory, FACT, dedup=False).outcome == "ADDED"

    def test_the_same_in_other_words_is_known(self, memory: Memory) -> None:
        first = memory.add(FACT).id
        again = outcome(memory, "Under the blue pot Ana keeps the spare key of the flat.")
        assert (again.outcome, again.match) == ("DUPLICATE", first)
        assert again.similarity is not None
        assert again.similarity >= 0.92
        assert outcome(memory, "Under the blue pot grows moss.").outcome == "ADDED"

    def test_what_says_more_is_merged(self, memory: Memory, clock: Clock) -> None:
        first = memory.add(FACT, tags=["home"]).id
        clock.pass_(days=1)
        longer = f"{FACT} She painted it herself."
        merged = outcome(memory, longer, tags=["keys"], dedup=0.6)
        assert (merged.outcome, merged.id) == ("MERGED", first)
        assert get_record(memory, first).content == longer
        assert get_record(memory, first).tags == ("home", "keys")
        assert memory.history(first).versions[0].record.content == FACT
        assert memory.get_all().total == 1

    @pytest.mark.parametrize(
        ("old", "new", "what"),
        [
            ("The meeting of the whole team is at 9.", "The meeting of the whole team is at 10.",
             "number"),
            ("Ana has two big old cats at home.", "Ana has three big old cats at home.", "number"),
            ("The tax office wants the form in May.", "The tax office wants the form in June.",
             "date"),
            ("The dentist called about it on Monday.", "The dentist called about it on Friday.",
             "date"),
            ("For now my sister Mira works at Google.", "For now my sister Mira works at Siemens.",
             "name"),
            ("The user is allergic to penicillin.", "The user is not allergic to penicillin.",
             "negation"),
            ("The user prefers tea in the evening.", "The user prefers wine in the evening.",
             "word"),
        ],
    )  # fmt: skip
    def test_what_says_otherwise_is_kept_and_told(
        self, memory: Memory, old: str, new: str, what: str
    ) -> None:
        first = memory.add(old).id
        added = outcome(memory, new, dedup=0.6)
        assert (added.outcome, added.match) == ("CONFLICTS", first)
        assert what in added.reason
        assert added.id is not None
        assert get_record(memory, added.id).content == new
        assert get_record(memory, first).status == "active"

    def test_superseding_is_done_when_asked_for(self, memory: Memory, clock: Clock) -> None:
        memory.add("Ana works at Google.", id="old")
        moved = clock.pass_(days=9)
        added = outcome(memory, "Ana works at Siemens.", id="new", supersedes="old")
        assert (added.outcome, added.match) == ("SUPERSEDES", "old")
        assert (get_record(memory, "old").status, get_record(memory, "old").valid_to) == (
            "superseded",
            moved,
        )
        with pytest.raises(InvalidInput, match="supersedes: there is no memory 'nobody'"):
            memory.add("Ana works.", supersedes="nobody")
        result = memory.add_many([{"content": "Ana works.", "supersedes": "nobody"}])
        assert [one.outcome for one in result] == ["REJECTED"]

    def test_what_is_erased_before_it_is_superseded_is_told(self, memory: Memory) -> None:
        memory.add("Ana lives in Porto.", id="old")
        items = [{"content": "Ana lives in Lisbon.", "supersedes": "old"}, "Tea is green."]
        erasing = before_put(memory, lambda space: space.delete("old"))
        scope = memory._core.write_context()
        with pytest.raises(InvalidInput, match="supersedes"):
            drive(add(items, scope, NO_DEDUP, strict=True), erasing)
        assert not memory.get_all()
        memory.add("Ana lives in Porto.", id="old")
        erasing = before_put(memory, lambda space: space.delete("old"))
        result = drive(add(items, scope, NO_DEDUP, strict=False), erasing)
        assert [one.outcome for one in result] == ["REJECTED", "ADDED"]
        assert {one.content for one in memory.get_all()} == {items[1]}

    def test_items_of_one_write_are_held_against_each_other(self, memory: Memory) -> None:
        other = "Under the blue pot Ana keeps the spare key of the flat."
        result = memory.add_many([FACT, "Ben plays the cello.", FACT, other, {"content": " "}])
        assert [one.outcome for one in result] == [
            "ADDED",
            "ADDED",
            "DUPLICATE",
            "DUPLICATE",
            "REJECTED",
        ]
        first = result.ids[0]
        assert [one.match for one in result.items[2:4]] == [first, first]
        assert len(result.ids) == 2
        assert get_record(memory, first).access_count == 2

    @pytest.mark.parametrize(
        "other", [{}, {"content": f"{FACT} She painted it herself.", "dedup": 0.6}], ids=str
    )
    def test_what_is_strengthened_keeps_what_others_changed_just_then(
        self, memory: Memory, other: dict[str, Any]
    ) -> None:
        for moment in (NearestVectors, Put):
            fact = {"content": FACT, "tags": ["a"], "metadata": {"v": 1}}
            memory.add_many([{"id": "known", **fact}])
            change = {"metadata": {"v": 2, "w": 2}, "tags": ["a", "checked"]}
            added = meanwhile(
                memory,
                {**fact, "tags": ["b"], "metadata": {"v": 0, "x": 3}, **other},
                moment,
                lambda: memory.update("known", **change),  # noqa: B023
            )
            assert (added.outcome, added.id) == ("MERGED" if other else "DUPLICATE", "known")
            record = get_record(memory, "known")
            assert record.content == other.get("content", FACT)
            assert set(record.tags) >= {"a", "checked"}
            assert {**record.metadata, "x": 3} == {"v": 2, "w": 2, "x": 3}
            assert memory.upkeep.verify()
            memory.delete("known")

    @pytest.mark.parametrize("gains", [{}, {"tags": ["b"]}], ids=str)
    @pytest.mark.parametrize("how", ["erased", "rewritten", "archived"])
    def test_what_was_known_a_moment_ago_is_no_duplicate(
        self, memory: Memory, how: str, gains: dict[str, Any]
    ) -> None:
        memory.add(FACT, id="known")
        happens: dict[str, Callable[[], object]] = {
            "erased": lambda: memory.delete("known"),
            "rewritten": lambda: memory.update("known", content="The boiler needs a repair."),
            "archived": lambda: memory.update("known", status="archived"),
        }
        added = meanwhile(memory, {"content": FACT, **gains}, Put, happens[how])
        assert added.outcome == "ADDED"
        assert get_record(memory, str(added.id)).content == FACT

    @pytest.mark.parametrize("there", [True, False])
    def test_what_items_of_one_write_bring_is_united(self, memory: Memory, there: bool) -> None:
        first: dict[str, Any] = {"content": FACT, "importance": 0.3, "metadata": {"x": 1}}
        items: list[dict[str, Any]] = [
            {"content": FACT, "importance": 0.9, "tags": ["a"], "metadata": {"x": 2, "y": 2}},
            {"content": FACT, "importance": 0.5, "tags": ["b"], "metadata": {"y": 3, "z": 3}},
            {"content": "Under the blue pot Ana keeps the spare key of the flat.", "tags": ["c"]},
        ]
        if there:
            memory.add_many([first])
        result = memory.add_many(items if there else [first, *items])
        assert [one.outcome for one in result][-3:] == ["DUPLICATE"] * 3
        record = get_record(memory, result.id)
        assert (record.importance, record.tags) == (0.9, ("a", "b", "c"))
        assert record.metadata == {"x": 1, "y": 2, "z": 3}
        assert (record.content, record.access_count) == (FACT, 3)

    @pytest.mark.parametrize("there", [True, False])
    def test_items_are_held_against_what_those_before_them_merged(
        self, memory: Memory, there: bool
    ) -> None:
        fact = "Ana drinks green tea every morning at home before work starts."
        items = [f"{fact} With honey.", f"{fact} With milk.", f"{fact} With honey.", fact]
        if not there:
            items = [fact, *items]
        outcomes, texts = [], []
        for space in (memory.for_namespace("together"), memory.for_namespace("singly")):
            if there:
                space.add(fact)
            if space.namespace == "singly":
                outcomes.append([outcome(space, text, dedup=0.85).outcome for text in items])
            else:
                outcomes.append([one.outcome for one in space.add_many(items, dedup=0.85)])
            texts.append({each.content for each in space.get_all()})
        assert outcomes[0] == outcomes[1]
        assert outcomes[0][-4:] == ["MERGED", "CONFLICTS", "DUPLICATE", "ADDED"]
        assert texts == [{fact, *items[-4:-2]}] * 2

    def test_items_with_the_same_id_are_judged_by_their_own_texts(self, memory: Memory) -> None:
        memory.add("The sky is blue.", id="sky")
        result = memory.add_many(
            [
                {"id": "a", "content": "Tea is green."},
                {"id": "a", "content": "The sky is blue."},
                {"id": "a", "content": "Snow is white.", "supersedes": "sky"},
                {"id": "sky", "content": "Grass is high."},
                {"content": "Grass is high."},
                {"content": "Snow is white."},
                {"content": "Tea is green."},
            ],
            dedup=True,
        )
        outcomes = ["ADDED", "DUPLICATE", "REJECTED", "REJECTED", "ADDED", "ADDED", "DUPLICATE"]
        assert [one.outcome for one in result] == outcomes
        assert [one.match for one in result if one.outcome == "DUPLICATE"] == ["sky", "a"]
        assert get_record(memory, "a").content == "Tea is green."
        assert get_record(memory, "sky").status == "active"
        assert memory.get_all().total == 4

    def test_what_an_item_supersedes_is_known_no_more_to_those_after_it(
        self, memory: Memory
    ) -> None:
        memory.add("Ana works at Google.", id="old")
        items = [
            {"content": "Ana is at Siemens now.", "supersedes": "old"},
            {"content": "Ana works at Google."},
        ]
        result = memory.add_many(items)
        assert [one.outcome for one in result] == ["SUPERSEDES", "ADDED"]
        assert get_record(memory, result.ids[1]).status == "active"

    @pytest.mark.parametrize("dedup", [True, None])
    def test_an_item_may_supersede_one_before_it(self, memory: Memory, dedup: bool | None) -> None:
        items = [
            {"id": "first", "content": "Ana works at Google."},
            {"id": "then", "content": "Ana is at Siemens now.", "supersedes": "first"},
            {"id": "now", "content": "Ana has left for Bosch.", "supersedes": "then"},
            {"id": "before", "content": "Ana went to school.", "supersedes": "after"},
            {"id": "after", "content": "Ana studied in Delft."},
        ]
        result = memory.add_many(items, dedup=dedup)
        outcomes = ["ADDED", "SUPERSEDES", "SUPERSEDES", "REJECTED", "ADDED"]
        assert [one.outcome for one in result] == outcomes
        statuses = {one.id: one.status for one in memory.get_all()}
        assert statuses == {
            "first": "superseded", "then": "superseded", "now": "active", "after": "active",
        }  # fmt: skip
        links = {(one.source, one.type, one.target) for one in memory.links()}
        assert links == {("then", "supersedes", "first"), ("now", "supersedes", "then")}

    def test_an_item_stands_alone_if_that_before_it_was_not_added(self, memory: Memory) -> None:
        memory.add("Ana works at Google.", id="known")
        items = [
            {"id": "first", "content": "Ana works at Google."},
            {"id": "then", "content": "Ana is at Siemens now.", "supersedes": "first"},
        ]
        result = memory.add_many(items, dedup=True)
        assert [one.outcome for one in result] == ["DUPLICATE", "ADDED"]
        assert "was not added" in result.items[1].reason
        assert {one.status for one in memory.get_all()} == {"active"}

    def test_words_alone_are_enough(self, memory: Memory) -> None:
        with self.open_memory(embedder=None) as plain:
            wordless = plain.for_namespace("plain")
            assert outcome(wordless, FACT).outcome == "ADDED"
            assert outcome(wordless, FACT).outcome == "DUPLICATE"

    def test_what_was_just_recalled_is_refused(self, memory: Memory, clock: Clock) -> None:
        first = memory.add(FACT).id
        memory.add("The neighbour waters the plants on the balcony when Ana is away.")
        clock.pass_(minutes=1)
        memory.search("spare key", profile=WORDS)
        memory.search("neighbour plants", profile=WORDS)
        clock.pass_(minutes=1)
        uses = get_record(memory, first).access_count
        refused = outcome(memory, FACT)
        assert (refused.outcome, refused.match) == ("LOOP", first)
        assert get_record(memory, first).access_count == uses
        both = (
            f"[m:{first[:6]}] {FACT} [m:abc] The neighbour waters the plants on the balcony when "
            "Ana is away."
        )
        assert outcome(memory, both).outcome == "LOOP"
        assert outcome(memory, f"{FACT} And under the red pot there are tools.").outcome != "LOOP"
        assert outcome(memory, FACT, session_id="talk").outcome == "ADDED"
        clock.pass_(minutes=30)
        assert outcome(memory, FACT).outcome == "DUPLICATE"

    def test_references_that_never_end_are_read_once(self, memory: Memory) -> None:
        memory.add(FACT)
        memory.search("spare key", profile=WORDS)
        assert outcome(memory, "[m:" * 100_000).outcome == "ADDED"  # minutes, if read from each "["
        assert outcome(memory, f"[m:[m:1f3a9c02] {FACT} [m:1f3a~2]").outcome == "LOOP"

    def test_settings_are_checked(self, memory: Memory) -> None:
        for wrong in (0, -1, 2, "yes", float("nan")):
            with pytest.raises(InvalidInput) as caught:
                memory.add(FACT, dedup=wrong)  # type: ignore[arg-type]
            assert caught.value.field == "dedup"
        assert list_ids(memory) == []


class IdempotencyKeys(StoreCase):
    """Idempotency keys."""

    def test_the_same_key_gives_the_first_outcome(self, memory: Memory) -> None:
        first = outcome(memory, FACT, idempotency_key="k1")
        again = outcome(memory, FACT, idempotency_key="k1")
        assert (first.outcome, again.outcome, again.id) == ("ADDED", "ADDED", first.id)
        assert "idempotency_key" in again.reason
        duplicate = outcome(memory, FACT, idempotency_key="k2")
        repeated = outcome(memory, FACT, idempotency_key="k2")
        assert (duplicate.outcome, repeated.outcome) == ("DUPLICATE", "DUPLICATE")
        assert duplicate.match == repeated.match == first.id
        assert memory.get_all().total == 1
        assert get_record(memory, str(first.id)).access_count == 1  # for k2, once
        assert outcome(memory.for_namespace("other"), "Else.", idempotency_key="k1").id != first.id

    def test_a_key_that_comes_with_something_else_is_refused(self, memory: Memory) -> None:
        first: dict[str, Any] = {"content": FACT, "tags": ["home"], "created_at": "2026-01-01"}
        memory.add(**first, idempotency_key="k")
        same = {**first, "created_at": datetime(2026, 1, 1, tzinfo=timezone.utc)}
        assert outcome(memory, **same, idempotency_key="k").reason
        others = ({"content": "Else."}, {"tags": ["work"]}, {"title": "x"}, {"supersedes": "y"})
        for other in others:
            with pytest.raises(InvalidInput) as caught:
                memory.add(**first | other, idempotency_key="k")
            assert caught.value.field == "idempotency_key"
            [refused] = memory.add_many([first | other | {"idempotency_key": "k"}])
            assert (refused.outcome, "idempotency_key" in refused.reason) == ("REJECTED", True)
        twice = [{"content": text, "idempotency_key": "two"} for text in ("One.", "Two.", "One.")]
        results = [item.outcome for item in memory.add_many(twice)]
        assert results == ["ADDED", "REJECTED", "ADDED"]
        assert sorted(record.content for record in memory.get_all()) == sorted(["One.", FACT])

    def test_many_items_are_kept_once_by_their_key(self, memory: Memory) -> None:
        items: list[Any] = ["One.", {"content": "Two.", "tags": {"b", "a", "c"}}, {"content": ""}]
        first = memory.add_many(items, idempotency_key="k" * 512)
        assert memory.add_many(items, idempotency_key="k" * 512).ids == first.ids
        for other in (items[:1], items[1:], [*items, "Four."], ["Else.", *items[1:]]):
            with pytest.raises(InvalidInput, match="something else"):
                memory.add_many(other, idempotency_key="k" * 512)
        assert [record.content for record in memory.get_all(order="oldest")] == ["One.", "Two."]

    def test_a_key_that_comes_with_another_chat_is_refused(self, memory: Memory) -> None:
        turns = [{"role": "user", "content": text} for text in ("Hello.", "Bye.", "Wait.")]
        memory.add(turns[:2], idempotency_key="talk")
        for other in (turns, turns[:1], turns[1:], [turns[1], turns[0]]):
            with pytest.raises(InvalidInput, match="something else"):
                memory.add(other, idempotency_key="talk")
        assert len(memory) == 2

    @pytest.mark.parametrize("mode", ["chunks", "hybrid"])
    def test_a_chat_that_goes_on_goes_on_once(self, memory: Memory, mode: str) -> None:
        roles = ("user", "assistant", "user", "assistant", "user")
        turns = [{"role": role, "content": f"Words {n}."} for n, role in enumerate(roles)]
        parts = (turns[:1], turns[1:2], turns[2:5])
        for number, part in enumerate(parts):
            first, again = (
                memory.add_chat(part, session_id="s", mode=mode, idempotency_key=f"k{number}")
                for _ in range(2)
            )
            assert sorted(again.ids) == sorted(first.ids)
            with pytest.raises(InvalidInput, match="something else"):
                memory.add_chat(turns, session_id="s", mode=mode, idempotency_key=f"k{number}")
        memory.for_namespace("whole").add_chat(turns, session_id="s", mode=mode)
        contents = [
            sorted(record.content for record in space.get_all())
            for space in (memory, memory.for_namespace("whole"))
        ]
        assert contents[0] == contents[1]

    def test_the_same_key_names_the_same_memories_again(self, memory: Memory) -> None:
        memory.add("Ana lives in Porto.", kind="fact", id="old")
        for id, options in (("other", {}), ("new", {"supersedes": "old"})):
            first, again = (
                outcome(
                    memory, "Ana moved to Faro.", kind="fact", id=id, idempotency_key=id, **options
                )
                for _ in range(2)
            )
            assert again == replace(first, reason=again.reason)
            assert (again.match, again.remedy) == ("old", first.remedy)
            assert (first.remedy is None) == bool(options)

    def test_a_write_that_broke_off_has_done_nothing_and_its_key_is_free(
        self, memory: Memory
    ) -> None:
        memory.add("Ana lives in Porto.", id="old")
        options: dict[str, Any] = {"id": "new", "supersedes": "old", "idempotency_key": "move"}
        batch, once = memory._core.dispatcher.batch, iter([True])

        def breaks_off(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, Put) and op.also for op in ops) and next(once, False):
                raise KeyboardInterrupt
            return batch(ops)

        items = [{"content": "Ana lives in Lisbon.", **options}]
        plan = add(items, memory._core.write_context(), memory._core.dedup, strict=True)
        with pytest.raises(KeyboardInterrupt):
            drive(plan, breaks_off)
        assert memory.get("new") is None
        assert get_record(memory, "old").status == "active"
        for _ in range(2):
            again = memory.add("Ana lives in Lisbon.", **options)
            assert (again.items[0].outcome, again.items[0].id) == ("SUPERSEDES", "new")
            assert get_record(memory, "old").status == "superseded"

    def test_a_key_used_again_supersedes_nothing_that_its_first_write_did_not(
        self, memory: Memory
    ) -> None:
        memory.add("Ana lives in Porto.", id="other")
        memory.add("Tea is green.", id="first", idempotency_key="once")
        with pytest.raises(InvalidInput, match="something else"):
            memory.add("Tea is green.", supersedes="other", idempotency_key="once")
        assert get_record(memory, "other").status == "active"

    def test_who_comes_second_with_a_key_gets_the_first_outcome(self, memory: Memory) -> None:
        items = ["Ben plays the cello.", {"content": FACT, "idempotency_key": "mail"}]
        first: list[Added] = []

        def meanwhile(space: Memory) -> None:
            first.append(outcome(space, FACT, idempotency_key="mail"))

        for strict in (True, False):
            space = memory.for_namespace(f"strict {strict}")
            plan = add(items, space._core.write_context(), NO_DEDUP, strict=strict)
            result = drive(plan, before_put(space, meanwhile))
            assert [one.outcome for one in result] == ["ADDED", "ADDED"]
            assert (result.ids[1], "idempotency_key" in result.items[1].reason) == (
                first[-1].id,
                True,
            )
            assert {one.content for one in space.get_all()} == {items[0], FACT}
        memory.add("Tea is green.", id="tea")
        with pytest.raises(InvalidInput, match="taken"):
            memory.add("Tea is black.", id="tea", idempotency_key="tea")

    @pytest.mark.parametrize("many", [True, False])
    def test_a_key_gives_its_first_outcome_when_what_it_superseded_is_erased(
        self, memory: Memory, many: bool
    ) -> None:
        memory.add("Ana lives in Porto.", id="old")
        options: dict[str, Any] = {"supersedes": "old", "idempotency_key": "move"}
        first = outcome(memory, "Ana lives in Lisbon.", **options)
        memory.delete("old")
        if many:
            [again] = memory.add_many([{"content": "Ana lives in Lisbon.", **options}])
        else:
            again = outcome(memory, "Ana lives in Lisbon.", **options)
        assert (again.outcome, again.id) == ("SUPERSEDES", first.id)
        assert memory.get_all().total == 1

    def test_keys_hold_within_a_write_and_for_messages(self, memory: Memory) -> None:
        items = [{"content": f"text {i % 2}", "idempotency_key": f"k{i % 2}"} for i in range(4)]
        result = memory.add_many(items)
        assert len({one.id for one in result}) == 2
        assert len(result.ids) == 4
        assert memory.get_all().total == 2
        turns = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
        added = memory.add(turns, idempotency_key="talk")
        assert memory.add(turns, idempotency_key="talk").ids == added.ids
        assert memory.get_all().total == 4

    def test_a_key_with_an_id(self, memory: Memory) -> None:
        memory.add(FACT, id="a", idempotency_key="k")
        assert outcome(memory, FACT, id="a", idempotency_key="k").outcome == "ADDED"
        with pytest.raises(InvalidInput, match="taken"):
            memory.add(FACT, id="a", idempotency_key="other")

    def test_a_key_is_free_again_after_its_memory_was_erased(self, memory: Memory) -> None:
        first = memory.add(FACT, idempotency_key="k").id
        memory.delete(first)
        assert outcome(memory, FACT, idempotency_key="k").id != first


class Contradictions(StoreCase):
    """The outcome CONFLICTS of facts that rules read."""

    def test_a_fact_with_another_value_conflicts_until_that_is_settled(
        self, memory: Memory
    ) -> None:
        old = told(memory, "Ana lives in Berlin.").id
        new = told(memory, "Ana has moved to Lisbon.")
        assert old is not None
        assert new.id is not None
        assert (new.outcome, new.match, new.settled_by) == ("CONFLICTS", old, (old, new.id))
        assert new.remedy == f'memory.supersede("{old}", "{new.id}")'
        assert "Ana lives in Berlin." in new.reason
        assert told(memory, "Ana lives in Lisbon now.").outcome != "CONFLICTS"
        memory.supersede(old, new.id)
        assert [r.content for r in memory.get_all({"status": "superseded"})] == [
            "Ana lives in Berlin."
        ]
        again = told(memory, "Ana lives in Faro.")
        assert again.outcome == "CONFLICTS"
        assert again.match != old

    def test_only_a_supersession_is_told_as_one(self, memory: Memory) -> None:
        old = told(memory, "The meeting is on Tuesday.").id
        assert told(memory, "The meeting is on Friday.").outcome == "CONFLICTS"
        superseding = told(memory, "The meeting is on Monday.", supersedes=old)
        assert (superseding.outcome, superseding.settled_by) == ("SUPERSEDES", None)

    def test_the_fact_that_began_later_settles_a_conflict(self, memory: Memory) -> None:
        now = told(memory, "I live in Rome.", created_at="2025-05-01").id
        before = told(memory, "I live in Bari.", created_at="2020-05-01")
        assert (before.outcome, before.settled_by) == ("CONFLICTS", (before.id, now))

    def test_facts_of_other_times_and_other_owners_are_left_alone(self, memory: Memory) -> None:
        told(memory, "Ana lives in Rome.", valid_to="2024-01-01", user_id="u")
        assert (
            told(memory, "Ana lives in Bari.", valid_from="2024-01-01", user_id="u").match is None
        )
        assert told(memory, "Ana lives in Nice.", user_id="v").match is None
        assert told(memory, "Ana lives in Lyon.", session_id="s").match is None
        assert told(memory, "Ana lives in Metz.", user_id="u").outcome == "CONFLICTS"

    def test_facts_of_one_write_and_facts_with_ids_are_compared(self, memory: Memory) -> None:
        facts = ("I eat fish.", "I don't eat fish.", "My age is 40.", "My age is 41.")
        result = memory.add_many(
            {"id": f"f{place}", "content": content, "kind": "fact"}
            for place, content in enumerate(facts)
        )
        assert [(item.outcome, item.match) for item in result] == [
            ("ADDED", None),
            ("CONFLICTS", "f0"),
            ("ADDED", None),
            ("CONFLICTS", "f2"),
        ]
        assert told(memory, "My age is 42.", id="f9").match == "f3"

    def test_edits_and_erasures_count(self, memory: Memory) -> None:
        id = told(memory, "My car is a Fiat.").id
        assert id is not None
        memory.update(id, content="My car is a Volvo.")
        memory.upkeep.flush()
        assert told(memory, "My car is a Volvo").outcome == "DUPLICATE"
        memory.update(id, kind="note")
        first = told(memory, "My car is a Seat.")
        assert first.outcome == "ADDED"
        memory.delete(first.id or "")
        assert told(memory, "My car is a Dacia.").outcome == "ADDED"

    @pytest.mark.parametrize("keys", [(), (1, 2, 3)])
    def test_attributes_that_nobody_states_have_no_rows(
        self, memory: Memory, keys: tuple[int, ...]
    ) -> None:
        told(memory, "I live in Rome.")
        [rows] = memory._core.dispatcher.batch(
            [FindByHash(memory.namespace, "attribute_key", keys)]
        )
        assert rows == {}

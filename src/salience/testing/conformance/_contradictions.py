"""Facts that give another value to an attribute of one subject are noticed on every store."""

from __future__ import annotations

from typing import Any

import pytest

from salience import Memory
from salience.retrieval.operations import FindByAttribute
from salience.testing.conformance._case import StoreCase
from salience.write.outcomes import Added


def told(memory: Memory, content: str, **fields: Any) -> Added:
    """The outcome of a fact."""
    [outcome] = memory.add(content, kind="fact", **fields)
    return outcome


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
        memory.flush()
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
        [rows] = memory._core.dispatcher.batch([FindByAttribute(memory.namespace, keys)])
        assert rows == {}

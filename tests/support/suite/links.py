"""Pending links, notes, and the utility that spreads along links."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput, NotFound
from salience.lifecycle.spreading_boost import spread_boost
from salience.lifecycle.zone_history import ZONE_ORDER
from salience.ranking.explanation import Explanation
from salience.records.events import Event
from salience.records.record import Draft
from salience.retrieval import operations
from salience.retrieval.plan import drive
from salience.testing.conformance._case import Clock, StoreCase, get_record, perform
from salience.write.judgments import use_events
from support.suite.events import events, types_and_ids


def ends(memory: Memory) -> list[tuple[str, str]]:
    """The links as (source, target)."""
    return [(link.source, link.target) for link in memory.links()]


def found(explanation: Explanation | None) -> Iterator[tuple[str, float]]:
    """The values of an explanation by label."""
    for node in explanation or ():
        yield node.label, node.value


class PendingLinks(StoreCase):
    """Links by name, and links whose target does not exist yet."""

    def test_a_neighbourhood_has_what_links_lead_to_and_says_what_it_left_out(
        self, memory: Memory
    ) -> None:
        for id in "abcdef":
            links = [{"target": "nobody", "type": "mentions"}] if id == "a" else []
            memory.add(f"about {id}", id=id, entities=["Ana"] if id in "ab" else [], links=links)
        for source, target, type in (
            ("a", "b", "mentions"),
            ("c", "a", "supports"),
            ("b", "c", "contradicts"),
            ("c", "d", "mentions"),
            ("d", "e", "mentions"),
            ("e", "f", "mentions"),
        ):
            memory.link(source, target, type)
        graph = memory.inspect.graph("a")
        assert [(node.id, node.steps) for node in graph.nodes] == [("a", 0), ("b", 1), ("c", 1)]
        pairs = {(each.source, each.target) for each in graph.edges}
        assert pairs == {("a", "b"), ("c", "a"), ("b", "c")}
        assert {n.id: (n.degree, n.left_out) for n in graph.nodes} == {
            "a": (3, 1),
            "b": (2, 0),
            "c": (3, 1),
        }
        alive = {one.id: one for one in memory.inspect.zones()}
        assert all(n.zone == alive[n.id].zone for n in graph.nodes)
        assert all(n.bridge == alive[n.id].bridge for n in graph.nodes)
        far = memory.inspect.graph("a", depth=3)
        assert [(n.id, n.steps) for n in far.nodes][3:] == [("d", 2), ("e", 3)]
        assert [n.id for n in memory.inspect.graph("a", depth=3, types=["supports"]).nodes] == [
            "a",
            "c",
        ]
        small = memory.inspect.graph("a", depth=3, limit=2)
        assert (len(small.nodes), len(small.edges)) == (2, 1)
        with_names = memory.inspect.graph("a", entities=True)
        named = with_names.nodes[-1]
        assert (named.id, named.kind, named.degree, named.left_out) == ("Ana", "entity", 2, 0)
        to_names = [edge for edge in with_names.edges if edge.type == "entity"]
        assert with_names.edges[: -len(to_names)] == graph.edges
        about = memory.get_many([n.id for n in graph.nodes])
        naming = [each.id for each in about if each is not None and "Ana" in each.entities]
        assert [e.source for e in to_names if e.target == "Ana"] == naming
        assert named.steps == 1 + min(n.steps for n in graph.nodes if n.id in naming)
        few = memory.inspect.graph("a", entities=True, limit=len(graph.edges) + 1)
        assert len(few.edges) <= len(graph.edges) + 1
        with pytest.raises(NotFound):
            memory.inspect.graph("nobody")
        mistakes: dict[str, Any] = {"depth": 4, "limit": 501, "types": ["likes"]}
        for name, value in mistakes.items():
            with pytest.raises(InvalidInput, match=name):
                memory.inspect.graph("a", **{name: value})

    def test_a_link_to_nothing_is_pending_until_there_is_such_an_id(self, memory: Memory) -> None:
        result = memory.add("x", id="a", links=[{"target": "b", "type": "mentions"}])
        assert [link.target for link in result.pending] == ["b"]
        assert memory.links(pending=True) == list(result.pending)
        memory.add("left", id="left", links=[{"target": "a", "type": "mentions"}])
        assert memory.inspect.zones().protected == 0.0
        assert memory.add("y", id="b").pending == ()
        assert memory.links(pending=True) == []
        assert ends(memory) == [("a", "b"), ("left", "a")]
        assert memory.inspect.zones().protected == pytest.approx(
            1 / 3
        )  # a is between the other two

    def test_a_link_by_name_leads_to_the_title_or_alias(self, memory: Memory) -> None:
        memory.add("x", id="a", title="Project Atlas", metadata={"aliases": ["The Map"]})
        for id, target in (("1", "project-atlas"), ("2", "Project Atlas"), ("3", "the-map")):
            links = [{"target": target, "type": "mentions"}]
            assert memory.add("y", id=id, links=links).pending == ()
        assert ends(memory) == [("1", "a"), ("2", "a"), ("3", "a")]

    @pytest.mark.parametrize(
        "change", [{"title": "Project Atlas"}, {"metadata": {"aliases": ["Project Atlas"]}}]
    )
    def test_a_link_by_name_finds_who_comes_to_have_it(
        self, memory: Memory, clock: Clock, change: dict[str, Any]
    ) -> None:
        links = [{"target": "project-atlas", "type": "supports", "weight": 0.5}]
        assert len(memory.add("x", id="a", links=links).pending) == 1
        memory.add("y", id="b")
        memory.add("z", id="c", title="Other")
        later = clock.pass_(days=1)
        memory.update("b", **change)
        [link] = memory.links()
        assert (link.source, link.target, link.type, link.weight) == ("a", "b", "supports", 0.5)
        assert link.created_at == later  # when it came to lead there
        memory.add("w", id="d", title="Project Atlas")  # it leads somewhere already
        assert ends(memory) == [("a", "b")]

    def test_a_replacement_takes_the_links_that_came_with_the_contents(
        self, memory: Memory, clock: Clock
    ) -> None:
        links = [{"target": name, "type": "mentions"} for name in ("b", "Later", "Never")]
        memory.add_many([{"content": "x", "id": "a", "links": links}, {"content": "y", "id": "b"}])
        memory.link("a", "b", "supports")  # made otherwise, so it stays
        late = clock.pass_(days=1)
        memory.add("z", id="c", title="Later")  # a pending link finds it, and still is the item's
        assert ends(memory) == [("a", "Never"), ("a", "b"), ("a", "b"), ("a", "c")]
        clock.pass_(days=1)
        item: dict[str, Any] = {"content": "x", "id": "a"}
        [same] = memory.add_many([item], on_conflict="update")
        assert (same.outcome, len(memory.links("a"))) == ("SKIPPED", 4)  # it says nothing of links
        links = [{"target": "Later", "type": "mentions"}]
        memory.add_many([{**item, "links": links}], on_conflict="update")
        memory.add_many([item], on_conflict="replace")
        [done] = memory.add_many([item], on_conflict="replace")
        assert done.outcome == "SKIPPED"
        assert [(link.target, link.type) for link in memory.links("a")] == [("b", "supports")]
        assert len(memory.links("a", as_of=late)) == 4
        removed = [e for e in events(memory, "a") if e.type == "link" and not e.payload["weight"]]
        assert {e.payload["target"] for e in removed} == {"b", "c", "Later", "Never"}
        assert memory.upkeep.verify()

    def test_a_link_to_a_name_that_comes_as_its_memory_loses_it_is_gone(
        self, memory: Memory
    ) -> None:
        memory.add("x", id="a", links=[{"target": "Later", "type": "mentions"}])
        items = [{"content": "w", "id": "a"}, {"content": "z", "id": "c", "title": "Later"}]
        memory.add_many(items, on_conflict="replace")
        assert ends(memory) == []

    def test_an_update_changes_what_an_item_gives_and_leaves_the_rest(self, memory: Memory) -> None:
        given: dict[str, Any] = {
            "speaker": "Ana",
            "tags": ["t"],
            "metadata": {"a": 1},
            "entities": ["Porto"],
        }
        memory.add("x", id="a", title="X", **given)
        [done] = memory.add_many([{"content": "v", "id": "a", "tags": []}], on_conflict="update")
        record = memory["a"]
        assert (done.outcome, record.content, record.tags) == ("UPDATED", "v", ())
        assert (record.title, record.speaker, record.metadata) == ("X", "Ana", {"a": 1})
        assert (record.entities, record.version) == (("Porto",), 2)
        assert memory.search("v", limit=1).ids == ("a",)
        [again] = memory.add_many([{"content": "v", "id": "a"}], on_conflict="update")
        assert (again.outcome, memory["a"].version) == ("SKIPPED", 2)
        memory.add("Ben has a cello.", id="b", on_conflict="update")
        memory.add("Eve has a flute.", id="b", on_conflict="update")
        assert memory["b"].entities == ("Eve",)  # those that were found in the text follow it

    def test_links_of_imported_notes_are_as_old_as_the_notes(
        self, memory: Memory, clock: Clock
    ) -> None:
        imported = clock.pass_(days=1)
        old, told = imported - timedelta(days=300), imported - timedelta(days=9)
        memory.add_many(
            [
                {
                    "content": "x",
                    "id": "a",
                    "created_at": old,
                    "links": [
                        {"target": "b", "type": "supports"},
                        {"target": "The Map", "type": "mentions"},
                        {"target": "c", "type": "mentions", "created_at": told},
                        {"target": "later", "type": "mentions"},
                    ],
                },
                {"content": "y", "id": "b", "created_at": old + timedelta(days=5)},
                {"content": "z", "id": "c", "created_at": old, "title": "The Map"},
            ]
        )
        memory.add("w", id="d", created_at=old, title="Later", supersedes="c")
        times = {(link.target, link.type): link.created_at for link in memory.links()}
        assert times == {
            ("b", "supports"): old,
            ("c", "mentions"): told,  # of the two to c, the last
            ("d", "mentions"): old,
            ("c", "supersedes"): old,
        }
        for revival in (0.0, 1.0):
            hits = memory.search("w", profile="vitality", explain=True, touch=False)
            assert [dict(found(hit.explanation))["revival"] for hit in hits] == [revival]
            memory.link("b", "d")  # a link of today
        assert imported in {link.created_at for link in memory.links("d")}
        assert memory.inspect.zone_shares(points=1).counts == {
            zone: (dict(memory.inspect.zones().counts).get(zone, 0),) for zone in ZONE_ORDER
        }

    def test_the_past_knows_a_link_since_it_was_written_however_old_it_is(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add_many([{"content": "word", "id": id} for id in "ab"], dedup=False)
        before = clock.now
        clock.pass_(days=1)
        old = clock.now - timedelta(days=300)
        memory.link("a", "b", created_at=old)
        written = clock.now
        clock.pass_(days=1)
        memory.add("z", id="c", created_at=old, links=[{"target": "a", "type": "mentions"}])
        for at, degrees in ((before, [0, 0]), (written, [0, 1]), (clock.now, [1, 1])):
            hits = memory.search("word", profile="vitality", as_of=at, explain=True, touch=False)
            parts = {hit.id: dict(found(hit.explanation)) for hit in hits}
            assert [parts[id]["structural boost"] for id in "ab"] == [
                1.0 + 0.1 * degree for degree in degrees
            ]
            assert [parts[id]["revival"] for id in "ab"] == [0.0, 0.0]
        assert memory.upkeep.verify()

    def test_of_several_of_a_name_written_at_once_the_first_is_meant(self, memory: Memory) -> None:
        memory.add("x", id="a", links=[{"target": "Atlas", "type": "mentions"}])
        memory.add_many([{"id": id, "content": id, "title": "Atlas"} for id in "cb"])
        assert ends(memory) == [("a", "c")]

    def test_names_without_letters_are_told_apart(self, memory: Memory) -> None:
        memory.add("x", id="a", title="Note")
        memory.add("y", id="b", title="🐢", metadata={"aliases": ["***"]})
        links = [{"target": target, "type": "mentions"} for target in ("🦊", "note", "🐢")]
        [link] = memory.add("z", id="c", links=links).pending
        assert link.target == "🦊"
        memory.add("w", id="d", links=[{"target": "***", "type": "mentions"}])
        assert ends(memory) == [("c", "a"), ("c", "b"), ("c", "🦊"), ("d", "b")]

    def test_an_erased_link_is_not_pending(self, memory: Memory) -> None:
        memory.add("x", id="a")
        memory.add("y", id="b", links=[{"target": "a", "type": "mentions"}])
        memory.delete("a")
        memory.add("x", id="a")
        assert memory.links() == []

    def test_what_links_tell_follows_every_change(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": id} for id in "abcd")

        def bridges() -> set[str]:
            return {one.id for one in memory.inspect.zones() if one.bridge}

        assert bridges() == set()
        memory.link("a", "b")
        memory.link("b", "c")
        assert bridges() == {"b"}
        memory.link("c", "d")
        assert bridges() == {"b", "c"}
        memory.link("d", "a")
        assert bridges() == set()
        [link] = [one for one in memory.links() if (one.source, one.target) == ("d", "a")]
        perform(memory, operations.Put((), unlinks=(link,)))
        assert bridges() == {"b", "c"}
        memory.update("b", content="edited")  # keeps its links
        assert bridges() == {"b", "c"}
        memory.delete("c")
        assert bridges() == set()


class Notes(StoreCase):
    """Notes, and changes to other memories in the same write."""

    def test_a_note_replaces_what_it_knew_of(self, memory: Memory) -> None:
        notes = operations.Notes(memory.namespace)
        assert perform(memory, notes) == {}
        assert perform(memory, operations.Note(memory.namespace, "k", "1", None))
        assert not perform(memory, operations.Note(memory.namespace, "k", "2", None))
        assert not perform(memory, operations.Note(memory.namespace, "k", None, "2"))
        assert perform(memory, operations.Note(memory.namespace, "k", "2", "1"))
        assert perform(memory, operations.Note(memory.namespace, "other", "x", None))
        assert perform(memory, notes) == {"k": "2", "other": "x"}
        assert perform(memory, operations.Notes("elsewhere")) == {}
        assert perform(memory, operations.Note(memory.namespace, "k", None, "2"))
        assert perform(memory, notes) == {"other": "x"}

    def test_notes_last_until_the_namespace_is_erased(self, memory: Memory) -> None:
        perform(memory, operations.Note(memory.namespace, "k", "1", None))
        memory.add("x")
        again = self.reopen(memory)
        assert perform(again, operations.Notes(again.namespace)) == {"k": "1"}
        again.delete_all(namespace=again.namespace)
        assert perform(again, operations.Notes(again.namespace)) == {}
        again.close()

    def test_what_happens_with_a_write_happens_or_nothing_does(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add("x", id="a")
        status = Event("status", "a", clock.now, payload={"set": {"status": "consolidated"}})
        unknown = replace(status, id="nobody")
        draft = Draft(replace(get_record(memory, "a"), id="b"), {})
        both = operations.Log(memory.namespace, (status, unknown))
        assert perform(memory, operations.Put((draft,), also=both)) == ("nobody",)
        assert memory.get("b") is None
        assert get_record(memory, "a").status == "active"
        assert (
            perform(
                memory, operations.Put((draft,), also=operations.Log(memory.namespace, (status,)))
            )
            == ()
        )
        assert get_record(memory, "a").status == "consolidated"
        assert sorted(types_and_ids(events(memory))) == [
            ("status", "a"),
            ("write", "a"),
            ("write", "b"),
        ]
        taken = operations.Put((draft,), also=operations.Log(memory.namespace, (status,)))
        assert perform(memory, taken) == ("b",)
        assert len(events(memory)) == 3


class UtilitySpreading(StoreCase):
    """A declared use of a memory raises the memories that are linked with it."""

    def boosts(self, memory: Memory) -> dict[str, float | None]:
        return {record.id: record.boost for record in memory.get_all()}

    def test_what_contradicts_a_stronger_memory_comes_just_after_it(self, memory: Memory) -> None:
        texts = ("The key is in the tin of the boat.", "A key hangs here.", "The boat")
        for id, text in zip("abc", texts, strict=True):
            memory.add(text, id=id, dedup=False, confidence=0.5 if id == "a" else 1.0)

        def found() -> list[str]:
            return list(memory.search("Where is the key of the boat?", touch=False).ids)

        memory.link("a", "b")
        assert found()[0] == "a"
        memory.link("b", "a", "contradicts")
        order = found()
        assert order.index("a") == order.index("b") + 1
        memory.update("b", title="hook")
        assert found() == order

    def test_a_use_spreads_two_hops_both_ways(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": id} for id in "abcdez")
        for source, target in ("ab", "cb", "cd", "ea", "eb"):
            memory.link(source, target)
        memory.touch("a", utility=0.8)
        first = {"b": 0.48, "e": 0.48, "c": 0.288}  # .8 * .6, and .8 * .6^2; d is 3 hops away
        assert self.boosts(memory) == pytest.approx(
            {"a": None, "d": None, "z": None, **first}, nan_ok=True
        )
        assert get_record(memory, "a").access_count == 1
        assert {get_record(memory, id).boosted_at for id in first} == {clock.now}
        clock.pass_(days=7)  # half of it is left
        memory.touch("d", utility=0.5)
        # c: 1 - (1 - .144)(1 - .3); b: 1 - (1 - .24)(1 - .18)
        boosts = {"c": 0.4008, "b": 0.3768, "e": 0.48}
        assert {id: self.boosts(memory)[id] for id in boosts} == pytest.approx(boosts)
        assert get_record(memory, "e").boosted_at == clock.now - timedelta(days=7)

    def test_being_contradicted_makes_no_memory_livelier(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add_many({"id": id, "content": id, "layer": "activity"} for id in "abc")
        clock.pass_(days=20)
        before = {one.id: one for one in memory.inspect.zones()}
        memory.link("a", "b", "contradicts")
        memory.link("b", "c", "contradicts")
        memory.touch("a", utility=1.0)
        clock.pass_(days=1)
        after = {one.id: one for one in memory.inspect.zones()}
        assert not after["b"].bridge
        assert memory.inspect.zones().protected == 0.0
        for id in "bc":
            assert get_record(memory, id).boost is None
            assert after[id].vitality < before[id].vitality
        memory.link("a", "b", "supports")  # beside the contradiction
        assert {one.id: one for one in memory.inspect.zones()}["b"].vitality > before["b"].vitality

    def test_two_types_of_link_from_one_memory_count_as_two(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add_many({"id": id, "content": id, "layer": "activity"} for id in "abc")
        for target, type in (("b", "mentions"), ("c", "mentions"), ("c", "supports")):
            memory.link("a", target, type)
        clock.pass_(days=20)
        vitality = {one.id: one.vitality for one in memory.inspect.zones()}
        for id, stability in (("b", 1.1), ("c", 1.2)):
            level = -1.5 / stability * math.log(20)
            assert vitality[id] == pytest.approx(1 / (1 + math.exp(-level)))

    def test_several_at_once_lend_to_each_other(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": id} for id in "abc")
        memory.link("a", "b")
        memory.link("b", "c")
        memory.touch(["a", "b"], utility=1.0)
        # a by b .6, b by a .6, c by b .6 and by a .36: 1 - .4 * .64
        assert self.boosts(memory) == pytest.approx({"a": 0.6, "b": 0.6, "c": 0.744})

    def test_what_is_erased_meanwhile_takes_no_boost_from_the_others(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": id} for id in "abcd")
        for target in "bcd":
            memory.link("a", target)
        scope = memory._core.write_context()
        uses = use_events("a", "read", None, scope)
        batch, doomed = memory._core.dispatcher.batch, ["b", "c"]

        def erasing(ops: Sequence[operations.Op]) -> Sequence[Any]:
            if doomed and any(isinstance(op, operations.Log) for op in ops):
                memory.delete(doomed.pop(0))  # another one each time
            return batch(ops)

        lent = drive(spread_boost(uses, 0.5, scope), erasing)
        assert lent == pytest.approx({"d": 0.3})
        assert self.boosts(memory) == pytest.approx({"a": None, "d": 0.3})

    def test_without_a_utility_nothing_is_lent(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": id} for id in "ab")
        memory.link("a", "b")
        memory.touch("a")
        memory.touch("a", utility=0)
        memory.search("a")
        assert self.boosts(memory) == {"a": None, "b": None}
        with pytest.raises(InvalidInput, match="utility"):
            memory.touch("a", utility=1.5)
        with pytest.raises(NotFound):
            memory.touch("nobody", utility=0.5)
        assert memory.upkeep.verify()

    def test_a_boost_and_a_new_link_revive(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": id, "layer": "activity"} for id in "abc")
        memory.link("a", "b")
        clock.pass_(days=20)
        alive = {one.id: one.vitality for one in memory.inspect.zones()}
        memory.touch("a", utility=1.0)
        memory.link("b", "c")
        after = {one.id: one.vitality for one in memory.inspect.zones()}
        base = -1.5 * math.log(20)
        assert alive["c"] == pytest.approx(1 / (1 + math.exp(-base)))
        # A link from b: s = 1.1, and exp(0) of revival. It was not linked when a was used.
        assert after["c"] == pytest.approx(1 / (1 + math.exp(-(base / 1.1 + 1.0))))
        # b has the boost of .6, and holds a and c together: at least .5.
        assert after["b"] == 0.5
        clock.pass_(days=14)
        assert memory.upkeep.verify()
        later = {one.id: one.vitality for one in memory.inspect.zones()}
        base = -1.5 / 1.1 * math.log(34)
        assert later["c"] == pytest.approx(1 / (1 + math.exp(-(base + math.exp(-2.8)))))
        clock.pass_(seconds=1)
        gone = next(one.vitality for one in memory.inspect.zones() if one.id == "c")
        assert gone == pytest.approx(1 / (1 + math.exp(-base)), rel=1e-5)

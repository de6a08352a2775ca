"""A note that is added links to what it names in double brackets, as an imported one does."""

from __future__ import annotations

import pytest

from salience import Memory


def targets(memory: Memory, id: str) -> set[str]:
    return {link.target for link in memory.links(id) if link.source == id}


def test_links_lead_to_titles_aliases_and_ids() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        sarah = memory.add("Platform lead.", title="Sarah Chen", metadata={"aliases": ["SC"]}).id
        memory.add("Two of them.", id="acme")
        memory.add("[[Sarah Chen]] and [[sc|she]] at [[Acme#team]], [[#below]].", id="note")
        assert targets(memory, "note") == {sarah, "acme"}
        assert {link.type for link in memory.links("note")} == {"mentions"}


def test_a_link_waits_for_its_target() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Ask [[Otto Berg]].", id="note")
        assert [link.target for link in memory.links(pending=True)] == ["otto-berg"]
        otto = memory.add("Plumber.", title="Otto Berg").id
        assert targets(memory, "note") == {otto}
        assert not memory.links(pending=True)


def test_code_facts_and_given_links_are_left_alone() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add_many(
            [
                {"id": "code", "content": "Run `[[x]]`:\n```\nif [[y]]\n```"},
                {"id": "fact", "content": "Ana is at [[Acme]].", "kind": "fact"},
                {"id": "self", "content": "See [[self]] and [[Me]].", "title": "Me"},
                {
                    "id": "given",
                    "content": "See [[b]].",
                    "links": [{"target": "self", "type": "supports"}],
                },
            ]
        )
        assert {link.target for link in memory.links()} == {"self"}


@pytest.mark.parametrize("by", ["update", "add"])
def test_links_follow_a_changed_text(by: str) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add_many([{"id": id, "content": f"About {id}."} for id in ("acme", "berth", "cora")])
        memory.add("At [[Acme]], then [[Berth]], and [[Later]].", id="note")
        memory.link("note", "cora", "supports")

        def change(content: str) -> None:
            if by == "update":
                memory.update("note", content=content)
            else:
                memory.add(content, id="note", on_conflict="update")

        change("At [[Berth]], with [[Cora]], and [[Never]].")
        assert targets(memory, "note") == {"berth", "cora", "never"}
        assert {link.target for link in memory.links(pending=True)} == {"never"}
        change("Alone.")
        assert [(link.target, link.type) for link in memory.links("note")] == [("cora", "supports")]


def test_an_update_of_other_fields_leaves_links() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("See [[b]].", id="given", links=[{"target": "a", "type": "supports"}])
        memory.update("given", content="See [[b]] again.", importance=0.9)
        memory.update("given", title="Given")
        assert targets(memory, "given") == {"a"}

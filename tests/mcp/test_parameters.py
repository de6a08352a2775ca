"""Every parameter of every tool, sent over each way to the memory, with its effect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.mcp.tools import TOOLS
from support.mcp_client import Connection, in_process, text_of

Case = Callable[[Connection], None]
CASES: dict[tuple[str, str], Case] = {}
LONG = "word " * 4_000


def case(tool: str, *parameters: str) -> Callable[[Case], Case]:
    """Enter a function as the case of some parameters of a tool."""

    def enter(function: Case) -> Case:
        for parameter in parameters:
            CASES[tool, parameter] = function
        return function

    return enter


def add(c: Connection, content: str, **fields: Any) -> str:
    id: str = c.call("add_memory", content=content, **fields)["id"]
    return id


def get(c: Connection, id: str) -> Any:
    [memory] = c.call("get_memory", id=id)["memories"]
    return memory


def found(c: Connection, query: str, **options: Any) -> list[str]:
    return [each["id"] for each in c.call("search_memories", query=query, **options)["memories"]]


def listed(c: Connection, **options: Any) -> list[str]:
    return [each["id"] for each in c.call("list_memories", **options)["memories"]]


@case("add_memory", "content", "title", "kind", "tags", "speaker", "importance", "source")
def fields_are_kept(c: Connection) -> None:
    fields: dict[str, Any] = {
        "content": "Ana plays the cello.",
        "title": "Music",
        "kind": "fact",
        "tags": ["music", "ana"],
        "speaker": "Ana",
        "importance": 0.9,
        "source": "diary.md",
    }
    assert get(c, add(c, **fields)).items() >= fields.items()


@case("add_memory", "created_at")
def a_memory_may_be_older(c: Connection) -> None:
    id = add(c, "The bridge was closed.", created_at="2020-02-03T04:05:06Z")
    assert get(c, id)["created_at"] == "2020-02-03T04:05:06Z"


@case("add_memory", "expires_at")
def what_has_expired_is_not_found(c: Connection) -> None:
    id = add(c, "The parking ticket is 4711.", expires_at="2020-01-01")
    assert get(c, id)["expires_at"] == "2020-01-01T00:00:00Z"
    assert found(c, "parking ticket") == []


@case("add_memory", "supersedes")
def a_newer_one_takes_the_place_of_an_older(c: Connection) -> None:
    old = add(c, "Ana lives in Lisbon.")
    add(c, "Ana lives in Porto now.", supersedes=old)
    assert get(c, old)["status"] == "superseded"


@case("add_memory", "force")
def the_same_may_be_added_again(c: Connection) -> None:
    first = add(c, "Tea is in the left cupboard.")
    again = c.call("add_memory", content="Tea is in the left cupboard.")
    assert (again["id"], again["outcome"]) == (first, "DUPLICATE")
    forced = c.call("add_memory", content="Tea is in the left cupboard.", force=True)
    assert (forced["id"] != first, forced["outcome"]) == (True, "ADDED")


@case("search_memories", "query", "limit")
def a_search_finds_the_best_first(c: Connection) -> None:
    cello = add(c, "Ben has a cello.")
    add(c, "The disk ran full.")
    assert found(c, "cello", limit=1) == [cello]
    assert len(found(c, "cello", limit=2, cut="none")) == 2


@case("search_memories", "cut")
def what_does_not_answer_is_left_out(c: Connection) -> None:
    cello = add(c, "Ben has a cello.")
    disk = add(c, "The disk ran full.")
    question = "What instrument does Ben have, a cello?"
    assert found(c, question, cut="auto") == [cello]
    assert found(c, question) == found(c, question, cut="none") == [cello, disk]
    assert found(c, "Who won the chess tournament in Oslo?", cut="auto") == []


def filtered(c: Connection, ask: Callable[..., list[str]]) -> None:
    """What the parameters that searches and listings share leave of three memories."""
    first = add(c, "A note of Ana.", speaker="Ana", tags=["x", "y"], created_at="2026-01-01")
    second = add(
        c, "A fact of Ben.", speaker="Ben", tags=["x"], created_at="2026-02-01", kind="fact"
    )
    assert set(ask()) == {first, second}
    assert ask(tags=["x", "y"]) == [first]
    assert ask(tags="y") == [first]
    assert ask(kind="fact") == [second]
    assert ask(speaker="Ben") == [second]
    assert ask(since="2026-02-01") == [second]
    assert ask(until="2026-02-01") == [first]


@case("search_memories", "tags", "kind", "speaker", "since", "until")
def a_search_is_filtered(c: Connection) -> None:
    filtered(c, lambda **options: found(c, "a note or a fact", cut="none", **options))


@case("search_memories", "as_of")
def a_search_goes_back(c: Connection) -> None:
    add(c, "Something new.")
    assert found(c, "something", as_of="2026-01-01") == []


@case("get_memory", "as_of")
@case("list_memories", "as_of")
@case("list_links", "as_of")
@case("get_stats", "as_of")
def listings_go_back(c: Connection) -> None:
    one, two = add(c, "A pear."), add(c, "Ben has a cello.")
    c.call("link_memories", source=one, target=two)
    then = "2026-01-01"
    assert "there is no memory" in c.refused("get_memory", id=one, as_of=then)
    assert c.call("list_memories", as_of=then)["total"] == 0
    assert c.call("list_links", id=one, as_of=then)["links"] == []
    assert c.call("get_stats", as_of=then) == {"memories": 0, "findable": 0, "links": 0}


@case("search_memories", "min_similarity")
def what_is_unlike_is_left_out(c: Connection) -> None:
    add(c, "Ben has a cello.")
    assert found(c, "quarterly tax report", min_similarity=0.9) == []


@case("search_memories", "include_archived")
def the_archive_is_searched_if_asked(c: Connection) -> None:
    id = add(c, "An old address.")
    c.call("archive_memories", ids=[id])
    assert found(c, "address") == []
    assert found(c, "address", include_archived=True) == [id]


@case("search_memories", "max_tokens")
def a_search_keeps_to_its_budget(c: Connection) -> None:
    add(c, LONG)
    within_budget(c, "search_memories", query="word")


@case("get_context", "query", "as_of")
def a_context_is_about_the_query(c: Connection) -> None:
    id = add(c, "The gate code is 4711.")
    context = c.call("get_context", query="gate code")
    assert "4711" in context["context"]
    assert context["ids"] == [id]
    assert c.call("get_context", query="gate code", as_of="2026-01-01")["context"] == ""


@case("get_context", "per_writer")
def a_context_has_few_of_each_writer(c: Connection) -> None:
    for number in range(3):
        add(c, f"The gate code of door {number} is 4{number}71.", force=True)
    assert len(c.call("get_context", query="gate code")["ids"]) == 3
    assert len(c.call("get_context", query="gate code", per_writer=2)["ids"]) == 2


@case("get_context", "max_tokens")
def a_context_keeps_to_its_budget(c: Connection) -> None:
    for number in range(40):
        add(c, f'"Line"\n"of" text, number {number}.', force=True)
    within_budget(c, "get_context", query="lines of text")


@case("get_memory", "id", "start", "max_tokens")
def a_long_memory_is_read_in_parts(c: Connection) -> None:
    content = " ".join(map(str, range(3_000)))
    id, start, read = add(c, content), 0, ""
    while True:
        [part] = c.call("get_memory", id=id, start=start, max_tokens=1_500)["memories"]
        read += part["content"]
        if "cut_at" not in part:
            break
        start = part["cut_at"]
    assert read == content
    assert start > 0
    within_budget(c, "get_memory", id=id)


@case("list_memories", "tags", "kind", "speaker", "since", "until")
def a_listing_is_filtered(c: Connection) -> None:
    filtered(c, lambda **options: listed(c, **options))


@case("list_memories", "order", "limit", "cursor")
def a_listing_has_pages(c: Connection) -> None:
    ids = [add(c, f"Note {n}.", created_at=f"2026-01-0{n}", force=True) for n in range(1, 4)]
    page = c.call("list_memories", order="oldest", limit=2)
    assert [each["id"] for each in page["memories"]] == ids[:2]
    assert page["total"] == 3
    assert listed(c, order="oldest", limit=2, cursor=page["next_cursor"]) == ids[2:]
    assert listed(c, order="newest") == ids[::-1]


@case("list_memories", "max_tokens")
def a_listing_keeps_to_its_budget(c: Connection) -> None:
    add(c, LONG)
    within_budget(c, "list_memories")


@case(
    "update_memory",
    *("id", "content", "title", "kind", "tags", "importance", "expires_at", "valid_to", "pinned"),
)
def fields_are_changed(c: Connection) -> None:
    id = add(c, "Ana plays the cello.", tags=["old"])
    changes = {
        "content": "Ana plays the piano.",
        "title": "Music",
        "kind": "fact",
        "tags": ["new"],
        "importance": 0.25,
        "expires_at": "2099-01-01T00:00:00Z",
        "valid_to": "2098-01-01T00:00:00Z",
        "pinned": True,
    }
    assert c.call("update_memory", id=id, **changes)["version"] == 2
    assert get(c, id).items() >= changes.items()


@case("update_memory", "supersedes")
def a_conflict_is_settled(c: Connection) -> None:
    old, new = add(c, "The office is in Rome."), add(c, "The office is in Turin.", force=True)
    for wrong in ({"if_version": 7}, {"expires_at": "soon"}, {"content": " "}):
        c.refused("update_memory", id=new, supersedes=old, **wrong)
        assert get(c, old).get("status") != "superseded"
    for nowhere in ("nowhere", " ", "x" * 600):
        told = c.refused("update_memory", id=new, supersedes=nowhere, title="The office")
        assert "supersedes: " in told
        assert "title" not in get(c, new)
    settled = c.call("update_memory", id=new, supersedes=old, if_version=1)
    assert get(c, old)["status"] == "superseded"
    c.call("update_memory", id=new, title="The office", if_version=settled["version"])


@case("update_memory", "if_version")
def a_change_of_another_version_is_refused(c: Connection) -> None:
    id = add(c, "One.")
    assert "if_version=1" in c.refused("update_memory", id=id, content="Two.", if_version=7)
    assert get(c, id)["content"] == "One."
    c.call("update_memory", id=id, content="Two.", if_version=1)


@case("delete_memory", "id", "if_version")
def a_memory_is_erased(c: Connection) -> None:
    id = add(c, "Erase me.")
    assert c.refused("delete_memory", id=id, if_version=7)
    assert c.call("delete_memory", id=id, if_version=1) == {"id": id, "deleted": 1, "restored": []}
    assert "no memory" in c.refused("delete_memory", id=id)


@case("give_feedback", "id", "verdict", "reason")
def judgements_add_up(c: Connection) -> None:
    id = add(c, "The shop opens at nine.")
    c.call("give_feedback", id=id, verdict="useful")
    judged = c.call("give_feedback", id=id, verdict="incorrect", reason="It opens at ten.")
    assert judged == {"id": id, "feedback_for": 1, "feedback_against": 3, "review": "incorrect"}
    assert "It opens at ten." in json.dumps(c.call("get_history", id=id))


@case("add_conversation", "messages", "session_id")
def a_conversation_is_kept(c: Connection) -> None:
    messages = [
        {"role": "user", "content": "Where is the spare key?"},
        {"role": "assistant", "content": "Under the blue pot."},
    ]
    kept = c.call("add_conversation", messages=messages, session_id="s1")
    assert kept["session_id"] == "s1"
    again = c.call("add_conversation", messages=json.dumps(messages), session_id="s2")
    assert len(again["ids"]) == len(messages)  # as some models write a list
    turns = [get(c, id) for id in kept["ids"]]
    assert [turn["content"] for turn in turns] == [each["content"] for each in messages]
    assert {turn["session_id"] for turn in turns} == {"s1"}


@case("link_memories", "source", "target", "type", "weight")
@case("list_links", "id")
def links_lead_from_one_to_another(c: Connection) -> None:
    one, two = add(c, "The pump is broken."), add(c, "Water is in the cellar.")
    c.call("link_memories", source=one, target=two, type="supports", weight=0.5)
    link = {"source": one, "type": "supports", "target": two, "weight": 0.5}
    assert c.call("list_links", id=two)["links"] == [link]


@case("list_links", "max_tokens")
def links_keep_to_their_budget(c: Connection) -> None:
    hub = add(c, "A hub.")
    for number in range(20):
        spoke = add(c, f"Spoke {number} of it.", force=True)
        c.call("link_memories", source=hub, target=spoke)
    within_budget(c, "list_links", id=hub)


@case("explain_memory", "query", "id", "limit", "against")
def an_explanation_says_why(c: Connection) -> None:
    best, other = add(c, "Ben has a cello."), add(c, "A cello is a string instrument.")
    why = c.call("explain_memory", query="Has Ben a cello?", id=best)
    assert why["found"]
    assert sum(part["value"] for part in why["parts"]) == pytest.approx(why["score"])
    assert not c.call("explain_memory", query="Has Ben a cello?", id=other, limit=1)["found"]
    both = c.call("explain_memory", query="Has Ben a cello?", id=best, against=other)
    assert both["against"].startswith(f"It stands before {other}")


@case("explain_memory", "max_tokens")
def an_explanation_keeps_to_its_budget(c: Connection) -> None:
    id = add(c, "word " * 100)
    within_budget(c, "explain_memory", query="word " * 100, id=id)


@case("get_history", "id", "limit", "cursor", "max_tokens")
def a_history_keeps_what_it_said(c: Connection) -> None:
    id = add(c, "Version 1.")
    for number in range(2, 30):
        c.call("update_memory", id=id, content=f"Version {number}.")
    events = c.call("get_history", id=id, max_tokens=5_000)["events"]
    assert [event["event"] for event in events[:2]] == ["write", "edit"]
    assert events[1]["was"] == "Version 1."
    assert events[-1]["version"] == 29
    within_budget(c, "get_history", id=id)
    page = c.call("get_history", id=id, limit=28)
    later = c.call("get_history", id=id, cursor=page["next_cursor"])
    assert ([event["version"] for event in later["events"]], "next_cursor" in later) == (
        [29],
        False,
    )


def names(c: Connection, tool: str) -> None:
    words = ["Ana", "Anna", "Ben"]
    for word in words:
        add(c, f"{word} is here.", tags=[word], force=True)
    page = c.call(tool, limit=2)
    assert [each["name"] for each in page["names"]] == words[:2]
    rest = c.call(tool, limit=2, cursor=page["next_cursor"])
    assert rest["names"] == [{"name": "Ben", "memories": 1}]
    assert [each["name"] for each in c.call(tool, prefix="ann")["names"]] == ["Anna"]


@case("list_tags", "prefix", "limit", "cursor")
def tags_are_listed(c: Connection) -> None:
    names(c, "list_tags")


@case("list_entities", "prefix", "limit", "cursor")
def entities_are_listed(c: Connection) -> None:
    names(c, "list_entities")


@case("list_tags", "max_tokens")
def tags_keep_to_their_budget(c: Connection) -> None:
    add(c, "Many tags.", tags=[f"a long name of a tag, {n}" for n in range(100)])
    within_budget(c, "list_tags")


@case("list_entities", "max_tokens")
def entities_keep_to_their_budget(c: Connection) -> None:
    add(c, " ".join(f"Person{n} met Someone{n}." for n in range(100)))
    within_budget(c, "list_entities")


@case("archive_memories", "ids")
@case("unarchive_memories", "ids")
def memories_go_to_the_archive_and_back(c: Connection) -> None:
    ids = [add(c, "One of both."), add(c, "The other of them.")]
    assert c.call("archive_memories", ids=ids)["archived"] == 2
    assert c.call("get_stats") == {"memories": 2, "findable": 0, "links": 0}
    assert c.call("unarchive_memories", ids=ids)["restored"] == dict.fromkeys(ids, "active")


@case("undo", "run", "id")
def changes_are_taken_back(c: Connection) -> None:
    id = add(c, "Ana lives in Porto.", tags=["home"])
    run = c.call("archive_memories", ids=[id])["run"]
    assert c.call("undo", run=run) == {"restored": [id]}
    assert found(c, "Where does Ana live?") == [id]
    c.call("update_memory", id=id, content="Ana lives in Rome.", importance=0.9)
    c.call("give_feedback", id=id, verdict="useful")
    assert c.call("undo", id=id)["fields"] == ["content", "importance"]
    assert get(c, id)["content"] == "Ana lives in Porto."
    assert "importance" not in get(c, id)
    other = add(c, "Porto lies at the sea.")
    for weight in (0.5, 0.9):
        c.call("link_memories", source=id, target=other, type="supports", weight=weight)
    assert c.call("undo", id=id)["fields"] == ["links"]
    assert c.refused("undo").startswith("run: and id: give one of the two")
    assert "was never edited" in c.refused("undo", id=add(c, "The sky is blue."))
    assert "no memory" in c.refused("undo", id="0" * 32)


@case("list_memories", "changed_since")
def a_listing_tells_what_changed_since(c: Connection) -> None:
    old, kept = add(c, "Ana lives in Porto."), add(c, "The boiler is old.", created_at="2020-01-01")
    [before] = [event["at"] for event in c.call("get_history", id=kept)["events"]]
    assert kept in listed(c, changed_since=before)
    c.call("update_memory", id=old, content="Ana lives in Rome.")
    [changed] = c.call("get_history", id=old)["events"][1:]
    new = add(c, "The disk ran full.", created_at="2021-01-01", tags=["disk"])
    assert set(listed(c, changed_since=changed["at"])) == {old, new}
    assert listed(c, changed_since=changed["at"], tags=["disk"]) == [new]
    assert listed(c, changed_since="2999-01-01") == []
    assert c.refused("list_memories", changed_since="soon").startswith("changed_since: ")


@case("search_memories", "now", "time_zone")
@case("get_context", "now", "time_zone")
@case("list_memories", "time_zone")
@case("add_memory", "time_zone")
def days_are_those_of_a_time_zone(c: Connection) -> None:
    here, now = "America/Los_Angeles", "2026-05-15T04:00:00Z"
    before = add(c, "I ate soup.", created_at="2026-05-13T12:00", time_zone=here)
    assert get(c, before)["created_at"] == "2026-05-13T19:00:00Z"
    today = add(c, "I ate tacos.", created_at="2026-05-14T12:00", time_zone=here)
    asked = {"query": "What did I eat yesterday?", "now": now}
    assert found(c, **asked)[0] == today
    assert found(c, **asked, time_zone=here)[0] == before
    late = add(c, "The lamp broke.", created_at="2026-05-14T19:00", time_zone=here)
    lamp = {"query": "Which lamp broke?", "now": now}
    assert "- 2026-05-14: The lamp" in c.call("get_context", **lamp, time_zone=here)["context"]
    assert "- 2026-05-15: The lamp" in c.call("get_context", **lamp)["context"]
    shown = text_of(c.result("list_memories", since="2026-05-14T19:00", time_zone=here))
    assert "2026-05-14 19:00 UTC-07:00" in shown
    assert late in shown
    assert today not in shown
    told = c.refused("search_memories", query="lamp", time_zone="Mars")
    assert told.startswith("time_zone: there is no time zone 'Mars'")


@case("search", "query")
@case("fetch", "id")
def connectors_search_and_fetch(c: Connection) -> None:
    id = add(c, "Ben has a cello.", source="https://example.com/ben", speaker="Ben")
    result = c.result("search", query="cello")
    hit = {"id": id, "title": "Ben has a cello.", "url": "https://example.com/ben"}
    assert json.loads(text_of(result)) == result.structured_content == {"results": [hit]}
    document = json.loads(text_of(c.result("fetch", id=id)))
    assert document.keys() == {"id", "title", "text", "url", "metadata"}
    assert "Ben has a cello." in document["text"]
    assert document["metadata"]["speaker"] == "Ben"


def test_what_a_model_is_asked_to_forget_is_archived_and_undone(tools: Connection) -> None:
    meant = add(tools, "I am allergic to nuts.")
    said = "Please forget that I am allergic to nuts."
    stored = tools.call("add_memory", content=said)
    assert stored["forgotten"] == [meant]
    assert found(tools, "nuts") == []
    assert set(tools.call("undo", run=stored["run"])["restored"]) == {meant, stored["id"]}
    tools.call("archive_memories", ids=[stored["id"]])
    kept = tools.call("add_conversation", messages=[{"role": "user", "content": said}])
    assert kept["forgotten"] == [meant]
    assert tools.call("undo", run=kept["run"])["restored"]


def within_budget(c: Connection, tool: str, **arguments: Any) -> None:
    """Assert that an answer has no more tokens than it may have, and more if it may have more."""
    sizes = []
    for budget in (200, 600):
        result = c.result(tool, **arguments, max_tokens=budget)
        content = json.dumps(result.structured_content, ensure_ascii=False)
        sizes.append(max(len(content), len(text_of(result))))
        assert sizes[-1] <= 4 * budget
    assert sizes[0] < sizes[1]


def test_errors_name_the_parameters_of_the_tool(embedded: Connection) -> None:
    id = add(embedded, "The shop opens at nine.")
    for tool, arguments, name in (
        ("add_memory", {"content": "x", "source": "a\0"}, "source"),
        ("give_feedback", {"id": id, "verdict": "useful", "reason": " "}, "reason"),
        ("update_memory", {"id": id, "supersedes": id}, "id"),
        ("add_memory", {"content": "x", "tags": "[" * 100_000}, "tags"),
        ("add_conversation", {"messages": []}, "messages: has 0 elements; give at least 1"),
        ("add_conversation", {"messages": "Hi."}, "messages.0"),
    ):
        told = embedded.refused(tool, **arguments)
        assert told.startswith(name), told
    told = embedded.refused("get_memory", id=id, as_of="2020-01-01")
    assert "as of '2020-01-01'" in told


@pytest.mark.parametrize("run", dict.fromkeys(CASES.values()), ids=lambda run: run.__name__)
def test_each_parameter_has_its_effect(tools: Connection, run: Case) -> None:
    run(tools)


def test_every_parameter_has_a_case() -> None:
    declared = {
        (name, parameter)
        for name, tool in TOOLS.items()
        for parameter in tool.arguments.model_fields
    }
    assert declared == set(CASES)


def test_undo_brings_back_metadata_and_links(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with (
        in_process(path, embedder=None) as c,
        Memory(path, embedder=None) as memory,
    ):
        memory.add_many([{"id": "a", "content": "Ana.", "metadata": {"x": 1}}, "Ben."])
        memory.add("Cora.", id="c")
        memory.update("a", metadata={"x": 2, "y": 3})
        assert c.call("undo", id="a")["fields"] == ["metadata"]
        assert memory["a"].metadata == {"x": 1}
        memory.link("a", "c", "supports", 0.5)
        memory.link("a", "c", "supports", 0.9)
        assert c.call("undo", id="a")["fields"] == ["links"]
        assert [link.weight for link in memory.links("a")] == [0.5]
        memory.link("a", "c", "depends_on")
        c.call("undo", id="a")
        weights = {link.type: link.weight for link in memory.links("a")}
        assert weights == {"supports": 0.5, "depends_on": 0.0}

import json
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any

from salience import Memory
from salience.evaluation import sample
from salience.records.record import LINK_TYPES

Item = dict[str, Any]

MEMORIES = sample.memories()
LINKS = sample.links()
QUESTIONS = sample.questions()
BY_ID = {memory["id"]: memory for memory in MEMORIES}
FIELDS = {
    *("id", "content", "speaker", "session_id", "kind", "title", "tags", "entities"),
    *("importance", "metadata", "created_at"),
}


def moment(memory: Item) -> datetime:
    return datetime.fromisoformat(memory["created_at"])


def test_there_are_as_many_as_promised() -> None:
    assert 190 <= len(MEMORIES) <= 230
    assert len(QUESTIONS) >= 30
    kinds = [memory["kind"] for memory in MEMORIES]
    assert set(kinds) == {"turn", "note", "fact", "profile", "event"}
    assert kinds.count("turn") > len(MEMORIES) / 2
    assert len({memory["session_id"] for memory in MEMORIES if "session_id" in memory}) >= 25


def test_ids_and_contents_are_unique() -> None:
    assert len(BY_ID) == len(MEMORIES)
    assert len({memory["content"] for memory in MEMORIES}) == len(MEMORIES)
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)


def test_every_memory_is_well_formed() -> None:
    for memory in MEMORIES:
        problems = [name for name, holds in wellformedness(memory).items() if not holds]
        assert not problems, memory["id"]


def wellformedness(memory: Item) -> dict[str, bool]:
    is_turn = memory["kind"] == "turn"
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)
    return {
        "fields": set(memory) <= FIELDS,
        "content": memory["content"] == memory["content"].strip() != "",
        "UTC": memory["created_at"].endswith("Z"),
        "year": start <= moment(memory) < end,
        "importance": 0 <= memory.get("importance", 0) <= 1,
        "turn": is_turn == ("session_id" in memory) == ("speaker" in memory),
        "title": ("title" in memory) or memory["kind"] in ("turn", "fact"),
        "JSON": json.loads(json.dumps(memory)) == memory,
    }


def test_memories_stand_in_order_of_time() -> None:
    times = [moment(memory) for memory in MEMORIES]
    assert times == sorted(times)


def test_every_session_is_ordered_and_has_two_voices() -> None:
    turns = sorted(
        (memory for memory in MEMORIES if memory["kind"] == "turn"),
        key=lambda memory: memory["session_id"],  # stable: the order within a session stays
    )
    for session, group in groupby(turns, key=lambda memory: memory["session_id"]):
        members = list(group)
        assert all(moment(a) < moment(b) for a, b in pairwise(members)), session
        assert [int(member["id"].rsplit("-", 1)[1]) for member in members] == list(
            range(1, len(members) + 1)
        ), session
        assert len({member["speaker"] for member in members}) > 1, session
        assert session[:10] == members[0]["created_at"][:10]


def test_links_resolve_and_are_of_every_type_that_people_make() -> None:
    assert {link["type"] for link in LINKS} == set(LINK_TYPES) - {"consolidates", "may_replace"}
    assert all(set(link) == {"source", "target", "type", "weight"} for link in LINKS)
    assert all(link["source"] in BY_ID and link["target"] in BY_ID for link in LINKS)
    assert all(link["source"] != link["target"] for link in LINKS)
    assert all(0 < link["weight"] <= 1 for link in LINKS)
    pairs = [(link["source"], link["target"], link["type"]) for link in LINKS]
    assert len(set(pairs)) == len(pairs)


def test_what_supersedes_is_younger_than_what_it_supersedes() -> None:
    superseding = [link for link in LINKS if link["type"] == "supersedes"]
    assert len(superseding) >= 10
    for link in superseding:
        assert link["weight"] == 1.0
        assert moment(BY_ID[link["source"]]) > moment(BY_ID[link["target"]])


def test_questions_are_answered_by_memories() -> None:
    for question in QUESTIONS:
        assert set(question) == {"id", "text", "relevant", "note"}
        assert question["text"]
        assert question["note"]
        assert question["relevant"], question["id"]
        assert len(set(question["relevant"])) == len(question["relevant"])
        assert set(question["relevant"]) <= set(BY_ID), question["id"]


def test_a_question_about_the_present_never_counts_an_outdated_fact() -> None:
    outdated = {link["target"] for link in LINKS if link["type"] == "supersedes"}
    present = [question for question in QUESTIONS if "present state" in question["note"]]
    assert len(present) >= 5
    for question in present:
        assert not outdated & set(question["relevant"]), question["id"]


def test_every_call_gives_lists_of_its_own() -> None:
    sample.memories().clear()
    sample.memories()[0]["content"] = "changed"
    assert sample.memories() == MEMORIES


def test_life_is_about_memories_that_are_there_by_then() -> None:
    acts = sample.life()
    assert acts == sorted(acts, key=lambda act: act["at"])
    assert acts[-1]["at"] < "2026-10"
    for act in acts:
        for id in (*act.get("used", ()), *filter(None, [act.get("judged")])):
            assert BY_ID[id]["created_at"] < act["at"], act


def test_the_sample_has_lived() -> None:
    clock = sample.Clock()
    with Memory("ram://", clock=clock) as memory:
        sample.live(memory, clock)
        made = [link for link in memory.links() if link.type != "may_replace"]
        assert {link["type"] for link in LINKS} == {link.type for link in made}
        assert len(made) == len(LINKS)
        now = clock()
        shares = memory.inspect.zone_shares(points=8, until=now)
        assert shares.times[-1] - shares.times[0] > timedelta(days=200)
        assert sum(len(set(counts)) > 2 for counts in shares.counts.values()) >= 3
        earlier = memory.search("Which database holds our telemetry?", as_of="2026-02-15")
        assert "fact-database-influx" in earlier.ids
        assert memory.get("fact-database-influx").status == "superseded"  # type: ignore[union-attr]
        types = {event.type for event in memory.history("fact-heron-april").events}
        assert {"write", "reference", "status", "feedback", "decay"} <= types
        events = memory.events(limit=1000).events
        assert [event.at for event in events] == sorted(event.at for event in events)
        before = memory.stats(), len(events)
        sample.live(memory, clock)
        assert (memory.stats(), len(memory.events(limit=1000).events)) == before

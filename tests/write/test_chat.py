"""Chats as questions with their answers and whole sessions, told at once or bit by bit."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput
from salience.ranking import profiles
from salience.ranking.expressions import Col
from salience.ranking.profile import Profile
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.operations import Op, Put
from salience.retrieval.plan import drive
from salience.retrieval.routes import Vector
from salience.write.add_chat import add_chat
from salience.write.chat import chunks_from_turns
from salience.write.facets import by_rules
from support.examples import examples
from support.scoring import NOW, Designed, opened

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "My wife and I moved to Lisbon. What should we see?"},
    {"role": "assistant", "content": "Take the tram."},
    {"role": "user", "content": "I love seafood."},
    {"role": "assistant", "content": "Go to the market."},
    {"role": "assistant", "content": "Early."},
    {"role": "user", "content": "Thanks!"},
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened("ram", tmp_path, "default", profile="multi_route") as memory:
        yield memory


def kept(memory: Memory) -> list[tuple[Any, ...]]:
    """Everything about the chunks but ids and the time they were written."""
    return sorted(
        (record.kind, record.content, record.session_id, repr(record.metadata), record.tags)
        for record in memory.get_all(limit=1000)
    )


def cosines(memory: Memory, query: str = "fish in Lisbon") -> dict[tuple[str, str, str], float]:
    """The cosine of a query with every vector there is, by its name, kind and content."""
    found = {}
    for route in profiles.multi_route.routes:
        if isinstance(route, Vector):
            every, value = replace(route, min_similarity=-1.0), Col(f"{route.name}.score")
            only = Profile("one", retrieve(every) >> score(value) >> cut())
            for hit in memory.search(query, limit=50, touch=False, profile=only):
                found[route.name, hit.record.kind, hit.content] = hit.score
    return found


def test_each_question_is_a_chunk_with_its_answer(memory: Memory) -> None:
    result = memory.add_chat(CHAT, session_id="s", tags=["trip"], user_id="ana")
    records = [memory.get(id) for id in result.ids]
    assert [record and record.content for record in records] == [
        "User: My wife and I moved to Lisbon. What should we see?\nAssistant: Take the tram.",
        "User: I love seafood.\nAssistant: Go to the market.\nAssistant: Early.",
        "User: Thanks!",
    ]
    for record in records:
        assert record is not None
        assert (record.kind, record.session_id, record.user_id) == ("chunk", "s", "ana")
        assert record.tags == ("trip",)
    assert records[0] is not None
    assert records[0].metadata["facets"]["personal_info"] == "My wife and I moved to Lisbon."


def test_each_part_is_found_by_its_own_route(memory: Memory) -> None:
    first, second, _ = memory.add_chat(CHAT, session_id="s").ids
    for query, route, id in (
        ("Take the tram.", "vec_asst", first),
        ("I love seafood.", "vec_user", second),
        ("I love seafood.", "vec_next_user", first),
        ("I love seafood.", "facet_preferences", second),
        ("Thanks!", "vec_next_user", second),
    ):
        found = memory.search(query, touch=False)
        assert next(hit.id for hit in found if hit.routes.get(route) == 1) == id


def test_a_hybrid_session_is_a_memory_of_its_own(memory: Memory) -> None:
    memory.add_chat(CHAT, mode="hybrid", session_id="s")
    kinds = [record.kind for record in memory.get_all()]
    assert sorted(kinds) == ["session_chunk", "turn_chunk", "turn_chunk", "turn_chunk"]
    [hit] = memory.search("What seafood do I love?")
    assert hit.record.kind == "session_chunk"
    assert hit.content.count("\n") == 5
    assert hit.details["turn_support.supporting_turn_count"] == 3


@settings(max_examples=examples(15), deadline=None)
@given(st.sets(st.integers(1, len(CHAT) - 1)), st.sampled_from(["chunks", "hybrid"]))
def test_messages_added_at_once_or_bit_by_bit_leave_the_same_chunks(
    cuts: set[int], mode: str
) -> None:
    once, parts = (Memory.open("ram://", clock=lambda: NOW, profile="multi_route") for _ in "ab")
    once.add_chat(CHAT, mode=mode, session_id="s", tags=["trip"])
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(CHAT)], strict=True):
        if any(message["role"] != "system" for message in CHAT[start:end]):
            parts.add_chat(CHAT[start:end], mode=mode, session_id="s", tags=["trip"])
    assert kept(parts) == kept(once)
    assert cosines(parts) == cosines(once)
    once.close()
    parts.close()


LINES = st.sampled_from(
    [
        *("User: Hi", "Assistant: No.", "Assistant:", "Ana: Well", "assistant: x", "User: ", "Bot"),
        *(
            "",
            " ",
            "\t",
            "Assistant: \r\nUser: y",
            "\u2028User: z",
            "I moved to Lisbon.",
            "I love it.",
        ),
    ]
)


def has_text(chat: list[dict[str, Any]]) -> bool:
    return any(message["content"].strip() for message in chat)


MESSAGE: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant"]),
        "content": st.lists(
            LINES | st.text(st.characters(codec="utf-8", min_codepoint=1), max_size=8),
            max_size=4,
        ).map("\n".join),
    },
    optional={
        "name": st.sampled_from(["Ana", "User", "Assistant", "Assistant: User", "Bot\nUser"]),
        "id": st.integers(0, 9),
    },
)


def shout(user: str, assistant: str) -> dict[str, str]:
    """Facets that come and go as a chunk goes on."""
    return {"events": assistant} if len(assistant) % 2 else {"preferences": user}


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(MESSAGE, max_size=8).filter(has_text),
    st.sets(st.integers(1, 7)),
    st.sampled_from(["chunks", "hybrid"]),
    st.sampled_from([by_rules, shout, None]),
)
@example(
    [
        {"role": "user", "content": "Quote it:\nAssistant: no.\nUser: why?"},
        {"role": "assistant", "content": "I said:\nUser: why?"},
        {"role": "assistant", "content": "Gladly."},
    ],
    {1, 2},
    "hybrid",
    by_rules,
)
@example([{"role": "user", "content": text} for text in ("Hi", "\uf900")], {1}, "chunks", None)
def test_messages_of_any_text_leave_the_same_chunks_however_they_are_added(
    chat: list[dict[str, Any]], cuts: set[int], mode: str, facets: Any
) -> None:
    once, parts = (Memory.open("ram://", embedder=None, clock=lambda: NOW) for _ in "ab")
    once.add_chat(chat, mode=mode, session_id="s", facets=facets)
    ends = [end for end in sorted(cuts) if end < len(chat)]
    for start, end in pairwise([0, *ends, len(chat)]):
        if has_text(chat[start:end]):
            parts.add_chat(chat[start:end], mode=mode, session_id="s", facets=facets)
    assert everything(parts) == everything(once)
    once.close()
    parts.close()


def everything(memory: Memory) -> list[str]:
    """All fields of the chunks but ids, with the keys of the metadata in order."""
    return sorted(
        json.dumps({**record.to_dict(), "id": None, "version": None}, sort_keys=True)
        for record in memory.get_all(limit=1000)
    )


def test_a_message_that_quotes_a_speaker_stays_one(memory: Memory) -> None:
    quote = {"role": "user", "content": "They wrote:\nAssistant: Never.\nIs that polite?"}
    id = memory.add_chat([quote], session_id="s").id
    memory.add_chat([{"role": "assistant", "content": "No."}], session_id="s")
    record = memory.get(id)
    assert record is not None
    assert record.metadata["vector_texts"] == {"user": quote["content"], "asst": "No."}


def test_a_chunk_without_borders_goes_on_by_its_labels(memory: Memory) -> None:
    """As chunks of older versions do, and those whose text was edited."""
    edits: list[dict[str, Any]] = [
        {"replace_metadata": {"messages": None}},
        {"content": "User: When?\nAssistant: At nine."},
    ]
    for session, changes in enumerate(edits):
        id = memory.add_chat(CHAT[1:3], session_id=str(session)).id
        memory.update(id, **changes)
        memory.add_chat([{"role": "assistant", "content": "Sharp."}], session_id=str(session))
        record = memory.get(id)
        assert record is not None
        assert [side for side, _, _ in record.metadata["messages"]] == ["user", "asst", "asst"]
        assert record.content.endswith("\nAssistant: Sharp.")


def test_borders_outlive_new_metadata(memory: Memory) -> None:
    id = memory.add_chat(CHAT[1:2], session_id="s").id
    borders = [["user", "User", len(CHAT[1]["content"])]]
    assert memory.update(id, replace_metadata={"mood": "calm"}).metadata["messages"] == borders
    assert memory.update(id, metadata={"mood": None}).metadata["messages"] == borders


def test_messages_that_others_add_meanwhile_are_kept(memory: Memory) -> None:
    asked, answers = (
        CHAT[1:2],
        [{"role": "assistant", "content": text} for text in ("One.", "Two.")],
    )
    memory.add_chat(asked, session_id="s")
    once = iter([True])

    def batch(ops: Sequence[Op]) -> Sequence[Any]:
        if any(isinstance(op, Put) and op.edits for op in ops) and next(once, False):
            memory.add_chat(answers[:1], session_id="s")
        return memory._core.dispatcher.batch(ops)

    context = memory._core.write_context()
    plan = add_chat(
        answers[1:], context, mode="chunks", facets=by_rules, common={"session_id": "s"}
    )
    assert [item.outcome for item in drive(plan, batch)] == ["UPDATED"]
    [kept] = memory.get_all().memories
    assert kept.content == f"User: {CHAT[1]['content']}\nAssistant: One.\nAssistant: Two."


def test_the_outcome_says_what_was_added_and_what_goes_on(memory: Memory) -> None:
    first = memory.add_chat(CHAT[:2], session_id="s")
    assert [item.outcome for item in first] == ["ADDED"]
    second = memory.add_chat(CHAT[2:3], session_id="s")
    assert [(item.id, item.outcome) for item in second] == [(first.id, "UPDATED")]
    third = memory.add_chat(CHAT[3:4], session_id="s")
    assert [item.outcome for item in third] == ["ADDED", "UPDATED"]
    assert third.items[1].id == first.id


@pytest.mark.parametrize("session", [None, "s"])
def test_a_chat_of_several_transactions_is_kept_once(
    session: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salience.write.add_chat.CHUNK_ITEMS", 2)
    turns = [
        {"role": role, "content": f"{role} says {number}."}
        for number in range(5)
        for role in ("user", "assistant")
    ]
    with Memory.open("ram://") as memory:
        first, again = (
            memory.add_chat(turns, session_id=session, idempotency_key="k" * 500) for _ in range(2)
        )
        assert len(first.ids) == len(memory) == 5
        assert again.ids == first.ids
        with pytest.raises(InvalidInput, match="something else"):
            memory.add_chat(turns[:-1], session_id=session, idempotency_key="k" * 500)
        assert len(memory) == 5


def test_sessions_do_not_mix(memory: Memory) -> None:
    one = memory.add_chat(CHAT[1:2])
    other = memory.add_chat(CHAT[2:3])
    sessions = {record.session_id for record in memory.get_all()}
    assert len(sessions) == 2
    assert [item.outcome for item in (*one, *other)] == ["ADDED", "ADDED"]


def test_continuing_loses_neither_links_nor_accesses(memory: Memory) -> None:
    id = memory.add_chat(CHAT[:2], session_id="s").id
    memory.add("a note", id="note")
    memory.link(id, "note")
    memory.search("Lisbon", limit=1)
    memory.upkeep.flush()
    memory.add_chat(CHAT[2:4], session_id="s")
    record = memory.get(id)
    assert record is not None
    assert record.access_count == 1
    assert record.content.endswith("Take the tram.")
    assert [link.target for link in memory.links(id)] == ["note"]


def test_facets_may_be_given_or_extracted_otherwise(memory: Memory) -> None:
    given = {"preferences": "Ana likes fish."}
    a = memory.get(memory.add_chat(CHAT[1:2], facets=given).id)
    b = memory.get(memory.add_chat(CHAT[1:2], facets=lambda u, _: {"events": u.upper()}).id)
    c = memory.get(memory.add_chat(CHAT[1:2], facets=None).id)
    assert a is not None
    assert b is not None
    assert c is not None
    assert a.metadata["facets"] == given
    assert b.metadata["facets"] == {"events": CHAT[1]["content"].upper()}
    assert "facets" not in c.metadata


@pytest.mark.parametrize("found", [None, {}, {"events": ""}, {"events": " ", "preferences": ""}])
def test_an_extractor_may_find_no_facets(memory: Memory, found: Any) -> None:
    record = memory.get(memory.add_chat(CHAT[1:2], facets=lambda *_: found).id)
    assert record is not None
    assert "facets" not in record.metadata


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"messages": "hello"}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"content": "no role"}]}, r"messages\[0\]"),
        ({"messages": CHAT[:1]}, "messages"),
        ({"messages": [*CHAT, {"role": "user", "content": 5}]}, r"messages\[7\]"),
        ({"messages": [*CHAT, {"role": "user", "content": [5]}]}, r"messages\[7\]"),
        ({"messages": CHAT, "mode": "turns"}, "mode"),
        ({"messages": CHAT, "facets": {"hobbies": "chess"}}, "facets"),
        ({"messages": CHAT, "facets": {"events": ""}}, "facets.events"),
        ({"messages": CHAT, "facets": "rules"}, "facets"),
        ({"messages": CHAT, "facets": lambda *_: "chess"}, "facets"),
        ({"messages": CHAT, "facets": lambda *_: {"events": 5}}, "facets.events"),
        ({"messages": CHAT, "session_id": ""}, "session_id"),
        ({"messages": [{**CHAT[1], "created_at": "soon"}]}, "created_at"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_written(
    memory: Memory, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}"):
        memory.add_chat(**arguments)
    assert memory.get_all().total == 0


def test_without_an_embedder_texts_are_kept_and_the_result_says_so(tmp_path: Path) -> None:
    memory = opened("ram", tmp_path, None, profile="multi_route")
    result = memory.add_chat(CHAT, session_id="s")
    assert len(result.ids) == 3
    assert result.degraded == (
        "vector: the store was opened without an embedder; words alone are searched",
    )
    memory.add_chat([{"role": "assistant", "content": "Gladly."}], session_id="s")
    assert memory.search("gladly", touch=False)[0].content == "User: Thanks!\nAssistant: Gladly."


def test_times_names_and_ids_of_messages_are_kept(memory: Memory) -> None:
    chat: list[dict[str, Any]] = [
        {"role": "user", "name": "Ana", "content": "Hi", "id": 7, "created_at": "2026-01-05"},
        {"role": "assistant", "name": "Bot", "content": [{"type": "text", "text": "Hello"}]},
        {"role": "assistant", "content": "", "tool_calls": []},
    ]
    record = memory.get(memory.add_chat(chat).id)
    assert record is not None
    assert record.content == "Ana: Hi\nBot: Hello"
    assert record.created_at.isoformat() == "2026-01-05T00:00:00+00:00"
    assert record.metadata["turns"] == ["7"]


def test_turns_of_people_become_chunks() -> None:
    turns = [
        {"id": "1", "content": "Hey Mel!", "speaker": "Caro", "session_id": "s1"},
        {"id": "2", "content": "Hi! I love hiking.", "speaker": "Mel", "session_id": "s1"},
        {"id": "3", "content": "I met Tom yesterday.", "speaker": "Caro", "session_id": "s1"},
        {"id": "4", "content": "A note", "title": "no turn"},
        {"id": "5", "content": "Again", "speaker": "Mel", "session_id": "s2"},
    ]
    note, *chunks = chunks_from_turns(turns)
    assert note == turns[3]
    assert [(item["content"], item["metadata"]["turns"]) for item in chunks] == [
        ("Caro: Hey Mel!\nMel: Hi! I love hiking.", ["1", "2"]),
        ("Caro: I met Tom yesterday.", ["3"]),
        ("Mel: Again", ["5"]),
    ]
    assert [item["id"] for item in chunks] == ["chunk:1", "chunk:3", "chunk:5"]
    assert chunks[0]["vector_texts"] == {
        "user": "Hey Mel!",
        "asst": "Hi! I love hiking.",
        "next_user": "I met Tom yesterday.",
    }
    kinds = [item.get("kind") for item in chunks_from_turns(turns, "hybrid")]
    assert kinds == [
        None,
        "session_chunk",
        "turn_chunk",
        "turn_chunk",
        "session_chunk",
        "turn_chunk",
    ]
    memory = Memory.open("ram://", embedder=Designed())
    assert len(memory.add_many(chunks_from_turns(turns, "hybrid"), strict=True).ids) == 6
    memory.close()


@pytest.mark.parametrize("mode", ["chunks", "hybrid", "sides"])
@pytest.mark.parametrize("wrong", [{"speaker": 5}, {"session_id": [1]}, {"content": None}])
def test_an_item_that_is_no_turn_passes_as_it_is(mode: Any, wrong: dict[str, Any]) -> None:
    given = {"content": "Hi", "speaker": "Mel", "session_id": "s1", **wrong}
    turn = {"content": "Hi", "speaker": "Mel", "session_id": "s1"}
    found = list(chunks_from_turns([given, turn], mode))
    assert found[0] == given
    assert "vector_texts" in found[-1]


def test_parts_may_be_plain_text(memory: Memory) -> None:
    parts = ["I moved", {"type": "text", "text": "to Lisbon."}, {"type": "image"}]
    memory.add_chat([{"role": "user", "content": parts}, {"role": "tool", "content": 5}])
    memory.add([{"role": "user", "content": parts}, {"role": "user", "content": None}])
    said = [record.content for record in memory.get_all()]
    assert sorted(said) == ["I moved\nto Lisbon.", "User: I moved\nto Lisbon."]


def test_turns_may_stay_memories_of_their_own_with_the_vector_of_their_side() -> None:
    """The first speaker of a session counts as the user, unless the speakers have roles."""

    def turn(session: str, speaker: str, content: str) -> dict[str, Any]:
        return {"content": content, "speaker": speaker, "session_id": session}

    turns = [
        turn("s1", "Caro", "Hey Mel!"),
        turn("s1", "Caro", "There?"),
        turn("s1", "Mel", "Yes."),
        turn("s2", "Mel", "Back again."),
        turn("s1", "Mel", "Hi!"),
        {"content": "A note"},
        turn("s1", "Caro", "Good."),
        turn("s3", "assistant", "Hello."),
        turn("s3", "user", "Hello!"),
    ]
    found = list(chunks_from_turns(turns, "sides"))
    assert [{k: v for k, v in item.items() if k != "vector_texts"} for item in found] == turns
    assert [item.get("vector_texts") for item in found] == [
        {"user": "Hey Mel!", "next_user": "There?"},
        {"user": "There?"},
        {"asst": "Yes."},
        {"user": "Back again."},
        {"asst": "Hi!", "next_user": "Good."},
        None,
        {"user": "Good."},
        {"asst": "Hello.", "next_user": "Hello!"},
        {"user": "Hello!"},
    ]


@pytest.mark.parametrize(
    ("said", "facets"),
    [
        ("I'm a nurse from Porto.", {"personal_info"}),
        ("My daughter's name is Inês.", {"personal_info"}),
        ("I really love jazz", {"preferences"}),
        ("I prefer tea over coffee. And you?", {"preferences"}),
        ("We went to the opera yesterday!", {"events"}),
        ("My birthday is on March 3rd.", {"personal_info", "events"}),
        ("Do you like jazz? Where did you go yesterday?", set()),
        ("Sort this list of numbers.", set()),
        ("", set()),
    ],
)
def test_facets_by_rules(said: str, facets: set[str]) -> None:
    assert set(by_rules(said, "I am a model. I love to help. We met yesterday.")) == facets


def test_facets_are_the_sentences_themselves() -> None:
    said = "Hi there. I love jazz. My dog barks. Is it late? I hate rain."
    assert by_rules(said, "") == {
        "personal_info": "My dog barks.",
        "preferences": "I love jazz. I hate rain.",
    }


def test_async_chat_is_the_same() -> None:
    async def run() -> list[str]:
        memory = await AsyncMemory.open("ram://", profile="multi_route")
        await memory.add_chat(CHAT[:3], session_id="s", mode="hybrid")
        result = await memory.add_chat(CHAT[3:], session_id="s", mode="hybrid")
        await memory.close()
        return [item.outcome for item in result]

    assert asyncio.run(run()) == ["ADDED", "ADDED", "UPDATED", "UPDATED"]
    assert inspect.signature(Memory.add_chat) == inspect.signature(AsyncMemory.add_chat)


def test_an_update_that_leaves_the_words_leaves_every_vector(memory: Memory) -> None:
    first = memory.add_chat(CHAT, session_id="s").ids[0]
    before = cosines(memory)
    memory.update(first, tags=["tram"])
    assert cosines(memory) == before
    memory.update(first, content="User: Nothing")
    stale = {kind for kind, _, content in cosines(memory) if content == "User: Nothing"}
    assert stale == {"vec_full"}


THOUGHTS: list[dict[str, Any]] = [
    {"type": "reasoning", "text": "They seem broke."},
    {"type": "thinking", "thinking": "They seem broke."},
    {"text": "They seem broke.", "thought": True},
]


@pytest.mark.parametrize("thought", THOUGHTS)
@pytest.mark.parametrize("door", ["add", "add_chat"])
def test_what_a_model_thought_is_no_memory(memory: Memory, thought: Any, door: str) -> None:
    said = {"role": "assistant", "content": [thought, {"type": "text", "text": "Here is a flat."}]}
    silent = {"role": "assistant", "content": [thought]}
    asked = {"role": "user", "content": "A flat?"}
    getattr(memory, door)([asked, silent, said], session_id="s")
    assert "Here is a flat." in str(kept(memory))
    assert "broke" not in str(kept(memory))


def test_an_image_alone_refuses_no_message_beside_it(memory: Memory) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/p.jpg"}}
    messages = [{"role": "user", "content": part} for part in ("I am Ana.", image, [image])]
    assert memory.get_many(memory.add(messages).ids)[0].content == "I am Ana."  # type: ignore[union-attr]

"""Changed conversations: what is changed, what is left, and how the figures stand side by side."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perturbations import (
    Perturbation,
    in_long_notes,
    main,
    together,
    typo,
    with_facts,
    with_typos,
)
from salience.errors import InvalidInput
from salience.evaluation.datasets import Conversation
from salience.importers.conversation import Query
from salience.retrieval.metrics import MEASURES

TURNS = tuple(
    {
        "id": f"m{number}",
        "content": f"The {number}. boat is called Heron.",
        "kind": "turn",
        "speaker": "Maria Lind",
        "session_id": "s1",
    }
    for number in range(40)
)
QUERIES = (
    Query("1", "Where does Maria keep the rowing boat, in 2024?", ("m1", "m3")),
    Query("2", "What is Maria's boat?", ("m2",)),
    Query("3", "Who is it?", ("m9",)),
)
TALK = Conversation("talk", TURNS, QUERIES, None)


def test_a_share_of_the_memories_become_facts() -> None:
    changed = with_facts(TALK, 0.2, seed=1)
    facts = [memory["id"] for memory in changed.memories if memory["kind"] == "fact"]
    assert len(facts) == 8
    assert facts != [m["id"] for m in with_facts(TALK, 0.2, seed=2).memories if m["kind"] == "fact"]
    assert [m["content"] for m in changed.memories] == [m["content"] for m in TURNS]
    assert changed.queries == QUERIES
    assert with_facts(TALK, 0.0) == TALK


def test_a_share_above_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="share"):
        with_facts(TALK, 5.0)


def test_one_content_word_of_each_question_is_misspelt() -> None:
    """Names, stop words, numbers and short words are never changed."""
    misspelt = set()
    for seed in range(60):
        changed = with_typos(TALK, seed)
        assert changed.memories == TURNS
        words = changed.queries[0].text.split()
        before = QUERIES[0].text.split()
        [place] = [i for i in range(len(before)) if words[i] != before[i]]
        misspelt.add(before[place])
        assert changed.queries[1].text.startswith("What is Maria's ")
        assert changed.queries[2].text == "Who is it?"
        assert [query.relevant for query in changed.queries] == [q.relevant for q in QUERIES]
    assert misspelt == {"keep", "rowing", "boat,"}


@given(st.from_regex(r"[a-z]{4,12}", fullmatch=True), st.integers(0, 2**32))
def test_a_typo_is_one_slip(word: str, seed: int) -> None:
    made = typo(word, random.Random(seed))
    assert made != word
    if len(made) == len(word):
        differing = [i for i in range(len(word)) if made[i] != word[i]]
        assert len(differing) == 1 or (
            differing == [differing[0], differing[0] + 1]
            and [made[i] for i in differing] == [word[i] for i in reversed(differing)]
        )
    else:
        shorter, longer = sorted((word, made), key=len)
        assert shorter in {longer[:i] + longer[i + 1 :] for i in range(len(longer))}


@pytest.mark.parametrize("word", ["лодка", "Boat", "HERON"])
def test_a_typo_keeps_script_and_case(word: str) -> None:
    for seed in range(30):
        made = typo(word, random.Random(seed))
        assert (made.isupper(), made[0].isupper()) == (word.isupper(), word[0].isupper())
        assert made.isascii() == word.isascii()


def test_slips_go_to_keys_nearby() -> None:
    typed = [typo("gggg", random.Random(seed)) for seed in range(600)]
    slipped = [set(made) - {"g"} for made in typed if len(made) == 4]
    near = sum(letters <= set("fhtyvb") for letters in slipped)
    assert near / len(slipped) > 0.75


def test_answers_stand_in_the_middle_of_long_notes() -> None:
    changed = in_long_notes(TALK, 600, seed=3)
    assert sorted(query.id for query in changed.queries) == ["1", "2", "3"]
    notes = {m["id"]: m for m in changed.memories if m["kind"] == "note"}
    assert set(notes) == {"m1", "m2", "m3", "m9"}
    for memory in TURNS:
        if memory["id"] not in notes:
            assert memory in changed.memories
            continue
        note = notes[memory["id"]]
        assert "session_id" not in note
        before, after = note["content"].split(memory["content"])
        assert 280 <= len(before.split()) <= 340
        assert 280 <= len(after.split()) <= 340
        assert "Maria" not in before + after
    assert len({note["content"] for note in notes.values()}) == 4


def test_half_of_the_long_notes_have_headings() -> None:
    talk = Conversation("t", TURNS, tuple(Query(m["id"], "?", (m["id"],)) for m in TURNS), None)
    notes = [m["content"] for m in in_long_notes(talk, 200).memories if m["kind"] == "note"]
    assert len(notes) == 40
    assert 10 <= sum(note.startswith("## ") for note in notes) <= 30


def test_without_words_the_notes_hold_the_memory_alone() -> None:
    alone, long = in_long_notes(TALK, 0, seed=3), in_long_notes(TALK, 500, seed=3)
    assert alone.queries == long.queries
    assert [m["content"] for m in alone.memories] == [m["content"] for m in TURNS]
    assert [m["kind"] for m in alone.memories] == [m["kind"] for m in long.memories]


def test_only_some_questions_are_kept() -> None:
    assert len(in_long_notes(TALK, 100, questions=2).queries) == 2


@pytest.mark.parametrize(
    "change",
    [partial(with_facts, share=0.3), with_typos, partial(in_long_notes, words=100)],
)
def test_a_seed_makes_one_change(change: Callable[..., Conversation]) -> None:
    assert change(TALK, seed=5) == change(TALK, seed=5)
    assert change(TALK, seed=5) != change(TALK, seed=6)


def test_changes_add_up() -> None:
    changes = Perturbation(facts=0.5, typos=True, long_notes=100, seed=4)
    assert changes
    assert not Perturbation(seed=4)
    before, after = changes.before(TALK), changes.after(TALK)
    assert [query.relevant for query in before.queries] == [q.relevant for q in after.queries]
    assert before.queries != after.queries
    assert sum(memory["kind"] == "fact" for memory in after.memories) == 20
    assert Perturbation().after(TALK) == Perturbation().before(TALK) == TALK


def test_conversations_together_share_a_namespace_and_nothing_else() -> None:
    first, second = (together(replace(TALK, name=name)) for name in ("first", "second"))
    assert first.place == second.place
    ids = [{memory["id"] for memory in each.memories} for each in (first, second)]
    assert not ids[0] & ids[1]
    assert first.memories[0]["session_id"] == "first/s1"
    assert first.queries[0].relevant == ("first/m1", "first/m3")
    assert not first.unanswerable()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    memories = [
        {"id": f"m{i}", "text": text, "speaker": "Ana"}
        for i, text in enumerate(("The ferry leaves at seven.", "Ben baked a loaf of rye."))
    ]
    queries = [{"text": "When does the ferry leave?", "relevant": ["m0"]}]
    document = {"memories": memories, "queries": queries}
    folder = tmp_path / "talks"  # a short name, as a table of 80 columns has it on one line
    folder.mkdir()
    (folder / "talk.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def test_the_command_shows_both_and_the_difference(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(folder), "--embedder", "none", "--with-facts", "0.5", "--long-notes", "60"])
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == [*MEASURES]
    assert [line.split()[0] for line in lines] == [folder.name, "changed", "difference"]
    assert lines[-1].split()[1] == "+0.000"


def test_together_the_conversations_of_a_set_are_searched_as_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "same.json").write_bytes((folder / "talk.json").read_bytes())
    main([str(folder), "--embedder", "none", "--together"])
    _, before, after, _ = capsys.readouterr().out.splitlines()
    place = [*MEASURES].index("MRR") - len(MEASURES)
    assert before.split()[place] == "1.000"
    assert after.split()[place] == "0.750"  # the same text answers from either conversation


def test_a_share_that_is_none_is_named(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="share"):
        main([str(folder), "--with-facts", "5", "--embedder", "none"])

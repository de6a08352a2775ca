"""The default profile: its parts, and the first hit in small stores."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.ranking.balanced import PARTS
from salience.ranking.profiles import balanced
from salience.testing.embedder import WordHashEmbedder
from support.examples import examples

Turns = Sequence[tuple[str | None, str]]

NOTES = (
    "Greta lives in Malmo.",
    "Greta works as a vet.",
    "Always send Greta a reminder one day before.",
    "Never park behind the shop.",
    "The till opens with the small key.",
    "Hugo would rather not open the till alone.",
)
CHAT = (
    ("user", "Always show me prices in euros."),
    ("assistant", "I will."),
    ("user", "The kettle cost nine pounds."),
    ("assistant", "That is cheap for a kettle."),
)


def first(turns: Turns, question: str, **options: Any) -> str:
    """The content that the default profile finds first."""
    with Memory.open("ram://") as memory:
        memory.add_many(
            [{"content": text, "speaker": speaker, **options} for speaker, text in turns]
        )
        return memory.search(question)[0].content


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("memories", "limit", "depth"), [(50, 5, 200), (2400, 5, 240), (50, 300, 300)]
)
def test_routes_bring_more_of_a_larger_namespace_and_at_least_the_hits_wanted(
    memories: int, limit: int, depth: int
) -> None:
    lines: list[str] = []
    with Memory.open("ram://", embedder=WordHashEmbedder(8), trace=lines.append) as memory:
        memory.add_many([f"Ferry {n}." for n in range(memories)], dedup=False)
        memory.search("Which ferry?", limit=limit)
    assert any(f"Collect(lexical, vector, depth={depth}" in line for line in lines)


def test_every_part_has_a_group_and_a_line_of_explanation() -> None:
    assert [part for parts in PARTS.values() for part in parts] == list(balanced.weights)
    assert all(parts.values() for parts in PARTS.values())


def test_an_explanation_shows_each_part_with_its_line_under_its_group() -> None:
    with Memory.open("ram://") as memory:
        memory.add_many([{"content": note} for note in NOTES])
        [hit] = memory.search("Where does Greta live?", limit=1, explain=True)
        page = memory.explain("Where does Greta live?", hit.id).to_html()
    tree = hit.explanation
    assert tree is not None
    assert list(tree.groups()) == list(PARTS)
    assert sum(tree.groups().values()) == pytest.approx(hit.score)
    names = tree.find("contains_names")
    assert names is not None
    assert (names.group, names.doc) == ("answer type", PARTS["answer type"]["contains_names"])
    assert {"doc": names.doc, "group": names.group}.items() <= names.to_dict().items()
    lines = str(tree).splitlines()
    place = next(i for i, line in enumerate(lines) if line.endswith("  answer type"))
    assert lines[place + 1].strip().startswith("0.2000  contains_names = 0.6 * 0.3333")
    assert lines[place + 1].endswith(f"# {names.doc}")
    assert f"answer type: {names.doc}" in page


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where does Greta live?", "Greta lives in Malmo."),
        ("What does Greta do for work?", "Greta works as a vet."),
        ("How should I open the till?", "The till opens with the small key."),
    ],
)
def test_a_note_without_a_speaker_is_no_instruction(question: str, answer: str) -> None:
    assert first([(None, note) for note in NOTES], question) == answer


def test_a_user_s_instruction_comes_first() -> None:
    assert first(CHAT, "Show me the price of a kettle.") == "Always show me prices in euros."


def test_a_question_for_a_name_is_less_about_instructions() -> None:
    chat = (*CHAT, ("user", "Never buy anything at the shop of Ilse."),
            ("user", "The kettle is from the shop of Jost."))  # fmt: skip
    assert first(chat, "Which shop is the kettle from?") == "The kettle is from the shop of Jost."


GROUP = (
    ("Olga", "Ruth's train comes at noon, I'll fetch her."),
    ("Ruth", "Thank you, I only have a small bag with me."),
    ("Jost", "I bring the tent and two lamps."),
    ("Olga", "Jost is afraid of wasps, so no sweets outside."),
    ("Jost", "The weather will be fine."),
    ("Ruth", "I hope that it will not rain."),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who is fetching Ruth?", "Ruth's train comes at noon, I'll fetch her."),
        ("What is Jost afraid of?", "Jost is afraid of wasps, so no sweets outside."),
        ("What does Jost bring?", "I bring the tent and two lamps."),
    ],
)
def test_a_turn_about_the_person_named_counts(question: str, answer: str) -> None:
    assert first(GROUP, question, session_id="trip") == answer


def test_a_terse_note_is_found_before_a_long_one() -> None:
    notes = (
        "Bicycle lock: 4471.",
        "A lock for the bicycle is what Ilse wants for her birthday, "
        "one with a code and not with a key.",
        "Oil the chain in spring.",
        "Call Tom about the boat.",
        "Plants need water on Monday.",
        "The heating was serviced.",
    )
    assert first([(None, note) for note in notes], "bicycle lock code") == notes[0]


def test_the_session_of_the_person_named_comes_first() -> None:
    calls = [
        ("Olga", "My kettle leaks.", "calls-1"),
        ("support", "Tighten the ring.", "calls-1"),
        ("Ruth", "My kettle leaks as well.", "calls-2"),
        ("support", "Tighten the lid.", "calls-2"),
        ("Jost", "My kettle is too loud.", "calls-3"),
        ("support", "Tighten the screw.", "calls-3"),
    ]
    with Memory.open("ram://") as memory:
        memory.add_many(
            [{"content": text, "speaker": who, "session_id": call} for who, text, call in calls]
        )
        for who, call in (("Olga", "calls-1"), ("Ruth", "calls-2"), ("Jost", "calls-3")):
            hits = memory.search(f"What did we advise {who} to tighten?")
            advice = [hit.record.session_id for hit in hits if hit.record.speaker == "support"]
            assert advice[0] == call


def test_one_of_many_customers_is_found_by_the_name() -> None:
    firsts = "Olga Ruth Jost Ilse Hugo Anna Timo Vera Nils Edda".split()
    lasts = "Falk Brandt Kaya Moor Lund Sato Costa Meyer Novak Holm Varga Quist".split()
    faults = ("leaks at the lid.", "is too loud.", "smells of plastic.", "came in a torn box.")
    names = [f"{first} {last}" for first in firsts for last in lasts]
    with Memory.open("ram://") as memory:
        for place, name in enumerate(names):
            texts = (f"My kettle {faults[place % 4]}", "It is the green one.", "Thank you.")
            turns = [{"content": text, "speaker": name} for text in texts]
            answer = {"content": "We send a new one.", "speaker": "support"}
            memory.add_many([{**turn, "session_id": f"call {place}"} for turn in (*turns, answer)])
        for name in names[::9]:
            assert memory.search(f"What was {name}'s trouble?")[0].record.speaker == name


def test_a_question_weighs_more_than_the_text_around_it() -> None:
    text = (
        "We had visitors in the kitchen yesterday and chatted about this and that, our vacations "
        "too, and when they left we were so tired that half of what was told is gone, please help. "
        "How often must the motor be lubricated"
    )
    with Memory.open("ram://") as memory:
        memory.add("The engine needs oil every thousand miles.")
        question, statement = (memory.search(text + end)[0].similarity or 0.0 for end in "?.")
    assert question > statement + 0.05


def test_what_is_of_the_kind_asked_for_comes_before_what_is_not() -> None:
    turns = [
        (f"The {what} was nice again.", what) for what in ("train", "judo", "weather", "cello")
    ]
    with Memory.open("ram://") as memory:
        memory.add_many([{"id": id, "content": text, "speaker": "Ana"} for text, id in turns])
        [sport, *others] = memory.search("Which sports does Ana do?", explain=True)
        without = memory.search("Which sports does Ana do?", options={"weights": {"of_kind": 0.0}})
        [instrument, *_] = memory.search("Which instruments does Ana play?")
    assert (sport.id, instrument.id) == ("judo", "cello")
    part = sport.explanation and sport.explanation.find("of_kind")
    assert part
    assert (part.value, part.group) == (1.0, "answer type")
    # The part adds its weight times 1 to what names one, and nothing to what names none.
    scores = {hit.id: hit.score for hit in without}
    assert sport.score - scores["judo"] == pytest.approx(0.5)
    assert [hit.score for hit in others] == [scores[hit.id] for hit in others]


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.sampled_from("judo rowing Golf ping pong train bread we".split())))
def test_a_memory_is_of_a_kind_if_it_names_all_words_of_one(said: list[str]) -> None:
    text = " ".join(["oranges", *said])
    named = {"judo", "rowing", "Golf"} & {*said} or {"ping", "pong"} <= {*said}
    with Memory.open("ram://", embedder=None) as memory:
        memory.add(text)
        [hit] = memory.search("Which sports and oranges?", explain=True)
    part = hit.explanation and hit.explanation.find("of_kind")
    assert part
    assert part.value == float(bool(named))


@pytest.mark.parametrize(
    ("told", "asked", "query"),
    [
        (
            "I put my passport into the blue drawer.",
            "Where did I put my passport?",
            "where did I put my passport",
        ),
        (
            "I put my passport into the blue drawer.",
            "Where did I put my passport?",
            "where is my passport?",
        ),
        ("My dog Rex is a beagle.", "What's my dog's name?", "What is the name of my dog?"),
        ("Meine Katze heißt Minka.", "Wie heißt meine Katze?", "Wie heißt meine Katze?"),
        ("Mi hermana vive en Sevilla.", "¿Dónde vive mi hermana?", "¿Dónde vive mi hermana?"),
        ("我的猫叫小白。", "我的猫叫什么名字?", "我的猫叫什么名字?"),
    ],
)
def test_a_question_asked_before_stands_behind_what_answers_it(
    told: str, asked: str, query: str
) -> None:
    with Memory("ram://", embedder="wordllama") as memory:
        memory.add(told, speaker="user", session_id="1")
        memory.add(asked, speaker="user", session_id="2")
        memory.add("Nice weather today.", speaker="user", session_id="3")
        assert memory.search(query)[0].content == told


def test_a_question_asked_before_is_no_answer_for_the_probability() -> None:
    with Memory("ram://", embedder="wordllama") as memory:
        memory.add("Where did I put my passport?", speaker="user", session_id="1")
        memory.add("We could go to Rome in May.", speaker="user", session_id="1")
        unanswered = memory.search("Where did I put my passport?")
        memory.add("I put my passport into the drawer.", speaker="user", session_id="2")
        answered = memory.search("Where did I put my passport?")
    assert unanswered.probability is not None
    assert answered.probability is not None
    assert unanswered.probability < 0.5 < answered.probability


def test_a_yes_or_no_question_keeps_its_answer() -> None:
    with Memory("ram://", embedder="wordllama") as memory:
        memory.add("The meeting is on Friday.")
        memory.add("Was the meeting with Ana about the budget on Friday?")
        assert memory.search("Is the meeting on Friday?")[0].content == "The meeting is on Friday."

"""What is known about a user: listed by topic, the latest of each attribute, whoever the door."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.language.statements import personal
from salience.records.filters import STATED_KINDS

TOLD = [
    ("health", "I'm allergic to penicillin."),
    ("instruction", "Always answer in metric units."),
    ("preference", "I prefer window seats."),
    ("family", "My daughter Ida is six."),
    ("work", "I work as a welder at Arcelor."),
    ("place", "I live in Ghent."),
    ("health", "Ich bin gegen Nüsse allergisch."),
    ("family", "J'ai deux chats."),
    ("family", "Моей дочери Лее четыре года."),
    ("place", "Ich wohne in Kassel."),
    ("preference", "我讨厌下雨天。"),
]
NOT_TOLD = (
    "If I lived in Bergen I would own six umbrellas.",
    "I wish I had a piano.",
    "He wrote: I am allergic to bees.",
    "Translate into Dutch: My brother is a baker.",
    "In the novel I'm writing, I am a widowed beekeeper.",
    "Suppose I had a peanut allergy.",
    "My neighbour is diabetic.",
    "Am I allergic to kiwis?",
    "Write a poem in which I am a deaf sailor.",
    "Wenn ich in Graz wohnen würde, hätte ich einen Hund.",
    "Si j'étais riche, j'habiterais à Nice.",
    "Forget that I have asthma.",
)
OPPOSITES = (
    ("I like olives.", "I hate olives."),
    ("I'm vegetarian.", "I'm not vegetarian any more."),
    ("I like opera.", "I no longer like opera."),
)
_DISLIKED = ("rain", "wind", "noise", "onions", "queues")
_NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


@pytest.fixture
def memory() -> Memory:
    return Memory.open("ram://", embedder=None, clock=lambda: _NOW)


@pytest.mark.parametrize(("topic", "text"), TOLD)
def test_a_statement_has_its_topic(memory: Memory, topic: str, text: str) -> None:
    memory.add([{"role": "user", "content": text}])
    assert [(fact.topic, fact.memory.content) for fact in memory.about()] == [(topic, text)]


@pytest.mark.parametrize("text", NOT_TOLD)
def test_what_is_not_told_of_oneself_is_not_listed(memory: Memory, text: str) -> None:
    memory.add([{"role": "user", "content": text}], user_id="ana")
    assert memory.about("ana").facts == ()


@pytest.mark.parametrize("texts", OPPOSITES)
def test_of_opposites_the_latest_counts(memory: Memory, texts: tuple[str, str]) -> None:
    for day, text in enumerate(texts, 1):
        memory.add(text, id=f"m{day}", speaker="user", created_at=f"2026-03-0{day}")
    [fact] = memory.about()
    assert (fact.memory.id, fact.earlier) == ("m2", ("m1",))


def test_a_fact_has_its_sentence_how_sure_it_is_and_since_when(memory: Memory) -> None:
    text = "What a week! I moved to Antwerp. Can you find me a gym?"
    memory.add(text, speaker="user", created_at="2026-03-01", id="m")
    [fact] = memory.about()
    assert (fact.statement, fact.confirmed) == ("I moved to Antwerp.", False)
    assert fact.probability is not None
    assert 0.5 <= fact.probability < 1.0
    assert fact.since == datetime(2026, 3, 1, tzinfo=timezone.utc)


def test_a_user_confirms_rejects_and_corrects_what_is_listed(memory: Memory) -> None:
    for id, text in (("a", "I live in Ghent."), ("b", "I have two dogs."), ("c", "I hate rain.")):
        memory.add(text, id=id, speaker="user")
    assert memory.feedback("a", "confirmed").review == "confirmed"
    memory.feedback("b", "incorrect")
    memory.update("c", content="I love rain.")
    found = {fact.memory.id: (fact.probability == 1.0, fact.confirmed) for fact in memory.about()}
    assert found == {"a": (True, True), "c": (False, False)}
    memory.feedback("a", "incorrect")
    assert [fact.memory.id for fact in memory.about()] == ["c"]


def test_what_is_made_up_stays_out_of_what_a_context_tells_of_the_user(memory: Memory) -> None:
    memory.add_many(
        [
            {"content": "I'm allergic to wasps.", "speaker": "user"},
            {"content": "In my novel I'm allergic to silver.", "speaker": "user"},
        ]
    )
    section = {"name": "user", "source": "about_user"}
    told = memory.get_context("What am I allergic to?", sections=[section]).text
    assert "wasps" in told
    assert "silver" not in told


def test_what_the_assistant_says_and_what_tells_nothing_are_left_out(memory: Memory) -> None:
    memory.add(
        [
            {"role": "user", "content": "What can I cook tonight?"},
            {"role": "assistant", "content": "I prefer tea."},
            {"role": "user", "content": "The bridge opens at nine."},
        ]
    )
    assert memory.about().facts == ()


def test_the_latest_of_an_attribute_counts(memory: Memory) -> None:
    for day, text in enumerate(["I live in Ghent.", "I moved to Antwerp.", "I live in Antwerp."]):
        memory.add(text, id=f"m{day}", speaker="user", created_at=f"2026-03-0{day + 1}")
    [fact] = memory.about()
    assert (fact.memory.id, fact.earlier) == ("m2", ("m1", "m0"))


def test_a_user_is_found_by_id_and_by_name(memory: Memory) -> None:
    memory.add("I hate long meetings.", id="turn", speaker="user", user_id="ana")
    memory.add("Ana likes jazz.", id="kept", kind="fact", user_id="ana")
    memory.add("I have two dogs.", id="named", speaker="Ana")
    memory.add("I have a parrot.", id="other", speaker="Ben", user_id="ben")
    found = [(fact.topic, fact.memory.id) for fact in memory.about("ana")]
    assert found == [("preference", "kept"), ("preference", "turn"), ("family", "named")]
    assert [fact.memory.id for fact in memory.about("ben")] == ["other"]


def test_what_holds_no_more_is_left_out(memory: Memory) -> None:
    for id in ("superseded", "judged", "expired", "corrected", "erased"):
        memory.add(f"I prefer {id} seats.", id=id, speaker="user")
    memory.add("I prefer aisle seats.", id="new", speaker="user")
    memory.supersede("superseded", "new")
    memory.feedback("judged", "incorrect")
    memory.update("expired", expires_at="2026-05-01")
    memory.update("corrected", content="I am allergic to wool.")
    memory.delete("erased")
    found = {(fact.topic, fact.memory.id) for fact in memory.about()}
    assert found == {("health", "corrected"), ("preference", "new")}


def test_total_tells_what_was_not_read(memory: Memory) -> None:
    memory.add_many([{"content": f"I hate {it}.", "speaker": "user"} for it in _DISLIKED])
    found = memory.about(limit=2)
    assert (len(found), found.read, found.total) == (2, 2, 5)
    assert len(memory.about(filters={"created_at": {"lt": "2026-05-01"}})) == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"limit": 0}, "limit"), ({"user": 3}, "user"), ({"filters": {"states": "love"}}, "states")],
)
def test_wrong_arguments_are_named(
    memory: Memory, arguments: dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidInput, match=named):
        memory.about(**arguments)  # type: ignore[arg-type]


def test_the_filter_states_knows_the_kinds_by_their_values() -> None:
    assert {kind: getattr(personal, kind.upper()) for kind in STATED_KINDS} == STATED_KINDS
    assert {personal.NOTHING, *STATED_KINDS.values()} == {0.0, 1.0, 2.0, 3.0, 4.0}


def test_the_filter_states_counts_and_refuses(memory: Memory) -> None:
    memory.add_many(["I'm allergic to nuts.", "I prefer tea.", "The bridge opens at nine."])
    assert memory.count({"states": "health"}) == 1
    assert memory.count({"states": {"in": ["health", "preference"]}}) == 2
    assert memory.count({"states": {"exists": False}}) == 1
    assert memory.count({"states": {"ne": "health"}}) == 2
    with pytest.raises(InvalidInput, match="gte needs an order"):
        memory.count({"states": {"gte": "health"}})

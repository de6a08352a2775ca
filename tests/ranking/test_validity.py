"""Validity: facts that held at the time that a question is about come first."""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from salience import Memory, Profile
from salience.errors import InvalidInput
from salience.ranking.signals import Expired, LatestFact
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import MatchAll
from salience.testing import WordHashEmbedder

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
LAPSED = Profile("lapsed", retrieve(MatchAll(), depth=None) >> score(Expired()) >> cut())
LATEST = Profile("latest", retrieve(MatchAll(), depth=None) >> score(LatestFact()) >> cut())


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open("ram://", embedder=WordHashEmbedder(), clock=lambda: NOW) as memory:
        memory.add("A fact.", id="fact", kind="fact", created_at="2025-06-01")
        memory.add("A note.", id="note", created_at="2025-06-01")
        memory.add("Held.", id="held", valid_from="2024-01-01", valid_to="2025-01-01")
        memory.add("Will.", id="will", valid_from="2027-01-01")
        yield memory


def scores(memory: Memory, profile: Profile, query: str) -> dict[str, float]:
    return {hit.id: hit.score for hit in memory.search(query, profile=profile, touch=False)}


def test_what_held_at_the_time_asked_about(memory: Memory) -> None:
    assert scores(memory, LAPSED, "what is it") == {"fact": 0, "note": 0, "held": 1, "will": 1}
    assert scores(memory, LAPSED, "what was it in May 2024") == {
        "fact": 0,  # told later, but who knows since when it holds
        "note": 0,
        "held": 0,
        "will": 1,
    }
    # the end is not in it any more
    assert scores(memory, LAPSED, "in January 2025")["held"] == 1
    assert scores(memory, LAPSED, "in December 2024")["held"] == 0


def test_the_latest_counts_most(memory: Memory) -> None:
    found = scores(memory, LATEST, "what is it")
    # exp(-365 / 730) = 0.60653066; from 2024-01-01 to 2026-06-01 are 882 days
    assert found["fact"] == pytest.approx(0.60653066)
    assert found["held"] == pytest.approx(0.29873, abs=1e-5)
    assert (found["note"], found["will"]) == (0.0, 0.0)


def test_superseded_facts_are_found_for_their_time(memory: Memory) -> None:
    memory.add("Ana lives in Berlin.", id="old", kind="fact", created_at="2024-03-01")
    memory.add("Ana lives in Lisbon.", id="new", kind="fact", created_at="2025-03-01",
               supersedes="old")  # fmt: skip
    assert "old" not in memory.search("Where does Ana live?").ids
    assert memory.search("Where does Ana live?")[0].id == "new"
    assert memory.search("Where did Ana live in May 2024?")[0].id == "old"
    assert "old" not in memory.search("Where did Ana live in May 2024?", profile="composite").ids


def test_what_was_told_afterwards_answers_for_the_time_that_it_tells_of(memory: Memory) -> None:
    memory.add("Priya bought a Volvo in May 2024.", id="bought", kind="fact",
               created_at="2026-02-01")  # fmt: skip
    memory.add("Priya drives a Fiat.", id="other", kind="fact", created_at="2023-02-01")
    assert memory.search("Which car did Priya buy in May 2024?")[0].id == "bought"


def test_expired_is_not_found_but_lapsed_is(memory: Memory) -> None:
    memory.add("Offer of bread.", id="offer", expires_at=NOW + timedelta(days=1))
    assert "offer" in memory.search("bread").ids
    assert "offer" not in memory.search("bread", now=NOW + timedelta(days=2)).ids
    assert "held" in memory.search("Held").ids


def test_an_end_before_the_beginning_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="is before valid_from"):
        memory.add("Odd.", valid_from="2026-01-01", valid_to="2025-01-01")
    with pytest.raises(InvalidInput, match="valid_to"):
        memory.update("held", valid_from="2025-06-01")


def test_a_question_of_what_once_was_finds_what_was_superseded(memory: Memory) -> None:
    memory.add("Ana lives in Berlin.", id="old", kind="fact", created_at="2024-03-01")
    memory.add("Ana lives in Lisbon.", id="new", kind="fact", created_at="2025-03-01",
               supersedes="old")  # fmt: skip
    for question in ("Where did Ana live originally?", "Where did Ana use to live?"):
        assert {"old", "new"} <= set(memory.search(question).ids)
    # each held at some time of the past, and none of them is the one to prefer
    assert scores(memory, LAPSED, "what was it at first") == {
        "fact": 0, "note": 0, "held": 0, "will": 1, "old": 0, "new": 0,
    }  # fmt: skip
    assert set(scores(memory, LATEST, "what was it at first").values()) == {0.0}


def test_a_turn_that_is_marked_as_a_fact_keeps_its_score() -> None:
    turns = ["Ana moved to Lisbon.", "Ana bakes bread.", "Ben sails to Lisbon in June 2026."]

    def found(kinds: tuple[str, ...], question: str) -> dict[str, float]:
        with Memory.open("ram://", embedder=WordHashEmbedder(), clock=lambda: NOW) as memory:
            memory.add_many(
                {"id": str(place), "content": turn, "kind": kind, "session_id": "s"}
                for place, (turn, kind) in enumerate(zip(turns, kinds, strict=True))
            )
            return {hit.id: hit.score for hit in memory.search(question, touch=False)}

    for question in ("Where does Ana live?", "Who bakes?", "What happened in June 2026?"):
        plain = found(("note",) * 3, question)
        for kinds in (("fact", "note", "note"), ("note", "fact", "note"), ("fact",) * 3):
            assert found(kinds, question) == plain


def test_a_fact_about_another_thing_changes_no_order() -> None:
    notes = ["Ana took the train to Lisbon.", "Lisbon has steep streets.", "Trains are late."]
    facts = ["Ben lives in Oslo.", "Ben moved to Porto.", "Cleo works at Roche."]
    question = "Which train goes to Lisbon?"

    def order(kind: str) -> list[str]:
        with Memory.open("ram://", embedder=WordHashEmbedder(), clock=lambda: NOW) as memory:
            memory.add_many([{"content": note} for note in notes])
            memory.add_many([{"content": fact, "kind": kind} for fact in facts], dedup=False)
            return [hit.content for hit in memory.search(question) if hit.content in notes]

    assert order("fact") == order("note")


def test_the_version_that_holds_stands_just_above_the_best_of_the_others() -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder(), clock=lambda: NOW) as memory:
        for place, (text, at) in enumerate(
            [
                ("Ana lives in Berlin.", "2026-01-01"),
                ("Ana lives in Oslo.", "2026-02-10"),
                ("Ana moved to Rome.", "2026-03-01"),
                ("Ben moved to Bari.", "2026-04-01"),
            ]
        ):
            memory.add(text, id=str(place), kind="fact", created_at=at, dedup=False)
        now = memory.search("Does Ana live in Oslo?", explain=True)
        then = memory.search("Where did Ana live in January 2026?", explain=True)
        once = memory.search("Where did Ana live originally?", explain=True)
    assert now[0].id == "2"
    assert then[0].id == "0"
    scores = {hit.id: hit.score for hit in now}
    part = {hit.id: hit.explanation.find("current_version") for hit in now if hit.explanation}
    assert part["2"] is not None
    assert part["2"].value > 0.0
    assert "other versions: 0, 1" in part["2"].note
    assert scores["2"] == pytest.approx(0.001 + max(scores["0"], scores["1"]))
    values = [node.value for hit in once if hit.explanation for node in hit.explanation
              if node.label == "current_version"]  # fmt: skip
    assert set(values) == {0.0}


def test_versions_are_those_of_one_speaker() -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder(), clock=lambda: NOW) as memory:
        for id, town, speaker, at in (
            ("a", "Berlin", "Ana", "2026-01-01"),
            ("b", "Bari", "Ben", "2026-03-01"),
        ):
            memory.add(f"I live in {town}.", id=id, kind="fact", speaker=speaker, created_at=at)
        hits = memory.search("Who lives in Berlin?", explain=True)
    trees = [hit.explanation.find("current_version") for hit in hits if hit.explanation]
    assert [tree.value for tree in trees if tree] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("texts", "is_changed"),
    [
        (("Ana lives in Berlin.", "Ana lives in Berlin."), False),
        (("The very same.", "The very same."), False),
        (("I drive a red Fiat.", "I drive a blue Fiat."), True),
        (("The budget is 5,000 euros.", "The budget is 7,000 euros."), True),
        (("I smoke.", "I don't smoke."), True),
        (("I don't smoke.", "I do not smoke."), False),
        (("Ana reviews the PRs.", "Ana reviews the PRs now."), False),
    ],
)
def test_only_what_says_something_else_is_another_version(
    texts: tuple[str, str], is_changed: bool
) -> None:
    with Memory.open("ram://", embedder=WordHashEmbedder(), clock=lambda: NOW) as memory:
        for text, id, at in zip(texts, "ab", ("2026-01-01", "2026-03-01"), strict=True):
            memory.add(text, id=id, created_at=at, dedup=False)
        hits = memory.search(texts[0], explain=True)
    notes = {hit.id: hit.explanation.find("current_version") for hit in hits if hit.explanation}
    assert notes["b"] is not None
    assert ("other versions: a" in notes["b"].note) == is_changed


def first_of(old: str, new: str, question: str) -> str:
    """Which of two texts, told one after the other, answers a question first."""
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        memory.add(old, id="old", created_at="2025-01-10", dedup=False)
        memory.add(new, id="new", created_at="2026-02-01", dedup=False)
        return memory.search(question).ids[0]


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        ("The demo is on Tuesday.", "Scratch that, the demo is on Friday.", "When is the demo?"),
        (
            "The permit application is due on May 3rd.",
            "It turns out the permit application closes on May 9th.",
            "When is the permit application due?",
        ),
        ("Die Feier ist im Garten.", "Korrektur: Die Feier ist im Saal.", "Wo ist die Feier?"),
        (
            "La cena es en casa de Ana.",
            "En realidad la cena es en casa de Luis.",
            "¿Dónde es la cena?",
        ),
        (
            "Le dîner est chez Marc.",
            "Finalement, le dîner est chez Julie.",
            "Où est le dîner ?",
        ),
        ("聚会在三点。", "更正:聚会在四点。", "聚会几点开始?"),
        (
            "I'm reading Middlemarch.",
            "Finished Middlemarch, started on Emma.",
            "What am I reading?",
        ),
        ("The demo is on Zoom.", "The demo will be in person, not on Zoom.", "Where is the demo?"),
        ("Dan is single.", "Dan got engaged to Priya last weekend.", "Is Dan single?"),
        ("Mia is seven.", "Mia turned eight on Sunday.", "How old is Mia?"),
        ("The rabbit is Pip.", "We renamed the rabbit, it's Nibbles.", "What's the rabbit's name?"),
        ("The concert is on Saturday.", "The concert was called off.", "When is the concert?"),
        (
            "Ina reviews the PRs.",
            "Ina is on leave, so Raj reviews the PRs.",
            "Who reviews the PRs?",
        ),
        ("Sara likes nuts.", "The test showed Sara doesn't like nuts.", "Does Sara like nuts?"),
        (
            "The valve is set to 19.",
            "Set the valve to 21 for the baby.",
            "What's the valve set to?",
        ),
        ("I have a cat called Miso.", "Miso died in April.", "Do I have a cat called Miso?"),
        (
            "I work four days a week.",
            "Back to five days a week.",
            "How many days a week do I work?",
        ),
        ("We bank with ING.", "Closed the ING account, we're with Triodos.", "Which bank is ours?"),
        ("Our address is 5 Mill Lane.", "We've moved to 17 Station Road.", "What's our address?"),
        ("The key is under the pot.", "Left the key with Jo, not the pot.", "Where is the key?"),
    ],
)
def test_what_is_told_later_stands_above_what_it_changes(old: str, new: str, question: str) -> None:
    assert first_of(old, new, question) == "new"


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        ("The release is on Thursday.", "The release notes were updated.", "When is the release?"),
        (
            "The meeting with the auditors is on Tuesday.",
            "The meeting with the board was moved to Friday.",
            "When is the meeting with the auditors?",
        ),
        ("Ticket 512 is open.", "Ticket 513 has been closed.", "What about ticket 512?"),
        ("The standup is at 9:30.", "The standup notes moved to Notion.", "When is the standup?"),
        ("My dentist is Dr. Reis.", "The dentist visit was moved to Friday.", "Who's my dentist?"),
        ("We deploy on Fridays.", "Deploys no longer need approval.", "When do we deploy?"),
        ("The rabbit is called Pip.", "The rabbit has a new cage.", "What is the rabbit called?"),
        ("The wedding is on May 9.", "We changed the wedding menu.", "When is the wedding?"),
        ("The till opens with a key.", "Hugo won't open the till.", "How should I open the till?"),
    ],
)
def test_a_change_of_something_else_lifts_nothing(old: str, new: str, question: str) -> None:
    assert first_of(old, new, question) == "old"


def test_a_change_in_a_talk_between_people_lifts_nothing() -> None:
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        for id, text in (("old", "The demo is on Tuesday."), ("new", "No, the demo is postponed.")):
            memory.add(text, id=id, speaker="Ana", session_id=id, dedup=False)
        question = "When is the demo?"
        as_it_is, without = (
            {hit.id: hit.score for hit in memory.search(question, options={"weights": weights})}
            for weights in ({}, {"current_version": 0.0})
        )
        assert as_it_is == without


def test_a_change_that_shares_a_name_alone_lifts_nothing() -> None:
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        for text, day in (
            ("Ana wears a green dress.", "2025-01-10"),
            ("The lamp has a green shade.", "2025-02-10"),
            ("Ana started to learn Polish.", "2026-02-01"),
        ):
            memory.add(text, id=text, created_at=day)
        question = "Which shade did Ana choose?"
        as_it_is, without = (
            {hit.id: hit.score for hit in memory.search(question, options={"weights": weights})}
            for weights in ({}, {"current_version": 0.0})
        )
        assert as_it_is == without

"""Facts of one subject that cannot both hold are noticed; those that can are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from salience import Memory
from salience.language.statements import Statement, statement_of
from salience.write.dedup import DedupPolicy
from salience.write.outcomes import Added

CONFLICTING = [
    ("My favourite colour is blue.", "My favourite colour is green."),
    ("Favorite color is blue", "Favourite colour is green"),
    ("Blue is my favourite colour.", "My favourite colour is red."),
    ("Kim's favourite dish is ramen.", "Kim's favourite dish is paella."),
    ("The user's preferred airline is Lufthansa.", "The user's preferred airline is KLM."),
    ("Flight at 9:15", "Flight at 10:40"),
    ("The flight is at 9:15.", "The flight is now at 10:40."),
    ("My flight to Madrid departs at 9:15.", "My flight to Madrid leaves at 10:40."),
    ("Zoe lives in Prague.", "Zoe moved to Vienna."),
    ("I live in Oslo.", "I have moved to Bergen."),
    ("The user lives in Austin, Texas.", "The user lives in Denver, Colorado."),
    ("My sister lives in Hamburg.", "My sister has relocated to Zurich."),
    ("We live in Leeds.", "We moved to York."),
    ("My phone number is +49 151 234567.", "My phone number is +49 160 765432."),
    ("Ravi works at Intel.", "Ravi joined Nvidia."),
    ("I work for Airbus.", "I work for Boeing now."),
    ("Ravi works at Intel.", "Ravi no longer works at Intel."),
    ("Tess is a designer at Figma.", "Tess works at Canva."),
    ("Noah is allergic to penicillin.", "Noah is not allergic to penicillin."),
    ("I'm allergic to cats.", "I am not allergic to cats."),
    ("Iris is single.", "Iris is married."),
    ("Iris is married to Joao.", "Iris is married to Marek."),
    ("I am engaged.", "I got married."),
    ("My birthday is on 5 May.", "My birthday is on 15 May."),
    ("Rosa's birthday is April 2nd.", "Rosa's birthday is April 12th."),
    ("I prefer tea.", "I prefer coffee."),
    ("Gus prefers dogs.", "Gus prefers cats."),
    ("I prefer red wine.", "I prefer white wine."),
    ("Gus prefers tea over coffee.", "Gus prefers coffee over tea."),
    ("The meeting is on Tuesday.", "The meeting is on Thursday."),
    ("The meeting with Kai is on Monday.", "The meeting with Kai was moved to Friday."),
    ("The review starts at 2 pm.", "The review starts at 3 pm."),
    ("Ella has two cats.", "Ella has three cats."),
    ("I have one brother.", "I have 2 brothers."),
    ("Ella has no children.", "Ella has two children."),
    ("Finn is vegan.", "Finn is no longer vegan."),
    ("Finn eats fish.", "Finn doesn't eat fish anymore."),
    ("I smoke.", "I stopped smoking."),
    ("My email is a@example.com.", "My email address is b@example.com."),
    ("My address is 4 Mill Lane.", "My address is 77 High Street."),
    ("The alarm code is 1234.", "The alarm code is 9876."),
    ("The guest password is swordfish.", "The guest password is bluebird."),
    ("The deadline is 1 October.", "The deadline is 8 October."),
    ("The rent is $1,200.", "The rent is $1,350."),
    ("The budget is 40,000 euros.", "The budget is 55,000 euros."),
    ("Tara is 41 years old.", "Tara is 42 years old."),
    ("I am 180 cm tall.", "I am 178 cm tall."),
    ("My name is Jon.", "My name is Jan."),
    ("My manager is Ines Blanc.", "My manager is Otto Stern."),
    ("Our dentist is Dr. Wolf.", "Our dentist is Dr. Lamb."),
    ("My cat's name is Mia.", "My cat's name is Nala."),
    ("The office is in Milan.", "The office is in Turin."),
    ("The seminar is in room 12.", "The seminar is in room 14."),
    ("The bus leaves from gate 3.", "The bus leaves from gate 5."),
    ("Uma is a student at Yale University.", "Uma studies at Brown University."),
    ("We run Redis 6 in staging.", "We run Redis 7 in staging."),
    ("The fence is white.", "The fence is green."),
    ("Vera works as a teacher.", "Vera works as a baker."),
    ("Will is from Chile.", "Will is from Peru."),
    ("The shop opens at 8.", "The shop opens at 9:30."),
    ("The library is open on Sundays.", "The library is closed on Sundays."),
    ("My car is a Fiat.", "My car is a Skoda."),
    ("My shoe size is 38.", "My shoe size is 39."),
    ("The conference is in June.", "The conference is in September."),
    ("Alex never drinks alcohol.", "Alex drinks alcohol."),
    ("My time zone is CET.", "My time zone is EST."),
    ("i live in leipzig", "i moved to dresden"),
    ("My horse is called Star.", "My horse's name is Moon."),
    ("Ian lives in Cork with his aunt.", "Ian moved to Galway."),
]
CHANGES = [  # the first, the second, the question, the question for the past
    (
        "The grant application is due on March 3.",
        "The grant application deadline was extended to March 31.",
        "When is the grant application due?",
        "When was the grant application due originally?",
    ),
    (
        "Our accountant is Nadia Holt.",
        "Pavel Brin is now our accountant.",
        "Who is our accountant?",
        "Who was our accountant before?",
    ),
    (
        "The parcel to Graz is pending.",
        "The parcel to Graz has shipped.",
        "What is the state of the parcel to Graz?",
        "What was the state of the parcel to Graz before?",
    ),
    (
        "Bug 812 is assigned to Theo.",
        "Bug 812 has been handed over to Priya.",
        "Who has bug 812?",
        "",
    ),
    (
        "Unser Vermieter ist Herr Kunz.",
        "Unser Vermieter ist jetzt Frau Adler.",
        "Wer ist unser Vermieter?",
        "Wer war früher unser Vermieter?",
    ),
    ("Onze huur is 900 euro.", "Onze huur is gestegen naar 1050 euro.", "Wat is onze huur?", ""),
    (
        "Le cours de yoga est à 18h.",
        "Le cours de yoga a été décalé à 19h30.",
        "À quelle heure est le cours de yoga ?",
        "À quelle heure était le cours de yoga avant ?",
    ),
    (
        "El código de la puerta es 5512.",
        "El código de la puerta cambió a 9034.",
        "¿Cuál es el código de la puerta?",
        "¿Cuál era antes el código de la puerta?",
    ),
    ("Il mio affitto è di 900 euro.", "Il mio affitto è salito a 1050 euro.", "Mio affitto?", ""),
    (
        "Minha academia custa 90 reais.",
        "Minha academia subiu para 120 reais.",
        "Quanto custa minha academia?",
        "",
    ),
    ("Встреча в 14:00.", "Встречу перенесли на 16:00.", "Когда встреча?", ""),
    (
        "我的房租是3000元。",
        "我的房租涨到3600元了。",
        "我的房租是多少？",
        "我以前的房租是多少？",
    ),
    ("会議は15時です。", "会議は17時に変更されました。", "会議は何時ですか？", ""),
    ("월세는 900유로입니다.", "월세가 1050유로로 올랐어요.", "월세는 얼마예요?", ""),
]
COMPATIBLE = [
    ("The team offsite is in Porto.", "The team offsite budget was cut to 12k."),
    ("The wedding has 80 guests.", "The wedding was postponed to June."),
    ("Chapter 3 is due on Monday.", "Chapter 4 is due on Thursday."),
    ("Ana is our lawyer.", "Ben is our plumber."),
    ("My friend is called Rosa.", "My friend is called Igor."),
    ("The rent is 900 euros.", "The deposit was raised to 2,000 euros."),
    ("I work at Siemens.", "I quit smoking last year."),
    ("The house in Rome has 3 rooms.", "The house in Bari has 5 rooms."),
    ("Mein Freund ist Jonas.", "Mein Freund ist Tim."),
    ("Der Zug nach Ulm fährt um 9 Uhr.", "Der Zug nach Köln fährt um 11 Uhr."),
    ("Le film commence à 20h.", "Le film finit à 22h."),
    ("周会在周一。", "月会在周三。"),
    ("Zoe likes jazz.", "Zoe likes rock."),
    ("Zoe has a dog.", "Zoe has a cat."),
    ("Zoe speaks French.", "Zoe speaks German."),
    ("Zoe visited Rome.", "Zoe visited Paris."),
    ("I love sushi.", "I love pizza."),
    ("Zoe lives in Prague.", "Liam lives in Vienna."),
    ("Zoe lives in Prague.", "Zoe lives in the Czech Republic."),
    ("Zoe lives in Prague.", "Zoe lives with her aunt."),
    ("Zoe lives in Prague.", "Zoe wants to move to Vienna."),
    ("Zoe lived in Prague as a child.", "Zoe lives in Vienna."),
    ("Zoe moved to Prague in 2012.", "Zoe moved to Vienna in 2021."),
    ("Zoe lives in Prague.", "Zoe travelled to Vienna."),
    ("He lives in Prague.", "He lives in Vienna."),
    ("My favourite colour is blue.", "My favourite season is autumn."),
    ("My favourite colour is blue.", "Kim's favourite colour is green."),
    ("My favourite colour is blue.", "My favourite colour is dark blue."),
    ("One of my favourite films is Jaws.", "One of my favourite films is Up."),
    ("My favourite colours are blue and grey.", "My favourite colour is blue."),
    ("The flight to Oslo is at 9:15.", "The flight to Rome is at 10:40."),
    ("My flight leaves at 9:15.", "My flight lands at 10:40."),
    ("Ben's flight leaves at 9:15.", "My flight leaves at 10:40."),
    ("The meeting is on Tuesday.", "The meeting is at 3 pm."),
    ("The meeting is on Tuesday.", "The meeting is on Tuesday at 3 pm."),
    ("I have a call at 9:15.", "I have a call at 10:40."),
    ("I met Kai on Monday.", "I met Kai on Friday."),
    ("My shift is at 9 on Mondays.", "My shift is at 11 on Tuesdays."),
    ("Ravi works at Intel.", "Ravi works at night."),
    ("Ravi works at Intel.", "Ravi works on compilers."),
    ("Ravi works at Intel.", "Ravi worked at Nokia."),
    ("Ravi works at Intel.", "Ravi joined the chess club."),
    ("Ravi works at Intel.", "Ravi's wife works at Siemens."),
    ("Ravi works for Intel.", "Ravi does not work for Nvidia."),
    ("Noah is allergic to penicillin.", "Noah is allergic to pollen."),
    ("Noah is allergic to penicillin.", "Noah is not allergic to pollen."),
    ("Iris is married.", "Iris is a lawyer."),
    ("Iris is married.", "Iris is married to Joao."),
    ("Iris is tired.", "Iris is hungry."),
    ("My birthday is on 5 May.", "My wife's birthday is on 15 May."),
    ("My birthday is on 5 May.", "My birthday is May 5."),
    ("I prefer tea.", "I prefer trains."),
    ("I prefer aisle seats.", "I prefer quiet hotels."),
    ("I prefer tea in the evening.", "I prefer coffee in the morning."),
    ("Ella has two cats.", "Ella has two dogs."),
    ("Ella has two cats.", "Omar has three cats."),
    ("Ella has two brothers.", "Ella has one sister."),
    ("Ella bought two shirts.", "Ella bought three shirts."),
    ("Finn eats fish.", "Finn doesn't eat pork."),
    ("Finn plays chess.", "Finn plays football."),
    ("The rent is 900 euros.", "The heating is 90 euros."),
    ("The garden is large.", "The garden is green."),
    ("Tara is 41 years old.", "Tara is 170 cm tall."),
    ("Tara is an architect.", "Tara is a volunteer."),
    ("My manager is Ines Blanc.", "My manager is strict."),
    ("My sister is Nora.", "My sister is a pilot."),
    ("My car is a Fiat.", "My car is red."),
    ("The office is in Milan.", "The office is in an old tower."),
    ("My office number is 555-1234.", "My home number is 555-9876."),
    ("The kitchen is white.", "The bathroom is green."),
    ("Uma studies law.", "Uma studies at Yale University."),
    ("We run Redis 7 in staging.", "We run Redis 6 in production."),
    ("We use Redis.", "We use Kafka."),
    ("The shop opens at 8.", "The shop closes at 20:00."),
    ("The shop opens at 8.", "The museum opens at 10."),
    ("Will is from Chile.", "Will is from a big family."),
    ("I read that Ana lives in Rome.", "I read that Ana lives in Bari."),
    ("Alex thinks the office is in Milan.", "Sam thinks the office is in Turin."),
    ("Vera teaches maths.", "Vera teaches physics."),
    ("If it rains, the party is at 5.", "The party is at 6."),
    ("i live in leipzig", "i live in fear"),
    ("i live in leipzig", "i moved to marketing"),
    ("Ian lives in Cork with his aunt.", "Ian lives in Cork with his dog."),
    ("I have a horse called Star.", "I have a horse called Moon."),
    ("Ian lives in Cork in winter.", "Ian lives in Nice in summer."),
]


@pytest.fixture(autouse=True)
def transport() -> None:
    """Not over HTTP: hundreds of pairs would open as many servers."""


@pytest.fixture(scope="module")
def store() -> Iterator[Memory]:
    with Memory.open("ram://") as memory:
        yield memory


def second(store: Memory, old: str, new: str, **options: Any) -> tuple[str, Added]:
    """The id of one fact, and the outcome of another that is told after it."""
    memory = store.for_namespace(f"{old}|{new}"[:256])
    memory.delete_all(namespace=memory.namespace)
    first = memory.add(old, kind="fact")
    [outcome] = memory.add(new, kind="fact", **options)
    return first.id, outcome


@pytest.mark.parametrize(("old", "new"), CONFLICTING)
def test_facts_that_exclude_each_other_conflict(store: Memory, old: str, new: str) -> None:
    id, outcome = second(store, old, new)
    assert (outcome.outcome, outcome.match) == ("CONFLICTS", id)
    id, outcome = second(store, new, old)
    assert (outcome.outcome, outcome.match) == ("CONFLICTS", id)


@pytest.mark.parametrize(("old", "new", "now", "then"), CHANGES)
def test_changes_conflict_and_the_later_version_leads(
    store: Memory, old: str, new: str, now: str, then: str
) -> None:
    memory = store.for_namespace(f"change {old}"[:256])
    memory.add(old, id="old", session_id="one", speaker="user", created_at="2025-01-01")
    [item] = memory.add(new, id="new", session_id="two", speaker="user", created_at="2026-02-01")
    assert (item.outcome, item.remedy) == ("CONFLICTS", 'memory.supersede("old", "new")')
    assert memory.search(now, now="2026-06-01").ids == ("new", "old")
    if then:
        assert memory.search(then, now="2026-06-01").ids == ("old", "new")


def test_what_is_sold_is_another_version_of_what_states_it(store: Memory) -> None:
    memory = store.for_namespace("sold")
    memory.add("I drive a red Fiat.", id="old", created_at="2025-01-01")
    memory.add("I sold the Fiat and bought a Tesla.", id="new", created_at="2026-02-01")
    hits = memory.search("What car do I drive?", now="2026-06-01", explain=True)
    assert hits.ids == ("new", "old")
    assert "other versions: old" in str(hits[0].explanation)
    assert memory.search("What car did I drive before?", now="2026-06-01").ids == ("old", "new")


def test_a_cut_keeps_what_changes_a_hit(store: Memory) -> None:
    memory = store.for_namespace("cut")
    memory.add("The keynote speaker is Dr. Adeyemi.", id="old", created_at="2025-01-01")
    text = "Dr. Adeyemi cancelled, so Prof. Lindqvist gives the keynote."
    memory.add(text, id="new", created_at="2026-02-01")
    memory.add("The keynote hall has blue seats.", id="other", created_at="2026-02-02")
    result = memory.search("Who is the keynote speaker?", now="2026-06-01", cut="auto")
    assert set(result.ids) == {"old", "new"}


@pytest.mark.parametrize(("old", "new"), COMPATIBLE)
def test_facts_that_may_both_hold_do_not(store: Memory, old: str, new: str) -> None:
    assert second(store, old, new)[1].outcome != "CONFLICTS"
    assert second(store, new, old)[1].outcome != "CONFLICTS"


@pytest.mark.parametrize("kind", ["note", "task", None])
def test_only_facts_are_read_by_rules(store: Memory, kind: str | None) -> None:
    memory = store.for_namespace(f"kind {kind}")
    for text in ("I live in Oslo.", "I have moved to Bergen."):
        assert memory.add(text, kind=kind).items[0].outcome == "ADDED"


def test_the_rules_can_be_left_off() -> None:
    by_cosine_alone = DedupPolicy(contradictions=False)
    with Memory.open("ram://", dedup=by_cosine_alone) as memory:
        assert second(memory, "I live in Oslo.", "I live in Bergen.")[1].outcome == "ADDED"
        assert (
            second(memory, "I live in Rome.", "I live in Bari.", dedup=True)[1].outcome == "ADDED"
        )
        policy = DedupPolicy()
        outcome = second(memory, "I live in Lyon.", "I live in Nice.", dedup=policy)[1].outcome
        assert outcome == "CONFLICTS"
        assert second(memory, "I eat fish.", "I don't eat fish.", dedup=False)[1].outcome == "ADDED"


def test_without_an_embedder_the_rules_hold() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        assert second(memory, "I live in Oslo.", "I live in Bergen.")[1].outcome == "CONFLICTS"


@given(st.text(max_size=240))
@example("I live in " + "a" * 180)
@example("." * 200)
@example("my " * 60)
def test_any_text_is_read_or_not(text: str) -> None:
    statement = statement_of(text)
    if statement is not None:
        assert statement.confirms(statement)
        assert not statement.contradicts(statement)


STATED = [s for pair in CONFLICTING + COMPATIBLE for s in map(statement_of, pair) if s is not None]


@given(st.sampled_from(STATED), st.sampled_from(STATED))
def test_contradiction_is_mutual_and_excludes_confirmation(
    one: Statement, other: Statement
) -> None:
    if one.key == other.key:
        assert one.contradicts(other) == other.contradicts(one)
        assert not (one.contradicts(other) and one.confirms(other))


def test_long_texts_of_blanks_and_words_are_read_in_no_time() -> None:
    """Patterns that try each division of a text would not end."""
    for text in ("a " * 100, "the " * 50, "a's " * 50, "my a's b's " * 18, "x-" * 100, "1 " * 100):
        statement_of(text)


def test_a_fact_that_denies_an_event_leaves_it_no_room() -> None:
    with Memory("ram://") as memory:
        memory.add("Ana went to Rome.", kind="fact")
        [denied] = memory.add("Ana did not go to Rome.", kind="fact")
        assert denied.outcome == "CONFLICTS"


def test_what_is_archived_is_not_contradicted() -> None:
    with Memory("ram://") as memory:
        memory.add("Ana lives in Porto.", kind="fact", id="porto")
        memory.update("porto", status="archived")
        [moved] = memory.add("Ana lives in Lisbon.", kind="fact")
        assert moved.outcome == "ADDED"

"""What a text tells of whoever says it: circumstances 1, tastes 2, instructions 3, health 4."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from salience import Memory
from salience.language.features import FEATURES, features
from salience.language.languages import ENGLISH, LANGUAGES, language_of_code
from salience.language.query_analysis import analyze_query
from salience.language.tokens import stem, words

_NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
_PLACE = FEATURES.index("personal")

TOLD = [
    ("The bridge opens at nine.", 0),
    ("I prefer short answers without emojis.", 3),
    ("I'd like concise, friendly replies.", 3),
    ("Please keep your explanations simple.", 3),
    ("Answer in Portuguese, please.", 3),
    ("I want answers from the landlord about the leak and the broken lock by Monday!", 0),
    ("I broke my wrist in March.", 4),
    ("I get seasick easily, even on lakes.", 4),
    ("I can't swim, sadly, so no boats for me!", 1),
    ("We're on a tight budget until the house is paid off, and then some!", 1),
    ("I can't find the file that you sent over yesterday!", 0),
    ("They like the old town.", 0),
    ("It always rains in Bergen.", 0),
    ("Is there a vegan bakery nearby?", 0),
    ("Can I eat gluten on this diet?", 0),
    ("When is my wife's birthday?", 0),
    ("Soy milk is sold out.", 0),
    ("The gym is closed.", 0),
    ("The doctor told Ben a joke.", 0),
    ("My knee has been hurting since the ski trip.", 4),
    ("My shoulder aches at night.", 4),
    ("Doctor told me to avoid running for six weeks.", 4),
    ("The physio told me to stretch twice a day.", 4),
    ("My twins start school in autumn.", 1),
    ("We have two dogs and a parrot.", 1),
    ("I work as a roofer.", 1),
    ("Our flat has no balcony.", 1),
    ("The user's daughter studies law.", 1),
    ("I can't stand loud bars.", 2),
    ("I don\u2019t watch horror films.", 2),
    ("I LOVE hiking.", 2),
    ("I am scared of deep water.", 2),
    ("Prefers an aisle seat.", 2),
    ("The customer prefers to be called after six.", 2),
    ("I'm into board games, which ones are new?", 2),
    ("Always answer in French.", 3),
    ("WHEN I ASK for code, show it.", 3),
    ("Don\u2019t ever call me before nine.", 3),
    ("I\u2019d like you to always be brief.", 3),
    ("Never invent names.", 3),
    ("I'm allergic to shellfish.", 4),
    ("Allergic to penicillin.", 4),
    ("I take insulin twice a day.", 4),
    ("My husband is a vegetarian, so am I.", 4),
    ("I avoid soy, I am intolerant to it.", 4),
    ("Ich bin gegen Nüsse allergisch.", 4),
    ("Je suis végétarienne depuis dix ans.", 4),
    ("Soy alérgica a los mariscos.", 4),
    ("Sono allergico alle fragole.", 4),
    ("Sou alérgica a camarão.", 4),
    ("У меня аллергия на мёд.", 4),
    ("我对海鲜过敏。", 4),
    ("私は卵アレルギーです。", 4),
    ("저는 새우 알레르기가 있어요.", 4),
    ("Ich meide laute Bars.", 2),
    ("Je déteste prendre l'avion.", 2),
    ("No me gusta madrugar.", 2),
    ("Odio le file al museo.", 2),
    ("Eu detesto o barulho da cidade.", 2),
    ("Я терпеть не могу шум.", 2),
    ("我讨厌坐飞机。", 2),
    ("私はホラー映画が苦手です。", 2),
    ("나는 매운 음식을 싫어해.", 2),
    ("Meine Tochter ist sechs.", 1),
    ("Ma fille a six ans.", 1),
    ("Mi hijo tiene seis años.", 1),
    ("Mio figlio ha sei anni.", 1),
    ("Minha filha tem seis anos.", 1),
    ("Моей дочери шесть лет.", 1),
    ("我女儿六岁了。", 1),
    ("うちの娘は六歳です。", 1),
    ("우리 딸은 여섯 살이야.", 1),
]


@pytest.mark.parametrize(("text", "kind"), TOLD)
def test_what_a_text_tells_of_who_says_it(text: str, kind: int) -> None:
    assert features(text, words(text))[_PLACE] == kind


def test_a_long_text_tells_nothing() -> None:
    text = "I am a vegan. " + "Then the train went on through valleys. " * 30
    assert features(text, words(text))[_PLACE] == 0


REQUESTS = [
    "What can I bake for the fair?",
    "Plan a weekend by the sea.",
    "Any ideas for a gift?",
    "Is it safe to take aspirin?",
    "Where should we go in May?",
    "Help me pick a laptop.",
    "Draft a letter to the landlord.",
    "Was kann ich heute kochen?",
    "Que puis-je offrir à ma mère ?",
    "¿Qué puedo cocinar esta noche?",
    "Cosa posso cucinare stasera?",
    "O que posso cozinhar hoje?",
    "Что мне приготовить на ужин?",
    "今晚我可以吃什么？",
    "夕食のおすすめは？",
    "저녁 메뉴 추천해 줘",
]
RECALLS = [
    "What did you recommend for the fair?",
    "When did we move to Porto?",
    "Summarize what I said about the laptop.",
    "Who wrote the letter to the landlord?",
    "How many days are there between the fair and the trip that Ana suggested?",
    "Wo habe ich das Auto geparkt?",
    "¿Cuándo llegó mi hermana?",
]


@pytest.mark.parametrize(
    ("text", "asks"), [*((text, True) for text in REQUESTS), *((text, False) for text in RECALLS)]
)
def test_a_request_is_told_from_a_question_of_recall(text: str, asks: bool) -> None:
    assert ("query_asks_advice" in analyze_query(text, {}, now=_NOW).features) is asks


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("What can I cook tonight?", True),
        ("Can I take ibuprofen?", True),
        ("Plan my workout.", True),
        ("Plan my trip to Rome.", False),
        ("When can I go swimming?", False),
        ("What did I cook?", False),
        ("今晚我可以吃什么？", True),
    ],
)
def test_a_request_may_be_about_food_medicine_or_sport(text: str, about: bool) -> None:
    analysis = analyze_query(text, {}, now=_NOW)
    assert ("query_is_about_body" in analysis.features) is about


TOPICS = [
    ("food", "what can i cook for dinner?", "which bus do i take to the office?"),
    ("sport", "can i go for a run tomorrow?", "how do i run the tests?"),
    ("sport", "is training good for my back?", "which train should i take?"),
    ("water", "should we take the ferry to corsica?", "what is in the data lake?"),
    ("travel", "how do i get to lisbon?", "how do i get the logs?"),
    ("travel", "any idea for a weekend away?", "who is away?"),
    ("money", "which guitar should i buy?", "which tests should i run?"),
    ("home", "how can i hang up a heavy mirror?", "which bus do i take?"),
    ("devices", "which monitor cable do i need?", "which wine shall we open?"),
    ("hands", "which guitar should i buy?", "which wine shall we open?"),
    ("looks", "which shampoo should i get?", "which bus do i take?"),
    ("hours", "when should i set my alarm?", "who is the author?"),
    ("career", "find me a job that fits my degree", "which wine shall we open?"),
    ("feasts", "how shall we celebrate new year's eve?", "which bus do i take?"),
    ("shows", "recommend a book", "how do i get to lisbon?"),
]
"""Topics of requests in English, each with a request about it and one that is not."""


@pytest.mark.parametrize(("topic", "request_", "other"), TOPICS)
def test_a_request_is_about_its_topic(topic: str, request_: str, other: str) -> None:
    assert topic in ENGLISH.topics_of(request_)
    assert topic not in ENGLISH.topics_of(other)


BEARING = [
    ("food", "i am allergic to nuts", "my knee hurts"),
    ("sport", "my knee hurts", "i am allergic to nuts"),
    ("water", "i can't swim", "i hate flying"),
    ("travel", "i hate flying", "i am allergic to nuts"),
    ("money", "we are on a tight budget", "i am left-handed"),
    ("home", "our landlord forbids pets", "i take warfarin"),
    ("devices", "i use a mac at home", "i play the cello"),
    ("hands", "i am left-handed", "i hate flying"),
    ("looks", "my hair is curly", "i hate flying"),
    ("hours", "my shift starts at six", "i am allergic to nuts"),
    ("career", "i studied chemistry", "i am left-handed"),
    ("feasts", "my dog is afraid of fireworks", "i studied chemistry"),
    ("shows", "i only read on my kindle", "my landlord forbids pets"),
]


@pytest.mark.parametrize(("topic", "bears", "does_not"), BEARING)
def test_what_somebody_tells_bears_on_a_topic(topic: str, bears: str, does_not: str) -> None:
    listed = ENGLISH.topics[topic][1]
    assert not set(words(bears)).isdisjoint(listed)
    assert set(words(does_not)).isdisjoint(listed)


def test_a_topic_has_the_same_name_in_every_language() -> None:
    assert {topic for topic, *_ in TOPICS} == set(ENGLISH.topics) == {name for name, *_ in BEARING}
    for language in map(language_of_code, LANGUAGES):
        assert language.topics.keys() <= ENGLISH.topics.keys()
        assert all(listed for _, listed in language.topics.values())


@pytest.mark.parametrize(
    ("text", "bears", "does_not"),
    [
        ("What can I cook tonight?", "allergic", "knee"),
        ("Should I go for a run tomorrow?", "knee", "allergic"),
        ("Should we take the ferry?", "seasick", "landlord"),
        ("How can I hang up a mirror?", "landlord", "seasick"),
        ("Which guitar should I buy?", "budget", "seasick"),
        ("When should I set my alarm?", "shift", "allergic"),
        ("Was kann ich heute Abend kochen?", "vegetarisch", "knie"),
        ("Sollen wir an den See fahren?", "schwimmer", "vermieter"),
        ("Que puis-je cuisiner ce soir ?", "allergiques", "genou"),
        ("Devons-nous aller à la plage ?", "nager", "allergiques"),
        ("¿Qué puedo cocinar esta noche?", "alergico", "rodilla"),
        ("Cosa posso cucinare stasera?", "allergico", "ginocchio"),
    ],
)
def test_what_bears_on_one_topic_does_not_bear_on_another(
    text: str, bears: str, does_not: str
) -> None:
    [[words]] = analyze_query(text, {}, now=_NOW).wordings["concern"]
    assert stem(bears) in words
    assert stem(does_not) not in words


def test_any_ailment_bears_on_medicine() -> None:
    analysis = analyze_query("Can I take ibuprofen for my headache?", {}, now=_NOW)
    assert "query_is_about_body" in analysis.features
    assert "concern" not in analysis.wordings


def test_what_bears_on_the_topic_of_a_request_leads() -> None:
    memory = Memory(":memory:")
    for told in ("I am left-handed.", "I can't swim.", "We're on a tight budget.", "I use a Mac."):
        memory.add([{"role": "user", "content": told}, {"role": "assistant", "content": "Noted."}])

    def first(question: str) -> str:
        return memory.search(question, limit=1)[0].record.content

    assert "swim" in first("Suggest something fun to do at the lake.")
    assert "budget" in first("Where could we go on vacation without spending much?")
    assert "left-handed" in first("What kind of guitar should I get?")
    assert "Mac" not in first("How do I open this jar?")

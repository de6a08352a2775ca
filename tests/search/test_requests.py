"""Requests of everyday life: a context holds what the user stated that bears on them.

Half of the requests share no word with the memory that they need.
"""

from __future__ import annotations

from functools import cache

import pytest

from salience import Memory
from salience.language.tokens import terms

PEOPLE = {
    "ida": [
        ("celiac", "I have celiac disease."),
        ("moped", "I get around on a small electric moped."),
        ("twins", "My twins Jon and Ada turn seven in May."),
        ("vertigo", "I suffer from vertigo."),
        ("budget", "My budget for furniture is 600 euros."),
        ("baker", "I work as a baker and get up at three."),
        ("greek", "I'm learning Greek."),
        ("crowds", "I can't stand crowds."),
        ("oboe", "I play the oboe in an amateur orchestra."),
        ("attic", "Our attic flat has no lift."),
        ("statin", "I take a statin every night."),
        ("vinyl", "I love old soul records."),
        ("husband", "My husband Tarek is a beekeeper."),
    ],
    "omar": [
        ("shellfish", "I'm allergic to shellfish."),
        ("shoulder", "I tore my shoulder last winter and it still hurts."),
        ("halal", "We only eat halal."),
        ("dog", "We have an old greyhound called Biscuit."),
        ("boats", "I get seasick on every boat."),
        ("dutch", "I moved here from Delft and speak Dutch with my parents."),
        ("shifts", "I drive a tram, mostly late shifts."),
        ("kotlin", "I write Kotlin at work and dislike semicolons."),
        ("loan", "We are still paying off a loan of 9,000 pounds."),
        ("mother", "My mother is deaf and reads lips."),
        ("coffee", "I gave up coffee, I prefer mint tea."),
        ("novels", "I never read crime novels, I like travel writing."),
        ("balcony", "Our balcony faces north and gets no sun."),
    ],
    "wen": [
        ("pregnant", "I'm pregnant, due in November."),
        ("asthma", "I have asthma and carry an inhaler."),
        ("budget", "I can spend at most 80 dollars a week on food."),
        ("wool", "I avoid wool because it itches."),
        ("bike", "I commute by bike, eleven kilometres each way."),
        ("law", "I study law in the evenings."),
        ("son", "My son is crazy about volcanoes."),
        ("night", "I'm a night owl, I never do anything before ten."),
        ("linux", "I use Linux on an old laptop."),
        ("horror", "I hate horror films."),
        ("stairs", "My father uses a wheelchair."),
        ("sister", "My sister lives in Oslo."),
        ("formal", "Always address my clients by their surname."),
        ("chess", "I enjoy chess and long train rides."),
    ],
}
REQUESTS = {
    "ida": [
        ("celiac", "What can I bake for the party?"),
        ("celiac", "Suggest a lunch for tomorrow."),
        ("moped", "How do I get to the office in the rain?"),
        ("twins", "Any ideas for a birthday party?"),
        ("twins", "Where can we go with the kids this weekend?"),
        ("vertigo", "Should I book the climbing course?"),
        ("vertigo", "Plan a hike in the Alps for me."),
        ("budget", "Help me pick a sofa."),
        ("baker", "When should I go to bed?"),
        ("baker", "Can we meet at eleven in the evening?"),
        ("greek", "Recommend a language app."),
        ("crowds", "Is the street festival a good idea for me?"),
        ("crowds", "Which beach would suit me in August?"),
        ("oboe", "What present should I ask for?"),
        ("attic", "Can I order a washing machine?"),
        ("statin", "Is it safe to drink grapefruit juice?"),
        ("statin", "Can I take something for my cold?"),
        ("vinyl", "Recommend some music for tonight."),
        ("husband", "What should I give Tarek for Christmas?"),
        ("husband", "Which plants should we put in the garden?"),
    ],
    "omar": [
        ("shellfish", "Suggest a paella recipe."),
        ("shellfish", "Which restaurant at the harbour should I book?"),
        ("shoulder", "Plan my workout for tomorrow."),
        ("shoulder", "Can I go swimming again?"),
        ("halal", "What can we cook for the neighbours?"),
        ("halal", "Write a shopping list for the barbecue."),
        ("dog", "Find us a holiday flat."),
        ("dog", "Who can look after Biscuit?"),
        ("boats", "How should we get to the island?"),
        ("boats", "Would a cruise be nice for our anniversary?"),
        ("dutch", "Draft a letter to my parents."),
        ("shifts", "When could I take an evening class?"),
        ("kotlin", "Write a function that reverses a list."),
        ("loan", "Should we buy a new car?"),
        ("mother", "How can I call my mother from abroad?"),
        ("coffee", "What should I drink in the morning?"),
        ("novels", "Recommend a book for the train."),
        ("novels", "Any tips for my reading list?"),
        ("balcony", "Which flowers should I plant?"),
        ("balcony", "Can I grow tomatoes?"),
    ],
    "wen": [
        ("pregnant", "Can I eat sushi?"),
        ("pregnant", "Is it okay to go to the sauna?"),
        ("asthma", "Should I run outside in the cold?"),
        ("asthma", "Can we get a cat?"),
        ("budget", "Plan my meals for the week."),
        ("wool", "Help me choose a winter jumper."),
        ("bike", "What should I wear to work tomorrow?"),
        ("law", "Which evenings should I keep free?"),
        ("son", "Which museum should I visit with my son?"),
        ("son", "What could I give a boy of six?"),
        ("night", "Schedule a call with the plumber."),
        ("night", "Should I take the flight at six?"),
        ("linux", "Recommend a video editor."),
        ("horror", "What should I watch tonight?"),
        ("stairs", "Pick a restaurant for dinner with my dad."),
        ("stairs", "Where should we stay with my father?"),
        ("sister", "Where could I spend a week in Norway?"),
        ("formal", "Draft a mail to Mr Brandt."),
        ("chess", "Any ideas for a rainy Sunday?"),
        ("chess", "How should I travel to Vienna?"),
    ],
}
OTHER_LANGUAGES = [
    ("Ich bin gegen Nüsse allergisch.", "Was kann ich heute Abend backen?"),
    ("Je suis végétarienne.", "Que puis-je cuisiner ce soir ?"),
    ("Soy alérgico a los mariscos.", "¿Qué puedo pedir en el restaurante?"),
    ("Ho paura dell'aereo.", "Come dovrei andare a Londra, cosa mi consigli?"),
    ("Eu odeio correr.", "Que exercício você me recomenda?"),
    ("Я не ем мясо.", "Что мне приготовить на ужин?"),
    ("我对花生过敏。", "推荐一个零食。"),
    ("私は高い所が苦手です。", "週末のおすすめは何ですか？"),
    ("나는 무릎이 안 좋아.", "어떤 운동을 하면 좋을까?"),
]
_CHATTER = [
    "Can you rewrite this paragraph about the history of bridges?",
    "The build fails again with the same error, line {} of the log.",
    "Thanks, that worked. What about the second table?",
    "Translate sentence number {} of the brochure, please.",
    "Is the meeting on page {} of the minutes the one with the architects?",
]
_ANSWER = (
    "Here is what I would do in step {0}. First, open the file and look for the header of the "
    "restaurant guide, which lists recipes, music, books and travel tips by region. Then compare "
    "the table of exercises with the shopping list for the party, and choose the holiday flat or "
    "the flight that fits. Finally, write the letter, plant the flowers, and check table {0}."
)


@cache
def store(person: str, noisy: bool = False) -> Memory:
    memory = Memory.open("ram://")
    turns = [{"role": "user", "content": text} for _, text in PEOPLE[person]]
    if noisy:
        chatter = []
        for number in range(150):
            said = _CHATTER[number % len(_CHATTER)].format(number)
            chatter.append({"role": "user", "content": said})
            chatter.append({"role": "assistant", "content": _ANSWER.format(number)})
        for place, turn in enumerate(turns):
            chatter.insert(1 + place * 23, turn)
        turns = chatter
    memory.add(turns, session_id="chat", dedup=False, created_at="2026-03-01")
    return memory


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noisy", [False, True])
def test_a_context_holds_what_bears_on_a_request(noisy: bool) -> None:
    missed, empty = [], []
    for person, asked in REQUESTS.items():
        texts = dict(PEOPLE[person])
        for needed, request in asked:
            context = store(person, noisy).get_context(request, 400, now="2026-06-01", touch=False)
            if not context.ids:
                empty.append(request)
            if texts[needed] not in context.text:
                missed.append(request)
    assert not empty
    assert len(missed) <= 3, missed


def test_half_of_the_requests_share_no_word_with_what_they_need() -> None:
    pairs = [
        (dict(PEOPLE[person])[needed], request)
        for person, asked in REQUESTS.items()
        for needed, request in asked
    ]
    common = {"i", "my", "the", "a", "for", "and", "to", "we", "at", "with", "in", "is", "it", "of"}
    apart = sum(set(terms(said)) & set(terms(asked)) <= common for said, asked in pairs)
    assert (len(pairs), apart >= 30) == (60, True)


@pytest.mark.parametrize(("said", "request_"), OTHER_LANGUAGES)
def test_a_request_in_another_language_brings_it_first(said: str, request_: str) -> None:
    with Memory.open("ram://") as memory:
        turns = [said, "The bus was late.", "Line 12 of the table is wrong."]
        memory.add([{"role": "user", "content": turn} for turn in turns], session_id="chat")
        assert memory.search(request_, limit=1)[0].content == said


def test_health_comes_first_where_a_request_is_about_food() -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(["I love long dinners.", "I'm allergic to sesame.", "I have a red car."])
        assert memory.search("What can I cook for dinner?")[0].content == "I'm allergic to sesame."


def test_health_comes_first_where_it_bears_on_what_is_asked() -> None:
    knee, allergy = "My knee hurts when it rains.", "I'm allergic to sesame."
    with Memory.open("ram://") as memory:
        memory.add_many([allergy, knee, "We meet at the bridge on Sundays for a run."])
        run = [hit.content for hit in memory.search("Should I go for a run on Sunday?")]
        assert run.index(knee) < run.index(allergy)
        assert memory.search("What can I eat?")[0].content == allergy


def test_the_user_is_who_says_i() -> None:
    with Memory.open("ram://") as memory:
        turns = ["I work at a foundry in Turin, mostly nights.", "The rain never stops."]
        memory.add([{"role": "user", "content": turn} for turn in turns], session_id="chat")
        asked = ("Where do I work?", "Where does the user work?", "Where does the customer work?")
        first, *others = [memory.search(query, touch=False) for query in asked]
        for other in others:
            assert (other.ids, other.probability) == (first.ids, first.probability)

"""Days, weeks and other times that a question asks about, in memories of sixty days."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from random import Random

import pytest

from salience import Memory, Profile
from salience.ranking.signals import OnDate
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import MatchAll

MakeQuestion = Callable[[str, Random], tuple[str, date, date]]
TODAY = date(2026, 3, 20)  # a Friday
NOW = datetime(2026, 3, 20, 21, 0, tzinfo=timezone.utc)
PEOPLE = ("Ana", "Ben", "Cleo", "Dan", "Eva")
ACTIONS = ("called", "visited", "helped", "met", "paid", "painted for", "cooked for", "wrote to")
THINGS = (
    "the baker", "a neighbour", "our landlord", "the dentist", "my cousin", "the plumber",
    "an old teacher", "the florist", "the new tenant", "my running partner", "the vet",
)  # fmt: skip
MONTHS = {
    "en": "January February March".split(),
    "de": "Januar Februar März".split(),
    "fr": "janvier février mars".split(),
    "es": "enero febrero marzo".split(),
    "it": "gennaio febbraio marzo".split(),
}
WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
    "es": "lunes martes miércoles jueves viernes sábado domingo".split(),
    "it": "lunedì martedì mercoledì giovedì venerdì sabato domenica".split(),
}
ABOUT = {
    "en": ("Who got the market wrap {}?", "What did I do {}?", "What happened {}?"),
    "de": ("Wer bekam den market wrap {}?", "Was habe ich {} gemacht?", "Was ist {} passiert?"),
    "fr": ("Qui a reçu le market wrap {} ?", "Qu'est-ce que j'ai fait {} ?"),
    "es": ("¿Quién recibió el market wrap {}?", "¿Qué hice {}?", "¿Qué pasó {}?"),
    "it": ("Chi ha ricevuto il market wrap {}?", "Che cosa ho fatto {}?"),
}
ON = {
    "en": ("on {m} {d}", "on {d} {m} {y}", "on {iso}", "on the {d}th of {m}"),
    "de": ("am {d}. {m}", "am {d:02}.{n:02}.{y}", "am {d}. {m} {y}"),
    "fr": ("le {d} {m}", "le {d:02}/{n:02}/{y}", "le {d} {m} {y}"),
    "es": ("el {d} de {m}", "el {d} de {m} de {y}"),
    "it": ("il {d} {m}", "il {d} {m} {y}"),
}
AGO = {
    "en": "{} days ago",
    "de": "vor {} Tagen",
    "fr": "il y a {} jours",
    "es": "hace {} días",
    "it": "{} giorni fa",
}
LAST_DAY = {
    "en": "last {}",
    "de": "letzten {}",
    "fr": "{} dernier",
    "es": "el {} pasado",
    "it": "{} scorso",
}
NEAR = {
    "en": ("yesterday", "the day before yesterday"),
    "de": ("gestern", "vorgestern"),
    "fr": ("hier", "avant-hier"),
    "es": ("ayer", "anteayer"),
    "it": ("ieri", "l'altro ieri"),
}
PERIODS = {
    "en": ("last week", "between {m} 5 and {m} 7", "in early {m}", "before February 3"),
    "de": ("letzte Woche", "zwischen dem 5. und dem 7. {m}", "Anfang {m}", "vor dem 3. Februar"),
    "fr": ("la semaine dernière", "entre le 5 et le 7 {m}", "début {m}", "avant le 3 février"),
    "es": ("la semana pasada", "entre el 5 y el 7 de {m}", "a principios de {m}",
           "antes del 3 de febrero"),
    "it": ("la settimana scorsa", "tra il 5 e il 7 {m}", "all'inizio di {m}",
           "prima del 3 febbraio"),
}  # fmt: skip
PERIOD_DAYS = (
    (date(2026, 3, 9), date(2026, 3, 15)),
    (date(2026, 3, 5), date(2026, 3, 7)),
    (date(2026, 3, 1), date(2026, 3, 10)),
    (date(2026, 1, 1), date(2026, 2, 2)),
)


def days() -> list[date]:
    return [TODAY - timedelta(days=ago) for ago in range(60)]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    """Each day a text that comes again every day, and two others; one day is left a year before."""
    random = Random(7)
    with Memory.open("ram://", clock=lambda: NOW) as opened:
        items = []
        for day in days():
            texts = [f"The market wrap was sent to {random.choice(PEOPLE)}."]
            texts += [f"I {random.choice(ACTIONS)} {random.choice(THINGS)}." for _ in range(2)]
            at = f"{day}T{random.randrange(6, 20):02}:00:00Z"
            items += [{"content": text, "created_at": at, "session_id": str(day)} for text in texts]
        for day in days()[::7]:
            at = f"{day.replace(year=2025)}T09:00:00Z"
            items.append({"content": "The market wrap was sent to Zoe.", "created_at": at})
        opened.add_many(items)
        yield opened


def share_first(memory: Memory, asked: list[tuple[str, date, date]]) -> tuple[float, list[str]]:
    """The share of questions whose first memory is of the right days, and the others."""
    wrong = []
    for question, first, last in asked:
        hit = memory.search(question, limit=1, touch=False)[0]
        if not first <= hit.created_at.date() <= last:
            wrong.append(f"{question} {hit.created_at.date()} {hit.content}")
    return 1 - len(wrong) / len(asked), wrong


def on_day(language: str, random: Random) -> tuple[str, date, date]:
    day = random.choice(days())
    name = MONTHS[language][day.month - 1]
    phrase = random.choice(ON[language]).format(
        d=day.day, m=name, n=day.month, y=day.year, iso=day.isoformat()
    )
    return random.choice(ABOUT[language]).format(phrase), day, day


def relative(language: str, random: Random) -> tuple[str, date, date]:
    kind = random.randrange(3)
    if kind == 0:
        ago = random.randrange(2)
        phrase = NEAR[language][ago]
        day = TODAY - timedelta(days=ago + 1)
    elif kind == 1:
        ago = random.randrange(2, 59)
        phrase, day = AGO[language].format(ago), TODAY - timedelta(days=ago)
    else:
        ago = random.randrange(1, 8)
        day = TODAY - timedelta(days=ago)
        phrase = LAST_DAY[language].format(WEEKDAYS[language][day.weekday()])
    return random.choice(ABOUT[language]).format(phrase), day, day


def in_period(language: str, random: Random) -> tuple[str, date, date]:
    kind = random.randrange(len(PERIOD_DAYS))
    phrase = PERIODS[language][kind].format(m=MONTHS[language][2])
    return random.choice(ABOUT[language]).format(phrase), *PERIOD_DAYS[kind]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("kind", "least"), [(on_day, 0.95), (relative, 0.9), (in_period, 0.95)])
@pytest.mark.parametrize("language", MONTHS)
def test_the_time_asked_about_leads(
    memory: Memory, kind: MakeQuestion, least: float, language: str
) -> None:
    random = Random(11)
    share, wrong = share_first(memory, [kind(language, random) for _ in range(40)])
    assert share >= least, wrong


def test_days_are_those_of_the_time_zone_of_now(memory: Memory) -> None:
    for now, day in (("2026-03-16T00:30:00+09:00", 15), ("2026-03-15T15:30:00+00:00", 14)):
        found = memory.search("Who got the market wrap yesterday?", now=now, limit=1, touch=False)
        zone = datetime.fromisoformat(now).tzinfo
        assert found[0].created_at.astimezone(zone).day == day


def test_plans_for_the_time_asked_about_lead() -> None:
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        memory.add("The dentist is on March 25.", id="plan", created_at="2026-02-01")
        memory.add_many([f"The dentist called about bill {n}." for n in range(20)])
        assert memory.search("What is on March 25?").ids[0] == "plan"
        assert memory.search("Which dentist do I see next Wednesday?").ids[0] == "plan"


def test_a_time_that_is_not_over_leads_in_no_query_for_advice() -> None:
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        memory.add("I eat no meat at dinner.", id="diet", created_at="2025-02-01")
        memory.add("The dinner table wobbles.", id="today")
        assert memory.search("What should I cook for dinner tonight?").ids[0] == "diet"


def test_what_is_of_the_time_but_of_nothing_else_asked_for_does_not_lead() -> None:
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        memory.add("Milk is out.", id="milk", created_at="2026-03-18T09:00:00Z")
        memory.add("The market wrap was sent to Ana.", id="wrap", created_at="2026-03-17T09:00:00Z")
        assert memory.search("Who got the market wrap on March 18?").ids[0] == "wrap"
        assert memory.search("What happened on March 18?").ids[0] == "milk"


def test_a_day_beyond_the_first_candidates_is_found() -> None:
    with Memory.open("ram://", clock=lambda: NOW) as memory:
        memory.add("Lunch was good.", id="then", created_at="2026-03-18T12:00:00Z")
        other = "2025-01-01T12:00:00Z"
        memory.add_many(
            [{"content": f"What did I do at {n}? Lunch!", "created_at": other} for n in range(600)],
            dedup=False,
        )
        assert memory.search("What did I do at lunch two days ago?").ids[0] == "then"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What's on Monday?", "Dentist on Monday at ten."),
        ("What do I have to do today?", "Pick up the cake tomorrow."),
        ("Any visitors tomorrow?", "Aunt Vera visits on Saturday."),
        ("Was steht am Mittwoch an?", "Am Mittwoch kommt der Klempner."),
    ],
)
def test_a_memory_may_tell_of_a_day_by_its_weekday(question: str, answer: str) -> None:
    told = {
        "2026-03-12": "Aunt Vera was ill.",
        "2026-03-16": "Cleaned the windows.",
        "2026-03-17": "Am Mittwoch kommt der Klempner.",
        "2026-03-18": "Aunt Vera visits on Saturday.",
        "2026-03-19T09:00": "Pick up the cake tomorrow.",
        "2026-03-19T10:00": "Dentist on Monday at ten.",
    }
    with Memory("ram://") as memory:
        for day, text in told.items():
            memory.add(text, created_at=day, dedup=False)
        assert memory.search(question, now=NOW)[0].content == answer


@pytest.mark.deep
def test_what_is_to_come_is_found_among_many_others() -> None:
    with Memory("ram://") as memory:
        old = [{"content": f"On tomorrow: {n}", "created_at": "2025-06-01"} for n in range(2500)]
        memory.add_many(old, dedup=False)
        memory.add("Aunt Vera visits on Saturday.", created_at="2026-03-18")
        found = memory.search("What's on tomorrow?", now=NOW)
    assert found[0].content == "Aunt Vera visits on Saturday."


def test_the_end_of_a_time_is_no_part_of_it() -> None:
    times = {"begin": "2026-03-18", "last": "2026-03-18T23:59:59", "end": "2026-03-19"}
    of_time = Profile("of time", retrieve(MatchAll()) >> score(OnDate()) >> cut())
    with Memory("ram://", clock=lambda: NOW) as memory:
        memory.add_many(
            [{"content": f"Ate {id}.", "id": id, "created_at": at} for id, at in times.items()]
        )
        hits = memory.search("What did I eat on March 18, 2026?", profile=of_time)
        scores = {hit.id: hit.score for hit in hits}
    assert scores["begin"] == scores["last"] == 1.0
    assert scores["end"] == pytest.approx(0.7, abs=1e-4)


def test_the_begin_of_a_time_is_a_part_of_it_where_no_memory_is_later() -> None:
    of_time = Profile("of time", retrieve(MatchAll()) >> score(OnDate()) >> cut())
    with Memory("ram://", clock=lambda: NOW) as memory:
        memory.add("Ate soup.", created_at="2026-03-18")
        [hit] = memory.search("What did I eat on March 18, 2026?", profile=of_time)
    assert hit.score == 1.0

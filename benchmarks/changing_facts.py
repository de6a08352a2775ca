"""Facts that change: Recall@1 of the present fact for questions about now, the past one for then.

    python changing_facts.py --profile balanced --profile composite

`evaluate` asks in English about others, `evaluate_languages` in ten languages about oneself.

Notes over two years tell that invented people move and change jobs, among notes that mention the
same people and places. Everything comes from a seed. The notes are stored twice: one after the
other, and each declared to supersede the one before.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Literal

from salience.embedders import Embedder, EmbedderLike, resolve
from salience.engine.memory import Memory
from salience.ranking import profiles
from salience.ranking.profile import Profile
from state_sentences import SENTENCES, Told

Kind = Literal["now", "then", "as_of"]
KINDS: tuple[Kind, ...] = ("now", "then", "as_of")
_BEGIN = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
_DAYS = 730
_MIN_DAYS_BETWEEN = 75  # two changes of a fact, so that a whole month lies between them
_PEOPLE = (
    "Ana Ben Carla David Elena Farid Greta Hugo Ines Jonas Keiko Liam Mira Nadia Oscar Petra "
    "Quentin Rosa Samir Tilda Umar Vera Walter Yara"
).split()
_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_PRESENT = (" now", " currently", " these days", " at the moment")


@dataclass(frozen=True)
class _Topic:
    """A fact about a person that changes: its wordings, its questions, its values."""

    statements: tuple[str, ...]
    questions: tuple[str, str]  # about the present, about the past
    values: tuple[str, ...]


_TOPICS = (
    _Topic(
        ("{name} lives in {value}.", "{name} has moved to {value}.", "{name} settled in {value}."),
        ("Where does {name} live{when}?", "Where did {name} live {when}?"),
        tuple("Lisbon Berlin Oslo Turin Ghent Lyon Porto Graz Basel Malmo Cork Bari".split()),
    ),
    _Topic(
        (
            "{name} works at {value}.",
            "{name} took a job at {value}.",
            "{name} is employed by {value}.",
        ),
        ("Which company does {name} work for{when}?", "Which company did {name} work for {when}?"),
        tuple(
            "Siemens Nokia Philips Ikea Volvo Bosch Lego Shell Spotify Zalando Adyen Roche".split()
        ),
    ),
    _Topic(
        (
            "{name} drives a {value} car.",
            "{name} bought a {value} car.",
            "{name} got a {value} car.",
        ),
        (
            "What colour is the car that {name} drives{when}?",
            "What colour was {name}'s car {when}?",
        ),
        tuple("red blue green white black silver yellow orange purple brown".split()),
    ),
    _Topic(
        (
            "{name} plays {value} every week.",
            "{name} took up {value}.",
            "{name} is training {value}.",
        ),
        ("Which sport does {name} play{when}?", "Which sport did {name} play {when}?"),
        tuple("tennis hockey rugby squash judo golf volleyball badminton karate rowing".split()),
    ),
    _Topic(
        (
            "{name} is learning {value}.",
            "{name} started to learn {value}.",
            "{name} studies {value}.",
        ),
        ("Which language is {name} learning{when}?", "Which language was {name} learning {when}?"),
        tuple("Spanish Polish Greek Arabic Hindi Korean Dutch Finnish Turkish Swahili".split()),
    ),
)
_CHATTER = (
    "{name} spent a weekend in {city} with {other}.",
    "{name} and {other} talked about {city} over dinner.",
    "{other} asked {name} which sport is good for the back.",
    "{name} wants to see a film with {other}.",
    "{name} borrowed a car from {other} for a day.",
    "{other} told {name} that {company} is hiring.",
    "{name} read a book about learning languages.",
)


@dataclass(frozen=True)
class Note:
    """A text with its time; `fact` is its person and topic, None for chatter."""

    id: str
    text: str
    at: datetime
    fact: tuple[str, int] | None = None
    before: str | None = None  # the note that it supersedes


@dataclass(frozen=True)
class Question:
    """A question and the note that answers it; `at` is the time of an `as_of` search."""

    kind: Kind
    text: str
    answer: str
    at: datetime | None = None


@dataclass(frozen=True)
class World:
    """Notes by time, and questions that are asked after the last note."""

    notes: tuple[Note, ...]
    questions: tuple[Question, ...]
    now: datetime


def world(seed: int, people: int = 24, chatter: int = 300) -> World:
    """The world of a seed: every topic of every person changes two to four times."""
    rng = random.Random(seed)
    notes: list[Note] = []
    questions: list[Question] = []
    now = _BEGIN + timedelta(days=_DAYS + 14)
    for name in rng.sample(_PEOPLE, people):
        for number, topic in enumerate(_TOPICS):
            history = _history(rng, name, number, topic)
            notes += history
            questions += _questions(rng, name, topic, history)
    for i in range(chatter):
        name, other = rng.sample(_PEOPLE[:people], 2)
        places = {
            "city": rng.choice(_TOPICS[0].values),
            "company": rng.choice(_TOPICS[1].values),
        }
        text = rng.choice(_CHATTER).format(name=name, other=other, **places)
        at = _BEGIN + timedelta(days=rng.uniform(0, _DAYS))
        notes.append(Note(f"chatter{i}", text, at))
    notes.sort(key=lambda note: (note.at, note.id))
    return World(tuple(notes), tuple(questions), now)


def _history(rng: random.Random, name: str, number: int, topic: _Topic) -> list[Note]:
    """The notes on one topic of a person over time."""
    count = rng.randint(3, 5)
    slack = _DAYS - _MIN_DAYS_BETWEEN * count
    offsets = sorted(rng.uniform(0, slack) for _ in range(count))
    notes: list[Note] = []
    for i, value in enumerate(rng.sample(topic.values, count)):
        at = _BEGIN + timedelta(days=offsets[i] + _MIN_DAYS_BETWEEN * i)
        text = rng.choice(topic.statements).format(name=name, value=value)
        before = notes[-1].id if notes else None
        notes.append(Note(f"{name}.{number}.{i}", text, at, (name, number), before))
    return notes


def _questions(
    rng: random.Random, name: str, topic: _Topic, notes: Sequence[Note]
) -> Iterator[Question]:
    """One question about the present, one about a past month, one asked `as_of` a past time."""
    present, past = topic.questions
    yield Question("now", present.format(name=name, when=rng.choice(_PRESENT)), notes[-1].id)
    i = rng.randrange(len(notes) - 1)
    month = (notes[i].at.replace(day=1) + timedelta(days=32)).replace(day=1)
    when = f"in {_MONTHS[month.month - 1]} {month.year}"
    yield Question("then", past.format(name=name, when=when), notes[i].id)
    later = notes[i].at + timedelta(days=rng.uniform(1, 60))
    yield Question("as_of", present.format(name=name, when=""), notes[i].id, later)


@dataclass(frozen=True)
class Outcome:
    """Recall@1 of one profile for one kind of question."""

    profile: str
    declared: bool
    kind: Kind
    questions: int
    recall: float


def evaluate(
    profiles: Sequence[Profile],
    embedder: EmbedderLike | None = "default",
    *,
    seed: int = 1,
    people: int = 24,
    kinds: Sequence[Kind] = KINDS,
) -> list[Outcome]:
    """Recall@1 of each profile over the world of a seed, with and without declarations."""
    scenario = world(seed, people, chatter=people * 12)
    model = resolve(embedder)
    outcomes: list[Outcome] = []
    for declared in (False, True):
        with _written_memory(scenario, model, declared) as memory:
            for profile in profiles:
                outcomes += _outcomes(memory, scenario, profile, declared, kinds)
    return outcomes


def _written_memory(scenario: World, model: Embedder | None, declared: bool) -> Memory:
    """A memory with all notes, each written at its time."""
    clock = {"now": scenario.now}
    memory = Memory.open("ram://", embedder=model, clock=lambda: clock["now"])
    for note in scenario.notes:
        clock["now"] = note.at
        memory.add(
            note.text,
            id=note.id,
            kind="note" if note.fact is None else "fact",
            supersedes=note.before if declared else None,
        )
    clock["now"] = scenario.now
    return memory


def _outcomes(
    memory: Memory, scenario: World, profile: Profile, declared: bool, kinds: Sequence[Kind]
) -> Iterator[Outcome]:
    for kind in kinds:
        questions = [question for question in scenario.questions if question.kind == kind]
        hits = 0
        for question in sorted(questions, key=lambda question: question.at or scenario.now):
            result = memory.search(
                question.text, limit=1, profile=profile, as_of=question.at, touch=False
            )
            hits += result.ids == (question.answer,)
        yield Outcome(profile.name, declared, kind, len(questions), hits / max(1, len(questions)))


# Of oneself, in other languages

Asked = Literal["present", "now", "former"]
ASKED: tuple[Asked, ...] = ("present", "now", "former")
"""The ways of asking for a state: in the present, with a word for now, or as it was before."""
LANGUAGES = tuple(SENTENCES)
_STATES = 3  # of each topic


@dataclass(frozen=True)
class LanguageOutcome:
    """The share of questions in a language with the right state above all others that were told.

    For the present that is the newest one; for the past, any but the newest.
    """

    language: str
    asked: Asked
    questions: int
    right: float


def evaluate_languages(
    profile: Profile,
    embedder: EmbedderLike | None = "default",
    *,
    languages: Sequence[str] = LANGUAGES,
    seed: int = 1,
    people: int = 8,
) -> list[LanguageOutcome]:
    """Of what people say of themselves over two years, which state is found first, by language.

    Everybody has a namespace of their own, and tells three states of each topic by plain turns,
    among others.
    """
    model = resolve(embedder)
    return [
        LanguageOutcome(language, asked, len(right), sum(right) / len(right))
        for language in languages
        for asked, right in _right(profile, model, SENTENCES[language], seed, people).items()
    ]


def _right(
    profile: Profile, model: Embedder | None, told: Told, seed: int, people: int
) -> dict[Asked, list[bool]]:
    rng = random.Random(seed)
    right: dict[Asked, list[bool]] = {asked: [] for asked in ASKED}
    now = _BEGIN + timedelta(days=_DAYS + 14)
    for person in range(people):
        memory = Memory.open("ram://", embedder=model, namespace=f"person{person}", profile=profile)
        states = [rng.sample(topic.values, _STATES) for topic in told.topics]
        turns = [
            (rng.choice(topic.told).format(value), f"{number}.{place}", 300 * place)
            for number, topic in enumerate(told.topics)
            for place, value in enumerate(states[number])
        ]
        for number in range(12):
            cities, firms = told.topics[0].values, told.topics[1].values
            text = rng.choice(told.chatter).format(city=rng.choice(cities), firm=rng.choice(firms))
            turns.append((text, f"chatter{number}", 60 * number))
        memory.add_many(
            {"content": text, "id": id, "created_at": _BEGIN + timedelta(days=day + rng.random())}
            for text, id, day in sorted(turns, key=lambda turn: turn[2])
        )
        for number, topic in enumerate(told.topics):
            questions = (*topic.asked, topic.asked_former)
            for asked, question in zip(ASKED, questions, strict=True):
                found = memory.search(question, limit=50, now=now, touch=False).ids
                said = [id for id in found if id.startswith(f"{number}.")]
                is_newest = said[:1] == [f"{number}.{_STATES - 1}"]
                right[asked].append(bool(said) and is_newest != (asked == "former"))
        memory.close()
    return right


def main() -> None:
    """Print Recall@1 of each profile, and how often each language finds the right state first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", action="append", help="again for more; default: all")
    parser.add_argument("--embedder", default="default")
    arguments = parser.parse_args()
    names = arguments.profile or [name for name in profiles.BUILT_IN if "." not in name]
    chosen = [profiles.get(name) for name in names]
    outcomes = evaluate(chosen, arguments.embedder)
    print(f"Recall@1 over {outcomes[0].questions} questions of each kind")
    for one in outcomes:
        way = "superseded" if one.declared else "told"
        print(f"{one.profile:16} {way:10} {one.kind:6} {one.recall:.3f}")
    told = evaluate_languages(
        profiles.get((arguments.profile or ["balanced"])[0]), arguments.embedder
    )
    print(f"The state asked for before all others, of {told[0].questions} questions of each kind")
    for each in told:
        print(f"{each.language:16} {each.asked:10} {each.right:.3f}")


if __name__ == "__main__":
    main()

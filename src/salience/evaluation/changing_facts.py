"""Facts that change: is the present one found for "now", and the past one for "back then"?

Invented people move, change jobs and change their minds, told in notes over two years, among notes
that mention the same people and places. Everything comes from a seed. The notes are kept twice:
told one after the other, and each declared to supersede the one before.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from salience.embedders import Embedder, resolve
from salience.engine import Memory
from salience.ranking.profile import Profile

Kind = Literal["now", "then", "as_of"]
KINDS: tuple[Kind, ...] = ("now", "then", "as_of")
_BEGIN = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
_DAYS = 730
_APART = 75  # days at least between two changes of a fact, so that a whole month lies between
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
    """Something about a person that changes: how it is told and asked, and what it may be."""

    told: tuple[str, ...]
    asked: tuple[str, str]  # of the present, of the past
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
    """A text told at a time; `fact` is what it is about, None for chatter."""

    id: str
    text: str
    at: datetime
    fact: tuple[str, int] | None = None
    before: str | None = None  # the note whose place it takes


@dataclass(frozen=True)
class Asked:
    """A question and the one note that answers it; `at` is the time to go back to, if any."""

    kind: Kind
    text: str
    answer: str
    at: datetime | None = None


@dataclass(frozen=True)
class World:
    """Notes in the order in which they were told, and questions asked after the last of them."""

    notes: tuple[Note, ...]
    questions: tuple[Asked, ...]
    now: datetime


def world(seed: int, people: int = 24, chatter: int = 300) -> World:
    """The world of a seed: every topic of every person changes two to four times."""
    rng = random.Random(seed)
    notes: list[Note] = []
    questions: list[Asked] = []
    now = _BEGIN + timedelta(days=_DAYS + 14)
    for name in rng.sample(_PEOPLE, people):
        for number, topic in enumerate(_TOPICS):
            told = _history(rng, name, number, topic)
            notes += told
            questions += _questions(rng, name, topic, told)
    for i in range(chatter):
        name, other = rng.sample(_PEOPLE[:people], 2)
        told_of = {
            "city": rng.choice(_TOPICS[0].values),
            "company": rng.choice(_TOPICS[1].values),
        }
        text = rng.choice(_CHATTER).format(name=name, other=other, **told_of)
        at = _BEGIN + timedelta(days=rng.uniform(0, _DAYS))
        notes.append(Note(f"chatter{i}", text, at))
    notes.sort(key=lambda note: (note.at, note.id))
    return World(tuple(notes), tuple(questions), now)


def _history(rng: random.Random, name: str, number: int, topic: _Topic) -> list[Note]:
    """What is told of one topic of a person over time."""
    count = rng.randint(3, 5)
    slack = _DAYS - _APART * count
    offsets = sorted(rng.uniform(0, slack) for _ in range(count))
    found: list[Note] = []
    for i, value in enumerate(rng.sample(topic.values, count)):
        at = _BEGIN + timedelta(days=offsets[i] + _APART * i)
        text = rng.choice(topic.told).format(name=name, value=value)
        before = found[-1].id if found else None
        found.append(Note(f"{name}.{number}.{i}", text, at, (name, number), before))
    return found


def _questions(
    rng: random.Random, name: str, topic: _Topic, told: Sequence[Note]
) -> Iterator[Asked]:
    """One question about the present, one about a month back then, one asked back then."""
    present, past = topic.asked
    yield Asked("now", present.format(name=name, when=rng.choice(_PRESENT)), told[-1].id)
    i = rng.randrange(len(told) - 1)
    month = (told[i].at.replace(day=1) + timedelta(days=32)).replace(day=1)
    when = f"in {_MONTHS[month.month - 1]} {month.year}"
    yield Asked("then", past.format(name=name, when=when), told[i].id)
    later = told[i].at + timedelta(days=rng.uniform(1, 60))
    yield Asked("as_of", present.format(name=name, when=""), told[i].id, later)


@dataclass(frozen=True)
class Outcome:
    """Recall@1 of one profile for one kind of question."""

    profile: str
    declared: bool
    kind: Kind
    questions: int
    recall: float

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "profile": self.profile,
            "superseding": "declared" if self.declared else "told",
            "kind": self.kind,
            "questions": self.questions,
            "recall_at_1": self.recall,
        }


def evaluate(
    profiles: Sequence[Profile],
    embedder: str | Embedder | None = "default",
    *,
    seed: int = 1,
    people: int = 24,
    kinds: Sequence[Kind] = KINDS,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Outcome]:
    """Recall@1 of each profile over the world of a seed, kept both ways."""
    made = world(seed, people, chatter=people * 12)
    model = resolve(embedder)
    found: list[Outcome] = []
    for declared in (False, True):
        with _told(made, model, declared) as memory:
            for at, profile in enumerate(profiles):
                if progress is not None:
                    progress("declared" if declared else "told", at, len(profiles))
                found += _measured(memory, made, profile, declared, kinds)
    return found


def _told(made: World, model: Embedder | None, declared: bool) -> Memory:
    """A memory in which all notes were told, each at its time."""
    clock = {"now": made.now}
    memory = Memory.open("ram://", embedder=model, clock=lambda: clock["now"])
    for note in made.notes:
        clock["now"] = note.at
        memory.add(
            note.text,
            id=note.id,
            kind="note" if note.fact is None else "fact",
            supersedes=note.before if declared else None,
        )
    clock["now"] = made.now
    return memory


def _measured(
    memory: Memory, made: World, profile: Profile, declared: bool, kinds: Sequence[Kind]
) -> Iterator[Outcome]:
    for kind in kinds:
        asked = [one for one in made.questions if one.kind == kind]
        hits = 0
        for one in sorted(asked, key=lambda each: each.at or made.now):
            result = memory.search(one.text, limit=1, profile=profile, as_of=one.at, touch=False)
            hits += result.ids == (one.answer,)
        yield Outcome(profile.name, declared, kind, len(asked), hits / max(1, len(asked)))

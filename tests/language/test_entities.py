"""Entities by rules, aliases, and extractors from outside."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import Memory
from salience.errors import InvalidInput
from salience.language.entities import (
    MAX_CHARACTERS,
    NO_ALIASES,
    RULES,
    Aliases,
    RuleBasedExtractor,
    fold_name,
    known_names,
    possible_names,
)
from support.scoring import NOW


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        # Names: in a sentence, at its beginning, of several words
        ("We met Sarah in Utrecht.", ["Sarah", "Utrecht"]),
        ("Sarah prefers Vue over React", ["Sarah", "Vue", "React"]),
        ("Sarah Chen's team is in New York", ["Sarah Chen", "New York"]),
        ("He works at the Bank of America now", ["Bank of America"]),
        ("We heard Ludwig van Beethoven", ["Ludwig van Beethoven"]),
        ("I spoke to Dr. Meyer and J. Doe", ["Meyer", "Doe"]),
        ("It is O'Brien and Jean-Luc", ["O'Brien", "Jean-Luc"]),
        ("Привет, Анна живёт в Москве", ["Привет", "Анна", "Москве"]),
        # A capital at the beginning of a sentence does not make a name of an ordinary word
        ("The migration is late. Please ask Ana.", ["Ana"]),
        ("What does the user prefer? Nobody knows.", []),
        ("Working hard. Deployment failed. Unfortunately it rained.", []),
        ("Budgets are tight, but budgets change", []),
        ("Install Docker first", ["Docker"]),
        # Products, acronyms, letters with digits
        ("iPhone or TypeScript on AWS Lambda", ["iPhone", "TypeScript", "AWS Lambda"]),
        ("GPT-4 and PostgreSQL, C++ and C#, in Q2", ["GPT-4", "PostgreSQL", "C++", "C#", "Q2"]),
        ("call the API of NASA", ["API", "NASA"]),
        # Addresses and handles
        (
            "mail ana.b@example.com or @jo.doe, see https://x.org/a?b=1.",
            ["ana.b@example.com", "@jo.doe", "https://x.org/a?b=1"],
        ),
        # Titles in quotation marks, but not speech
        ('we read "Attention Is All You Need"', ["Attention Is All You Need"]),
        ('she said "hello there"', []),
        # No entities: days and months, first person, code, text in capitals
        ("On Tuesday in March I'm off", []),
        ("use `FooBar.baz` here", []),
        ("DO NOT TOUCH THIS", []),
        ("今日は東京", []),
        ("", []),
    ],
)
def test_entities_that_are_told_by_their_spelling(text: str, entities: list[str]) -> None:
    assert list(RULES.extract(text)) == entities


def test_an_entity_is_named_once_in_its_first_spelling() -> None:
    assert RULES.extract("they use JavaScript, and JAVASCRIPT, and JavaScript") == ("JavaScript",)


@given(st.text(max_size=200))
def test_any_text_has_entities_that_occur_in_it(text: str) -> None:
    entities = RULES.extract(text)
    assert all(entity in text and entity.strip() for entity in entities)
    assert len(set(entities)) == len(entities)


def test_entities_are_compared_folded_and_by_alias() -> None:
    names = Aliases.of({"JS": "JavaScript", "ES": "JS"})
    assert names.key("js") == names.key("ES") == names.key("JAVASCRIPT") == "javascript"
    assert names.keys(["JS", "JavaScript", "Café"]) == {"javascript", "cafe"}
    assert NO_ALIASES.key("New  York") == "new york"


@pytest.mark.parametrize("aliases", [{"a": "b", "b": "a"}, {"a": 1}, ["JS"]])
def test_aliases_in_a_circle_or_of_another_type_are_refused(aliases: object) -> None:
    with pytest.raises(InvalidInput, match="aliases"):
        Aliases.of(aliases)  # type: ignore[arg-type]


def _open(**options: object) -> Memory:
    return Memory.open("ram://", embedder=None, clock=lambda: NOW, **options)  # type: ignore[arg-type]


def test_entities_are_extracted_at_write_unless_the_caller_gives_them() -> None:
    with _open() as memory:
        added = [
            memory.add("We met Sarah in Utrecht"),
            memory.add("We met Sarah in Utrecht", entities=["the meeting"]),
            memory.add("We met Sarah in Utrecht", entities=[]),
            memory.add("it went well", title="Heron Dashboard"),
        ]
        records = [memory.get(result.id) for result in added]
    assert [record and record.entities for record in records] == [
        ("Sarah", "Utrecht"),
        ("the meeting",),
        (),
        ("Heron Dashboard",),
    ]


def test_entities_of_new_content_are_extracted_unless_the_caller_gave_them() -> None:
    with _open() as memory:
        extracted = memory.add("We met Sarah").id
        explicit = memory.add("We met Sarah", entities=["Ana"]).id
        assert memory.update(extracted, content="We met Bob").entities == ("Bob",)
        assert memory.update(explicit, content="We met Bob").entities == ("Ana",)
        assert memory.update(extracted, content="We met Eve", entities=["Lee"]).entities == ("Lee",)


class _Exclamations:
    def extract(self, text: str) -> Sequence[str]:
        return [word for word in text.split() if word.endswith("!")]


def test_an_extractor_can_be_replaced_or_left_out() -> None:
    with _open(entities=_Exclamations()) as memory:
        record = memory.get(memory.add("hey! Sarah").id)
        assert record is not None
        assert record.entities == ("hey!",)
    with _open(entities=None) as memory:
        record = memory.get(memory.add("hey! Sarah").id)
        assert record is not None
        assert record.entities == ()


@pytest.mark.parametrize(
    ("question", "known", "names"),
    [
        ("what does sarah think about react?", {"sarah", "react"}, ["sarah", "react"]),
        ("who is sarah chen's boss", {"sarah", "chen", "sarah chen"}, ["sarah chen"]),
        ("i went to new york", {"new", "york", "new york"}, ["new york"]),
        ("will may mark the rose?", {"will", "may", "mark", "rose"}, []),
        ("what did will smith say", {"will smith", "will"}, ["will smith"]),
        ("is the migration done", {"migration"}, []),  # an ordinary word
        ("is gpt-4 better in q2?", {"gpt-4", "q2"}, ["gpt-4", "q2"]),
        ("kennt 山田 müller?", {"山田", "muller"}, ["山田", "muller"]),
        ("who   is\nana costa", {"ana costa"}, ["ana costa"]),
        ("", {"ana"}, []),
    ],
)
def test_names_that_memories_know(question: str, known: set[str], names: list[str]) -> None:
    assert known_names(possible_names(question), known, ()) == names


@given(st.text(max_size=40))
def test_possible_names_are_folded_words_of_the_question(question: str) -> None:
    for name, start, end in possible_names(question):
        assert 0 <= start < end <= start + 6
        assert name == fold_name(name)


def test_an_alias_in_lower_case_names_its_entity() -> None:
    with Memory.open("ram://", embedder=None, aliases={"JS": "JavaScript"}) as memory:
        memory.add("x", id="a", entities=["JavaScript"])
        memory.add("y", id="b", entities=["JS"])
        hits = memory.search("what about js and javascript?", profile="six_factor", explain=True)
        for hit in hits:
            assert hit.explanation is not None
            entity = hit.explanation.find("entity")
            assert entity is not None
            assert entity.value == 1.0


def test_a_name_in_lower_case_finds_its_title() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("She builds bridges.", id="a", title="Sarah Chen", layer="entity")
        for question in ("Who is Sarah Chen really?", "who is sarah chen really?"):
            [hit] = memory.search(
                question, profile="vitality", options={"context": "identity"}, explain=True
            )
            assert hit.explanation is not None
            name = hit.explanation.find("name_similarity")
            assert name is not None
            assert name.value == 1.0


def test_the_beginning_of_a_long_text_is_read() -> None:
    text = "We met Ana Silva. " + "x " * MAX_CHARACTERS + "We met Ben Okri."
    assert RULES.extract(text) == ("Ana Silva",)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Raw text is kept.", []),
        ("Green tea is best.", []),
        ("Bread rises overnight. Hot kilns crack.", []),
        ("Ask Green about the kiln.", ["Green"]),
        ("Red Cross volunteers came.", ["Red Cross"]),
        ("Paris is cold.", ["Paris"]),
    ],
)
def test_an_adjective_or_a_thing_that_opens_a_sentence_is_no_name(
    text: str, names: list[str]
) -> None:
    assert list(RuleBasedExtractor().extract(text)) == names

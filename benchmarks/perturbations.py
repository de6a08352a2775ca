"""Conversations changed as life changes them: facts, misspelt questions, long notes, more of them.

    python perturbations.py FOLDER... --with-facts 0.5 --typos --long-notes 300 --seed 1

It measures twice, and prints the figures before and after the change, and the difference. Each
function returns a new conversation. The same seed changes the same conversation in the same
way, whatever else is measured.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from salience.evaluation.datasets import Conversation
from salience.evaluation.runner import evaluate
from salience.evaluation.synthetic_chats import NOUNS, realistic
from salience.language.english import STOP_WORDS
from salience.language.tokens import words as words_of
from salience.records.validation import unit
from salience.retrieval.metrics import MEASURES, Metrics, difference

TYPO_MIN_LETTERS = 4
"""Letters of the shortest word that gets a typo."""
NOTED_QUESTIONS = 40
"""Questions of a conversation whose answers become notes, unless told otherwise."""

_SLIP_TO_NEIGHBOUR = 0.75  # of the letters typed for another, those beside it on the keyboard
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_ENDLESS = 10_000_000  # filler texts, of which as many are made as are read
_PARAGRAPH_TEXTS = (2, 6)
_SECTION_PARAGRAPHS = (3, 8)
_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]+(?![\w'’-])")


def with_facts(conversation: Conversation, share: float, seed: int = 0) -> Conversation:
    """The conversation with a random share of its memories marked as facts (kind "fact").

    A user marks what seems worth it, so a fact is about anything.

    Raises:
        InvalidInput: `share` is not from 0 to 1.
    """
    unit("share", share)
    count = round(share * len(conversation.memories))
    chosen = set(_random(conversation, seed).sample(range(len(conversation.memories)), count))
    memories = tuple(
        {**memory, "kind": "fact"} if place in chosen else memory
        for place, memory in enumerate(conversation.memories)
    )
    return replace(conversation, memories=memories)


def together(conversation: Conversation) -> Conversation:
    """The conversation in one namespace with all others, under ids and sessions of its own."""

    def own(id: str) -> str:
        return f"{conversation.name}/{id}"

    memories = tuple(
        {**memory, **{key: own(memory[key]) for key in ("id", "session_id") if key in memory}}
        for memory in conversation.memories
    )
    queries = tuple(
        replace(query, relevant=tuple(map(own, query.relevant))) for query in conversation.queries
    )
    return replace(conversation, memories=memories, queries=queries, namespace="together")


def with_typos(conversation: Conversation, seed: int = 0) -> Conversation:
    """The conversation with one typo in one content word of every question.

    A content word has at least four letters and no digits, and is neither a stop word nor a part of
    a participant's name. A question without one stays as it is.
    """
    rng = _random(conversation, seed)
    kept = STOP_WORDS | _names(conversation)
    queries = tuple(
        replace(query, text=_misspelt(query.text, kept, rng)) for query in conversation.queries
    )
    return replace(conversation, queries=queries)


def in_long_notes(
    conversation: Conversation,
    words: int = 5_000,
    seed: int = 0,
    questions: int = NOTED_QUESTIONS,
) -> Conversation:
    """The conversation with the answers to some questions in the middle of notes of `words` words.

    At most `questions` questions are kept, chosen at random. Each memory that answers one of them
    becomes a note outside its session, amid generated text in plain English that names no
    participant; half of the notes have Markdown headings, and in half of them the memory is a
    paragraph of its own. All other memories stay. With 0 words the notes hold the memory alone:
    the difference between both is that of the length.
    """
    rng = _random(conversation, seed)
    asked = rng.sample(conversation.queries, min(questions, len(conversation.queries)))
    answers = {answer for query in asked for answer in query.relevant}
    filler = _filler(_names(conversation), rng.randrange(2**32))
    memories = tuple(
        _noted(memory, _around(memory["content"], words, filler, rng))
        if memory["id"] in answers
        else memory
        for memory in conversation.memories
    )
    return replace(conversation, memories=memories, queries=tuple(asked))


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Changes to compare with none: the share of facts, typos or not, the words of long notes, and
    whether all conversations of a set are in one namespace."""

    facts: float = 0.0
    typos: bool = False
    long_notes: int = 0
    together: bool = False
    seed: int = 0

    def __bool__(self) -> bool:
        return bool(self.facts or self.typos or self.long_notes or self.together)

    def before(self, conversation: Conversation) -> Conversation:
        """The conversation to compare with: the same questions and notes, nothing added."""
        return in_long_notes(conversation, 0, self.seed) if self.long_notes else conversation

    def after(self, conversation: Conversation) -> Conversation:
        """The conversation with every change."""
        if self.long_notes:
            conversation = in_long_notes(conversation, self.long_notes, self.seed)
        if self.typos:
            conversation = with_typos(conversation, self.seed)
        if self.together:
            conversation = together(conversation)
        return with_facts(conversation, self.facts, self.seed)


def _random(conversation: Conversation, seed: int) -> random.Random:
    return random.Random(f"{seed} {conversation.name}")


def _names(conversation: Conversation) -> Set[str]:
    """The words of the names of all who speak."""
    speakers = {memory.get("speaker") for memory in conversation.memories} - {None}
    return frozenset(word for speaker in speakers for word in words_of(str(speaker)))


# Typos


def _misspelt(question: str, kept: Set[str], rng: random.Random) -> str:
    fitting = [
        match
        for match in _WORD.finditer(question)
        if len(match[0]) >= TYPO_MIN_LETTERS and kept.isdisjoint(words_of(match[0]))
    ]
    if not fitting:
        return question
    word = rng.choice(fitting)
    return question[: word.start()] + typo(word[0], rng) + question[word.end() :]


def typo(word: str, rng: random.Random) -> str:
    """The word with one slip: a letter more, less, instead of another, or two exchanged."""
    slips = (_inserted, _deleted, _substituted, _transposed)
    made = word
    while made == word:  # two like letters exchanged are no slip
        made = rng.choice(slips)(word.lower(), rng.randrange(len(word)), rng)
        if word.isupper():
            made = made.upper()
        elif word[0].isupper():
            made = made[0].upper() + made[1:]
    return made


def _inserted(word: str, place: int, rng: random.Random) -> str:
    return word[:place] + rng.choice((word[place], _slip(word, place, rng))) + word[place:]


def _deleted(word: str, place: int, rng: random.Random) -> str:
    return word[:place] + word[place + 1 :]


def _substituted(word: str, place: int, rng: random.Random) -> str:
    return word[:place] + _slip(word, place, rng) + word[place + 1 :]


def _transposed(word: str, place: int, rng: random.Random) -> str:
    place = min(place, len(word) - 2)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def _slip(word: str, place: int, rng: random.Random) -> str:
    """The letter typed for that at `place`; in other scripts, another letter of the word."""
    neighbours = _NEIGHBOURS.get(word[place])
    if neighbours is None:
        return rng.choice(word)
    return rng.choice(neighbours if rng.random() < _SLIP_TO_NEIGHBOUR else "".join(_KEYBOARD))


def _neighbours() -> dict[str, str]:
    """The keys that touch each key: each row stands half a key to the right of the one above."""
    key_at = {
        (2 * column + row, row): key
        for row, keys in enumerate(_KEYBOARD)
        for column, key in enumerate(keys)
    }
    touching = ((-2, 0), (2, 0), (-1, -1), (1, -1), (-1, 1), (1, 1))
    return {
        key: "".join(key_at.get((x + right, y + down), "") for right, down in touching)
        for (x, y), key in key_at.items()
    }


_NEIGHBOURS = _neighbours()


# Long notes


def _noted(memory: dict[str, Any], text: str) -> dict[str, Any]:
    kept = {key: value for key, value in memory.items() if key != "session_id"}
    return {**kept, "content": text, "kind": "note"}


def _filler(names: Set[str], seed: int) -> Iterator[str]:
    """Texts of a few sentences, without an end, that name nobody of `names`."""
    for turn in realistic(_ENDLESS, seed=seed):
        if names.isdisjoint(words_of(turn["content"])):
            yield turn["content"]


def _around(text: str, words: int, filler: Iterator[str], rng: random.Random) -> str:
    """A note of about `words` words with the text in its middle, or a longer text alone."""
    missing = words - len(text.split())
    if missing <= 0:
        return text
    paragraphs = list(_paragraphs(missing // 2, filler, rng))
    middle = len(paragraphs)
    paragraphs += _paragraphs(missing - missing // 2, filler, rng)
    if rng.random() < 0.5:
        paragraphs.insert(middle, text)
    else:
        paragraphs[middle] = f"{text} {paragraphs[middle]}"
    if rng.random() < 0.5:
        paragraphs = list(_with_headings(paragraphs, rng))
    return "\n\n".join(paragraphs)


def _paragraphs(words: int, filler: Iterator[str], rng: random.Random) -> Iterator[str]:
    """Paragraphs of `words` words together; the last is cut to that."""
    while words > 0:
        texts = [next(filler) for _ in range(rng.randint(*_PARAGRAPH_TEXTS))]
        paragraph = " ".join(texts).split()[:words]
        words -= len(paragraph)
        yield " ".join(paragraph)


def _with_headings(paragraphs: list[str], rng: random.Random) -> Iterator[str]:
    place = 0
    while place < len(paragraphs):
        yield f"## {rng.choice(NOUNS).capitalize()} and {rng.choice(NOUNS)}"
        length = rng.randint(*_SECTION_PARAGRAPHS)
        yield from paragraphs[place : place + length]
        place += length


# The command


def _row(title: str, metrics: Metrics, form: str = ".3f") -> str:
    return f"{title:24} " + " ".join(f"{metrics[name]:{form}}".rjust(8) for name in MEASURES)


def main(arguments: list[str] | None = None) -> None:
    """Print the measures of each set before the change and after it, and the difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", help="sets of conversations")
    parser.add_argument("--profile", action="append", help="again for more; default: balanced")
    parser.add_argument("--embedder", default="default")
    parser.add_argument("--with-facts", type=float, default=0.0, help="share marked as facts")
    parser.add_argument("--typos", action="store_true", help="a typo in every question")
    parser.add_argument("--long-notes", type=int, default=0, help="words around each answer")
    parser.add_argument("--together", action="store_true", help="all of a set in one namespace")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    change = Perturbation(
        asked.with_facts, asked.typos, asked.long_notes, asked.together, asked.seed
    )
    profiles = asked.profile or ["balanced"]
    measure = partial(evaluate, asked.folders, profiles=profiles, embedders=[asked.embedder])
    before, after = measure(change=change.before), measure(change=change.after)
    print(f"{'':24} " + " ".join(f"{name:>8}" for name in MEASURES))
    for first, second in zip(before.outcomes, after.outcomes, strict=True):
        print(_row(f"{first.set} · {first.profile}", first.metrics))
        print(_row("  changed", second.metrics))
        print(_row("  difference", difference(first.metrics, second.metrics), "+.3f"))


if __name__ == "__main__":
    main()

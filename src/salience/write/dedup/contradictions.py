"""Contradictions: facts that state an attribute for which a new fact gives another value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from salience.language.english import ASSISTANT_NAMES
from salience.lazily import regex
from salience.records.record import MemoryRecord
from salience.retrieval.operations import FindByHash, ReadRecords
from salience.retrieval.plan import Plan, ask
from salience.write.dedup.match_index import insert_fact, owner_of
from salience.write.dedup.sameness import MAX_COMPARED_CHARACTERS, content_stems
from salience.write.dedup.written_words import PAUSE, QUESTION, plain, written

if TYPE_CHECKING:
    from salience.language.statements import Statement
    from salience.write.dedup.match_index import FactsByAttribute


_NO_USERS = ASSISTANT_NAMES | {"system", "tool"}
_LATEST_FACTS = 16  # of one attribute, with which a new one is compared


def states(record: MemoryRecord) -> bool:
    """Test whether a memory is a fact, or a turn of somebody other than an assistant."""
    if record.session_id is None and record.kind != "turn":
        return record.kind == "fact"
    return record.speaker is None or record.speaker.casefold() not in _NO_USERS


def statements_of(records: Mapping[int, MemoryRecord]) -> dict[int, Statement]:
    """The statements of facts and of what users say, by the places of their items."""
    facts = {place: record for place, record in records.items() if states(record)}
    if not facts:
        return {}
    from salience.language.statements import statement_of

    statements = {place: statement_of(record.content) for place, record in facts.items()}
    return {place: statement for place, statement in statements.items() if statement is not None}


def leaves_room(kinds: Collection[str], one: MemoryRecord, other: MemoryRecord) -> bool:
    """Test whether two facts may both hold although they differ in these kinds.

    They may if they share a verb that takes many objects (likes, speaks), or one of an event that
    may also have happened at another time (met, bought). A negation leaves no room.
    """
    from salience.language.statements.cues import MULTI_VALUED, PAST_EVENTS

    if "negation" in kinds or not one.kind == other.kind == "fact":
        return False
    shared = content_stems(one.content) & content_stems(other.content)
    is_choice = {"word", "name"}.issuperset(kinds) and not MULTI_VALUED.isdisjoint(shared)
    return is_choice or not PAST_EVENTS.isdisjoint(shared)


def stated_facts(
    statements: Mapping[int, Statement], namespace: str, within: tuple[str, ...]
) -> Plan[tuple[FactsByAttribute, Mapping[int, Sequence[int]]]]:
    """The plan of reading the active facts about the attributes of some statements, by owner.

    It reads the last ones written for each attribute, and the rows of all by key.
    """
    keys = tuple({statement.key for statement in statements.values()})
    if not keys:
        return {}, {}
    from salience.language.statements import statement_of

    rows_of: Mapping[int, Sequence[int]] = yield from ask(
        FindByHash(namespace, "attribute_key", keys)
    )
    rows = np.array(
        sorted(row for rows in rows_of.values() for row in rows[-_LATEST_FACTS:]), dtype=np.int64
    )
    facts: FactsByAttribute = {}
    for record in (yield from ask(ReadRecords(rows))) if len(rows) else ():
        if record is None or record.status != "active" or not states(record):
            continue
        statement = statement_of(record.content)
        if statement is not None:
            insert_fact(facts, owner_of(record, within), record, statement)
    return facts, rows_of


# Recall loops: texts that repeat what a search has just returned

MEMORY_REFERENCE = regex(r"\[m:[^\[\]\s]+\]")  # without "[", no part is looked at twice
"""The form in which a context refers to a memory."""
_RECALLED_TEXTS = 512  # of which the folded form is kept
_MIN_WORDS = 5  # of a text that repeats memories
_FRAMES = frozenset(
    "context known memories memory note noted recall recalled relevant remember".split()
)
_LETTERS = regex("[a-z]+")
_BESIDE_FRAMES = frozenset("as from i in is my of per that the to we you".split())

_SaidSentence = tuple[str, ...]


def repeated_memory(content: str, recalled: Mapping[str, str]) -> str | None:
    """The id of the memory that a text repeats most, if all that it says was recalled; else None.

    A text repeats recalled memories if they contain each of its sentences, word for word.
    References and words that only frame a memory ("I recall that") do not count. Texts of more
    than `MAX_COMPARED_CHARACTERS` are left out.
    """
    if not recalled or len(content) > MAX_COMPARED_CHARACTERS:
        return None
    if _has_new_word(content, recalled.values()):
        return None
    sentences = _said(MEMORY_REFERENCE.sub(". ", content).replace("[m:", " "))
    if sum(map(len, sentences)) < _MIN_WORDS:
        return None
    holding: dict[str, list[_SaidSentence]] = {}
    needed = [(sentence, _words_needed(sentence)) for sentence in sentences]
    for id, text in recalled.items():
        if len(text) <= MAX_COMPARED_CHARACTERS:
            has_word = _folded(text).__contains__
            likely = [sentence for sentence, words in needed if all(map(has_word, words))]
            if likely:
                text_sentences = set(_said(text))
                holding[id] = [sentence for sentence in likely if sentence in text_sentences]
    if not set(sentences) <= set().union(*holding.values()):
        return None
    return max(holding, key=lambda id: (len(holding[id]), id))


def _has_new_word(content: str, recalled: Iterable[str]) -> bool:
    """Test quickly whether a text has a word that must not be missing, and that no other has."""
    if not content.isascii() or "[m:" in content:
        return False
    words = set(_LETTERS.findall(content.lower())) - _FRAMES - _BESIDE_FRAMES
    texts = [_folded(text) for text in recalled if len(text) <= MAX_COMPARED_CHARACTERS]
    return any(not any(word in text for text in texts) for word in words)


@lru_cache(maxsize=_RECALLED_TEXTS)
def _folded(text: str) -> str:
    return plain(text).casefold()


def _words_needed(sentence: _SaidSentence) -> list[str]:
    """The words that a text with a sentence must hold, long ones first; a quick test."""
    words = {word.casefold() for word in sentence if word != QUESTION}
    return sorted(words, key=len, reverse=True)


def _said(text: str) -> list[_SaidSentence]:
    """The sentences of a text in small letters, without what frames them."""
    folded = (
        tuple(word.folded for word in sentence if word.text != PAUSE)
        for sentence in written(text).sentences
    )
    return [stripped for sentence in folded if (stripped := _without_frame(sentence))]


def _without_frame(sentence: _SaidSentence) -> _SaidSentence:
    """A sentence without the words at its front that frame it."""
    frame = 0
    for place, word in enumerate(sentence):
        if word in _FRAMES:
            frame = place + 1
        elif word not in _BESIDE_FRAMES:
            break
    while 0 < frame < len(sentence) and sentence[frame] == "that":
        frame += 1
    return sentence[frame:]

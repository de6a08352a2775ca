"""The spelling of a query: what its words are taken for that no memory holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from salience.language.english import ORDINARY_WORDS
from salience.language.languages import language_of
from salience.language.speakers import capitalised, name_candidates
from salience.language.spelling import NO_DICTIONARY, Taken, spelt_words, take
from salience.language.tokens import indexed_words, strings_in, words
from salience.records.record import MemoryRecord
from salience.retrieval.operations import FindWords, NearWords, ReadRecords, SpeakerMatches
from salience.retrieval.plan import Plan, ask
from salience.search.request import SearchRequest

_MAX_READ = 100  # memories that are read to see how their words are written
_READ_CHARACTERS = 20_000  # of a text


def find_words(request: SearchRequest, text: str) -> list[FindWords]:
    """The question which words of a query no memory holds; none unless a route asks for it."""
    fields = request.profile.spelt_fields
    words = tuple(spelt_words(text)) if fields else ()
    if not words:
        return []
    return [FindWords(request.namespaces, words, fields, request.settings.dictionary.knows)]


def taken_words(
    request: SearchRequest, text: str, near: NearWords, people: SpeakerMatches
) -> Plan[dict[str, Taken]]:
    """The words that misspelt ones of a query are taken for, by misspelt word.

    Postings tell only the stems of words, so some memories are read to see how they write them. A
    word that names a speaker is taken for the word of the name, unless it is its beginning.
    """
    if not near:
        return {}
    rows = {row for others in near.values() for use in others.values() for row in use.newest}
    newest = np.array(sorted(rows)[-_MAX_READ:], dtype=np.int64)
    records = yield from ask(ReadRecords(newest, sound=True))
    texts = _texts_of(records, request.profile.spelt_fields)
    words_written = {word for text in texts for word in indexed_words(text)}
    names_written = {word for text in texts for word in capitalised(text)} - ORDINARY_WORDS
    names = name_candidates(text).proper
    is_english = language_of(words(text)) is None
    taken: dict[str, Taken] = {}
    for word, others in near.items():
        if word in people.names:
            parts = set(_names(word, people))
            choice = take(word, dict.fromkeys(parts, 1), parts, NO_DICTIONARY, is_name=True)
        else:
            counts = {other: use.memories for other, use in others.items()}
            is_name = word in names
            written = names_written if is_name else words_written
            choice = take(word, counts, written, request.settings.dictionary, is_name, is_english)
        if choice is not None:
            taken[word] = choice
    return taken


def _texts_of(records: Sequence[MemoryRecord | None], fields: Sequence[str]) -> list[str]:
    """The beginnings of the texts of some fields of memories."""
    return [
        text[:_READ_CHARACTERS]
        for record in records
        if record is not None
        for name in fields
        for text in strings_in(getattr(record, name))
    ]


def _names(word: str, people: SpeakerMatches) -> Iterator[str]:
    """The words of the names of the speakers that a word names, unless it is how one begins."""
    for speaker in sorted(people.names.get(word, ())):
        names = words(speaker)
        if not any(name.startswith(word) for name in names):
            yield from names

"""Statements in languages besides English: states of the speaker, times, numbers, names."""

from __future__ import annotations

import re
from functools import cache

from salience.language.english import ORDINARY_WORDS, STOP_WORDS
from salience.language.languages import LANGUAGES, language_of
from salience.language.languages.table import Attribute, Language
from salience.language.statements.copulas import copula
from salience.language.statements.phrases import Reading
from salience.language.statements.slots import slot
from salience.language.statements.topics import family_words
from salience.language.statements.values import Values
from salience.language.statements.wordings import WORDINGS
from salience.language.tokens import fold, without_bigrams, words

_ALSO_ENGLISH = frozenset(
    "sale part art alle data mide war hat die met son pour par van ton".split()
)
_STATES: tuple[Attribute, ...] = ("residence", "employer", "job", "favourite", "name")
_MAX_STATE_WORDS = 12
_MAX_STATE_CHARACTERS = 24  # of a sentence whose words are not spaced
_MAX_VALUE_WORDS = 3
_MAX_VALUE_CHARACTERS = 8
_IN_LATIN = tuple(
    code for code, language in LANGUAGES.items() if code not in ("ru", "zh", "ja", "ko")
)


def language_stated(text: str) -> Language | None:
    """The language of a short statement; None for English.

    That of which it has the most words that English has not, if they are more than its English
    words; possessives count twice.
    """
    tokens = frozenset(words(text))
    if not "".join(tokens).isascii():
        return language_of(without_bigrams(words(text)))
    if tokens.isdisjoint(_all_evidence()):
        return None
    evidence = {
        code: len(tokens & _evidence(code)) + len(tokens.intersection(WORDINGS[code].owner_words))
        for code in _IN_LATIN
    }
    best = max(evidence, key=evidence.__getitem__)
    language = LANGUAGES[best]
    english = len(tokens & STOP_WORDS - language.stop_words)
    is_likely = evidence[best] + (not text.isascii()) > english
    return language if is_likely else None


@cache
def _all_evidence() -> frozenset[str]:
    return frozenset().union(*map(_evidence, _IN_LATIN))


@cache
def _evidence(code: str) -> frozenset[str]:
    language = LANGUAGES[code]
    own = language.stop_words | language.marks | WORDINGS[code].plain_words
    return own - STOP_WORDS - ORDINARY_WORDS - _ALSO_ENGLISH


def read_foreign(sentence: str, language: Language) -> Reading | None:
    """The reading of a sentence in a language of the tables."""
    return slot(sentence, language) or _state(sentence, language) or copula(sentence, language)


def _state(sentence: str, language: Language) -> Reading | None:
    """A statement of the speaker about his home, work, name or favourite of a kind."""
    wordings = WORDINGS[language.code]
    low = " ".join(wordings.without(fold(sentence), "present").split())
    length, most = len(low.split()), _MAX_STATE_WORDS
    if not wordings.is_spaced:
        length, most = len(low), _MAX_STATE_CHARACTERS
    if length > most or wordings.find("vague", low) or not language.is_about_speaker(low):
        return None
    if family_words(language.code).search(low):  # "my sister lives in Rome"
        return None
    state = language.state(low)
    if state is None or state[0].split()[0] not in _STATES:
        return None
    rest = wordings.without(low.replace(state[1], " "), "present", "owners", "links", "particles")
    return "", state[0], _value(rest, language)


def _value(rest: str, language: Language) -> Values:
    """The rest of a sentence as a value, if it is short; else none to be compared."""
    if not WORDINGS[language.code].is_spaced:
        bare = re.sub(r"[\W_]+", "", rest)
        return {"value": bare} if 0 < len(bare) <= _MAX_VALUE_CHARACTERS else {}
    said = [word for word in words(rest) if word not in language.stop_words]
    return {"value": " ".join(said)} if 0 < len(said) <= _MAX_VALUE_WORDS else {}

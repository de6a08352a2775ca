"""Statements in other languages than English: states of the speaker, times, numbers, names."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from salience.language.english import ORDINARY_WORDS, STOP_WORDS
from salience.language.languages import LANGUAGES, language_of, language_of_code
from salience.language.languages.table import Language
from salience.language.statements.frames import cues_of, frames_of
from salience.language.statements.slots import slot
from salience.language.statements.values import Reading
from salience.language.statements.wordings import Wordings, wordings_of
from salience.language.tokens import fold, unified, without_bigrams, words

_RECENT_TEXTS = 1024  # one is asked about several times when it is written
_ALSO_ENGLISH = frozenset(
    "sale part art alle data mide war hat die met son pour par van ton".split()
)
_IN_LATIN = tuple(code for code in LANGUAGES if code not in ("ru", "zh", "ja", "ko"))


@lru_cache(maxsize=_RECENT_TEXTS)
def language_stated(text: str) -> Language | None:
    """The language of a short statement; None for English.

    That of which it has the most words that English has not, if they are more than its English
    words; those that no other of the languages has count twice.
    """
    text_words = words(text)
    tokens = frozenset(text_words)
    if not "".join(tokens).isascii():
        return language_of(without_bigrams(text_words))
    if tokens.isdisjoint(_all_evidence()):
        return None
    evidence = {
        code: len(tokens & _evidence(code)) + len(tokens & _own_evidence(code))
        for code in _IN_LATIN
    }
    best = max(evidence, key=evidence.__getitem__)
    language = language_of_code(best)
    english = len(tokens & STOP_WORDS - language.stop_words)
    is_likely = len(tokens & _evidence(best)) + (not text.isascii()) > english
    return language if is_likely else None


@cache
def _all_evidence() -> frozenset[str]:
    return frozenset().union(*map(_evidence, _IN_LATIN))


@cache
def _evidence(code: str) -> frozenset[str]:
    language = language_of_code(code)
    listed = language.stop_words | language.marks | wordings_of(code).plain_words | cues_of(code)
    months = frozenset(wordings_of("en").calendar.split("|"))  # "april"
    return listed - STOP_WORDS - ORDINARY_WORDS - _ALSO_ENGLISH - months


@cache
def _own_evidence(code: str) -> frozenset[str]:
    return _evidence(code).difference(*(_evidence(other) for other in _IN_LATIN if other != code))


def read_foreign(sentence: str, language: Language) -> tuple[Reading, bool] | None:
    """The reading of a sentence in a language of the tables, and whether it is denied."""
    frames, wordings = frames_of(language.code), wordings_of(language.code)
    bare, is_denied = frames.undenied(sentence)
    bare = _without_present(bare, wordings)
    reading = frames.read(bare)
    if reading is None and not is_denied:
        reading = slot(sentence, language)
    if reading is None:
        reading = frames.read(bare, general=True)
    return None if reading is None else (reading, is_denied)


def _without_present(sentence: str, wordings: Wordings) -> str:
    """A sentence without words for now, in its own spelling."""
    if not wordings.is_spaced:
        bare = unified(sentence).strip(" 。.!！")
        for word in wordings.present.split("|"):
            if len(word) > 1 and word.isalpha():
                bare = bare.replace(unified(word), "")
        return re.sub(r"\s+", " ", bare).strip(" ,、，")
    kept = (w for w in sentence.split() if not wordings.find("present", fold(w.strip(",."))))
    return " ".join(kept)

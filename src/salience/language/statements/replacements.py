"""Values that a text says to be had no more: "I sold the Fiat and bought a Tesla".

It names no attribute, but the value that it takes the place of. So it is another version of
whatever states that value.
"""

from __future__ import annotations

from salience.language.languages.table import NO_STATE, state_number
from salience.language.statements import cues
from salience.language.statements.foreign import language_stated
from salience.language.statements.frames import frames_of
from salience.language.statements.personal import family_words
from salience.language.statements.reading import MAX_CHARACTERS, statement_of
from salience.language.statements.wordings import WORDINGS
from salience.language.tokens import fold, stem, words


def value_said(text: str) -> float:
    """The number of the value that a text states, by the word that names it; 0 without one."""
    statement = statement_of(text)
    if statement is None or statement.is_denied or not statement.values:
        return NO_STATE
    code = _code(text)
    return _number(_person(statement.subject, text, code), [*statement.values.values()][-1], code)


def _person(subject: str, text: str, code: str) -> str:
    """The subject of a statement, if it is a person; "" for a thing, which the speaker has."""
    named = {stem(fold(w.strip(".,'"))) for w in text.split() if w[:1].isupper()}
    is_person = not named.isdisjoint(subject.split()) or family_words(code).search(subject)
    return " ".join(sorted(subject.split())) if is_person else ""


def values_stated(text: str) -> float:
    """The number of what a text says of the attribute that it states; 0 if it states none.

    Two texts of one attribute that have the same number say the same: all words of the values
    count, and whether they are denied.
    """
    statement = statement_of(text)
    if statement is None:
        return NO_STATE
    said = [" ".join(map(stem, words(fold(value)))) for value in statement.values.values()]
    return float(state_number(f"{'denied' if statement.is_denied else 'stated'} {'; '.join(said)}"))


CHANGE = -1.0
"""Stands for the value that is replaced where a text tells a change and names no such value."""


def value_replaced(text: str) -> float:
    """The number of the value that a text says to be had no more.

    CHANGE if it tells another change, 0 if it tells none.
    """
    if len(text) > MAX_CHARACTERS or "?" in text:
        return NO_STATE
    code = _code(text)
    low = fold(text.replace("\u2019", "'"))
    gone = frames_of(code).given_up(low, text)
    if gone is None:
        wordings = WORDINGS[code]
        told = wordings.find("changes", low) or wordings.find("corrections", low)
        if told is None and code == "en":
            told = cues.CHANGES.search(low)
        return NO_STATE if told is None else CHANGE
    value, person = gone
    return CHANGE if person is None else _number(person, value, code)  # perhaps of somebody else


def _code(text: str) -> str:
    language = language_stated(text)
    return "en" if language is None else language.code


def _number(person: str, value: str, code: str) -> float:
    """The number of a person's value by the word that names it, as of "a red Fiat", "Fiat rojo"."""
    said = words(value)
    if not said:
        return NO_STATE
    named = said[0 if frames_of(code).is_head_first else -1]
    named = named if named.isascii() or " " in value else value
    return float(state_number(f"{person} value {stem(fold(named))}"))

"""Values that somebody no longer has by a text: "I sold the Fiat and bought a Tesla".

It names no attribute, but the value that it takes the place of. So it is another version of
whatever states that value.
"""

from __future__ import annotations

import re

from salience.language.languages.table import CHANGE, NO_STATE, change_number, state_number
from salience.language.statements import cues
from salience.language.statements.foreign import language_stated
from salience.language.statements.frames import frames_of
from salience.language.statements.personal import family_words
from salience.language.statements.reading import MAX_CHARACTERS, statement_of
from salience.language.statements.wordings import wordings_of
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
    names = {stem(fold(w.strip(".,'"))) for w in text.split() if w[:1].isupper()}
    is_person = not names.isdisjoint(subject.split()) or family_words(code).search(subject)
    return " ".join(sorted(subject.split())) if is_person else ""


def values_stated(text: str) -> float:
    """The number of what a short text says; 0 for a long one.

    Of the attribute that it states it is all words of the values, of a wording all its words in any
    order, and whether they are denied. Two texts with the same number say the same.
    """
    if len(text) > MAX_CHARACTERS:
        return NO_STATE
    statement = statement_of(text)
    if statement is None:
        stems = sorted({*map(stem, words(fold(text)))})
    else:
        values = [" ".join(map(stem, words(fold(value)))) for value in statement.values.values()]
        stems = values or sorted({*statement.attribute.split()})
    how = "denied" if statement is not None and statement.is_denied else "stated"
    return float(state_number(f"{how} {'; '.join(stems)}"))


def value_replaced(text: str) -> float:
    """The number of the value that somebody no longer has by a text.

    For another change it is the `change_number` of what is changed, CHANGE if that is not told; 0
    without a change.
    """
    if len(text) > MAX_CHARACTERS or "?" in text:
        return NO_STATE
    code = _code(text)
    low = fold(text.replace("\u2019", "'"))
    given_up = frames_of(code).given_up(low, text)
    if given_up is None:
        wordings = wordings_of(code)
        change = wordings.find("changes", low)
        if code == "en":
            change = change or cues.CHANGES.search(low)
            if change is not None:
                return _changed(low, change)
        return CHANGE if change or wordings.find("corrections", low) else NO_STATE
    value, person = given_up
    return CHANGE if person is None else _number(person, value, code)  # perhaps of somebody else


def _changed(low: str, verb: re.Match[str]) -> float:
    """The number of the thing changed in a folded English text: the verb's object, or its subject.

    "We changed the menu of the wedding", "the menu was changed": the last word before what belongs
    to it.
    """
    changed = (
        None if cues.INTRANSITIVE.search(verb[0]) else cues.CHANGED_OBJECT.match(low[verb.end() :])
    )
    if changed is None:
        changed = cues.CHANGED_SUBJECT.search(low, 0, verb.start())
    if changed is None or cues.TRAILING.search(verb[0]):
        return CHANGE
    noun = changed[1].rpartition(" ")[2]
    if noun in cues.UNNAMED:
        return CHANGE
    is_end = cues.ENDING.search(verb[0]) is not None
    return change_number(stem(noun.removesuffix("'s")), is_end=is_end)


def _code(text: str) -> str:
    language = language_stated(text)
    return "en" if language is None else language.code


def _number(person: str, value: str, code: str) -> float:
    """The number of a person's value by the word that names it, as of "a red Fiat", "Fiat rojo"."""
    tokens = words(value)
    if not tokens:
        return NO_STATE
    noun = tokens[0 if frames_of(code).is_head_first else -1]
    noun = noun if noun.isascii() or " " in value else value
    return float(state_number(f"{person} value {stem(fold(noun))}"))

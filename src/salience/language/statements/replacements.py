"""Values that a text says to be had no more: "I sold the Fiat and bought a Tesla".

It names no attribute, but the value that it takes the place of. So it is another version of
whatever states that value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from salience.language.languages.table import NO_STATE, state_number
from salience.language.statements import cues
from salience.language.statements.foreign import language_stated
from salience.language.statements.frames import frames_of
from salience.language.statements.reading import MAX_CHARACTERS, statement_of
from salience.language.statements.wordings import WORDINGS
from salience.language.tokens import fold, stem, unified, words

_OLD = r"(?:(?:dr|mr|mrs|ms|prof|frau|herr)\.? )?(?P<old>[\w'-]+(?: [\w'-]+){0,2}?)"
_WAS = _OLD.replace("old", "was")


def _pattern(verbs: str, owners: str, ends: str) -> str:
    """The pattern of a verb, the value that it gives up, and what follows."""
    return rf"\b(?:{verbs}) (?:(?:{owners}) )?{_OLD}(?=(?: (?:{ends})\b)|[,;.]|$)"


_PATTERNS: Mapping[str, str] = {
    "en": _pattern(
        r"sold|replaced|swapped|traded(?: in)?|ditched|got rid of|gave up|gave away|cancell?ed|quit"
        r"|left|(?:switched|moved|changed|migrated|upgraded|downgraded|went|transferred)(?: away)?"
        r" from|broke up with|divorced"
        r"|(?:do not|don't|no longer) (?:have|use|own|drive|work with)|instead of|took over from"
        r"|stopped (?:using|seeing|going to|taking|working (?:at|for))|succeed(?:s|ed)|replaces",
        "my|our|the|an?|my old|our old|the old",
        "and|with|for|to|as|by|in|at|any|last|this|now|so|because|but|today|yesterday",
    )
    + rf"|^(?:(?:the|my|our) )?{_WAS} (?:was|is|has been|got) (?:replaced|succeeded) by",
    "de": rf"\b(?:den|die|das|mein|meine|meinen|unser|unsere|unseren) {_OLD} (?:[\w ]{{0,30}} )?"
    r"(?:verkauft|ersetzt|abgegeben|getauscht|gekundigt)"
    rf"|\b(?:statt|anstelle)(?: de[smr])? {_WAS}(?=[ ,.]|$)",
    "nl": rf"\b(?:de|het|mijn|onze) {_OLD} (?:[\w ]{{0,30}} )?(?:verkocht|vervangen|ingeruild)",
    "fr": _pattern(
        "vendu|remplace|quitte|echange|abandonne", "ma|mon|la|le|notre", "et|par|pour|contre"
    ),
    "es": _pattern(
        "vendi|vendido|reemplace|cambie|deje|sustitui|sustituido", "mi|el|la|a", "y|por|con"
    ),
    "it": _pattern("venduto|sostituito|lasciato|cambiato", "la mia|il mio|la|il", "e|con|per"),
    "pt": _pattern(
        "vendi|troquei|substitui|larguei|deixei", "o meu|a minha|meu|minha|o|a", "e|por|pelo|pela"
    ),
    "ru": _pattern("(?:продал|заменил|сменил|поменял)а?", "мой|мою|свой|свою|наш|нашу", "и|на"),
    "zh": r"(?:把|将)?(?:我的|旧)?(?P<old>[^我把将的，。]{1,8}?)(?:卖了|卖掉|换成|换掉)",
    "ja": r"(?P<old>[^はがの、。]{1,10})を(?:売っ|売り|手放|買い替え|やめ|辞め)",
    "ko": r"(?P<old>[^\s]{1,10}?)(?:을|를) (?:팔|바꾸|바꿨|처분|그만)",
}


@cache
def _compiled(code: str) -> re.Pattern[str]:
    return re.compile(unified(_PATTERNS[code]))


def value_said(text: str) -> float:
    """The number of the value that a text states, by the word that names it; 0 without one."""
    statement = statement_of(text)
    if statement is None or statement.is_denied or not statement.values:
        return NO_STATE
    return _number([*statement.values.values()][-1], _code(text))


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


_OF_SPEAKER = re.compile(r"(?:.*[,:] )?(?:i|we|i've|we've)\b|.* (?:replaced|succeeded) by\b")
CHANGE = -1.0
"""Stands for the value that is replaced where a text tells a change and names no such value."""


def value_replaced(text: str) -> float:
    """The number of the value that a text says to be had no more.

    CHANGE if it tells another change, 0 if it tells none.
    """
    if len(text) > MAX_CHARACTERS or "?" in text:
        return NO_STATE
    code = _code(text)
    pattern = _compiled(code)
    low = fold(text.replace("\u2019", "'"))
    match = pattern.search(low)
    if match is None:
        wordings = WORDINGS[code]
        told = wordings.find("changes", low) or wordings.find("corrections", low)
        if told is None and code == "en":
            told = cues.CHANGES.search(low)
        return NO_STATE if told is None else CHANGE
    if code == "en" and not _OF_SPEAKER.match(low):
        return CHANGE  # perhaps of somebody else
    return _number(next(filter(None, match.groupdict().values())), code)


def _code(text: str) -> str:
    language = language_stated(text)
    return "en" if language is None else language.code


def _number(value: str, code: str) -> float:
    """The number of a value by the word that names it: "a red Fiat" and "un Fiat rojo" are one."""
    said = words(value)
    if not said:
        return NO_STATE
    named = said[0 if frames_of(code).is_head_first else -1]
    named = named if named.isascii() or " " in value else value
    return float(state_number(f"value {stem(fold(named))}"))

"""Readers of any language: the attribute is what remains of a sentence without its value.

"The Q3 report is due on August 15th" and "The Q3 report deadline was pushed back to September 1st"
both state a time of "q3 report": links and verbs of change are no part of the attribute.
"""

from __future__ import annotations

import re
from functools import cache

from salience.language.english import STOP_WORDS
from salience.language.languages.table import Language
from salience.language.statements.values import NUMBER_WORDS, Reading, Values
from salience.language.statements.wordings import Wordings, wordings_of
from salience.language.tokens import fold, stem, words
from salience.lazily import regex

_MAX_WORDS = 22
_MAX_CHARACTERS = 40  # of a sentence whose words are not spaced
_MAX_STEMS = 6  # of an attribute
_MAX_ATTRIBUTE_CHARACTERS = 12
_NUMBER = r"[+(]?\d+(?:[ .,/-]?\d+)*%?(?![\w]*[a-z]\d)"
_UNITS = regex(r"^(?:eur|euros?|usd|dollars?|pounds?|gbp|chf|e)$")
_DIRECTION = regex(r"\bfrom (\w+) (?=to\b)")
_EVERY = regex(
    r"\b(?:every|each|jede[nrsm]?|elke|chaque|tous|cada|todos|todas|ogni|каждый|каждую)\b|[每毎]|매주"
)


@cache
def _values_of(wordings: Wordings) -> re.Pattern[str]:
    calendar = wordings.calendar_words
    word = rf"(?<!\w)(?:{calendar})(?!\w)" if wordings.is_spaced else f"(?:{calendar})"
    before = r"(?<![\w.])" if wordings.is_spaced else r"(?<![\d.a-z])"
    day = r"\d{1,2}(?:st|nd|rd|th|er|º|ª|\.)?"
    return re.compile(
        rf"(?P<link>\S*(?:://|@)\S+)"
        rf"|(?P<clock>{before}\d{{1,2}}(?:[:h]\d\d(?: ?[ap]\.?m\b\.?)?| ?[ap]\.?m\b\.?"
        r"| ?uhr\b| ?h(?:eures?)?\b|[点時时시](?:\d\d?[分분]|半|반)?)"
        r"|(?:(?<=\bat )|(?<=\blas )|(?<=\balle ))\d{1,2}(?: o'clock)?(?!\w|[.:,]\d| ?%))"
        rf"|(?P<date>\d{{4}}-\d\d-\d\d|(?:\d{{1,2}}[月월]\s?)\d{{1,2}}[日号일]|\d{{1,2}}[月월]"
        r"|(?<=the )\d{1,2}(?:st|nd|rd|th)(?! \w)"
        rf"|{day} (?:de |of |di )?{word}(?:,? \d{{4}})?|{word} {day}(?!\w|:)(?:,? \d{{4}})?|{word})"
        rf"|(?P<number>{before}{_NUMBER}|{_number_words(wordings)})"
    )


def _number_words(wordings: Wordings) -> str:
    if wordings is not wordings_of("en"):
        return r"(?!)"
    several = "|".join(sorted(NUMBER_WORDS.keys() - {"one", "no"}))
    return rf"(?<!\w)(?:{several}|(?:(?<=\bhas )|(?<=\bhave ))(?:one|no))(?!\w)"


def slot(sentence: str, language: Language | None = None) -> Reading | None:
    """A time, number or link of something: "my rent went up to 1,050 euros"."""
    wordings = wordings_of("en" if language is None else language.code)
    low = fold(sentence)
    if _is_long(low, wordings) or wordings.find("vague", low):
        return None
    change = wordings.find("changes", low)
    if change is None and wordings.find("past", low):
        return None
    low = (
        wordings.without(low, "origins", "present") if change else wordings.without(low, "present")
    )
    values, remaining = _taken_out(_DIRECTION.sub(r"from\1 ", low), wordings)
    if not values:
        return None
    kind = next(name for name in ("link", "number", "time") if name in _KINDS[min(values)])
    if kind == "time" and wordings.find("indefinite", low):
        return None
    attribute = _attribute(remaining, wordings, language)
    return None if attribute is None else ("", f"{attribute} {kind}", values)


_KINDS = {"link": "link", "number": "number", "clock": "time", "date": "time"}


def _is_long(low: str, wordings: Wordings) -> bool:
    if wordings.is_spaced:
        return low.count(" ") >= _MAX_WORDS
    return len(low) > _MAX_CHARACTERS


def _taken_out(low: str, wordings: Wordings) -> tuple[Values, str]:
    """The values of a sentence by kind, and the sentence without them; none if they are many."""
    matches = [(m.lastgroup or "", m) for m in _values_of(wordings).finditer(low)]
    kinds = [kind for kind, _ in matches]
    if "clock" in kinds or "date" in kinds:  # a number says which of several it is then
        taken = {"clock", "date"} if not ("clock" in kinds and _EVERY.search(low)) else {"clock"}
        if "clock" in kinds and re.search(r"days\b", low):
            taken = {"clock"}
    else:
        taken = {"link"} if "link" in kinds else {"number"}
    values: Values = {}
    remaining, end = "", 0
    for kind, match in matches:
        if kind not in taken:
            continue
        if kind in values:
            return {}, low
        values[kind] = _plain(kind, match[0])
        remaining += low[end : match.start()] + " "
        end = match.end()
    return values, remaining + low[end:]


def _plain(kind: str, text: str) -> str:
    if kind == "number":
        digits = re.sub(r"[^\d.]|[.,](?=\d{3}\b)", "", text)
        return NUMBER_WORDS.get(text) or digits
    if kind == "clock":
        hour, *minute = re.findall(r"\d+", text)
        half = 12 if re.search(r"p\.?m", text) and int(hour) < 12 else 0
        return f"{int(hour) + half}:{minute[0] if minute else '00'}"
    return " ".join(sorted(words(text)))


def _attribute(remaining: str, wordings: Wordings, language: Language | None) -> str | None:
    """The rest without the words around a value: stems in order of the alphabet."""
    bare = wordings.without(remaining, "changes", "owners", "links")
    if not wordings.is_spaced:
        bare = wordings.without(bare, "particles") if wordings.particles else bare
        bare = "".join(sorted(set(re.sub(r"[\W_]+", "", bare))))
        return bare if 0 < len(bare) <= _MAX_ATTRIBUTE_CHARACTERS else None
    stop = STOP_WORDS if language is None else language.stop_words
    stems = {stem(w) for w in words(bare) if w not in stop and not _UNITS.match(w)}
    return " ".join(sorted(stems)) if 0 < len(stems) <= _MAX_STEMS else None

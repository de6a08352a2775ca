"""Languages besides English: one table of cues each, and which of them a text is in.

English has cues of its own (`query_cues`, `memory_cues`); a text that is in none of these languages
is read by them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from salience.language.cues import read_table
from salience.language.english import STOP_WORDS
from salience.language.languages.table import SCRIPTS, Language, read_language, script_of, writing

_IN_LATIN = (
    read_language("de", "German", is_capital_a_name=False),  # every noun has one
    read_language("nl", "Dutch"),
    read_language("fr", "French"),
    read_language("it", "Italian"),
    read_language("es", "Spanish"),
    read_language("pt", "Portuguese"),
)
# Words of English, too, tell no language alone, and neither do letters.
_ENGLISH = STOP_WORDS.union(
    "abcdefghijklmnopqrstuvwxyz", "met die hat war den im come son pour par van bin ton".split()
)
# Beside words of English, this one is a bean.
_ENGLISH_TOO = _ENGLISH | {"soy"}
_LATIN = tuple(  # each with all that speaks for it, and with that of it which no other has
    (
        one,
        one.stop_words | one.marks,
        one.stop_words.difference(*(other.stop_words for other in _IN_LATIN if other != one)),
    )
    for one in _IN_LATIN
)
_FOREIGN = frozenset().union(*(evidence for _, evidence, _ in _LATIN)) - _ENGLISH
_BY_SCRIPT = {
    "cyrillic": read_language("ru", "Russian"),
    "hangul": read_language("ko", "Korean", is_spaced=False),
    "kana": read_language("ja", "Japanese", is_spaced=False),
    "han": read_language("zh", "Chinese", is_spaced=False),
}
LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {language.code: language for language in (*_IN_LATIN, *_BY_SCRIPT.values())}
)
"""The tables by the codes of their languages (ISO 639-1)."""
ENGLISH = read_language("en", "English", stop_words=STOP_WORDS)
"""States in English; its other cues are in `query_cues` and `memory_cues`."""
STATE_WORDS = frozenset(read_table("en")["state_words"].words)
"""One of these is in every state of English, and quick to look for."""
_MIN_KANA = 0.1  # of the words of a Japanese text


def language_of(words: Collection[str]) -> Language | None:
    """The language of a text with these folded words; None for English, or if it is not known.

    Another script decides by itself. In Latin script that language is taken which has the most of
    its stop words in the text, of which its `marks` count twice: at least two, not all of them
    words of English, and more than there are English stop words. Of two with as many, it is the one
    with more that are its own.
    """
    distinct = frozenset(words)
    if "".join(distinct).isascii():
        return _latin(distinct)
    place, share = writing([*words])
    if share < 0.5:
        return _latin(distinct)
    script = SCRIPTS[place]
    if script == "han":
        kana = sum(script_of(word) == "kana" for word in words)
        script = "kana" if kana >= _MIN_KANA * len(words) else script
    return _BY_SCRIPT.get(script)


def _latin(distinct: frozenset[str]) -> Language | None:
    if distinct.isdisjoint(_FOREIGN):
        return None
    english = len(distinct & STOP_WORDS)
    if 2 * english > len(distinct):
        return None
    best, most = None, (max(1, english), len(distinct))
    others = _ENGLISH_TOO if english else _ENGLISH
    for language, evidence, own in _LATIN:
        there = distinct & evidence
        found = len(there) + len(distinct & language.marks)
        if (found, len(distinct & own)) > most and not there <= others:
            best, most = language, (found, len(distinct & own))
    return best

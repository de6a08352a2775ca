"""Reading a statement: subject, attribute and values of one sentence, and whether it is denied."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType

from salience.language.english import HONORIFICS, ORDINARY_WORDS
from salience.language.languages.table import Language
from salience.language.statements import cues
from salience.language.statements.attributes import read_attribute
from salience.language.statements.foreign import language_stated, read_foreign
from salience.language.statements.frames import CHOICE
from salience.language.statements.wordings import wordings_of
from salience.language.tokens import fold, stem, text_key, words
from salience.lazily import dataclass, field, regex

MAX_CHARACTERS = 200
"""A longer text is no statement of one attribute."""

_RECENT_TEXTS = 4096  # those of a write are read when they are compared and when they are stored
_MAX_SENTENCES = 3
_LINKING = frozenset("to of for with at".split())
_SENTENCE_END = regex(r"[.!?;]\s+(?=\S)|[\u3002\uff01\uff1f\uff1b]\s*(?=\S)")
_INTRODUCTION = regex(
    r"(?:[^\W\d][\w' -]{0,24}[:,\u2013\u2014\uff0c\u3001\uff1a] *"
    r"|(?i:oh|hey|hi|ok|okay|so|well|also|and|yes|yeah|guess what) )(?=\S)"
)
_AGENT = regex(  # "they raised the limit to 250"
    r"(?i)^(?:i|we|they|the [a-z]+) (?=(?:(?:have|has|had to|decided to) )?(?:moved?|push(?:ed)?"
    r"|changed?|shifted|rescheduled?|postponed?|delayed|extended|raised?|lowered|increased?"
    r"|reduced?|cut|brought|updated?|put|bumped) (?:my|our|the)\b)"
)
_SUBJECTS = frozenset("i we my our the user".split())
_LINK = regex(r"\b\w+://\S+")
_CONTRACTIONS = tuple(
    (regex(pattern, re.IGNORECASE), full)
    for pattern, full in (
        (r"\bcan't\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\bI'm\b", "I am"),
        (r"'ve\b", " have"),
        (r"\bwe're\b", "we are"),
    )
)
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Statement:
    """One attribute of one subject: its value by parts, stated or denied.

    An attribute that no rule reads is the wording itself, without a value.
    """

    subject: str
    attribute: str
    values: Mapping[str, str] = field(default_factory=lambda: _NONE)
    is_denied: bool = False

    @cached_property
    def key(self) -> int:
        """A hash of the stems of subject and attribute, in any order, in 63 bits."""
        stems = {*self.subject.split(), *self.attribute.split()} - _LINKING
        return text_key(" ".join(sorted(stems)) or self.attribute)

    def contradicts(self, other: Statement) -> bool:
        """Test whether another statement of the same key contradicts this one.

        Two values exclude each other if a part that both have differs; a value that only says more
        ("tea without sugar") differs from none. A denial excludes the value that it denies. Of a
        choice ("I play tennis") others may be made beside.
        """
        if self.is_denied or other.is_denied:
            return self.is_denied != other.is_denied and self._has_value_of(other)
        return CHOICE not in self.values and self._differs(other)

    def confirms(self, other: Statement) -> bool:
        """Test whether another statement of the same key says the same, more or less closely."""
        return self.is_denied == other.is_denied and self._has_value_of(other)

    def _has_value_of(self, other: Statement) -> bool:
        comparable = self.values.keys() & other.values.keys() or self.values == other.values
        return bool(comparable) and not self._differs(other)

    def _differs(self, other: Statement) -> bool:
        shared = self.values.keys() & other.values.keys()
        return any(_differ(self.values[part], other.values[part]) for part in shared)


def _differ(one: str, other: str) -> bool:
    """Test whether neither of two values has all the words of the other."""
    words, others = set(one.split()), set(other.split())
    return not (words <= others or others <= words)


def statement_of(text: str) -> Statement | None:
    """The statement of a short text; None if it is a question, a supposition, or too long."""
    return _statement_of(text) if len(text) <= MAX_CHARACTERS else None


@lru_cache(maxsize=_RECENT_TEXTS)
def _statement_of(text: str) -> Statement | None:
    text = text.strip().replace("\u2019", "'")
    if cues.CODE.search(_LINK.sub("", text) if "://" in text else text):
        return None
    language = language_stated(text)
    sentences = _sentences(text, language)
    for sentence in _with_bare(sentences, language):
        if language is None:
            statement = _in_english(sentence)
        else:
            reading = read_foreign(sentence, language)
            statement = None if reading is None else Statement(*reading[0], is_denied=reading[1])
        if statement is not None:
            return statement
    is_whole = len(sentences) == 1 and language is None and "?" not in text
    return _in_english(sentences[0], by_wording=True) if is_whole else None


def _in_english(sentence: str, *, by_wording: bool = False) -> Statement | None:
    """The statement of a sentence: the attribute that it names, or its wording as one."""
    for pattern, full in _CONTRACTIONS if "'" in sentence else ():
        sentence = pattern.sub(full, sentence)
    before = sentence = sentence if by_wording else _AGENT.sub("", sentence)
    tokens = words(before)
    if not cues.OPEN_ENDED.isdisjoint(tokens):
        return None
    if not cues.FILLER_WORDS.isdisjoint(tokens):
        sentence = cues.FILLERS.sub("", sentence)
    is_denied = False
    if not cues.DENIAL_WORDS.isdisjoint(tokens):
        if cues.HALF_DENIAL.search(sentence):
            return None
        sentence, denials = cues.DENIAL.subn("", sentence)
        if denials > 1:
            return None
        is_denied = bool(denials)
    bare = " ".join(sentence.split())
    if bare != before:
        tokens = words(bare)
    if not cues.UNNAMED_SUBJECTS.isdisjoint(tokens[:1]):
        return None
    if by_wording:
        if not _is_of_somebody(tokens):
            return None
        return Statement("", " ".join(map(stem, tokens)), is_denied=is_denied)
    reading = read_attribute(bare, tokens)
    return None if reading is None else Statement(*reading, is_denied)


def _is_of_somebody(tokens: Sequence[str]) -> bool:
    """Test whether a sentence of these words says something of somebody: "I smoke"."""
    if not tokens or tokens[0] not in _SUBJECTS:
        return len(tokens) > 2 and tokens[0] not in ORDINARY_WORDS
    return len(tokens) > 1


def _sentences(text: str, language: Language | None) -> list[str]:
    """The sentences of a text without their full stops, but for questions."""
    sentences, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        last_word = text[start : end.start()].rpartition(" ")[2].lower()
        is_ordinal = language is not None and last_word.isdecimal()
        if is_ordinal or last_word in HONORIFICS or (len(last_word) == 1 and last_word.isascii()):
            continue
        sentences.append(text[start : end.end()])
        start = end.end()
    return [sentence.strip(" .!;\u3002\uff01\uff1b") for sentence in (*sentences, text[start:])]


def _with_bare(sentences: Sequence[str], language: Language | None) -> Iterator[str]:
    """The first sentences that are no questions, each also without the words that introduce it."""
    for sentence in sentences[:_MAX_SENTENCES]:
        if not sentence or "?" in sentence or "\uff1f" in sentence:
            continue
        yield sentence
        introduced = _INTRODUCTION.match(sentence)
        if introduced is not None and not _is_vague(introduced[0], language):
            yield sentence[introduced.end() :]


def _is_vague(words_before: str, language: Language | None) -> bool:
    """Test whether what follows some words only may be so."""
    if language is None:
        return not cues.OPEN_ENDED.isdisjoint(words(words_before))
    return wordings_of(language.code).find("vague", fold(words_before)) is not None

"""Reading a statement: subject, attribute and values of one sentence, and whether it is denied."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType

from salience.language.english import HONORIFICS
from salience.language.statements import cues
from salience.language.statements.attributes import read_attribute
from salience.language.statements.foreign import language_stated, read_foreign
from salience.language.tokens import stem, text_key, words

MAX_CHARACTERS = 200
"""A longer text is no statement of one attribute."""

_RECENT_TEXTS = 4096  # those of a write are read when they are compared and when they are stored
_SENTENCE_END = re.compile(r"[.!;]\s+(?=\S)")
_LINK = re.compile(r"\b\w+://\S+")
_CONTRACTIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), full)
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
        """A hash of subject and attribute in 63 bits."""
        return text_key(f"{self.subject}\n{self.attribute}")

    def contradicts(self, other: Statement) -> bool:
        """Test whether another statement of the same key cannot hold beside this one.

        Two values exclude each other if a part that both have differs; a value that only says more
        ("tea without sugar") differs from none. A denial excludes the value that it denies.
        """
        if self.is_denied or other.is_denied:
            return self.is_denied != other.is_denied and self._has_value_of(other)
        return self._differs(other)

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
    if "?" in text or "\uff1f" in text or cues.CODE.search(_LINK.sub("", text)):
        return None
    language = language_stated(text)
    if language is not None:
        reading = read_foreign(text, language)
        return None if reading is None else Statement(*reading)
    sentence, is_whole = _first_sentence(text.strip().replace("\u2019", "'"))
    for pattern, full in _CONTRACTIONS if "'" in sentence else ():
        sentence = pattern.sub(full, sentence)
    said = sentence
    tokens = words(said)
    if not cues.OPEN_ENDED.isdisjoint(tokens) or not cues.UNNAMED_SUBJECTS.isdisjoint(tokens[:1]):
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
    if bare != said:
        tokens = words(bare)
    reading = read_attribute(bare, tokens)
    if reading is not None:
        subject, attribute, values = reading
        return Statement(subject, attribute, values, is_denied)
    wording = " ".join(map(stem, tokens))
    return Statement("", wording, is_denied=is_denied) if is_whole and wording else None


def _first_sentence(text: str) -> tuple[str, bool]:
    """The first sentence of a text without its full stop, and True if there is no other."""
    for end in _SENTENCE_END.finditer(text):
        before = text[: end.start()]
        last_word = before.rpartition(" ")[2].lower()
        if last_word not in HONORIFICS and len(last_word) > 1:
            return before, False
    return text.rstrip(" .!;"), True

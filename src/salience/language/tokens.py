"""Text to terms: words folded and stemmed, unspaced scripts as character bigrams, terms as hashes.

A term is the stem of a word. Word stems come from the Snowball stemmer of the word's script
(Porter, 1980, for Latin script), so no language has to be declared; scripts written without
spaces (Han, Kana, Hangul syllables, Thai, Lao, Khmer, Myanmar) give overlapping bigrams, and
those whose single characters may be words (Han, Kana, Hangul) the characters as well. What is
kept of a text has the words inside its names and its figures in one, too (`indexed_words`).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import numpy as np
import Stemmer
from numpy.typing import NDArray

TermIds = NDArray[np.uint64]
Value = TypeVar("Value")

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"[^\W_]+")
# In the scripts of India and South-East Asia vowel signs and tone marks are part of the word.
_VOWEL_SIGNS = "".join(
    c for c in map(chr, range(0x900, 0x1900)) if unicodedata.category(c)[0] == "M"
)
_SIGNED_WORD = re.compile(rf"[\w{_VOWEL_SIGNS}]+")
# Accents of Latin, Greek and Cyrillic letters; the points of Hebrew and Arabic, mostly left out.
# Not those that make a Cyrillic letter another one: the breve of й and ў, the dots of ї.
_OPTIONAL_MARKS = re.compile(
    "(?:[\u0300-\u0305\u0307\u0309-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u064b-\u0652\u0670]|(?<![иу])\u0306|(?<!і)\u0308)+"
)
_CHARACTERS = (  # Han, Kana, Hangul; one of them may be a word
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f"
)
_IS_CHARACTER = re.compile(f"[{_CHARACTERS}]")
_UNSPACED = f"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff{_CHARACTERS}"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_SCRIPTS = (  # first code point, last, Snowball algorithm
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)
# 12,500; what stands before it is looked at after its first digit, which is quicker to look for.
_GROUPED = re.compile(r"\d(?<![\d.,'’]\d)\d{0,2}(?:[,'’]\d{3})+(?![,'’]?\d)")
_NO_DIGITS = re.compile(r"\D+")
_COMPOUND = re.compile("[A-Za-z0-9\u00c0-\u024f]+")
_INNER_START = re.compile("[A-Z](?:(?<=[a-z].)|(?<=[A-Z].)[a-z]{2})")  # quickest from the capital
_LEAST_PART = 3  # letters; the "i" of "iPhone" says nothing
_MOST_KEPT = 500_000
_KEPT_CHARS = 64  # of a word; encoded data, perhaps erased since, must not fill the memory


def fold(text: str) -> str:
    """Case-folded NFKC text without accents: "Café" and "CAFE" fold to "cafe"."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    bare = _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFC", bare)


def words(text: str) -> list[str]:
    """The words of a text in order, folded; runs of an unspaced script as `_bigrams`."""
    folded = fold(text)
    if folded.isascii():
        return _ASCII_WORD.findall(folded)
    found: list[str] = []
    for word in _SIGNED_WORD.findall(folded.replace("_", " ")):
        if _HAS_UNSPACED.search(word):
            for run in _UNSPACED_RUN.findall(word):
                found.extend(_bigrams(run) if _HAS_UNSPACED.match(run) else (run,))
        else:
            found.append(word)
    return found


def grouped_numbers(text: str) -> list[str]:
    """The figures of a text that stand in groups, each in one: 12500 for "12,500"."""
    return [_NO_DIGITS.sub("", figure) for figure in _GROUPED.findall(text)]


def indexed_words(text: str, said: list[str] | None = None) -> list[str]:
    """What a text may be found by: its words, its `figures`, and the words inside its names.

    PaymentGateway may be found by payment and gateway. Such a part counts once and only where the
    text does not say it anyway, lest code drown in its identifiers.

    Args:
        text: the text.
        said: its `words`, if they are known.
    """
    found = [*(words(text) if said is None else said), *grouped_numbers(text)]
    if _INNER_START.search(text):
        compounds = (c for c in _COMPOUND.findall(text) if len(c) <= _KEPT_CHARS)
        apart = (_INNER_START.sub(r" \g<0>", c) for c in compounds if _INNER_START.search(c))
        inside = (word for names in apart for word in words(names) if len(word) >= _LEAST_PART)
        known = set(found)
        found += [word for word in dict.fromkeys(inside) if word not in known]
    return found


def without_bigrams(found: Sequence[str]) -> Sequence[str]:
    """Some words without the bigrams that stand beside their characters, to count words by."""
    return [word for word in found if len(word) != 2 or not _IS_CHARACTER.match(word)]


class MemoTable(dict[str, Value], Generic[Value]):
    """kept[word] = function(word), kept for words of up to 64 characters, at most `most` of them.

    A dictionary, so that a known word is one look-up.
    """

    def __init__(self, function: Callable[[str], Value], most: int) -> None:
        super().__init__()
        self._function = function
        self._most = most

    def __missing__(self, word: str) -> Value:
        found = self._function(word)
        if len(word) <= _KEPT_CHARS:
            if len(self) >= self._most:
                self.clear()
            self[word] = found
        return found


def _bigrams(run: str) -> Iterator[str]:
    """Every two characters in a row, each after the first of them if that may be a word."""
    for i in range(len(run)):
        if len(run) == 1 or _IS_CHARACTER.match(run[i]):
            yield run[i]
        if i + 1 < len(run):
            yield run[i : i + 2]


class _Stems(threading.local):
    """Stemmers are not safe to share between threads, so each thread has its own."""

    def __init__(self) -> None:
        self.by_name: dict[str, Stemmer.Stemmer] = {}

    def stem(self, word: str) -> str:
        if len(word) < 3:  # as Porter's own program has it: "us" is not "u", and "s" not nothing
            return word
        name = "porter"
        if not word.isascii():
            point = ord(word[0])
            name = next((s for low, high, s in _SCRIPTS if low <= point <= high), "porter")
            if _HAS_UNSPACED.match(word):
                return word
        stemmer = self.by_name.get(name)
        if stemmer is None:
            stemmer = self.by_name[name] = Stemmer.Stemmer(name, 0)  # it keeps no words
        return str(stemmer.stemWord(word))


_stems = _Stems()
_kept_stems = MemoTable(_stems.stem, _MOST_KEPT)


def stem(word: str) -> str:
    """The stem of one folded word: Porter for Latin script, Snowball for the other scripts."""
    return _kept_stems[word]


def terms(text: str) -> list[str]:
    """The stems of a text's words, in order."""
    return [stem(word) for word in words(text)]


def term_id(term: str) -> int:
    """blake2b(term) mod 2^40: the same number in every process, on every machine.

    A hash instead of a numbered vocabulary means that nothing of a deleted text stays behind in
    a shared dictionary. Two of a million distinct terms share a number with probability 0.4.
    """
    return _kept_ids[term]


def _hashed(term: str) -> int:
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=5).digest(), "big")


_kept_ids = MemoTable(_hashed, 1 << 14)
_kept_ids_of_words = MemoTable(lambda word: term_id(stem(word)), _MOST_KEPT)


def term_ids(found: Sequence[str]) -> TermIds:
    """`term_id` of the stem of each of some `words`, in order: uint64 of shape (words,)."""
    return np.array([*map(_kept_ids_of_words.__getitem__, found)], dtype=np.uint64)


def text_key(text: str) -> int:
    """A number that texts share which differ in case, accents and blanks at most; 63 bits."""
    said = " ".join(fold(text).split())
    digest = blake2b(said.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def slug(name: str) -> str:
    """`name` in small letters, with dashes for all but letters, digits and slashes.

    Empty where it has neither letters nor digits.
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    steps = (re.sub(r"[\W_]+", "-", step).strip("-") for step in folded.split("/"))
    return "/".join(step for step in steps if step)


def count_tokens(text: str) -> int:
    """ceil(characters / 4): a rule of thumb for how many tokens a text takes; at least 0."""
    return -(-len(text) // 4)


def shorten(text: str, length: int) -> str:
    """A text on one line of at most `length` characters; an ellipsis stands for what is cut."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def strings_in(value: Any) -> tuple[str, ...]:
    """The texts of a value: itself or those of a list, and none of what is no text."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (tuple, list)):
        return tuple(each for each in value if isinstance(each, str))
    return ()


_MAX_QUESTION_WORDS = 2_000  # words of a question that are read


@lru_cache(maxsize=8)  # asked for again and again in a search
def question_words(text: str) -> tuple[str, ...]:
    """The folded words of a question and its `figures`, the first `_LONGEST` of them."""
    return tuple(
        [*words(text.replace("\u2019", "'")), *grouped_numbers(text)][:_MAX_QUESTION_WORDS]
    )

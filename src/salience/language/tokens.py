"""Text to terms: words folded and stemmed, unspaced scripts as character bigrams, terms as hashes.

A term is the stem of a word. Word stems come from the Snowball stemmer of the word's script
(Porter, 1980, for Latin script), so no language has to be declared. Scripts written without
spaces (Han, Kana, Hangul syllables, Thai, Lao, Khmer, Myanmar) give overlapping bigrams, and
those whose single characters may be words (Han, Kana, Hangul) give the characters as well. The
index of a text also has the words inside its names, and its grouped numbers without the commas
(`indexed_words`).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import Stemmer
from numpy.typing import NDArray

from salience.lazily import regex

TermIds = NDArray[np.uint64]
Value = TypeVar("Value")

_ASCII_WORD = regex(r"[a-z0-9]+")
# In the scripts of India and South-East Asia vowel signs and tone marks are part of the word.
_VOWEL_SIGNS = "".join(
    c for c in map(chr, range(0x900, 0x1900)) if unicodedata.category(c)[0] == "M"
)
_SIGNED_WORD = regex(rf"[\w{_VOWEL_SIGNS}]+")
# Accents of Latin, Greek and Cyrillic letters, and the points of Hebrew and Arabic, which most
# texts leave out. Marks that make another letter stay: the breve of й and ў, the dots of ї.
_OPTIONAL_MARKS = regex(
    "(?:[\u0300-\u0305\u0307\u0309-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u064b-\u0652\u0670]|(?<![иу])\u0306|(?<!і)\u0308)+"
)
_HAN_AND_KANA = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003134f"
)
_WORD_CHARACTERS = f"{_HAN_AND_KANA}\uac00-\ud7af"  # one of them, or of Hangul, may be a word
_IS_WORD_CHARACTER = regex(f"[{_WORD_CHARACTERS}]")
_THAI_TO_KHMER = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = f"{_THAI_TO_KHMER}{_WORD_CHARACTERS}"
WITHOUT_BLANKS = f"{_THAI_TO_KHMER}{_HAN_AND_KANA}"
"""The characters of scripts whose words are not written apart, for a character class."""
_UNSPACED_RUN = regex(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_HAS_UNSPACED = regex(f"[{_UNSPACED}]")
_HAS_HAN = regex("[\u3400-\u9fff]")
_STEMMERS = (  # first code point, last, Snowball algorithm
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)
# 12,500. The look-behind follows the first digit, as searching for a digit is quicker.
_GROUPED_NUMBER = regex(r"\d(?<![\d.,'’]\d)\d{0,2}(?:[,'’]\d{3})+(?![,'’]?\d)")
_NON_DIGITS = regex(r"\D+")
_COMPOUND = regex("[A-Za-z0-9\u00c0-\u024f]+")
_INNER_START = regex("[A-Z](?:(?<=[a-z].)|(?<=[A-Z].)[a-z]{2})")  # quickest from the capital
_PART_MIN_CHARS = 3  # the "i" of "iPhone" says nothing
_MEMO_WORDS = 500_000
_MEMO_MAX_CHARS = 64  # encoded data, perhaps erased since, must not fill the memory
_QUESTION_MAX_WORDS = 2_000

_LONG_LIGATURE = "\ufdfa"  # folds to 18 characters
_LONG_LIGATURE_START = "\u0635\u0644\u0649"  # its first word
_MAX_LONG_LIGATURES = 10_000  # of one text; with more, each folds to its first word
_MAX_EXPANSION = 4  # times as many characters as a text has; some single ones fold to 18


@cache
def _simplified() -> dict[int, str]:
    """Traditional Chinese character -> the simplified one that is written for it.

    Source: the table TSCharacters of OpenCC (Apache License 2.0), of each character its first form;
    without those that simplified texts have, too.
    """
    pairs = Path(__file__).with_name("han_variants.txt")
    characters = pairs.read_text("utf-8").replace("\n", "")
    return dict(zip(map(ord, characters[::2]), characters[1::2], strict=True))


def unified(text: str) -> str:
    """The text with simplified Chinese characters in place of traditional ones."""
    return text.translate(_simplified()) if _HAS_HAN.search(text) else text


def fold(text: str) -> str:
    """Case-folded NFKC text without accents, in simplified characters.

    "Café" and "CAFE" fold to "cafe", the full-width "ＡＢＣ" to "abc", "漢語" to "汉语".
    """
    if text.isascii():
        return text.lower()
    if len(text) > _MAX_LONG_LIGATURES and text.count(_LONG_LIGATURE) > _MAX_LONG_LIGATURES:
        text = text.replace(_LONG_LIGATURE, _LONG_LIGATURE_START)
    folded = unified(unicodedata.normalize("NFKC", text).casefold())
    if folded.isascii():
        return folded
    bare = _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFC", bare)


def words(text: str) -> list[str]:
    """The words of a text in order, folded; runs of an unspaced script as `_bigrams`."""
    folded = fold(text)[: _MAX_EXPANSION * len(text)]
    if folded.isascii():
        return _ASCII_WORD.findall(folded)
    signed = _SIGNED_WORD.findall(folded.replace("_", " "))
    if not _HAS_UNSPACED.search(folded):
        return signed
    tokens: list[str] = []
    for word in signed:
        if _HAS_UNSPACED.search(word):
            for run in _UNSPACED_RUN.findall(word):
                tokens.extend(_bigrams(run) if _HAS_UNSPACED.match(run) else (run,))
        else:
            tokens.append(word)
    return tokens


def grouped_numbers(text: str) -> list[str]:
    """The numbers that a text writes in groups of digits, in one: 12500 for "12,500"."""
    return [_NON_DIGITS.sub("", number) for number in _GROUPED_NUMBER.findall(text)]


def indexed_words(text: str, text_words: list[str] | None = None) -> list[str]:
    """The words by which a text is found: its own, its `grouped_numbers`, and those inside names.

    PaymentGateway is found by payment and by gateway. Such a part counts once, and only if it is
    not a word of the text anyway, so that the identifiers of code do not outweigh its other words.

    Args:
        text: the text.
        text_words: its `words`, if the caller has them.
    """
    tokens = [*(words(text) if text_words is None else text_words), *grouped_numbers(text)]
    if _INNER_START.search(text):
        compounds = filter(_INNER_START.search, _COMPOUND.findall(text))
        split = (_INNER_START.sub(r" \g<0>", n) for n in compounds if len(n) <= _MEMO_MAX_CHARS)
        parts = (word for name in split for word in words(name) if len(word) >= _PART_MIN_CHARS)
        present = set(tokens)
        tokens += [part for part in dict.fromkeys(parts) if part not in present]
    return tokens


def without_bigrams(tokens: Sequence[str]) -> Sequence[str]:
    """Words without the bigrams of scripts that give single characters, too; to count words by."""
    return [word for word in tokens if len(word) != 2 or not _IS_WORD_CHARACTER.match(word)]


class MemoTable(dict[str, Value], Generic[Value]):
    """table[word] = function(word), kept for at most `capacity` words of up to 64 characters.

    A dictionary, so that a word that is kept costs one look-up. It is emptied when it is full.
    """

    def __init__(self, function: Callable[[str], Value], capacity: int) -> None:
        super().__init__()
        self._function = function
        self._capacity = capacity

    def __missing__(self, word: str) -> Value:
        value = self._function(word)
        if len(word) <= _MEMO_MAX_CHARS:
            if len(self) >= self._capacity:
                self.clear()
            self[word] = value
        return value


def _bigrams(run: str) -> Iterator[str]:
    """Each two characters in a row, after the first of them where one character may be a word."""
    for i in range(len(run)):
        if len(run) == 1 or _IS_WORD_CHARACTER.match(run[i]):
            yield run[i]
        if i + 1 < len(run):
            yield run[i : i + 2]


class _Stems(threading.local):
    """Stemmers are not safe to share between threads, so each thread has its own."""

    def __init__(self) -> None:
        self.by_name: dict[str, Stemmer.Stemmer] = {}

    def stem(self, word: str) -> str:
        if len(word) < 3:  # as in Porter's program: "us" is not "u"
            return word
        name = "porter"
        if not word.isascii():
            point = ord(word[0])
            name = next((s for low, high, s in _STEMMERS if low <= point <= high), "porter")
            if _HAS_UNSPACED.match(word):
                return word
        return self.stem_by(name, word)

    def stem_by(self, name: str, word: str) -> str:
        stemmer = self.by_name.get(name)
        if stemmer is None:
            stemmer = self.by_name[name] = Stemmer.Stemmer(name, 0)  # without a cache of its own
        return str(stemmer.stemWord(word))


_stems = _Stems()
_stem_of = MemoTable(_stems.stem, _MEMO_WORDS)


def stem(word: str) -> str:
    """The stem of one folded word: Porter for Latin script, Snowball for the other scripts."""
    return _stem_of[word]


def snowball_stem(word: str, language: str) -> str:
    """The stem of one folded word by Snowball's rules for a language, as "german"."""
    return _stems.stem_by(language, word)


def terms(text: str) -> list[str]:
    """The stems of a text's words, in order."""
    return [stem(word) for word in words(text)]


def term_id(term: str) -> int:
    """blake2b(term) mod 2^40: the same number in every process, on every machine.

    With a hash instead of a numbered vocabulary nothing of a deleted text stays in a shared
    dictionary. Two of a million distinct terms share a number with probability 0.4.
    """
    return _term_id_of[term]


def stem_ids(stems: Iterable[str]) -> TermIds:
    """The `term_id` of each of some stems, in order: uint64 of shape (stems,)."""
    return np.array([*map(_term_id_of.__getitem__, stems)], dtype=np.uint64)


def _hashed(term: str) -> int:
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=5).digest(), "big")


_term_id_of = MemoTable(_hashed, 1 << 14)
_term_id_of_word = MemoTable(lambda word: term_id(stem(word)), _MEMO_WORDS)


def term_ids(tokens: Sequence[str]) -> TermIds:
    """The `term_id` of the stem of each of some `words`, in order: uint64 of shape (words,)."""
    return np.array([*map(_term_id_of_word.__getitem__, tokens)], dtype=np.uint64)


def term_ids_once(tokens: Sequence[str]) -> TermIds:
    """`term_ids` of words that will not be asked for again: nothing of them is kept."""
    return np.array([_hashed(_stems.stem(word)) for word in tokens], dtype=np.uint64)


def text_key(text: str) -> int:
    """A hash of a text in 63 bits, the same for texts that differ in case, accents and blanks.

    Texts with the same key need not say the same: kB7 and Kb7 have one.
    """
    normalized = " ".join(fold(text).split())
    digest = blake2b(normalized.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def slug(name: str) -> str:
    """A name in small letters, with dashes for all but letters, digits and slashes.

    Empty if it has neither letters nor digits.
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    parts = (re.sub(r"[\W_]+", "-", part).strip("-") for part in folded.split("/"))
    return "/".join(part for part in parts if part)


def count_tokens(text: str) -> int:
    """ceil(characters / 4), a rule of thumb for the number of tokens of a text."""
    return -(-len(text) // 4)


def shorten(text: str, length: int) -> str:
    """A text on one line of at most `length` characters; an ellipsis stands for what is cut."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def strings_in(value: Any) -> tuple[str, ...]:
    """The strings of a value: the value itself, those of a list or tuple, else none."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (tuple, list)):
        return tuple([item for item in value if isinstance(item, str)])
    return ()


@lru_cache(maxsize=8)  # a search needs them several times
def question_words(text: str) -> tuple[str, ...]:
    """The folded words of a question and its `grouped_numbers`, at most 2,000 of them."""
    tokens = [*words(text.replace("\u2019", "'")), *grouped_numbers(text)]
    return tuple(tokens[:_QUESTION_MAX_WORDS])


# Trigrams of a text, and the similarity of two sets of them, as in pg_trgm

_WORD = regex(r"[^\W_]+")


def trigrams(text: str) -> frozenset[str]:
    """The trigrams of a text as in pg_trgm.

    Each word (a run of letters and digits, case-folded) is padded with two spaces before and one
    after it; its trigrams are all windows of three characters.

    Source: PostgreSQL 18 documentation, appendix F.35, pg_trgm.
    """
    windows: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        padded = f"  {word} "
        windows.update(padded[i : i + 3] for i in range(len(padded) - 2))
    return frozenset(windows)


def trigram_similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """|A n B| / |A u B| of two trigram sets, 0 when either is empty; in [0, 1] (pg_trgm)."""
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared) if shared else 0.0

"""Misspelt words: the words of memories that a word of a query may be meant for.

A word that is in no memory is compared with all words that one slip makes of it, or two likely ones
where it is long. So a store keeps no list of words, in which those of erased memories or of other
namespaces might be left: it only tells how many memories hold each of some words. Of those that are
held, the likeliest by the kind of the slip are taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise

from salience.language.english import MONTHS, ORDINARY_WORDS, WEEKDAYS
from salience.language.query_cues import QUOTED_PHRASE
from salience.language.tokens import fold, stem, words

MIN_LETTERS = 4
"""The letters of the shortest word that is taken for another; a shorter one resembles too many."""
MAX_LETTERS = 24
TWO_SLIPS_MIN_LETTERS = 8
"""The letters from which on a word may have two slips."""
MAX_TAKEN = 3
"""The most words that one is taken for."""

_SWAPPED, _DOUBLED, _NEAR, _DROPPED, _OTHER = 0.5, 0.5, 0.7, 0.8, 1.0
_FIRST_LETTER = 0.1  # more for a slip at the first letter, which people seldom miss
_FIRST_CHANGED = 0.7  # and for another letter in its place, as in words that rhyme
_MAX_COSTS = ((8, 1.4), (7, 1.3), (0, 0.95))  # by the letters of a word, from so many on
_TIE = 0.25  # how much dearer than the likeliest word one may be that is taken as well
_UNSEEN = 0.2  # more for a form of a word of memories that none of those read has
_SURE = 0.5  # the highest cost at which a word that no memory holds is taken
_MIN_LEMMA = 3  # letters
_LOSS = 0.3  # of the weight of a word, times the cost

_SCRIPTS = (
    "abcdefghijklmnopqrstuvwxyz",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґў",
    "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆև",
    "აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ",
    "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءأإآؤئ",
)
_ALPHABET = {letter: alphabet for alphabet in _SCRIPTS for letter in alphabet}
_LETTERS = {letter: letters for letters in map(frozenset, _SCRIPTS) for letter in letters}
_KEYBOARDS = (
    ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
)
_ALIKE = ("aeiouy", "аеиоуыэюя", "ckq", "sz", "vw")
"""Letters that are taken for each other because they sound alike."""


def _near_letters() -> frozenset[tuple[str, str]]:
    """Pairs of letters that are side by side on a keyboard, or sound alike; both ways."""
    pairs: set[tuple[str, str]] = set()
    for rows in _KEYBOARDS:
        for row, below in zip(rows, (*rows[1:], ""), strict=True):
            pairs.update(pairwise(row))
            for place, letter in enumerate(row):
                pairs.update((letter, other) for other in below[max(0, place - 1) : place + 1])
    pairs.update((a, b) for letters in _ALIKE for a in letters for b in letters if a != b)
    return frozenset({*pairs, *((b, a) for a, b in pairs)})


_NEAR_LETTERS = _near_letters()
_WORD = re.compile(r"[^\W\d_]+")
_ENDINGS = (
    ("s", ("",)), ("ses", ("s",)), ("xes", ("x",)), ("zes", ("z",)), ("hes", ("h",)),
    ("oes", ("o",)), ("ies", ("y",)), ("ed", ("", "e")), ("ied", ("y",)), ("ing", ("", "e")),
)  # fmt: skip
"""Endings of English words, and what stands in their place without them."""
_CALENDAR = frozenset(MONTHS) | WEEKDAYS
_IDENTIFIER = re.compile(r"[\d_/\\@#*=<>{}()\[\]|~+]|[a-z][A-Z]|\w[.:]\w")


def spelt_words(text: str) -> list[str]:
    """The words of a query whose spelling may be doubted, folded, in order.

    None of those in quotation marks, of numbers, names of code, paths, addresses and abbreviations,
    and no ordinary word.
    """
    chunks = text.replace("\u2019", "'").split()
    exact = set[str]()
    if _IDENTIFIER.search(text):
        exact.update(filter(_IDENTIFIER.search, chunks))
    if not text.isupper():
        exact.update(filter(str.isupper, chunks))
    fixed = set(words(" ".join([*exact, *QUOTED_PHRASE.findall(text)])))
    plain = dict.fromkeys(words(" ".join([chunk for chunk in chunks if chunk not in exact])))
    return [w for w in plain if w not in fixed and w not in ORDINARY_WORDS and is_spelt(w)]


def is_spelt(word: str) -> bool:
    """Test whether a folded word is written in the letters of one alphabet, and long enough."""
    if not MIN_LETTERS <= len(word) <= MAX_LETTERS:
        return False
    return _LETTERS.get(word[0], frozenset[str]()).issuperset(word)


def one_slip(word: str) -> Iterator[str]:
    """Every word that differs by a letter missing, added, changed or swapped with the next."""
    alphabet = _ALPHABET[word[0]]
    for i in range(len(word)):
        begin, end = word[:i], word[i + 1 :]
        yield begin + end
        yield from (begin + letter + end for letter in alphabet)
        yield from (begin + letter + word[i:] for letter in alphabet)
        if end:
            yield begin + end[0] + word[i] + end[1:]
    yield from (word + letter for letter in alphabet)


def likely_slip(word: str) -> Iterator[str]:
    """Of `one_slip` those by letters doubled, swapped, or taken for others that sound alike."""
    for i, letter in enumerate(word):
        begin, end = word[:i], word[i + 1 :]
        yield begin + end if end[:1] == letter else begin + letter + letter + end
        yield from (begin + other + end for other in _alike(letter))
        if end:
            yield begin + end[0] + letter + end[1:]


@lru_cache(maxsize=256)
def _alike(letter: str) -> str:
    """The letters that are taken for a letter because they sound alike."""
    return "".join(letters.replace(letter, "") for letters in _ALIKE if letter in letters)


def slips(word: str) -> Iterator[list[str]]:
    """The words that a misspelt one may be meant for, in the steps in which they are looked for."""
    if word[:1] not in _ALPHABET:
        return
    once = frozenset(one_slip(word)) - {word}
    yield sorted(filter(is_spelt, once))
    if len(word) >= TWO_SLIPS_MIN_LETTERS:
        twice = frozenset(chain.from_iterable(map(likely_slip, likely_slip(word))))
        yield sorted(filter(is_spelt, twice - once - {word}))


def cost(word: str, other: str) -> float:
    """The cost of taking one word for another: the least sum over all edits, 0 for the same word.

    Letters swapped or doubled cost 0.5, letters near on a keyboard or in sound 0.7, a letter
    missing or added 0.8, any other changed 1; in the first letter 0.4 more. Equal both ways.

    Source: Damerau, A technique for computer detection and correction of spelling errors, 1964.
    """
    rows = [[0.0] * (len(other) + 1) for _ in range(len(word) + 1)]
    for i in range(len(word) + 1):
        for j in range(len(other) + 1):
            options = []
            if i:
                options.append(rows[i - 1][j] + _dropped(word, i - 1))
            if j:
                options.append(rows[i][j - 1] + _dropped(other, j - 1))
            if i and j:
                options.append(rows[i - 1][j - 1] + _changed(word, i - 1, other, j - 1))
            if i > 1 and j > 1 and (word[i - 1], word[i - 2]) == (other[j - 2], other[j - 1]):
                first = _FIRST_LETTER if min(i, j) == 2 else 0.0
                options.append(rows[i - 2][j - 2] + _SWAPPED + first)
            rows[i][j] = min(options, default=0.0)
    return rows[-1][-1]


def _dropped(word: str, at: int) -> float:
    """The cost of leaving out a letter."""
    is_doubled = word[at] in (word[at - 1 : at], word[at + 1 : at + 2])
    return (_DOUBLED if is_doubled else _DROPPED) + (0.0 if at else _FIRST_LETTER)


def _changed(word: str, i: int, other: str, j: int) -> float:
    """The cost of one letter in place of another."""
    if word[i] == other[j]:
        return 0.0
    near = _NEAR if (word[i], other[j]) in _NEAR_LETTERS else _OTHER
    return near + (0.0 if i and j else _FIRST_CHANGED)


class Dictionary:
    """Words that are spelt right, though a memory may not hold them.

    `load` gives some as they are written, when they are first asked for.
    """

    def __init__(self, load: Callable[[], Iterable[str]] = tuple) -> None:
        self._load = load

    @cached_property
    def words(self) -> frozenset[str]:
        """The words, in small letters."""
        return frozenset(filter(is_spelt, (*ORDINARY_WORDS, *map(fold, self._load()))))

    def knows(self, word: str) -> bool:
        """Test whether a folded word, or one that it is a form of, is right."""
        return word in ORDINARY_WORDS or not _lemmas(word).isdisjoint(self.words)


NO_DICTIONARY = Dictionary()


@dataclass(frozen=True, slots=True)
class Taken:
    """The words that a misspelt one is taken for, the likeliest first, and their weight in (0, 1].

    weight = 1 - 0.3 cost of the likeliest
    """

    words: tuple[str, ...]
    weight: float

    @classmethod
    def at(cls, least: float, words: Iterable[str]) -> Taken:
        """The words taken at a cost; of more than three the first three."""
        return cls(tuple(words)[:MAX_TAKEN], 1.0 - _LOSS * least)


def take(
    word: str,
    near: Mapping[str, int],
    seen: Iterable[str],
    dictionary: Dictionary,
    is_name: bool = False,
) -> Taken | None:
    """The words that a misspelt one is taken for; None if none is likely enough.

    Up to three of about the same cost are taken; of the same cost, those that more memories hold
    come first. Only one of each stem is taken, as the others are found with it. A name is taken for
    a word that is seen alone. If a word of the dictionary that no memory holds is clearly likelier
    than all that are held, none of these is taken; it is taken itself where letters are swapped or
    doubled, or if it is a month or a day of the week.

    Args:
        word: the misspelt word.
        near: the words near it, and how many memories hold each or another one of its stem.
        seen: words of some of these memories: one near it has to be among them, or right.
        dictionary: the words that are right.
        is_name: True if it looks like a name; those seen are names, then.
    """
    written: dict[str, set[str]] = {}
    for each in seen:
        written.setdefault(stem(each), set()).add(each)
    best_of: dict[str, tuple[bool, bool, float, str]] = {}
    for other in near:
        base = stem(other)
        own = written.get(base, set())
        is_right = other in dictionary.words and not is_name
        is_inflected = not _lemmas(other).isdisjoint(own | ({base} & _all_lemmas(own)))
        if is_right or other in own or (is_inflected and not is_name):
            rank = (other not in own, not is_right, cost(word, other), other)
            best_of[base] = min(rank, best_of.get(base, rank))
    held = sorted(
        (each + _UNSEEN * is_unseen, -near[other], other)
        for is_unseen, _, each, other in best_of.values()
        if each <= _max_cost(word)
    )
    right = _nearest_right(word, _CALENDAR if is_name else dictionary.words | _CALENDAR)
    if right is not None and (not held or right[0] + _TIE < held[0][0]):
        is_sure = right[1] in _CALENDAR or right[0] <= _SURE
        return Taken.at(right[0], [right[1]]) if is_sure else None
    if not held:
        return None
    least = held[0][0]
    return Taken.at(least, [other for each, _, other in held if each <= least + _TIE])


def _nearest_right(word: str, right_words: Set[str]) -> tuple[float, str] | None:
    """The least cost of a word that is right, and the word; None if none is near."""
    for step in slips(word):
        found = ((cost(word, other), other) for other in step if other in right_words)
        right = min(found, default=None)
        if right is not None:
            return right if right[0] <= _max_cost(word) else None
    return None


def _lemmas(word: str) -> set[str]:
    """The words of which a word may be a plural, a past or a participle, itself among them."""
    lemmas = {word}
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + _MIN_LEMMA:
            lemmas.update(word.removesuffix(ending) + other for other in instead)
    return lemmas


def _all_lemmas(words: Iterable[str]) -> set[str]:
    return set().union(*map(_lemmas, words))


def taken_notes(taken: Mapping[str, Sequence[str]]) -> list[str]:
    """A note on each misspelt word: "mongod: took mongodb"."""
    return [f"{word}: took {', '.join(others)}" for word, others in taken.items()]


def _max_cost(word: str) -> float:
    """The highest cost at which a word is taken for another: short words have many near them."""
    return next(cost for letters, cost in _MAX_COSTS if len(word) >= letters)


def respelt(text: str, taken: Mapping[str, Taken]) -> str:
    """The text with the likeliest word in place of each misspelt one, and its capital."""

    def right(match: re.Match[str]) -> str:
        written = match[0]
        meant = taken.get(fold(written))
        if meant is None:
            return written
        return meant.words[0].capitalize() if written[0].isupper() else meant.words[0]

    return _WORD.sub(right, text) if taken else text

"""Misspelt words: the words of memories that a word of a query may be meant for.

A word that is in no memory is compared with all words that one slip makes of it, or two likely ones
where it is long. So a store keeps no list of words, in which those of erased memories or of other
namespaces might be left: it only tells how many memories hold each of some words. Of those that are
held, the likeliest by the kind of the slip are taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from pathlib import Path

from salience.language.english import MONTHS, ORDINARY_WORDS, QUOTED_PHRASE, WEEKDAYS
from salience.language.tokens import fold, stem, words
from salience.lazily import dataclass, regex

MIN_LETTERS = 4
"""The letters of the shortest word that one is taken for; a shorter one resembles too many."""
_MIN_TYPED = 3  # letters of a word that is taken for another: one letter may be missing
MAX_LETTERS = 24
TWO_SLIPS_MIN_LETTERS = 8
"""The fewest letters of a word that may have two slips."""
MAX_TAKEN = 3
"""The most words that one is taken for."""

_SWAPPED, _DOUBLED, _NEAR, _DROPPED, _OTHER = 0.5, 0.5, 0.7, 0.8, 1.0
_FIRST_LETTER = 0.1  # more for a slip at the first letter, which people seldom miss
_FIRST_CHANGED = 0.45  # and for another letter in its place, as in words that rhyme
# By the letters of a word, from so many on: where a list tells that it is wrong, and of names and
# other languages.
_MAX_COSTS = ((4, 1.45), (0, 0.9))
_CAREFUL_COSTS = ((7, 1.4), (4, 0.95), (0, 0.9))
_TIE = 0.25  # how much dearer than the likeliest word another one may be that is taken, too
_HELD = 0.4  # how much dearer than the likeliest of all words one that memories hold may be
_UNSEEN = 0.2  # more for a form of a word of memories that none of those read has
_RARE = 0.3  # more for a rare word that is right, but in no memory
_COMMON_WORDS = 10_000  # the most frequent of the list; others are rare
_SURE = 0.8  # the highest cost at which a word that no memory holds is taken
_SURE_ELSEWHERE = 0.5  # and in other languages
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
_WORD = regex(r"[^\W\d_]+")
_ENDINGS = (
    ("s", ("",)), ("ses", ("s",)), ("xes", ("x",)), ("zes", ("z",)), ("hes", ("h",)),
    ("oes", ("o",)), ("ies", ("y",)), ("ed", ("", "e")), ("ied", ("y",)), ("ing", ("", "e")),
)  # fmt: skip
"""Endings of English words, and what stands in their place without them."""
_CALENDAR = frozenset(MONTHS) | WEEKDAYS
_IDENTIFIER = regex(r"[\d_/\\@#*=<>{}()\[\]|~+]|[a-z][A-Z]|\w[.:]\w")


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
    return [
        word
        for word in plain
        if word not in fixed and word not in ORDINARY_WORDS and is_spelt(word, _MIN_TYPED)
    ]


def is_spelt(word: str, least: int = MIN_LETTERS) -> bool:
    """Test whether a folded word is written in `least` or more letters of one alphabet."""
    if not least <= len(word) <= MAX_LETTERS:
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
    """The words that a misspelt one may stand for, in the steps in which they are looked up."""
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
    missing or added 0.8, any other changed 1; at the first letter 0.1 more, or 0.45 more for
    another one. Equal both ways.

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

    `listed` gives words of English, the most frequent first, and `known` others as they are
    written, when they are first asked for.
    """

    def __init__(
        self,
        listed: Callable[[], Iterable[str]] = tuple,
        known: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._listed, self._known = listed, known

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The words of English, folded, and the place of each by frequency."""
        places = dict.fromkeys(ORDINARY_WORDS, 0)
        for place, word in enumerate(map(fold, self._listed())):
            places.setdefault(word, place)
        return places

    @cached_property
    def words(self) -> frozenset[str]:
        """All the words, folded."""
        return frozenset(self.places).union(filter(is_spelt, map(fold, self._known())))

    def knows(self, word: str) -> bool:
        """Test whether a folded word, or one that it is a form of, is right."""
        return not _lemmas(word).isdisjoint(self.words)

    def rarity(self, word: str) -> float:
        """The addition to the cost of taking a word that is right; a long one resembles few."""
        is_common = word in _CALENDAR or self.places.get(word, _COMMON_WORDS) < _COMMON_WORDS
        return 0.0 if is_common or len(word) >= TWO_SLIPS_MIN_LETTERS else _RARE


def english_words() -> list[str]:
    """The 40,000 most frequent words of English of three letters or more, the most frequent first.

    Source: the dictionary of SymSpell (MIT), made from SCOWL and the Google Books Ngrams.
    """
    listed = Path(__file__).with_name("english_words.txt")
    return listed.read_text("ascii").split()


NO_DICTIONARY = Dictionary()


@dataclass(frozen=True)
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
    is_english: bool = True,
) -> Taken | None:
    """The words that a misspelt one is taken for; None if none is likely enough.

    Up to three of about the same cost are taken; of the same cost, those that more memories hold
    come first. Only one of each stem is taken, as the others are found with it. A name is taken for
    a word that is seen alone. If a word of the dictionary that no memory holds is clearly likelier
    than all that are held, none of these is taken; it is taken itself where one slip of a usual
    kind leads to it and it is frequent, or if it is a month or a day of the week.

    Args:
        word: the misspelt word.
        near: the words near it, and how many memories hold each or another one of its stem.
        seen: words of some of these memories: one near it has to be among them, or right.
        dictionary: the words that are right.
        is_name: True if it looks like a name; those seen are names, then.
        is_english: False if it is of another language, of which the dictionary has few words.
    """
    is_listed = is_english and not is_name
    most = _max_cost(word, is_listed)
    written: dict[str, set[str]] = {}
    for each in seen:
        written.setdefault(stem(each), set()).add(each)
    best_of: dict[str, tuple[bool, bool, float, str]] = {}
    for other in near:
        base = stem(other)
        spellings = written.get(base, set())
        is_right = other in dictionary.words and not is_name
        is_inflected = not _lemmas(other).isdisjoint(spellings | ({base} & _all_lemmas(spellings)))
        if is_right or is_inflected:
            rank = (other not in spellings, not is_right, cost(word, other), other)
            best_of[base] = min(rank, best_of.get(base, rank))
    candidates = sorted(
        (each + _UNSEEN * is_unseen, -near[other], other)
        for is_unseen, _, each, other in best_of.values()
        if each <= most
    )
    right_words = dictionary.places.keys() if is_english else dictionary.words
    right = _nearest_right(word, _CALENDAR if is_name else right_words | _CALENDAR, dictionary)
    if right is not None and (not candidates or right[0] + _HELD < candidates[0][0]):
        is_sure = right[1] in _CALENDAR or right[0] <= (_SURE if is_listed else _SURE_ELSEWHERE)
        return Taken.at(right[0], [right[1]]) if is_sure else None
    if not candidates:
        return None
    least = candidates[0][0]
    return Taken.at(least, [other for each, _, other in candidates if each <= least + _TIE])


def _nearest_right(
    word: str, right_words: Set[str], dictionary: Dictionary
) -> tuple[float, str] | None:
    """The least cost of a word that is right, and the word; None if none is near."""
    for step in slips(word):
        costs = (
            (cost(word, other) + dictionary.rarity(other), dictionary.places.get(other, 0), other)
            for other in step
            if other in right_words
        )
        right = min(costs, default=None)
        if right is not None:
            return right[0], right[2]
    return None


def _lemmas(word: str) -> set[str]:
    """The words whose plural, past or participle a word may be, itself among them."""
    lemmas = {word}
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + _MIN_LEMMA:
            if ending == "s" and word.endswith("ss"):
                continue  # no plural
            lemmas.update(word.removesuffix(ending) + other for other in instead)
    return lemmas


def _all_lemmas(words: Iterable[str]) -> set[str]:
    return set().union(*map(_lemmas, words))


def taken_notes(taken: Mapping[str, Sequence[str]]) -> list[str]:
    """A note on each misspelt word: "mongod: took mongodb"."""
    return [f"{word}: took {', '.join(corrections)}" for word, corrections in taken.items()]


def _max_cost(word: str, is_listed: bool) -> float:
    """The highest cost at which a word is taken for another: short words have many near them."""
    costs = _MAX_COSTS if is_listed else _CAREFUL_COSTS
    return next(cost for letters, cost in costs if len(word) >= letters)


def respelt(text: str, taken: Mapping[str, Taken]) -> str:
    """The text with the likeliest word in place of each misspelt one, and its capital."""

    def right(match: re.Match[str]) -> str:
        written = match[0]
        choice = taken.get(fold(written))
        if choice is None:
            return written
        return choice.words[0].capitalize() if written[0].isupper() else choice.words[0]

    return _WORD.sub(right, text) if taken else text

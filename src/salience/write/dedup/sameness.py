"""Sameness of two texts: only what is listed here may differ.

Two texts are compared word by word (`written_words`). In English an article, "also", "too" and
"please" may be missing, contractions may be written out, and a phrase may stand at the other end of
its sentence. In doubt they do not say the same, and both are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise

from salience.language.english import MONTHS, STOP_WORDS, WEEKDAYS
from salience.language.entities import fold_name
from salience.language.languages import language_of
from salience.language.spelling import english_words
from salience.language.tokens import stem, words
from salience.lazily import regex
from salience.write.dedup.written_words import (
    INTERJECTIONS,
    PAUSE,
    QUESTION,
    Sentence,
    Word,
    WrittenText,
    written,
)

MAX_COMPARED_CHARACTERS = 100_000
"""The length of the longest texts whose words are compared; longer ones are equal or different."""
_MIN_ENGLISH = 0.8  # of the small words of a text in English
_ARTICLES = frozenset({"a", "an", "the"})
_QUANTITIES = frozenset(  # "a few" is not "few"
    "bit couple dozen few half hundred little lot million number second third thousand".split()
)
_EXPANSIONS = {
    "an": "a",
    "can't": "can not",
    "cannot": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "let's": "let us",
    **{
        f"{word}'s": f"{word} is" for word in "he how here it she that there what where who".split()
    },
}
_SUFFIXES = {"n't": "not", "'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}
_MOVABLE = frozenset(  # first words of phrases that stand at either end of a sentence
    """above across after along among around at before behind below beside between by during every
    for from in inside last near next now on outside over since through to today tomorrow tonight
    under until with within yesterday""".split()
)
_LEADING = frozenset(  # words that a pause may follow
    "also however now please so then therefore today tomorrow tonight yesterday".split()
)
_JOINING = frozenset("also and but or please so too which who".split())
_SCOPED = frozenset(  # words that reach as far as they stand
    """all and as because but even if just neither never no nobody none nor not nothing only or
    than that unless what when which while who whose""".split()
)
_MAX_MOVED_WORDS = 12
_RECENT_TEXTS = 64  # one is compared with several, and for several reasons


def says_same(one: str, other: str) -> bool:
    """Test whether two texts say the same; very long ones only if their words are equal."""
    if one == other:
        return True
    if max(len(one), len(other)) > MAX_COMPARED_CHARACTERS:
        return one.split() == other.split()
    pair = _Pair(one, other)
    if pair.aligned(pair.one.words, pair.other.words):
        return bool(pair.one.words)
    exclaimed = _exclaimed(pair.one)
    return (exclaimed is not None and exclaimed == _exclaimed(pair.other)) or (
        len(pair.one.sentences) == len(pair.other.sentences)
        and all(map(pair.same_sentence, pair.one.sentences, pair.other.sentences))
    )


def says_more(longer: str, shorter: str) -> bool:
    """Test whether a text says what another says, and more in sentences of its own."""
    if max(len(longer), len(shorter)) > MAX_COMPARED_CHARACTERS:
        return False
    pair = _Pair(longer, shorter)
    more = len(pair.one.sentences) > len(pair.other.sentences)
    return more and all(map(pair.same_sentence, pair.one.sentences, pair.other.sentences))


class _Pair:
    """Two texts to compare."""

    def __init__(self, one: str, other: str) -> None:
        parsed = [_read(one), _read(other)]
        self.cases = {text.case for text, _ in parsed}
        self.is_english = all(is_english for _, is_english in parsed)
        self.one, self.other = (
            map(_written_out, (one, other)) if self.is_english else (text for text, _ in parsed)
        )

    def same_sentence(self, one: Sentence, other: Sentence) -> bool:
        """Test whether two sentences say the same, perhaps with a phrase at the other end."""
        return self.aligned(one, other) or self._moved(one, other) or self._moved(other, one)

    def aligned(self, one: Sentence, other: Sentence) -> bool:
        """Test whether two texts have the same words in the same order, optional ones apart."""
        i = j = 0
        while i < len(one) or j < len(other):
            word = one[i] if i < len(one) else None
            counterpart = other[j] if j < len(other) else None
            if word and counterpart and self._same(word, counterpart):
                i, j = i + 1, j + 1
            elif word and counterpart and {word.folded, counterpart.folded} <= _ARTICLES:
                return False  # "the" is not "a"
            elif word and word.is_optional:
                i += 1
            elif counterpart and counterpart.is_optional:
                j += 1
            else:
                return False
        return True

    def _moved(self, one: Sentence, other: Sentence) -> bool:
        """Test whether the phrase at the beginning of one sentence is at the end of the other."""
        if not self.is_english or len(one) < 3 or one[0].folded not in _MOVABLE:
            return False
        if any(word.folded in _SCOPED or word.text == QUESTION for word in one):
            return False
        return any(
            self.aligned(one[moved:] + one[:moved], other)
            for moved in range(1, min(_MAX_MOVED_WORDS, len(one) - 2) + 1)
        )

    def _same(self, one: Word, other: Word) -> bool:
        """Test whether two words are the same; their case may be that of the place or the text."""
        if one.text == other.text:
            return True
        if one.text.lower() != other.text.lower():
            return False
        if "capital" in self.cases:
            return one.is_of_letters and other.is_of_letters
        is_free = "small" in self.cases or one.begins or other.begins
        return is_free and one.is_ordinary and other.is_ordinary


def _exclaimed(text: WrittenText) -> Set[str] | None:
    """The interjections of a text of nothing else; their order and number mean nothing."""
    words = {word.text.lower() for word in text.words} - {PAUSE, "-"}
    return words if words <= INTERJECTIONS else None


def _is_english(text: WrittenText) -> bool:
    """Test whether a text is in English, by the words that are no names."""
    small = {
        word.folded
        for word in text.words
        if word.is_ordinary
        and word.text.islower()
        and word.text.isalpha()
        and (len(word.text) > 2 or word.text in STOP_WORDS)
    }
    count = len(small & _english())
    return bool(count) and count >= _MIN_ENGLISH * len(small) and language_of(small) is None


@lru_cache(maxsize=_RECENT_TEXTS)
def _read(text: str) -> tuple[WrittenText, bool]:
    """A text as it is written, and whether it is in English."""
    parsed = written(text)
    return parsed, _is_english(parsed)


@lru_cache(maxsize=_RECENT_TEXTS)
def _written_out(text: str) -> WrittenText:
    """An English text with its sentences as they are compared."""
    parsed, _ = _read(text)
    return WrittenText(tuple(map(_expanded, parsed.sentences)), parsed.case)


@cache
def _english() -> frozenset[str]:
    return STOP_WORDS.union(english_words())


def _expanded(sentence: Sentence) -> Sentence:
    """An English sentence with its contractions written out, and its optional words marked."""
    words = [part for word in sentence for part in _parts(word)]
    is_led = bool(words) and words[0].folded in _LEADING | _MOVABLE
    optional: list[Word] = []
    for word, following in zip(words, [*words[1:], Word("")], strict=True):
        if word.text == PAUSE:
            is_short = len(optional) == 1 and words[0].folded not in _LEADING
            is_optional = (
                word.is_optional or (is_led and not is_short) or following.folded in _JOINING
            )
            is_led = False
        else:
            is_optional = _is_optional(word, following)
        same = word.is_optional == is_optional
        optional.append(word if same else replace(word, is_optional=is_optional))
    return tuple(optional)


def _parts(word: Word) -> Sequence[Word]:
    """The words that a contraction stands for; any other word itself."""
    small = word.text.lower()
    full = _EXPANSIONS.get(small)
    if full is None:
        suffix = next((suffix for suffix in _SUFFIXES if small.endswith(suffix)), None)
        if suffix is None:
            return (word,)
        full = f"{word.text.removesuffix(suffix)} {_SUFFIXES[suffix]}"
    first, *others = full.split()
    return (replace(word, text=first), *(Word(other, is_ordinary=True) for other in others))


def _is_optional(word: Word, following: Word) -> bool:
    """Test whether a sentence says the same without a word."""
    if not word.is_ordinary or not (word.begins or word.text.islower()):
        return False
    if word.folded in _ARTICLES:
        noun = following.folded
        return noun[:1].isalpha() and noun not in STOP_WORDS and noun not in _QUANTITIES
    is_last = following.text in ("", QUESTION)
    return (
        (word.folded == "also" and not word.begins)
        or (word.folded == "too" and is_last)
        or (word.folded == "please" and (word.begins or is_last))
    )


# Differences between two texts that are alike: number, date, name, negation, word

_NUMBER = regex(r"\d+(?:[.,:/-]\d+)*%?")
_NUMBER_WORDS = frozenset(
    (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy "
        "eighty ninety hundred thousand million first second third fourth fifth twice half dozen"
    ).split()
)
_WORD = regex(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NEGATIONS = frozenset(
    (
        "no not never none nobody nothing neither nor cannot without hardly stopped quit former "
        "formerly nicht kein keine nie ohne pas jamais sans nunca niet geen ikke inte"
    ).split()
)


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words of a text that are not stop words."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)


def has_replaced_words(stems: Iterable[frozenset[str]]) -> bool:
    """Test whether each of two texts has words that the other lacks, by their stems.

    Then one thing has replaced another; a text that only says more does not count.
    """
    by_size = sorted(set(stems), key=len)
    return any(not few <= many for few, many in pairwise(by_size))


def unshared_words(texts: Sequence[str]) -> list[str]:
    """The content words, sorted, that some of the texts have and others do not."""
    word_of = [
        {stem(word): word for word in words(text) if word not in STOP_WORDS} for text in texts
    ]
    shared = frozenset.intersection(*map(frozenset, word_of))
    return sorted({by_stem[each] for by_stem in word_of for each in by_stem.keys() - shared})


def differences(
    one: str, other: str, names: Iterable[str] = (), other_names: Iterable[str] = ()
) -> tuple[str, ...]:
    """The kinds in which two texts differ, of number, date, name and negation; () if in none.

    It compares numbers as written, in digits or words, dates as names of months and weekdays, names
    as the given entities, ignoring case, and negations by their number.
    """
    words_of = [
        [word.casefold().replace("’", "'") for word in _WORD.findall(text)] for text in (one, other)
    ]
    numbers = [
        sorted([*_NUMBER.findall(text), *(word for word in words if word in _NUMBER_WORDS)])
        for text, words in zip((one, other), words_of, strict=True)
    ]
    dates = [{word for word in words if word in MONTHS or word in WEEKDAYS} for words in words_of]
    entities = [{fold_name(name) for name in group} for group in (names, other_names)]
    negations = [sum(map(_negates, words)) for words in words_of]
    equal = {
        "number": numbers[0] == numbers[1],
        "date": dates[0] == dates[1],
        "name": entities[0] == entities[1],
        "negation": negations[0] == negations[1],
    }
    return tuple(kind for kind, is_equal in equal.items() if not is_equal)


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")

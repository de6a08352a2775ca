"""The words of a text as they are written, by sentences, without what says nothing.

It leaves out blanks, quotation marks, invisible characters, repetitions ("Yes, yes."), and which
punctuation mark makes a pause. Everything else counts: signs, operators, accents, brackets, emoji,
each character of `id_rsa.pub`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

from salience.language.tokens import WITHOUT_BLANKS
from salience.lazily import dataclass, regex

QUESTION, PAUSE = "?", ","
_UNIT_LETTERS = 3  # of the longest unit of measure: 5 mW is not 5 MW
_HALVES_OF_DAYS = frozenset({"am", "pm"})
_ONE_LETTER_WORDS = frozenset("aeiouyàéèóηο") | frozenset(map(chr, range(0x430, 0x450)))
INTERJECTIONS = frozenset(
    """ah alright ha haha hm hmm huh mm mm-hmm oh ok okay uh uh-huh um wow yeah yep
    yes""".split()
)
_SAME_CHARACTERS = {
    **{
        code: unicodedata.normalize("NFKC", chr(code))
        for code in (0x3000, *range(0xFF01, 0xFFEF))
        if unicodedata.decomposition(chr(code)).startswith(("<wide>", "<narrow>"))
    },
    **dict.fromkeys(map(ord, "“”„‟«»‹›「」『』"), '"'),
    **dict.fromkeys(map(ord, "‘’‚‛ʼ"), "'"),
    **dict.fromkeys(map(ord, "‐‑–−"), "-"),
    **dict.fromkeys(map(ord, "\u00ad\u200b\u200e\u200f\u2060\ufeff\ufe0e\ufe0f"), ""),
    **{ord(one): other for one, other in zip("。।։،؛؟", "...,;?", strict=True)},
    ord("、"): ", ",
    ord("—"): " - ",
    ord("…"): "...",
}
_APART = regex(  # what is a word of its own without blanks around it
    rf"[!:~]?[<>=]+|[{WITHOUT_BLANKS}\u2190-\u2bff\U0001f000-\U0001faff]"
    r"|(?<=[^\W\d_])[,;](?=[^\W\d_])"
)
_LETTERS = regex(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_PUNCTUATION = regex(r"[.,:;!?\"'`]+")
_BULLET = regex(r"\A\s*[-*•]\s+(?=[^\W\d_])")
_GREEK_QUESTION = regex(r"(?<=[\u0370-\u03ff]);")
_OPENING = frozenset("\"'`¿¡")
_CLOSING = frozenset("\"'`.,:;!?")
_AFTER_NUMBERS = frozenset("!\"'")  # a factorial, inches, feet
_PAUSES = frozenset(".,:;!?")
_ENDS = frozenset(".!?")


@dataclass(frozen=True)
class Word:
    """One word as it is written.

    `begins` is True for the first one of a sentence, `is_ordinary` for one whose case only shows
    where it stands, `is_optional` for one without which the sentence says the same.
    """

    text: str
    begins: bool = False
    is_ordinary: bool = False
    is_optional: bool = False

    @property
    def folded(self) -> str:
        """The word in small letters if it is an ordinary one."""
        return self.text.lower() if self.is_ordinary else self.text

    @property
    def is_of_letters(self) -> bool:
        """True without a digit or sign."""
        return _LETTERS.fullmatch(self.text) is not None


Sentence = tuple[Word, ...]


@dataclass(frozen=True)
class WrittenText:
    """The sentences of a text, in which a pause is a word.

    `case` is "mixed", or "small" or "capital" where all letters are, and so case means nothing.
    """

    sentences: tuple[Sentence, ...]
    case: str

    @cached_property
    def words(self) -> Sentence:
        """All words in order, with a pause between two sentences."""
        parts = [part for sentence in self.sentences for part in ((Word(PAUSE),), sentence)]
        return tuple(chain.from_iterable(parts[1:]))


def plain(text: str) -> str:
    """A text with one form for characters that say the same."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.translate(_SAME_CHARACTERS))


def written(text: str) -> WrittenText:
    """The sentences of a text as they are written."""
    same = _GREEK_QUESTION.sub(QUESTION, _BULLET.sub("", plain(text), count=1))
    case = "small" if same == same.lower() else "mixed"
    if same.isupper() and len(same.split()) > 1:
        case = "capital"
    phrases = [*_phrases(_APART.sub(r" \g<0> ", same).split())]
    if len({(phrase[0].lower(), *phrase[1:]) for phrase, _ in phrases}) == 1:
        phrases = phrases[:1]  # a repetition
    sentences = (tuple(_words(sentence, case)) for sentence in _sentences(phrases))
    return WrittenText(tuple(sentences), case)


_Phrase = tuple[str, ...]  # what stands between two marks of punctuation


def _phrases(chunks: Sequence[str]) -> Iterator[tuple[_Phrase, bool]]:
    """Each phrase, and whether a sentence ends with it; a question mark is a word of its own."""
    words: list[str] = []
    for chunk, following in zip(chunks, [*chunks, ""][1:], strict=True):
        is_between_numbers = bool(words) and words[-1][-1].isdigit() and following[:1].isdigit()
        core, marks = _without_marks(chunk, following, is_between_numbers)
        if ".." in marks and following[:1].islower():  # hesitation
            marks = ""
        words += filter(None, (core, QUESTION if QUESTION in marks else ""))
        if words and not _PAUSES.isdisjoint(marks):
            yield tuple(words), not _ENDS.isdisjoint(marks)
            words = []
    if words:
        yield tuple(words), True


def _sentences(phrases: Iterable[tuple[_Phrase, bool]]) -> Iterator[list[_Phrase]]:
    """The phrases of each sentence."""
    sentence: list[_Phrase] = []
    for phrase, is_end in phrases:
        sentence.append(phrase)
        if is_end:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _without_marks(chunk: str, following: str, is_between_numbers: bool) -> tuple[str, str]:
    """A chunk without the marks of punctuation around it, and those behind it."""
    if _PUNCTUATION.fullmatch(chunk):
        is_path = chunk == ".." or (chunk == "." and following[:1].islower())
        return (chunk, "") if is_path or is_between_numbers else ("", chunk)
    core = chunk
    while core[0] in _OPENING and len(core) > 1:
        core = core[1:]
    is_quoted = core != chunk
    end = len(core)
    while end > 1 and core[end - 1] in _CLOSING:
        if core[end - 1] in _AFTER_NUMBERS and core[end - 2].isdigit() and not is_quoted:
            break
        end -= 1
    if core[end - 1].isdigit() and following[:1].isdigit():  # "1, 5" is not "1 5"
        return core, ""
    return core[:end], core[end:]


def _words(phrases: Sequence[_Phrase], case: str) -> Iterator[Word]:
    """The words of a sentence, with a pause between its phrases."""
    before = ""
    was_exclaimed = False
    for phrase in phrases:
        is_exclaimed = INTERJECTIONS.issuperset(map(str.lower, phrase))
        if before:
            yield Word(PAUSE, is_optional=was_exclaimed or is_exclaimed)
        for word in phrase:
            yield Word(word, not before, _is_ordinary(word, before, case == "capital"))
            before = word
        was_exclaimed = is_exclaimed


def _is_ordinary(word: str, before: str, is_shouted: bool) -> bool:
    """Test whether the case of a word only shows where it stands."""
    small = word.lower()
    if not _LETTERS.fullmatch(word) or not (is_shouted or word[1:] == small[1:]):
        return False
    if len(word) == 1:
        return small in _ONE_LETTER_WORDS
    is_unit = before[-1:].isdigit() and len(word) <= _UNIT_LETTERS
    return not is_unit or small in _HALVES_OF_DAYS

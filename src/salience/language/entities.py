"""Entities: the names in a text, found by rules, and aliases, which make one of several names.

`Memory.open(entities=...)` takes another extractor in place of the rules, and `aliases` other
names of the same entity: {"JS": "JavaScript"}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from enum import IntEnum
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, Protocol

from salience.errors import InvalidInput
from salience.language.cues import CueTable
from salience.language.english import (
    HONORIFICS,
    MONTHS,
    NAME_PARTICLES,
    NAMESAKE_WORDS,
    OPENING_WORDS,
    ORDINARY_ENDING,
    ORDINARY_WORDS,
    STOP_WORDS,
    WEEKDAYS,
)
from salience.language.tokens import MemoTable, fold, words
from salience.lazily import dataclass, field

_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_TABLE = CueTable("entities")
_MARKED = _TABLE.pattern("marked_entity")
_MARKS = ("@", "`", '"', "“", "«", "://", "www.")  # one of them is in each match of _MARKED
_TOKEN = _TABLE.pattern("entity_token")
_ENCODED_DATA = _TABLE.pattern("encoded_data")
_SENTENCE_END = _TABLE.pattern("sentence_end")
_HEADING_END = _TABLE.pattern("heading_end")
_NAME_MAX_TOKENS = 6  # a longer run of capitals is a headline
_HEADLINE_MIN_WORDS = 3  # a shorter text in capitals may be a name
MAX_CHARACTERS = 100_000  # of a text that are searched for entities
_MEMO_NAMES = 1 << 16
_QUESTION_MAX_WORDS = 200  # the first words of a question that are looked up as names
_CALENDAR = WEEKDAYS | set(MONTHS)


class EntityExtractor(Protocol):
    """Finds the entities of a text."""

    def extract(self, text: str) -> Sequence[str]:
        """The entities of a text, each once, in the spelling of the text."""
        ...


@dataclass(frozen=True)
class Aliases:
    """The names that mean the same: `key` is equal for two entities if and only if they do."""

    names: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)

    @classmethod
    def of(cls, aliases: Mapping[str, str] | None) -> Aliases:
        """From a mapping of each alias to the name that it stands for.

        Raises:
            InvalidInput: it is not a mapping of text to text, or has a circle.
        """
        if aliases is None:
            return cls()
        if not isinstance(aliases, Mapping) or not all(
            isinstance(name, str) for pair in aliases.items() for name in pair
        ):
            raise InvalidInput("aliases", "must be a mapping of text to text")
        names = {fold_name(name): fold_name(target) for name, target in aliases.items()}
        names = {name: target for name, target in names.items() if name != target}
        resolved = {}
        for name, target in names.items():
            seen = {name}
            while target in names:
                if target in seen:
                    raise InvalidInput("aliases", f"{name!r} stands for itself in the end")
                seen.add(target)
                target = names[target]
            resolved[name] = target
        return cls(resolved)

    def key(self, entity: str) -> str:
        """The key by which an entity is compared: folded, an alias as the name it stands for."""
        name = fold_name(entity)
        return self.names.get(name, name)

    def keys(self, entities: Iterable[str]) -> frozenset[str]:
        """The distinct keys of some entities."""
        return frozenset(self.key(entity) for entity in entities)

    def spellings(self, keys: Set[str]) -> frozenset[str]:
        """The folded names that have one of some keys."""
        return frozenset(keys).union(*(self._names_of[key] for key in keys & self._names_of.keys()))

    @cached_property
    def _names_of(self) -> dict[str, set[str]]:
        """The aliases that stand for each name."""
        names: dict[str, set[str]] = {}
        for alias, name in self.names.items():
            names.setdefault(name, set()).add(alias)
        return names

    def others_in(self, text: str) -> dict[str, frozenset[str]]:
        """The names in a text that have other names: each folded, with its others.

        Of names that overlap, the longest counts, else the first.
        """
        if not self.names:
            return {}
        tokens = words(text)
        others: dict[str, frozenset[str]] = {}
        start = 0
        while start < len(tokens):
            for end in range(min(start + _NAME_MAX_TOKENS, len(tokens)), start, -1):
                name = " ".join(tokens[start:end])
                same = self.spellings({self.key(name)}) - {name}
                if same:
                    others[name] = same
                    start = end
                    break
            else:
                start += 1
        return others


NO_ALIASES = Aliases()


def fold_name(name: str) -> str:
    """A name as it is compared: case-folded, without accents, with single spaces."""
    return _folded_names[name]


_folded_names = MemoTable(lambda name: " ".join(fold(name).split()), _MEMO_NAMES)


class _Capitals(IntEnum):
    """The places where the spelling of a word makes it a name, or a part of one."""

    NOWHERE = 0
    INSIDE = 1  # not at the beginning of a sentence
    UNLESS_SMALL = 2  # at the beginning only if it is nowhere written small
    EVERYWHERE = 3


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    initial: bool  # at the beginning of a sentence, where any word has a capital


@dataclass(frozen=True)
class RuleBasedExtractor:
    """The entities recognized by their spelling, for scripts with capital letters.

    E-mail addresses, URLs and @handles; titles in quotation marks; runs of capitalised words
    (Sarah, New York, Bank of America); acronyms, and words with capitals or digits inside (API,
    TypeScript, GPT-4, Q2). A capital at the beginning of a sentence counts unless the word often
    stands there or is written small elsewhere in the text. Days, months, headings in Markdown and
    code are not entities, and a text in capitals has none. Of a long text the first 100,000
    characters are read.
    """

    def extract(self, text: str) -> tuple[str, ...]:
        """The entities of a text, each once, in the order and spelling of the text."""
        text = text[:MAX_CHARACTERS]
        # Encoded data has no names, and each of its letters would be tried as the start of one.
        text = _ENCODED_DATA.sub(lambda run: " " * len(run.group()), text)
        names: list[tuple[int, str]] = []
        plain = text
        if any(map(text.__contains__, _MARKS)):

            def blank(match: re.Match[str]) -> str:
                """Text of the same length that ends a name."""
                if not match["code"]:
                    names.append((match.start(), match.group(match.lastgroup or 0)))
                return "." + "-" * (match.end() - match.start() - 1)

            plain = _MARKED.sub(blank, text)
        if not text.isupper() or len(text.split()) < _HEADLINE_MIN_WORDS:
            names.extend(_names(plain))
        distinct: dict[str, str] = {}
        for _, name in sorted(names):
            distinct.setdefault(fold_name(name), name)
        return tuple(distinct.values())


RULES = RuleBasedExtractor()


PossibleName = tuple[str, int, int]
"""Words of a question in a row, folded, and their places: from the second to before the third."""


def possible_names(question: str) -> list[PossibleName]:
    """The words, and up to six in a row, that are names if the memories know them as such.

    A question need not be spelled with care. One of the words has to be none that means something
    else, too, as "will", "may" and "mark" do.
    """
    text = " ".join(fold(question).split())
    starts: list[int] = []
    ends: list[int] = []
    telling: list[int] = []
    for place, token in enumerate(islice(_TOKEN.finditer(text), _QUESTION_MAX_WORDS)):
        word = _without_genitive(token[0])
        if _tells[word]:
            telling.append(place)
        starts.append(token.start())
        ends.append(starts[-1] + len(word))
    names: list[PossibleName] = []
    for start, at in enumerate(starts):
        if telling and telling[0] < start:
            telling.pop(0)
        first = telling[0] if telling else len(ends)
        last = min(start + _NAME_MAX_TOKENS, len(ends))
        names += [(text[at : ends[end]], start, end + 1) for end in range(first, last)]
    return names


def has_capitals(question: str) -> bool:
    """Test whether a question has capitals after its first letter, by which names stand out."""
    return not question.isupper() and any(map(str.isupper, question[1:]))


def known_names(
    possible: Iterable[PossibleName], known: Set[str], spelled: Iterable[str]
) -> list[str]:
    """The longest of the possible names that are known, none of them part of another.

    Words that occur in names that were told by their spelling belong to those.
    """
    taken = {word for name in spelled for word in fold_name(name).split()}
    names: list[str] = []
    after = 0
    for name, start, end in sorted(possible, key=lambda place: (place[1], -place[2])):
        if start >= after and name in known and taken.isdisjoint(name.split()):
            names.append(name)
            after = end
    return names


def _is_telling(word: str) -> bool:
    """Test whether a folded word hardly means anything else than a name that is spelled so."""
    if word.upper() == word:  # of a script without capitals, or a number
        return word.isalpha()
    if word in NAMESAKE_WORDS or word in _CALENDAR:
        return False
    return _capitals_of[word[0].upper() + word[1:]] >= _Capitals.UNLESS_SMALL


_tells = MemoTable(_is_telling, _MEMO_NAMES)


def _names(text: str) -> Iterator[tuple[int, str]]:
    """The names by capitals, each with its offset."""
    tokens = _Tokens(text)
    run: list[_Token] = []
    for i, capitals in enumerate(map(_capitals_of.__getitem__, tokens.words)):
        if not run and not capitals:
            continue
        token = tokens[i]
        adjacent = bool(run) and text[run[-1].end : token.start] == " " and not token.initial
        if run and not adjacent:
            yield from _name(text, run)
            run = []
        joins = adjacent and token.text in NAME_PARTICLES and _is_continued(text, tokens, i)
        joins = joins and not run[-1].text.isupper()  # two names: the API of NASA
        if joins or _is_name_part(token, capitals, tokens):
            run.append(token)
        elif run:
            yield from _name(text, run)
            run = []
    yield from _name(text, run)


class _Tokens:
    """The words of a text; a `_Token` is made only where it is needed, as few words are names."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._matches = list(_TOKEN.finditer(text))
        self.words = [match[0] for match in self._matches]
        if "'" in text or "’" in text:
            self.words = list(map(_without_genitive, self.words))

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, i: int) -> _Token:
        word, start = self.words[i], self._matches[i].start()
        return _Token(word, start, start + len(word), self._initial(i, start))

    def _initial(self, i: int, start: int) -> bool:
        if i == 0:
            return True
        between = self._text[self._matches[i - 1].end() : start]
        if between == " " or _SENTENCE_END.search(between) is None:
            return False
        last = self.words[i - 1]
        return between != ". " or not (last.lower() in HONORIFICS or len(last) == 1)

    @cached_property
    def small(self) -> frozenset[str]:
        """The words that are written small."""
        return frozenset(word for word in self.words if word.islower())


def _without_genitive(word: str) -> str:
    return word[:-2] if word[-2:] in ("'s", "’s") else word


def _capitals(word: str) -> _Capitals:
    """The places where a word is (a part of) a name by its spelling."""
    if word.islower() or len(word) < 2 or not _is_capitalised(word):
        return _Capitals.NOWHERE
    low = word.lower()
    head = low.replace("’", "'").partition("'")[0]
    if (
        low in HONORIFICS
        or low in STOP_WORDS
        or (head != low and (head in STOP_WORDS or head == "i"))
    ):
        return _Capitals.NOWHERE
    special = _has_inner_mark(word)
    if special and not word.isupper():
        return _Capitals.EVERYWHERE
    if low in ORDINARY_WORDS or (not special and ORDINARY_ENDING.search(low)):
        return _Capitals.INSIDE
    return _Capitals.UNLESS_SMALL


_capitals_of = MemoTable(_capitals, _MEMO_NAMES)


def _has_inner_mark(word: str) -> bool:
    """Test for capitals or digits inside a word: camelCase, an acronym, letters with digits."""
    return any(c.isupper() for c in word[1:]) or (
        word[0].isupper() and any(c.isdigit() for c in word[1:])
    )


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() or (word[0].isalpha() and _has_inner_mark(word))


def _is_name_part(token: _Token, capitals: _Capitals, tokens: _Tokens) -> bool:
    """Test whether a word is (a part of) a name in its place."""
    if capitals is _Capitals.INSIDE:
        return not token.initial
    if capitals is _Capitals.UNLESS_SMALL and token.initial:
        return token.text.lower() not in tokens.small
    return capitals is not _Capitals.NOWHERE


def _is_continued(text: str, tokens: _Tokens, i: int) -> bool:
    """Test whether a name goes on after the joining word i, as in "Bank of America"."""
    for j in range(i, min(i + 2, len(tokens) - 1)):
        before, token = tokens[j], tokens[j + 1]
        if text[before.end : token.start] != " ":
            return False
        if _is_capitalised(token.text):
            return token.text.lower() not in STOP_WORDS
        if token.text not in NAME_PARTICLES:
            return False
    return False


def _name(text: str, run: Sequence[_Token]) -> Iterator[tuple[int, str]]:
    """The name that a run of words makes, with its offset; none for a day or a heading.

    Nor for one word that opens a sentence, as in "Raw text is kept".
    """
    run = list(run)
    label = bool(run) and run[0].initial and _HEADING_END.match(text, run[-1].end) is not None
    while run and run[0].text.lower() in _CALENDAR:
        run.pop(0)
    opens = len(run) == 1 and run[0].initial and run[0].text.lower() in OPENING_WORDS
    if run and not (label or opens) and len(run) <= _NAME_MAX_TOKENS:
        yield run[0].start, text[run[0].start : run[-1].end]

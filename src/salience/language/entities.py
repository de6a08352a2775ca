"""Entities: what a text names, read by rules, and when two names mean the same.

Give `Memory.open(entities=...)` an extractor of your own to replace the rules, and `aliases` to
say which names are one: {"JS": "JavaScript"}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, Protocol

from salience.errors import InvalidInput
from salience.language.english import (
    HONORIFICS,
    JOINING,
    MONTHS,
    ORDINARY,
    ORDINARY_ENDING,
    STOP,
    WEEKDAYS,
)
from salience.language.tokens import MemoTable, fold

_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_MARKED = re.compile(
    r"(?P<url>\b(?:https?://|www\.)[^\s<>\"')\]]*[^\s<>\"')\].,;:!?])"
    r"|(?P<email>[\w.+-]+@\w[\w-]*(?:\.[\w-]+)*\.\w{2,})"
    r"|(?<![\w@/.])(?P<handle>@\w[\w.-]*\w)"
    r"|(?P<code>```.*?(?:```|\Z)|`[^`\n]*`)"
    r"|[\"“«](?P<title>[A-Z0-9][^\"“”«».!?\n]{1,78}[^\s\"“”«».,!?\n])[\"”»]",
    re.DOTALL,
)
_SIGNS = ("@", "`", '"', "“", "«", "://", "www.")  # one of them is in whatever is _MARKED
_TOKEN = re.compile(r"[^\W_]+(?:['’.&+-][^\W_]+)*(?:\+\+|#)?")
_ENDLESS = re.compile(r"\S{257,}")
_SENTENCE = re.compile(r"[.!?…:;\n•|*]")
_LABEL = re.compile(r":?\*\*")  # what follows a heading in Markdown
_MOST_TOKENS = 6  # in one name; a longer run of capitals is a headline
_CALENDAR = WEEKDAYS | set(MONTHS)


class EntityExtractor(Protocol):
    """Finds what a text names."""

    def extract(self, text: str) -> Sequence[str]:
        """The entities of a text, each once, in the spelling of the text."""
        ...


@dataclass(frozen=True)
class Aliases:
    """Which names mean the same: `key` is equal for two entities if and only if they do."""

    names: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)

    @classmethod
    def of(cls, given: Mapping[str, str] | None) -> Aliases:
        """From a mapping of another name to the one it stands for.

        Raises:
            InvalidInput: it is no mapping of texts, or goes round in a circle.
        """
        if given is None:
            return cls()
        if not isinstance(given, Mapping) or not all(
            isinstance(name, str) for pair in given.items() for name in pair
        ):
            raise InvalidInput("aliases", "must be a mapping of text to text")
        names = {fold_name(name): fold_name(target) for name, target in given.items()}
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
        """What an entity is compared by: folded, and what it is another name for."""
        name = fold_name(entity)
        return self.names.get(name, name)

    def keys(self, entities: Iterable[str]) -> frozenset[str]:
        """The distinct keys of some entities."""
        return frozenset(self.key(entity) for entity in entities)

    def spellings(self, keys: Set[str]) -> frozenset[str]:
        """Every folded name that has one of some keys."""
        return frozenset(keys) | {name for name, key in self.names.items() if key in keys}


NO_ALIASES = Aliases()


def fold_name(name: str) -> str:
    """A name as it is compared: case-folded, without accents, with single spaces."""
    return _kept_names[name]


_kept_names = MemoTable(lambda name: " ".join(fold(name).split()), 1 << 16)


class _Kind(IntEnum):
    """What the spelling of a word says of whether it is (a part of) a name."""

    NEVER = 0
    INSIDE = 1  # unless a sentence begins with it
    MAYBE = 2  # at the beginning of a sentence too, unless it is written small elsewhere
    ALWAYS = 3


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    initial: bool  # at the beginning of a sentence, where capitals say nothing


@dataclass(frozen=True)
class RuleBasedExtractor:
    """The entities that the spelling gives away, for scripts with capital letters.

    E-mail addresses, URLs and @handles; titles in quotation marks; runs of capitalised words
    (Sarah, New York, Bank of America); acronyms, and words with capitals or digits inside (API,
    TypeScript, GPT-4, Q2). A capital at the beginning of a sentence counts unless the word is an
    ordinary one there or is written small elsewhere in the text. Days, months, headings in
    Markdown and code are no entities, and in a text that is all capitals nothing is.
    """

    def extract(self, text: str) -> tuple[str, ...]:
        """The entities of a text, each once, in the order and spelling of the text."""
        # Encoded data names nobody, and would be tried as an address from each of its letters.
        text = _ENDLESS.sub(lambda run: " " * len(run.group()), text)
        found: list[tuple[int, str]] = []
        plain = text
        if any(sign in text for sign in _SIGNS):
            marked = list(_MARKED.finditer(text))
            found += [(m.start(), m.group(m.lastgroup or 0)) for m in marked if not m["code"]]
            plain = _MARKED.sub(_blank, text)
        if not text.isupper() or len(text.split()) < 3:
            found.extend(_names(plain))
        distinct: dict[str, str] = {}
        for _, name in sorted(found):
            distinct.setdefault(fold_name(name), name)
        return tuple(distinct.values())


RULES = RuleBasedExtractor()


def _blank(match: re.Match[str]) -> str:
    """What ends a name and leaves every place in the text as it was."""
    return "." + "-" * (match.end() - match.start() - 1)


def _names(text: str) -> Iterator[tuple[int, str]]:
    """Names by capitals, with where they begin."""
    tokens = _Tokens(text)
    run: list[_Token] = []
    for i, kind in enumerate(map(_kinds.__getitem__, tokens.words)):
        if not run and not kind:
            continue
        token = tokens[i]
        together = bool(run) and text[run[-1].end : token.start] == " " and not token.initial
        if run and not together:
            yield from _name(text, run)
            run = []
        joins = together and token.text in JOINING and _goes_on(text, tokens, i)
        joins = joins and not run[-1].text.isupper()  # the API of NASA
        if joins or _counts(token, kind, tokens):
            run.append(token)
        elif run:
            yield from _name(text, run)
            run = []
    yield from _name(text, run)


class _Tokens:
    """The words of a text, looked at closely only where somebody asks: most are no names."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._matches = list(_TOKEN.finditer(text))
        self.words = [match[0] for match in self._matches]
        if "'" in text or "’" in text:
            self.words = list(map(_owner, self.words))

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, i: int) -> _Token:
        word, start = self.words[i], self._matches[i].start()
        return _Token(word, start, start + len(word), self._initial(i, start))

    def _initial(self, i: int, start: int) -> bool:
        if i == 0:
            return True
        between = self._text[self._matches[i - 1].end() : start]
        if between == " " or _SENTENCE.search(between) is None:
            return False
        last = self.words[i - 1]
        return between != ". " or not (last.lower() in HONORIFICS or len(last) == 1)

    @cached_property
    def small(self) -> frozenset[str]:
        """The words that are written small."""
        return frozenset(word for word in self.words if word.islower())


def _owner(word: str) -> str:
    return word[:-2] if word[-2:] in ("'s", "’s") else word


def _kind(word: str) -> _Kind:
    """What the spelling of a word says."""
    if word.islower() or len(word) < 2 or not _capital(word):
        return _Kind.NEVER
    low = word.lower()
    head = low.replace("’", "'").partition("'")[0]
    if low in HONORIFICS or low in STOP or (head != low and (head in STOP or head == "i")):
        return _Kind.NEVER
    marked = _marked(word)
    if marked and not word.isupper():
        return _Kind.ALWAYS
    if low in ORDINARY or not (marked or ORDINARY_ENDING.search(low) is None):
        return _Kind.INSIDE
    return _Kind.MAYBE


_kinds = MemoTable(_kind, 1 << 16)


def _marked(word: str) -> bool:
    """A capital that is no matter of grammar: camelCase, an acronym, letters with digits."""
    return any(c.isupper() for c in word[1:]) or (
        word[0].isupper() and any(c.isdigit() for c in word[1:])
    )


def _capital(word: str) -> bool:
    return word[0].isupper() or (word[0].isalpha() and _marked(word))


def _counts(token: _Token, kind: _Kind, tokens: _Tokens) -> bool:
    """Whether a word is (a part of) a name where it stands."""
    if kind is _Kind.INSIDE:
        return not token.initial
    if kind is _Kind.MAYBE and token.initial:
        return token.text.lower() not in tokens.small
    return kind is not _Kind.NEVER


def _goes_on(text: str, tokens: _Tokens, i: int) -> bool:
    """Whether a name goes on after the joining word at place i, as in "Bank of America"."""
    for j in range(i, min(i + 2, len(tokens) - 1)):
        before, token = tokens[j], tokens[j + 1]
        if text[before.end : token.start] != " ":
            return False
        if _capital(token.text):
            return token.text.lower() not in STOP
        if token.text not in JOINING:
            return False
    return False


def _name(text: str, run: Sequence[_Token]) -> Iterator[tuple[int, str]]:
    """The name that a run of words makes, if any."""
    run = list(run)
    label = bool(run) and run[0].initial and _LABEL.match(text, run[-1].end) is not None
    while run and run[0].text.lower() in _CALENDAR:
        run.pop(0)
    if run and not label and len(run) <= _MOST_TOKENS:
        yield run[0].start, text[run[0].start : run[-1].end]

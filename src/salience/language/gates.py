"""Gates: the words without which a pattern matches nothing, read off the pattern itself.

Most texts have none of the words of a long pattern, and to look these up takes a tenth of the time
of a search for it. A gate never refuses a text in which its pattern matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Generic, TypeVar

from salience.language.english import STOP_WORDS
from salience.language.tokens import MemoTable
from salience.lazily import regex

K = TypeVar("K")

_EDGE, _ANY = "\x00", "\x01"  # beside a string: the end of a word; anything
_RUN = regex(r"[a-z0-9]+")
_MAX_STRINGS = 64  # of parts of a pattern that are told apart together
_MEMO_WORDS = 1 << 15
_ASKED_PLAINLY = 64  # texts, for which to read the gates would take longer
_NOT_IN_WORDS = ("CATEGORY_SPACE", "CATEGORY_NOT_WORD")


class Gates(Generic[K]):
    """Patterns of which a text is searched only for those whose words it has."""

    def __init__(self, patterns: Sequence[tuple[K, re.Pattern[str]]]) -> None:
        self._patterns = patterns
        self._asked = 0

    def first(self, text: str, words: Iterable[str] | None = None) -> K | None:
        """The first key whose pattern matches a text in small letters (see `matching`)."""
        return next(self.matching(text, words), None)

    def matching(self, text: str, words: Iterable[str] | None = None) -> Iterator[K]:
        """The keys whose patterns match a text in small letters, perhaps more than once.

        Its words may be given: all runs of letters a to z and digits, and any others.
        """
        self._asked += 1
        if self._asked <= _ASKED_PLAINLY:
            yield from (key for key, pattern in self._patterns if pattern.search(text))
            return
        mask_of, cases = self._cases
        said = 0
        for mask in map(mask_of.__getitem__, _RUN.findall(text) if words is None else words):
            said |= mask
        for key, need, case, begins in cases:
            if said & need == need and (case.match if begins else case.search)(text):
                yield key

    @cached_property
    def _cases(self) -> tuple[MemoTable[int], list[tuple[K, int, re.Pattern[str], bool]]]:
        """The sets that a word is of, as bits; each alternative, with the sets that it needs."""
        number: dict[frozenset[str], int] = {}
        cases: list[tuple[K, int, re.Pattern[str], bool]] = []
        for key, pattern in self._patterns:
            for case in _alternatives(pattern.pattern):
                need = sum(1 << number.setdefault(one, len(number)) for one in _needed(case))
                cases.append((key, need, regex(case, pattern.flags), case.startswith("^")))
        return MemoTable(_reader(number), _MEMO_WORDS), cases


def _reader(number: dict[frozenset[str], int]) -> Callable[[str], int]:
    """The function that gives the sets of a word as bits."""
    bits: dict[str, int] = {}
    for strings, place in number.items():
        for one in strings:
            bits[one] = bits.get(one, 0) | 1 << place
    begins = {len(one) - 2 for one in bits if one[0] + one[-1] == _EDGE + _ANY}
    ends = {len(one) - 2 for one in bits if one[0] + one[-1] == _ANY + _EDGE}
    inside = {one[1:-1]: own for one, own in bits.items() if one[0] == one[-1] == _ANY}

    def read(word: str) -> int:
        found = bits.get(f"{_EDGE}{word}{_EDGE}", 0)
        for length in begins:
            found |= bits.get(f"{_EDGE}{word[:length]}{_ANY}", 0)
        for length in ends:
            found |= bits.get(f"{_ANY}{word[-length:]}{_EDGE}", 0)
        for part, own in inside.items():
            found |= own if part in word else 0
        return found

    return read


def _alternatives(pattern: str) -> Iterator[str]:
    """The alternatives of a pattern, also those of a group with which one of them begins."""
    for case in _split(pattern, "|"):
        group, *rest = _split(case, ")") if case.startswith("(?:") else ("", "")
        inner = group.removeprefix("(?:")
        if rest and rest[0][:1] not in tuple("?*+{") and len([*_split(inner, "|")]) > 1:
            yield from (one + rest[0] for one in _alternatives(inner))
        else:
            yield case


def _split(pattern: str, mark: str) -> list[str]:
    """The parts of a pattern between its marks outside of groups; at most two for a ")"."""
    parts, depth, in_class = [""], 0, False
    for part in re.findall(r"\\.|.", pattern, re.DOTALL):
        depth += 0 if in_class else (part == "(") - (part == ")")
        in_class = part != "]" if in_class else part == "["
        if part == mark and not depth and not in_class and (mark == "|" or len(parts) == 1):
            parts.append("")
        else:
            parts[-1] += part
    return parts


def _needed(pattern: str) -> list[frozenset[str]]:
    """Sets of strings, of each of which a text has one in which a pattern matches.

    The last is the first without common words.
    """
    try:
        from re import _parser  # not public, and may go
    except ImportError:
        return []
    found: list[frozenset[str]] = []
    before = {_ANY}
    for after in _parts(_parser.parse(pattern)):
        if _are_many(before, after):
            after = _if_optional(after)
        if _are_many(before, after):
            found += _most_telling(_joined(before, {_side(after, 0)}))
            before = {_side(before, -1)}
        before = _joined(before, after)
        if all(not one[-1].isalnum() for one in before):
            found += _most_telling(before)
            before = {_side(before, -1)}
        if found and STOP_WORDS.isdisjoint(one[1:-1] for one in found[-1]):
            return found
    return found + _most_telling(before)


def _parts(items: Iterable[Any]) -> Iterator[set[str]]:
    """The `_strings` of the items of a sequence, of letters in a row together."""
    letters = ""
    for item in items:
        if str(item[0]) == "LITERAL":
            letters += chr(item[1]).lower()
            continue
        if letters:
            yield {letters}
            letters = ""
        yield _strings(item)
    if letters:
        yield {letters}


def _are_many(before: set[str], after: set[str]) -> bool:
    return min(len(before), len(after)) > 1 and len(before) * len(after) > _MAX_STRINGS


def _joined(before: set[str], after: set[str]) -> set[str]:
    return {one + other for one, other in product(before, after)}


def _if_optional(strings: set[str]) -> set[str]:
    """A part that may be left out, without its words; any other as it is."""
    return {"", _side(strings - {""}, 0) + _ANY} if "" in strings else strings


def _side(strings: Iterable[str], place: int) -> str:
    """The mark of what stands at the beginning of all strings, or at their end."""
    is_edge = all(one and one[place] != _ANY and not one[place].isalnum() for one in strings)
    return _EDGE if is_edge else _ANY


def _most_telling(strings: Iterable[str]) -> list[frozenset[str]]:
    """The set of the most telling part of each string; none if one of them has none."""
    chosen = [max(_runs(one), key=_rarity, default="") for one in strings]
    return [frozenset(chosen)] if all(chosen) else []


def _runs(text: str) -> Iterator[str]:
    for run in _RUN.finditer(text):
        left, right = text[: run.start()][-1:], text[run.end() : run.end() + 1]
        edges = [_ANY if side in ("", _ANY) else _EDGE for side in (left, right)]
        yield f"{edges[0]}{run[0]}{edges[1]}"


def _rarity(marked: str) -> tuple[bool, int]:
    return marked[1:-1] not in STOP_WORDS, len(marked)


def _common(strings: Iterable[str]) -> tuple[bool, int]:
    """True for strings of which one has no word, and tells nothing; the number of common words."""
    rarities = [max(map(_rarity, _runs(one)), default=None) for one in strings]
    return None in rarities, sum(not one[0] for one in rarities if one is not None)


def _strings(item: Any) -> set[str]:
    """Strings of which each match of a parsed item has one, with marks for what is open."""
    op, value = item
    match str(op):
        case "SUBPATTERN":
            return _of_sequence(value[-1])
        case "BRANCH":
            return set[str]().union(*map(_of_sequence, value[1]))
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, repeated = value
            once = _of_sequence(repeated)
            more = {_side(once, 0) + _ANY + _side(once, -1)} if most > 1 else set()
            return once | more | ({""} if least == 0 else set())
        case "IN":
            return _of_class(value)
        case "AT":
            return {"" if str(value) == "AT_NON_BOUNDARY" else _EDGE}
        case "ASSERT" | "ASSERT_NOT":
            return {""}
    return {_ANY}


def _of_class(members: Sequence[tuple[Any, Any]]) -> set[str]:
    """The characters of a class that names them; an edge if none of them is in a word."""
    if all(str(op) == "LITERAL" for op, _ in members):
        return {chr(code).lower() for _, code in members}
    is_apart = all(str(op) == "CATEGORY" and str(code) in _NOT_IN_WORDS for op, code in members)
    return {_EDGE if is_apart else _ANY}


def _of_sequence(items: Iterable[Any]) -> set[str]:
    found = {""}
    for after in _parts(items):
        if _are_many(found, after):
            after = _if_optional(after)
        if _are_many(found, after):
            if _common(after) < _common(found):
                found = {_side(found, 0) + _ANY + _side(found, -1)}
            else:
                after = {_side(after, 0) + _ANY}
        found = _joined(found, after)
    return found

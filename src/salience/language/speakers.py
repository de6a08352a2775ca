"""Whom the words of a question name, misspelt or not, and who talks with an assistant."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import TypeVar

from salience.language.analysis_types import Speakers
from salience.language.english import ASSISTANT, MONTHS, NAMESAKES, ORDINARY, ROLES, STOP, USER
from salience.language.tokens import fold, question_words, words

Speaker = TypeVar("Speaker", bound=Hashable)

NICKNAME_MIN_GREETINGS = 3
"""Times that a name has to be said to somebody before it counts as one of their names."""
NICKNAME_MIN_RATIO = 3
"""Times more often that it has to be said to them than to all others together."""

_MAYBE_CAPITALISED = re.compile(r"(?<![^\W_])[^\W\d_a-z][^\W_]+")
_NEAREST_NAMES = 2_000  # speakers up to which a misspelt name is looked for among them
_SLIPS = 4  # letters from which on a name may have a slip
_SELDOM = 100  # times the turns of one who speaks seldom are fewer than all
_LONGEST_NAME = 64  # letters up to which it may


def name_candidates(text: str) -> tuple[tuple[str, ...], frozenset[str], frozenset[str]]:
    """The words of a question that may name somebody, the likely ones, and the unlikely ones.

    Capitals inside the sentence tell names: a stop word ("Will") is none without. Elsewhere a word
    that means something else is an unlikely one ("the heating bill"). What is capitalised otherwise
    looks like a name, and may be misspelt.
    """
    inside = _capitalised(text[1:])
    asked = [
        word
        for word in dict.fromkeys(question_words(text))
        if word not in ROLES and (word not in STOP or word in inside)
    ]
    ordinary = frozenset(word for word in asked if word not in inside and _ordinary(word))
    return tuple(asked), _capitalised(text) - ordinary - MONTHS.keys(), ordinary


def _capitalised(text: str) -> frozenset[str]:
    found = _MAYBE_CAPITALISED.findall(text)
    return frozenset([fold(word) for word in found if word[0].isupper()])


def _ordinary(word: str) -> bool:
    one = word.removesuffix("s")
    return word in ORDINARY or word in NAMESAKES or one in ORDINARY or one in NAMESAKES


def speakers_of(turns: Mapping[str, int], called: Mapping[str, str]) -> Speakers:
    """Speakers with so many turns each, of whom some go by other names, too."""
    names = speakers_by_word(turns.keys())
    for name, who in called.items():
        if who in turns:
            names.setdefault(name, {who})
    return Speakers(names, *users_and_assistants(turns), turns, sum(turns.values()))


def rare_speakers(turns: Mapping[str, int], all_turns: int) -> frozenset[str]:
    """Which speakers have so few of all turns that hardly one would be found by what was asked."""
    return frozenset(who for who, count in turns.items() if count * _SELDOM <= all_turns)


def speakers_by_word(speakers: Set[str]) -> dict[str, set[str]]:
    """Speakers by each word of their names; roles such as "user" name nobody."""
    found: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in words(speaker):
            if len(word) > 1 and word not in ROLES:
                found.setdefault(word, set()).add(speaker)
    return found


def named_speakers(
    asked: Sequence[str],
    names: Mapping[str, Set[str]],
    strange: Set[str],
    ordinary: Set[str] = frozenset(),
) -> dict[str, frozenset[str]]:
    """The speakers that words of a question name, by word.

    A word names who has it in the name; an `ordinary` one only with the other words of the name:
    "build server". A `strange` one, which looks like a name but was never said, also names
    whoever's name begins with it or differs from it by one slip: Mel for Melanie, Aqib for Akib.
    """
    found: dict[str, frozenset[str]] = {}
    nearest = _Nearest(names)
    for word in asked:
        who = names.get(word)
        if who is None and len(word) > 3 and word.endswith("s"):
            who = names.get(word[:-1])
        if who and word in ordinary:
            who = {each for each in who if len(own := set(words(each))) > 1 and own <= set(asked)}
        if who is None and word in strange and len(word) >= 3 and len(names) <= _NEAREST_NAMES:
            who = names.get(nearest.to(word))
        if who:
            found[word] = frozenset(who)
    return found


def resolve_speakers(names: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Whom the words of a question mean, given whom each of them names.

    Of those whom a word names, the ones whom most words name: "Ana Costa" is no other Ana or Costa.
    """
    if len(names) < 2:
        return frozenset().union(*names.values())
    times = Counter(who for each in names.values() for who in each)
    found: set[str] = set()
    for each in filter(None, names.values()):
        most = max(times[who] for who in each)
        found.update(who for who in each if times[who] == most)
    return frozenset(found)


class _Nearest:
    """Of some names the first that begins with a word or differs from it by one slip.

    A slip is a letter changed, missing, added or swapped with the next. The names are read once,
    however many words are looked up: a question may have thousands.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._given = names

    def to(self, word: str) -> str:
        """The name that is nearest to a word; "" without one."""
        after = bisect_right(self._names, word)
        alike = [name for name in self._names[after : after + 1] if name.startswith(word)]
        if _SLIPS <= len(word) <= _LONGEST_NAME:
            keys = (*_around(word), *_swapped(word))
            alike += [self._by_slip[key] for key in keys if key in self._by_slip]
        return min(alike, default="")

    @cached_property
    def _names(self) -> list[str]:
        return sorted(self._given)

    @cached_property
    def _by_slip(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in self._names:
            if _SLIPS <= len(name) <= _LONGEST_NAME:
                for key in (name, *_around(name)):
                    found.setdefault(key, name)
        return found


def _around(word: str) -> Iterator[str]:
    """The word with a star for each of its letters, and between any two of them.

    Two words have one of these in common just if they differ by a letter changed, missing or added.
    """
    for i in range(len(word)):
        yield f"{word[:i]}*{word[i + 1 :]}"
        yield f"{word[:i]}*{word[i:]}"
    yield f"{word}*"


def _swapped(word: str) -> Iterator[str]:
    """The word with each two letters swapped that are side by side."""
    for i in range(len(word) - 1):
        yield f"{word[:i]}{word[i + 1]}{word[i]}{word[i + 2 :]}"


def users_and_assistants(turns: Mapping[str, int]) -> tuple[frozenset[str], frozenset[str]]:
    """The users and the assistants among speakers with so many turns each; see `ops.Named`."""
    users = frozenset(name for name in turns if name.casefold() in USER)
    assistants = frozenset(name for name in turns if name.casefold() in ASSISTANT)
    others = [name for name in sorted(turns) if name.casefold() not in ROLES]
    if assistants and not users and others:
        users = frozenset({max(others, key=turns.__getitem__)})
    return users, assistants


def nicknames(greetings: Mapping[str, Mapping[str | None, int]]) -> dict[str, str]:
    """Speakers by the other names they go by, from how often each name was said to whom.

    See `count_greetings` for the counts. A name that is said to several people belongs to nobody
    unless nearly all say it to the same one.
    """
    speakers = {}
    for name, counts in sorted(greetings.items()):
        speaker, count = max(counts.items(), key=lambda item: item[1])
        rest = sum(counts.values()) - count
        if speaker and count >= NICKNAME_MIN_GREETINGS and count > NICKNAME_MIN_RATIO * rest:
            speakers[name] = speaker
    return speakers


def count_greetings(
    greetings: Iterable[tuple[str, int, Speaker]], turns: Iterable[tuple[int, Speaker]]
) -> dict[str, Counter[Speaker]]:
    """Count by name how often it was said to whom: of two who talk in a session, to the other one.

    Args:
        greetings: each name said ("Hey Kate"), the session, and who said it.
        turns: the session and the speaker of all turns in those sessions.
    """
    voices: dict[int, set[Speaker]] = defaultdict(set)
    for session, speaker in set(turns):
        voices[session].add(speaker)
    counts: dict[str, Counter[Speaker]] = defaultdict(Counter)
    for name, session, speaker in greetings:
        if len(voices[session]) == 2:
            [other] = voices[session] - {speaker}
            counts[name][other] += 1
    return counts

"""The speakers of a namespace, their nicknames, and which of them the words of a question name."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

from salience.language.analysis_types import Speakers, Term
from salience.language.cues import CueTable
from salience.language.english import (
    ASSISTANT_NAMES,
    MONTHS,
    NAMESAKE_WORDS,
    ORDINARY_WORDS,
    ROLE_NAMES,
    STOP_WORDS,
    USER_NAMES,
)
from salience.language.languages import language_of
from salience.language.tokens import fold, question_words, stem, without_bigrams, words
from salience.lazily import regex

Speaker = TypeVar("Speaker", bound=Hashable)

NICKNAME_MIN_GREETINGS = 3
"""The fewest times that a name is said to somebody before it counts as theirs."""
NICKNAME_MIN_RATIO = 3
"""The fewest times more often that it is said to them than to all others together."""

_RARE_SHARE = 100  # a rare speaker has at most one turn in this many
_SPELLING_MAX_NAMES = 2_000  # words of names up to which a misspelt one is looked for among them
_PREFIX_MIN_CHARS = 3  # "Mel" for Melanie
_SLIP_MIN_CHARS = 4  # a shorter name with a slip resembles too many words
_SLIP_MAX_CHARS = 64
_OTHER_MEANINGS = ORDINARY_WORDS | NAMESAKE_WORDS
_SOUNDS = (
    ("ph", "f"), ("ck", "k"), ("c", "k"), ("q", "k"), ("z", "s"), ("v", "f"), ("ie", "i"),
    ("y", "i"),
)  # fmt: skip
_SILENT_E_MIN_CHARS = 4  # Jane is not Jan
_REPEATED = regex(r"(.)\1+")
_MAYBE_CAPITALISED = CueTable("entities").pattern("maybe_capitalised")


class NameCandidates(NamedTuple):
    """The words of a question that may name somebody.

    `proper` are those that look like names, which may be misspelt; `ordinary` are those that mean
    something else, too, and were not written like names.
    """

    words: tuple[str, ...]
    proper: frozenset[str]
    ordinary: frozenset[str]


# Who speaks


def speakers_of(
    turns: Mapping[str, int],
    by_nickname: Mapping[str, str],
    by_word: Mapping[str, Set[str]] | None = None,
) -> Speakers:
    """The speakers of a namespace from the number of turns of each, and speakers by nickname.

    `by_word` are those of `speakers_by_word`, where they are known.
    """
    by_word = dict(speakers_by_word(turns.keys()) if by_word is None else by_word)
    for name, speaker in by_nickname.items():
        if speaker in turns:
            by_word.setdefault(name, {speaker})
    return Speakers(by_word, *users_and_assistants(turns), turns, sum(turns.values()))


def speakers_by_word(speakers: Set[str]) -> dict[str, set[str]]:
    """Speakers by each word of their names; roles such as "user" name nobody."""
    by_word: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in words(speaker):
            if len(word) > 1 and word not in ROLE_NAMES:
                by_word.setdefault(word, set()).add(speaker)
    return by_word


def users_and_assistants(turns: Mapping[str, int]) -> tuple[frozenset[str], frozenset[str]]:
    """The users and the assistants among speakers, by their numbers of turns.

    Where there is an assistant but nobody is called a user, the user is the one with the most
    turns besides it. Both are empty among people.
    """
    users = frozenset(name for name in turns if name.casefold() in USER_NAMES)
    assistants = frozenset(name for name in turns if name.casefold() in ASSISTANT_NAMES)
    people = [name for name in sorted(turns) if name.casefold() not in ROLE_NAMES]
    if assistants and not users and people:
        users = frozenset({max(people, key=turns.__getitem__)})
    return users, assistants


def rare_speakers(turns: Mapping[str, int], all_turns: int) -> frozenset[str]:
    """The speakers with so few of all turns that a search by topic would hardly find one."""
    return frozenset(name for name, count in turns.items() if count * _RARE_SHARE <= all_turns)


# Nicknames


def nicknames(greetings: Mapping[str, Mapping[str | None, int]]) -> dict[str, str]:
    """Speakers by the other names they go by, from how often each name was said to whom.

    A name counts from 3 times on, if it was said to one speaker more than 3 times as often as to
    all others. See `count_greetings` for the counts.
    """
    speakers = {}
    for name, counts in sorted(greetings.items()):
        speaker, count = max(counts.items(), key=lambda item: item[1])
        other_count = sum(counts.values()) - count
        if speaker and count >= NICKNAME_MIN_GREETINGS and count > NICKNAME_MIN_RATIO * other_count:
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


# Names in a question


@lru_cache(maxsize=8)  # a search needs them several times
def name_candidates(text: str) -> NameCandidates:
    """The words of a question that may name somebody.

    A capital inside the sentence makes a name of any word, even of a stop word ("Will"), which is
    none without. A word that means something else, too, is ordinary elsewhere ("the heating bill").
    Any other capitalised word looks like a name.
    """
    inside = capitalised(text[1:])
    candidates = [
        word
        for word in dict.fromkeys(question_words(text))
        if word not in ROLE_NAMES and (word not in STOP_WORDS or word in inside)
    ]
    ordinary = frozenset(
        word for word in candidates if word not in inside and _has_other_meaning(word)
    )
    proper = capitalised(text) - ordinary - MONTHS.keys()
    return NameCandidates(tuple(candidates), proper, ordinary)


def name_terms(text: str, terms: Sequence[Term]) -> tuple[bool, ...]:
    """For each term of a question, True if the question writes it as a name: with a capital.

    None is, where capitals tell nothing: every word has one, or every noun of the language.
    """
    spoken = without_bigrams(question_words(text))
    language = language_of(spoken)
    proper = name_candidates(text).proper | capitalised(text[1:]) - MONTHS.keys()
    if spoken and (proper >= set(spoken) or (language and not language.is_capital_a_name)):
        proper = frozenset()
    stems = {*map(stem, proper)}
    return tuple(not stems.isdisjoint(term) for term in terms)


def capitalised(text: str) -> frozenset[str]:
    """The folded words of a text that begin with a capital."""
    matches = _MAYBE_CAPITALISED.findall(text)
    return frozenset([fold(word) for word in matches if word[0].isupper()])


def _has_other_meaning(word: str) -> bool:
    return word in _OTHER_MEANINGS or word.removesuffix("s") in _OTHER_MEANINGS


def named_speakers(
    candidates: Sequence[str],
    by_word: Mapping[str, Set[str]],
    unseen: Set[str],
    ordinary: Set[str] = frozenset(),
    by_sound: bool = False,
) -> dict[str, frozenset[str]]:
    """The speakers that words of a question name, by word.

    A word names everybody who has it in their name, also in the genitive ("Melanies"). An
    `ordinary` one does so only beside all other words of the name: "build server". An `unseen` one,
    which looks like a name but is in no memory, also stands for the first name that begins with it
    or differs from it by one slip: Mel for Melanie, Aqib for Akib. `by_sound`, it also stands for
    the first that sounds the same: John for Jon, Carolyn for Caroline.

    Args:
        candidates: words of a question (see `name_candidates`).
        by_word: the speakers by each word of their names (see `speakers_by_word`).
        unseen: the candidates to compare by spelling.
        ordinary: the candidates that mean something else, too.
        by_sound: whether an unseen one is also compared by its sound.
    """
    speakers_by_word: dict[str, frozenset[str]] = {}
    spellings = _Spellings(by_word)
    for word in candidates:
        speakers = by_word.get(word)
        if speakers is None and len(word) > 3 and word.endswith("s"):
            speakers = by_word.get(word[:-1])
        if speakers and word in ordinary:
            speakers = {name for name in speakers if _is_full_name(name, candidates)}
        if speakers is None and word in unseen and len(by_word) <= _SPELLING_MAX_NAMES:
            similar = spellings.first_similar(word)
            speakers = by_word.get(similar or (spellings.first_alike(word) if by_sound else ""))
        if speakers:
            speakers_by_word[word] = frozenset(speakers)
    return speakers_by_word


def _is_full_name(name: str, candidates: Sequence[str]) -> bool:
    """Test whether a name has several words and all of them are there."""
    parts = set(words(name))
    return len(parts) > 1 and parts <= set(candidates)


def resolve_speakers(speakers_by_word: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The speakers that a question is about, from those that each of its words names.

    Of the speakers that a word names, those count that most of the words name: "Ana Costa" is no
    other Ana and no other Costa.
    """
    if len(speakers_by_word) < 2:
        return frozenset().union(*speakers_by_word.values())
    word_counts = Counter(name for names in speakers_by_word.values() for name in names)
    resolved: set[str] = set()
    for names in filter(None, speakers_by_word.values()):
        most = max(word_counts[name] for name in names)
        resolved.update(name for name in names if word_counts[name] == most)
    return frozenset(resolved)


class _Spellings:
    """Finds the first of some names that begins with a word or differs from it by one slip.

    A slip is a letter changed, missing, added or swapped with the next. Two words that differ by
    one share a key (`_slip_keys`), and of four or more letters the first or the last. The names are
    read at the first look-up, and once: a question may have thousands of words.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = names

    def first_similar(self, word: str) -> str:
        """The first similar name in the order of the alphabet; "" without one."""
        if len(word) < _PREFIX_MIN_CHARS:
            return ""
        after = bisect_right(self._sorted, word)
        similar = [name for name in self._sorted[after : after + 1] if name.startswith(word)]
        if _SLIP_MIN_CHARS <= len(word) <= _SLIP_MAX_CHARS:
            keys, swaps = {*_slip_keys(word)}, {*_swaps(word)}
            similar += [
                name
                for end in _ends(word)  # a slip leaves one of them
                for name in self._by_end.get(end, ())
                if abs(len(name) - len(word)) <= 1
                and (name in swaps or not keys.isdisjoint(_slip_keys(name)))
            ]
        return min(similar, default="")

    def first_alike(self, word: str) -> str:
        """The first name of the same sound in the order of the alphabet; "" without one."""
        return self._by_sound.get(_sound(word), "")

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._names)

    @cached_property
    def _by_end(self) -> dict[str, list[str]]:
        """The names by their first and by their last letter."""
        by_end: dict[str, list[str]] = defaultdict(list)
        for name in self._names:
            if _SLIP_MIN_CHARS <= len(name) <= _SLIP_MAX_CHARS:
                for end in _ends(name):
                    by_end[end].append(name)
        return by_end

    @cached_property
    def _by_sound(self) -> dict[str, str]:
        """The first name of each sound."""
        return {_sound(name): name for name in reversed(self._sorted)}


def _ends(word: str) -> tuple[str, str]:
    return f"{word[0]}*", f"*{word[-1]}"


@lru_cache(maxsize=4096)
def _sound(name: str) -> str:
    """A name in letters that sound differently: "karolin" for Caroline and for Carolyn."""
    for letters, sound in _SOUNDS:
        name = name.replace(letters, sound)
    name = name[:1] + name[1:].replace("h", "")
    if len(name) > _SILENT_E_MIN_CHARS:
        name = name.removesuffix("e")
    return _REPEATED.sub(r"\1", name)


def _slip_keys(word: str) -> Iterator[str]:
    """The word with a star for each of its letters, and between any two of them.

    Two words have a key in common if and only if they differ by at most one letter changed,
    missing or added.
    """
    for i in range(len(word)):
        yield f"{word[:i]}*{word[i + 1 :]}"
        yield f"{word[:i]}*{word[i:]}"
    yield f"{word}*"


def _swaps(word: str) -> Iterator[str]:
    """The word with each two letters swapped that are side by side."""
    for i in range(len(word) - 1):
        yield f"{word[:i]}{word[i + 1]}{word[i]}{word[i + 2 :]}"

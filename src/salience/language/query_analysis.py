"""Reading a question: its terms, whom and when it names, and what kind of answer it wants."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache

from salience.language.dates import date_wordings, named_dates
from salience.language.english import (
    ASKS_ADVICE,
    ASKS_NAME,
    ASKS_NUMBER,
    ASKS_ORDER,
    ASKS_PRESENT,
    ASKS_SUMMARY,
    ASKS_WHAT_YOU_SAID,
    ASKS_WHEN,
    ASSISTANT,
    FIRST_PERSON,
    FRAMING,
    IRREGULAR_FORMS,
    LOOKS_BACK,
    MONTHS,
    NAMESAKES,
    ORDINARY,
    ROLES,
    STOP,
    STOP_ELSEWHERE,
    USER,
)
from salience.language.tokens import figures, fold, stem, words
from salience.retrieval.query import Dates, During, People, Reading, Term

_FORMS: dict[str, Term] = {
    stem(form): tuple(dict.fromkeys(stem(each) for each in forms))
    for forms in IRREGULAR_FORMS
    for form in forms
}
_MAYBE_CAPITALISED = re.compile(r"(?<![^\W_])[^\W\d_a-z][^\W_]+")
_PHRASE = re.compile(r"[\"“]([^\"“”]+)[\"”]")
_PREFIX = re.compile(r"(?<![^\W_])([^\W_]+)\*(?!\w)")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|(?<=[。！？؟])\s*|\n+")
_ASKS = ("?", "\uff1f", "\u061f")
_MUCH = 30  # words beside a question that may drown it
_LONGEST = 2_000  # words of a question that are read
_NEAREST_NAMES = 2_000  # speakers up to which a misspelt name is looked for among them
_SLIPS = 4  # letters from which on a name may have a slip
_SELDOM = 100  # times the turns of one who speaks seldom are fewer than all
_LONGEST_NAME = 64  # letters up to which it may


@lru_cache(maxsize=8)  # asked for again and again in a search
def question_words(text: str) -> tuple[str, ...]:
    """The folded words of a question and its `figures`, the first `_LONGEST` of them."""
    return tuple([*words(text.replace("\u2019", "'")), *figures(text)][:_LONGEST])


def possible_names(text: str) -> tuple[tuple[str, ...], frozenset[str], frozenset[str]]:
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


def people(turns: Mapping[str, int], called: Mapping[str, str]) -> People:
    """Speakers with so many turns each, of whom some go by other names, too."""
    names = name_words(turns.keys())
    for name, who in called.items():
        if who in turns:
            names.setdefault(name, {who})
    return People(names, *by_role(turns), turns, sum(turns.values()))


def seldom(turns: Mapping[str, int], all_turns: int) -> frozenset[str]:
    """Which speakers have so few of all turns that hardly one would be found by what was asked."""
    return frozenset(who for who, count in turns.items() if count * _SELDOM <= all_turns)


def name_words(speakers: Set[str]) -> dict[str, set[str]]:
    """Speakers by each word of their names; roles such as "user" name nobody."""
    found: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in words(speaker):
            if len(word) > 1 and word not in ROLES:
                found.setdefault(word, set()).add(speaker)
    return found


def named(
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


def _meant(names: Mapping[str, frozenset[str]]) -> frozenset[str]:
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


def analyse(
    text: str,
    names: Mapping[str, frozenset[str]],
    users: frozenset[str] = frozenset(),
    assistants: frozenset[str] = frozenset(),
    during: During | None = None,
    about: tuple[float, float] | None = None,
    *,
    this_year: int,
    rare: Set[str] = frozenset(),
) -> Reading:
    """A question read, given whom its words name and who the users and assistants are.

    `during` and `about` are the times that it keeps to and that it is about (see `Reading`), and
    it is asked in `this_year`. Whoever is `rare` (see `seldom`) is looked for by name as well.

    The facts are `about_self`, `about_assistant`, `wants_summary` (whose words answer it),
    `names_one`, `names_date`, `asks_when`, `asks_number`, `asks_name`, `asks_advice`,
    `asks_present`, `looks_ahead` (not a question about what was said or done) and `roles`.
    "Phrases" in quotation marks and beginnings of words (deploy*) are noted for the routes that
    mind them; their words count like any other.
    """
    low = fold(text.replace("\u2019", "'"))
    asked = question_words(text)
    stop = _stop_elsewhere(asked)
    content = [
        word for word in asked if word not in names and word not in STOP and word not in stop
    ]
    prefixes = tuple(dict.fromkeys(_PREFIX.findall(low)))
    kept = [word for word in content if word not in FRAMING] or content or asked
    kept = list(dict.fromkeys([*kept, *(word for word in asked if word in prefixes)]))
    terms = dict.fromkeys(_FORMS.get(s, (s,)) for s in map(stem, kept))
    who = _meant(names)
    dates = named_dates(low)
    question = _question(text)
    if question:  # what stands around it does not tell what kind of answer is wanted
        low, asked = fold(question.replace("\u2019", "'")), question_words(question)
    mute = [word for word, each in names.items() if not each & who <= rare]
    wordings = {} if dates == Dates() else date_wordings(dates, this_year)
    if names:
        wordings["named"] = ((tuple(dict.fromkeys(map(stem, names))),),)
    return Reading(
        tuple(terms),
        _without(text, mute) or text,
        who,
        wordings,
        users,
        assistants,
        dates,
        _facts(low, set(asked), who, bool(users), dates),
        tuple(phrase for phrase in _PHRASE.findall(text) if words(phrase)),
        prefixes,
        during,
        about,
        _without(question, mute),
    )


def _stop_elsewhere(asked: Iterable[str]) -> Set[str]:
    """The stop words of another language, if more of a question's words are than are English."""
    distinct = frozenset(asked)
    english = len(distinct & STOP)
    if 2 * english > len(distinct):
        return frozenset()
    likely = max(STOP_ELSEWHERE, key=lambda stop: len(distinct & stop))
    return likely if len(distinct & likely) > max(1, english) else frozenset()


def _question(text: str) -> str:
    """What a text asks, where much else stands around it; else nothing."""
    if len(question_words(text)) < _MUCH:
        return ""
    own = " ".join(part for part in _SENTENCE_END.split(text) if part.rstrip().endswith(_ASKS))
    asked = question_words(own)
    if len(question_words(text)) - len(asked) < _MUCH:
        return ""
    # "Any ideas?" asks for what stands around it.
    telling = [word for word in asked if word not in STOP and word not in FRAMING]
    return own if len(telling) > 1 else ""


def _facts(
    low: str, asked: set[str], who: frozenset[str], roles: bool, dates: Dates
) -> dict[str, float]:
    def has(pattern: re.Pattern[str]) -> bool:
        return pattern.search(low) is not None

    summary, order = has(ASKS_SUMMARY), has(ASKS_ORDER)
    said = has(ASKS_WHAT_YOU_SAID)
    facts = {
        "roles": roles,
        "names_one": len(who) == 1,
        "names_date": dates != Dates(),
        "wants_summary": summary and not who,
        "about_assistant": said and not summary and not who,
        "about_self": bool(asked & FIRST_PERSON) and not said and not summary and not who,
        "asks_when": has(ASKS_WHEN),
        "asks_number": has(ASKS_NUMBER),
        "asks_name": has(ASKS_NAME),
        "asks_advice": not summary and not order and has(ASKS_ADVICE),
        "asks_present": has(ASKS_PRESENT),
        "looks_ahead": not summary and not order and not has(LOOKS_BACK),
    }
    return {name: 1.0 for name, holds in facts.items() if holds}


def _without(text: str, names: Collection[str]) -> str:
    """The question without the participants it names, whose names mean nothing to an embedder."""
    if not names:
        return text
    kept = []
    for chunk in text.split():
        found = words(chunk.replace("\u2019", "'"))
        own = found[:-1] if len(found) > 1 and found[-1] == "s" else found
        if not own or any(word not in names for word in own):
            kept.append(chunk)
    return " ".join(kept)


def by_role(turns: Mapping[str, int]) -> tuple[frozenset[str], frozenset[str]]:
    """The users and the assistants among speakers with so many turns each; see `ops.Named`."""
    users = frozenset(name for name in turns if name.casefold() in USER)
    assistants = frozenset(name for name in turns if name.casefold() in ASSISTANT)
    others = [name for name in sorted(turns) if name.casefold() not in ROLES]
    if assistants and not users and others:
        users = frozenset({max(others, key=turns.__getitem__)})
    return users, assistants

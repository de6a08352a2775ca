"""Reading a question: its terms, whom and when it names, and what kind of answer it wants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache

from recollect.dates import named_dates
from recollect.lexicon import (
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
    ROLES,
    STOP,
    USER,
)
from recollect.query import During, Reading, Term
from recollect.text import fold, stem, words

_FORMS: dict[str, Term] = {
    stem(form): tuple(dict.fromkeys(stem(each) for each in forms))
    for forms in IRREGULAR_FORMS
    for form in forms
}
_CAPITALISED = re.compile(r"(?<![^\W_])[A-Z][^\W_]+")
_PHRASE = re.compile(r"[\"“]([^\"“”]+)[\"”]")
_PREFIX = re.compile(r"(?<![^\W_])([^\W_]+)\*(?!\w)")
_LONGEST = 2_000  # words of a question that are read
_NEAREST_NAMES = 2_000  # speakers up to which a misspelt name is looked for among them


@lru_cache(maxsize=8)  # asked for again and again in a search
def question_words(text: str) -> tuple[str, ...]:
    """The folded words of a question, the first `_LONGEST` of them."""
    return tuple(words(text.replace("\u2019", "'"))[:_LONGEST])


def possible_names(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The words of a question that may name somebody, and those that look like names.

    A stop word is none unless it is capitalised inside the sentence ("Will"); a word looks like a
    name if it is capitalised, or if nothing in the question is.
    """
    inside = {fold(word) for word in _CAPITALISED.findall(text[1:])}
    asked = [
        word
        for word in dict.fromkeys(question_words(text))
        if word not in ROLES and (word not in STOP or word in inside)
    ]
    capitalised = {fold(word) for word in _CAPITALISED.findall(text)}
    proper = set(asked) if text.islower() else capitalised
    return tuple(asked), frozenset(proper - MONTHS.keys())


def name_words(speakers: Set[str]) -> dict[str, set[str]]:
    """Speakers by each word of their names; roles such as "user" name nobody."""
    found: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in words(speaker):
            if len(word) > 1 and word not in ROLES:
                found.setdefault(word, set()).add(speaker)
    return found


def named(
    asked: Sequence[str], names: Mapping[str, Set[str]], strange: Set[str]
) -> dict[str, frozenset[str]]:
    """The speakers that words of a question name, by word.

    A word names who has it in the name. A `strange` one, which looks like a name but was never
    said, also names whoever's name begins with it or differs from it by one slip: Mel for Melanie,
    Aqib for Akib.
    """
    found: dict[str, frozenset[str]] = {}
    for word in asked:
        who = names.get(word)
        if who is None and len(word) > 3 and word.endswith("s"):
            who = names.get(word[:-1])
        if who is None and word in strange and len(word) >= 3 and len(names) <= _NEAREST_NAMES:
            who = next((names[name] for name in sorted(names) if _alike(word, name)), None)
        if who:
            found[word] = frozenset(who)
    return found


def _alike(word: str, name: str) -> bool:
    if len(name) > len(word) and name.startswith(word):
        return True
    return len(word) >= 4 and len(name) >= 4 and _one_slip(word, name)


def _one_slip(left: str, right: str) -> bool:
    """Whether two words differ by at most one letter changed, missing, added or swapped."""
    short, long = sorted((left, right), key=len)
    if len(long) - len(short) > 1:
        return False
    i = 0
    while i < len(short) and short[i] == long[i]:
        i += 1
    if len(short) < len(long):
        return short[i:] == long[i + 1 :]
    swapped = short[i : i + 2] == long[i : i + 2][::-1] and short[i + 2 :] == long[i + 2 :]
    return swapped or short[i + 1 :] == long[i + 1 :]


def analyse(
    text: str,
    names: Mapping[str, frozenset[str]],
    users: frozenset[str] = frozenset(),
    assistants: frozenset[str] = frozenset(),
    during: During | None = None,
    about: tuple[float, float] | None = None,
) -> Reading:
    """A question read, given whom its words name and who the users and assistants are.

    `during` and `about` are the times that it keeps to and that it is about (see `Reading`).

    The facts are `about_self`, `about_assistant`, `wants_summary` (whose words answer it),
    `names_one`, `asks_when`, `asks_number`, `asks_name`, `asks_advice`,
    `asks_present`, `looks_ahead` (not a question about what was said or done) and `roles`.
    "Phrases" in quotation marks and beginnings of words (deploy*) are noted for the routes that
    mind them; their words count like any other.
    """
    low = fold(text.replace("\u2019", "'"))
    asked = question_words(text)
    content = [word for word in asked if word not in names and word not in STOP]
    prefixes = tuple(dict.fromkeys(_PREFIX.findall(low)))
    kept = [word for word in content if word not in FRAMING] or content or asked
    kept = list(dict.fromkeys([*kept, *(word for word in asked if word in prefixes)]))
    terms = dict.fromkeys(_FORMS.get(s, (s,)) for s in map(stem, kept))
    who = frozenset().union(*names.values())
    return Reading(
        tuple(terms),
        _without(text, names) or text,
        who,
        tuple(dict.fromkeys((stem(word),) for word in names)),
        users,
        assistants,
        named_dates(low),
        _facts(low, set(asked), who, bool(users)),
        tuple(phrase for phrase in _PHRASE.findall(text) if words(phrase)),
        prefixes,
        during,
        about,
    )


def _facts(low: str, asked: set[str], who: frozenset[str], roles: bool) -> dict[str, float]:
    def has(pattern: re.Pattern[str]) -> bool:
        return pattern.search(low) is not None

    summary, order = has(ASKS_SUMMARY), has(ASKS_ORDER)
    said = has(ASKS_WHAT_YOU_SAID)
    facts = {
        "roles": roles,
        "names_one": len(who) == 1,
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


def _without(text: str, names: Mapping[str, frozenset[str]]) -> str:
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

"""Reading a question: its terms, whom and when it names, and what kind of answer it wants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from math import inf

from recollect.lexicon import (
    AMBIGUOUS_MONTHS,
    ASKS_ADVICE,
    ASKS_FORMER,
    ASKS_NAME,
    ASKS_NUMBER,
    ASKS_ORDER,
    ASKS_PRESENT,
    ASKS_SUMMARY,
    ASKS_WHAT_YOU_SAID,
    ASKS_WHEN,
    ASSISTANT,
    DAY_AFTER,
    DAY_BEFORE,
    DAY_MONTH_YEAR,
    FIRST_PERSON,
    FRAMING,
    IRREGULAR_FORMS,
    ISO_DATE,
    LOOKS_BACK,
    MONTH,
    MONTHS,
    PREPOSITION_BEFORE,
    ROLES,
    STOP,
    USER,
    YEAR,
    YEAR_AFTER,
)
from recollect.query import Dates, During, Reading, Term
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
        _dates(low),
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


@lru_cache(maxsize=8)  # asked for twice in a search
def _dates(low: str) -> Dates:
    years = {int(year) for year in YEAR.findall(low)}
    months: set[int] = set()
    days: set[tuple[int, int]] = set()
    for found in MONTH.finditer(low):
        name, month = found.group(1), MONTHS[found.group(1)]
        before = DAY_BEFORE.search(low[max(0, found.start() - 8) : found.start()])
        after = DAY_AFTER.match(low, found.end())
        day = before or after
        sure = (
            name not in AMBIGUOUS_MONTHS
            or day
            or YEAR_AFTER.match(low, found.end())
            or PREPOSITION_BEFORE.search(low[max(0, found.start() - 12) : found.start()])
        )
        if sure:
            months.add(month)
            if day:
                days.add((month, int(day.group(1))))
    for first, second, year in DAY_MONTH_YEAR.findall(low):
        day_of, month = int(first), int(second)
        if month > 12:
            day_of, month = month, day_of
        if 1 <= month <= 12:
            months.add(month)
            days.add((month, day_of))
            years.add(int(year) % 100 + 2000)
    for _, month_text, day_text in ISO_DATE.findall(low):
        if 1 <= int(month_text) <= 12:
            months.add(int(month_text))
            days.add((int(month_text), int(day_text)))
    return Dates(frozenset(years), frozenset(months), frozenset(days))


def named_time(text: str, now: datetime) -> tuple[float, float] | None:
    """The past time that a question is about by its words, in seconds, its end not in it.

    A day, month or year as a whole, of several from the first to the last; a month or day without a
    year is the last one that has begun. All the past ("originally", "used to") where no date is
    named. None without either, or for a date that is still to come.
    """
    low = fold(text)
    dates = _dates(low)
    if not dates.years and not dates.months:
        return (-inf, now.timestamp()) if ASKS_FORMER.search(low) else None
    months = sorted(dates.months)
    stretches: list[tuple[datetime, datetime]] = []
    for year in sorted(dates.years) or [now.year, now.year - 1]:
        if not 1 <= year <= 9998:
            continue
        if not months:
            stretches.append((_first(year, 1), _first(year + 1, 1)))
        for month in months:
            stretches += _days(year, month, dates) or [(_first(year, month), _after(year, month))]
    begun = [each for each in stretches if each[0] <= now]
    if not dates.years and begun:  # the last of each that has begun
        last = max(begun)[0].year
        begun = [each for each in begun if each[0].year == last]
    if not begun:
        return None
    return min(begun)[0].timestamp(), max(end for _, end in begun).timestamp()


def _days(year: int, month: int, dates: Dates) -> list[tuple[datetime, datetime]]:
    found = []
    for of, day in sorted(dates.days):
        if of == month and day <= (_after(year, month) - _first(year, month)).days:
            start = _first(year, month) + timedelta(days=day - 1)
            found.append((start, start + timedelta(days=1)))
    return found


def _first(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=timezone.utc)


def _after(year: int, month: int) -> datetime:
    return _first(year + month // 12, month % 12 + 1)


def by_role(turns: Mapping[str, int]) -> tuple[frozenset[str], frozenset[str]]:
    """The users and the assistants among speakers with so many turns each; see `ops.Named`."""
    users = frozenset(name for name in turns if name.casefold() in USER)
    assistants = frozenset(name for name in turns if name.casefold() in ASSISTANT)
    others = [name for name in sorted(turns) if name.casefold() not in ROLES]
    if assistants and not users and others:
        users = frozenset({max(others, key=turns.__getitem__)})
    return users, assistants

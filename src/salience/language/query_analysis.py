"""Reading a question: its terms, whom and when it names, and what kind of answer it wants."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set

from salience.language.analysis_types import NamedDates, QueryAnalysis, Term, TimeRange
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
    FIRST_PERSON,
    FRAMING,
    IRREGULAR_FORMS,
    LOOKS_BACK,
    STOP,
    STOP_ELSEWHERE,
)
from salience.language.speakers import resolve_speakers
from salience.language.tokens import fold, question_words, stem, words

_FORMS: dict[str, Term] = {
    stem(form): tuple(dict.fromkeys(stem(each) for each in forms))
    for forms in IRREGULAR_FORMS
    for form in forms
}
_PHRASE = re.compile(r"[\"“]([^\"“”]+)[\"”]")
_PREFIX = re.compile(r"(?<![^\W_])([^\W_]+)\*(?!\w)")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|(?<=[。！？؟])\s*|\n+")
_ASKS = ("?", "\uff1f", "\u061f")
_DROWNING_WORDS = 30  # words beside a question that may drown it


def analyze_query(
    text: str,
    names: Mapping[str, frozenset[str]],
    users: frozenset[str] = frozenset(),
    assistants: frozenset[str] = frozenset(),
    during: TimeRange | None = None,
    about: tuple[float, float] | None = None,
    *,
    this_year: int,
    rare: Set[str] = frozenset(),
) -> QueryAnalysis:
    """A question read, given whom its words name and who the users and assistants are.

    `during` and `about` are the times that it keeps to and that it is about (see `QueryAnalysis`),
    and it is asked in `this_year`. Whoever is `rare` (see `rare_speakers`) is looked for by name
    as well.

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
    who = resolve_speakers(names)
    dates = named_dates(low)
    question = _question(text)
    if question:  # what stands around it does not tell what kind of answer is wanted
        low, asked = fold(question.replace("\u2019", "'")), question_words(question)
    mute = [word for word, each in names.items() if not each & who <= rare]
    wordings = {} if dates == NamedDates() else date_wordings(dates, this_year)
    if names:
        wordings["named"] = ((tuple(dict.fromkeys(map(stem, names))),),)
    return QueryAnalysis(
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
    if len(question_words(text)) < _DROWNING_WORDS:
        return ""
    own = " ".join(part for part in _SENTENCE_END.split(text) if part.rstrip().endswith(_ASKS))
    asked = question_words(own)
    if len(question_words(text)) - len(asked) < _DROWNING_WORDS:
        return ""
    # "Any ideas?" asks for what stands around it.
    telling = [word for word in asked if word not in STOP and word not in FRAMING]
    return own if len(telling) > 1 else ""


def _facts(
    low: str, asked: set[str], who: frozenset[str], roles: bool, dates: NamedDates
) -> dict[str, float]:
    def has(pattern: re.Pattern[str]) -> bool:
        return pattern.search(low) is not None

    summary, order = has(ASKS_SUMMARY), has(ASKS_ORDER)
    said = has(ASKS_WHAT_YOU_SAID)
    facts = {
        "roles": roles,
        "names_one": len(who) == 1,
        "names_date": dates != NamedDates(),
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

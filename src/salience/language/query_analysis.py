"""The analysis of a query: its terms, the speakers and dates it names, the answer it asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import datetime, timezone
from functools import lru_cache
from itertools import islice
from types import MappingProxyType

from salience.language.analysis_types import QueryAnalysis, Term, TimeRange, Wording
from salience.language.dates import AskedTimes, asked_times, date_wordings, day_wordings
from salience.language.english import (
    ABOUT_MEDICINE,
    ASKS,
    ASKS_FORMER,
    ASKS_NAME,
    ASKS_NUMBER,
    ASKS_ORDER,
    ASKS_PRESENT,
    ASKS_SUMMARY,
    ASKS_WHAT_YOU_SAID,
    ASKS_WHEN,
    ASKS_WHETHER,
    DETERMINERS,
    FIRST_PERSON_WORDS,
    FRAMING_WORDS,
    IRREGULAR_FORMS,
    LINKING_WORDS,
    LOOKS_BACK,
    NAMES_USER,
    QUESTION_MARK,
    QUOTED_PHRASE,
    STOP_WORDS,
    TASK_WORDS,
    WORD_PREFIX,
    instance_wordings,
)
from salience.language.languages import ENGLISH, STATE_WORDS, language_of, language_of_code
from salience.language.languages.table import LATIN, CueName, Language, state_said, writing
from salience.language.reader import IS_REQUEST, read_query
from salience.language.speakers import resolve_speakers
from salience.language.spelling import Taken
from salience.language.tokens import fold, question_words, stem, without_bigrams, words
from salience.lazily import regex

_TERM_OF_STEM: dict[str, Term] = {
    stem(form): tuple(dict.fromkeys(map(stem, forms)))
    for forms in IRREGULAR_FORMS
    for form in forms
}
_SENTENCE_END = regex(r"(?<=[.!?:])\s+|(?<=[。！？؟])\s*|\n+")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_MIN_CHUNKS = 4  # of a question whose language is told by its accents
_MAX_ACCENTED = 0.3  # of the words of a question in English, at most
_MAX_KEYWORDS = 4  # of a query that asks in keywords
_MIN_SURROUNDING_WORDS = 30  # the fewest words around a question to embed it by itself, too

NOTHING_TAKEN: Mapping[str, Taken] = MappingProxyType({})
MAX_PHRASES = 64  # of a query in quotation marks, and as many beginnings of words


def analyze_query(
    text: str,
    names: Mapping[str, frozenset[str]],
    users: frozenset[str] = frozenset(),
    assistants: frozenset[str] = frozenset(),
    during: TimeRange | None = None,
    about: tuple[float, float] | None = None,
    *,
    now: datetime,
    rare: Set[str] = frozenset(),
    taken: Mapping[str, Taken] = NOTHING_TAKEN,
) -> QueryAnalysis:
    """Analyze a query; the result's fields are described at `QueryAnalysis`.

    Args:
        text: the query.
        names: word of the query -> the speakers that it names (see `named_speakers`).
        users: the speakers who are users of an assistant.
        assistants: the speakers who are assistants.
        during: the time to which the search is restricted.
        about: the past time that the query is about.
        now: the time of the question, in the time zone of the user.
        rare: speakers with few turns (see `rare_speakers`), who are searched for by name, too.
        taken: by misspelt word, the words that it was taken for, the first of which stands in the
            text.
    """
    text = _as_user(text) if users else text
    low = _folded(text)
    query_words = question_words(text)
    spoken = query_words if low.isascii() else without_bigrams(query_words)
    # Few words of a short question are of one language alone, but this mark is.
    language = language_of_code("es") if low.startswith("\u00bf") else language_of(spoken)
    asked_words = query_words
    if language is not None and language.cut is not None:
        # Not even a part of a question word is looked for.
        asked_words = question_words(language.cut.sub(" ", low))
    starred = WORD_PREFIX.findall(low) if "*" in low else ()
    prefixes = tuple(dict.fromkeys(starred))[:MAX_PHRASES]
    phrases = (phrase for phrase in dict.fromkeys(QUOTED_PHRASE.findall(text)) if words(phrase))
    speakers = resolve_speakers(names)
    asked = asked_times(low, now, language.code if language else "")
    question = _embedded_question(text)
    folded_question = _folded(question) if question else low
    terms = _terms(query_words, asked_words, names, prefixes, language)
    state = _state(low, language, query_words, terms)
    stop = STOP_WORDS if language is None else language.stop_words
    common_names = [word for word, named in names.items() if not named & speakers <= rare]
    reading = read_query(question or text)
    features = _features(
        reading.request,
        folded_question,
        question_words(question or text),
        speakers,
        users,
        language,
    )
    if "query_asks_advice" in features:  # "What can I cook tonight?" asks about no memory of today
        asked = asked.past
    times = tuple([reading for time in asked.times for reading in time.readings])
    wordings = _wordings(names, asked, now, language.code if language else "")
    instances = instance_wordings(folded_question) if language is None else ()
    if instances:
        wordings["kind"] = instances
    asks_advice = "query_asks_advice" in features
    concerns = _concerns(folded_question, language) if asks_advice else ()
    if concerns:
        wordings["concern"] = ((concerns,),)
    weights: tuple[float, ...] = ()
    if taken:
        # One that is also written right counts in full.
        only = [choice for choice in taken.values() if query_words.count(choice.words[0]) == 1]
        terms, weights = _with_taken(terms, only)
    return QueryAnalysis(
        terms=terms,
        semantic_text=_without_names(text, common_names) or text,
        speakers=speakers,
        wordings=wordings,
        users=users,
        assistants=assistants,
        asked_times=times,
        time_terms=_time_terms(terms, asked),
        features=features
        | ({"query_names_date": 1.0} if times else {})
        | ({"query_asks_state": 1.0} if state is not None else {})
        | ({"query_asks_kind": 1.0} if instances else {})
        | ({"query_has_concern": 1.0} if concerns else {}),
        phrases=tuple(islice(phrases, MAX_PHRASES)),
        prefixes=prefixes,
        during=during,
        past_interval=asked.past_interval or about,
        question=_without_names(question, common_names),
        language=language.code if language else "" if text.isascii() else _unknown_language(text),
        writing=LATIN if low.isascii() else writing(spoken),
        request=reading.request,
        asks_former=reading.asks_former,
        state=state[0] if state else 0.0,
        state_subject=state[1] if state else (),
        weights=weights,
        content_words=len([word for word in spoken if word not in stop]),
        taken={word: choice.words for word, choice in taken.items()},
    )


_RELATIVE_DAYS = frozenset("today tomorrow yesterday tonight".split())
"""Words that mean another day in a memory, which was written on another one."""
_NONE = frozenset[str]()
_NO_TERMS = STOP_WORDS | _RELATIVE_DAYS
_OF_USER = {"does": "do", "is": "am", "has": "have"}


def _as_user(text: str) -> str:
    """The query as the user would ask it: "where do I work" for "where does the user work"."""

    def said(match: re.Match[str]) -> str:
        verb = (match[1] or "").casefold()
        return " ".join(filter(None, (_OF_USER.get(verb, verb), "my" if match[2] else "I")))

    return NAMES_USER.sub(said, text)


def asks_something(text: str) -> bool:
    """Test whether a text is a question: by its mark, its beginning, or as a few keywords.

    Its first and its last sentence count. A task, a situation or a statement asks nothing; neither
    do keywords of a script without blanks, which cannot be told from a statement.
    """
    sentences = [part for part in _SENTENCE_END.split(text.replace("\u2019", "'")) if part.strip()]
    for sentence in dict.fromkeys((*sentences[:1], *sentences[-1:])):
        if QUESTION_MARK.search(sentence):
            return True
        low = fold(sentence)
        language = language_of(without_bigrams(question_words(sentence)))
        if ASKS.search(low) if language is None else language.matches("asks", low):
            return True
    return len(sentences) == 1 and _is_keywords(sentences[0].strip())


def _is_keywords(text: str) -> bool:
    """Test whether a text is a few words without a verb, as far as its words tell."""
    query_words = words(text)
    content = [word for word in query_words if word not in STOP_WORDS]
    if not 0 < len(content) <= _MAX_KEYWORDS or text.endswith((".", "!", ":")):
        return False
    if language_of(query_words) is not None:  # with stop words of it, or without blanks
        return False
    has_verb = query_words[0] in TASK_WORDS or (
        query_words[0] not in STOP_WORDS and not DETERMINERS.isdisjoint(query_words[1:2])
    )
    return not has_verb and LINKING_WORDS.issuperset(STOP_WORDS.intersection(query_words))


def with_other_names(terms: Sequence[Term], others: Mapping[str, Set[str]]) -> tuple[Term, ...]:
    """The terms, with the other names of what a query names (see `Aliases.others_in`).

    A single word counts as another form of each word of the name; the words of a longer name are
    searched for besides, as terms behind the others.
    """
    merged = list(terms)
    added: dict[Term, None] = {}
    for name, aliases in others.items():
        name_stems = {stem(word) for word in words(name)}
        for other in sorted(aliases):
            stems = tuple(dict.fromkeys(map(stem, words(other))))
            if len(stems) == 1:
                for place, term in enumerate(merged):
                    if not name_stems.isdisjoint(term):
                        merged[place] = tuple(dict.fromkeys((*term, *stems)))
            else:
                added |= {(base,): None for base in stems if base not in STOP_WORDS}
    return (*merged, *(term for term in added if term not in merged))


def _folded(text: str) -> str:
    return fold(text.replace("\u2019", "'"))


def _terms(
    query_words: Sequence[str],
    asked_words: Sequence[str],
    names: Collection[str],
    prefixes: Collection[str],
    language: Language | None,
) -> tuple[Term, ...]:
    """The terms to search for: content words, and any words before a star.

    Without any, words that frame a question; without those, all words of the query.
    """
    stop, framing = (language.stop_words, language.framing) if language else (_NONE, _NONE)
    content = [w for w in asked_words if not (w in names or w in _NO_TERMS or w in stop)]
    topic = [w for w in content if not (w in FRAMING_WORDS or w in framing)]
    topic = topic or content or [*query_words]
    searched = dict.fromkeys([*topic, *(word for word in query_words if word in prefixes)])
    if language is not None and language.endings:
        return tuple(dict.fromkeys(_inflected(word, language.code) for word in searched))
    stems = [stem(word) for word in searched]
    return tuple(dict.fromkeys([_TERM_OF_STEM.get(base, (base,)) for base in stems]))


@lru_cache(maxsize=1 << 14)
def _inflected(word: str, code: str) -> Term:
    """The stems of a word's forms: the index brings only those of English together."""
    language = language_of_code(code)
    first, *forms = dict.fromkeys(map(stem, language.forms(word)))
    return (first, *(form for form in forms if form not in language.stop_words))


def _with_taken(
    terms: Sequence[Term], taken: Iterable[Taken]
) -> tuple[tuple[Term, ...], tuple[float, ...]]:
    """The terms, with all words that a misspelt one was taken for as forms of one; and weights."""
    forms, weights = list(terms), [1.0] * len(terms)
    for choice in taken:
        stems = [*map(stem, choice.words)]
        for place, term in enumerate(terms):
            if stems[0] in term:
                other_forms = (form for base in stems for form in _TERM_OF_STEM.get(base, (base,)))
                forms[place] = tuple(dict.fromkeys((*term, *other_forms)))
                weights[place] = choice.weight
    return tuple(forms), tuple(weights)


def _time_terms(terms: Sequence[Term], asked: AskedTimes) -> frozenset[int]:
    """The places of the terms that are words for a time that the query asks about."""
    stems = {*map(stem, asked.words)}
    return frozenset(at for at, term in enumerate(terms) if not stems.isdisjoint(term))


def _wordings(
    names: Collection[str], asked: AskedTimes, now: datetime, language: str
) -> dict[str, tuple[Wording, ...]]:
    """The words by which a memory mentions the dates and speakers that the query names."""
    wordings: dict[str, tuple[Wording, ...]] = {}
    if asked.times:
        if dates := date_wordings(asked.dates, now.year, language):
            wordings["date"] = dates
        days = day_wordings(asked.times, now.tzinfo or timezone.utc, language)
        wordings |= {kind: (wording,) for kind, wording in days.items()}
    if names:
        wordings["named"] = ((tuple(dict.fromkeys(map(stem, names))),),)
    return wordings


_OF_BODY = frozenset({"food", "sport", "water"})
"""The topics on which somebody's health bears."""


def _concerns(low: str, language: Language | None) -> Term:
    """The stems of statements about oneself that bear on the topics of a folded query."""
    return tuple(sorted({*map(stem, (language or ENGLISH).concerns(low))}))


def _embedded_question(text: str) -> str:
    """The sentences of a long text that ask something; "" if it is short or asks nothing apart."""
    if len(question_words(text)) < _MIN_SURROUNDING_WORDS:
        return ""
    sentences = _SENTENCE_END.split(text)
    question = " ".join(part for part in sentences if part.rstrip().endswith(_QUESTION_MARKS))
    query_words = question_words(question)
    if len(question_words(text)) - len(query_words) < _MIN_SURROUNDING_WORDS:
        return ""
    # "Any ideas?" asks for what stands around it.
    content = [word for word in query_words if word not in STOP_WORDS and word not in FRAMING_WORDS]
    return question if len(content) > 1 else ""


def _features(
    request: float,
    low: str,
    query_words: Collection[str],
    speakers: frozenset[str],
    users: frozenset[str],
    language: Language | None,
) -> dict[str, float]:
    """The `QUERY_FEATURES` of a query with these words, folded in `low`, each that holds as 1.0."""

    def matches(cue: re.Pattern[str], name: CueName | None) -> bool:
        if language is None:
            return cue.search(low) is not None
        return name is not None and language.matches(name, low)

    summary = matches(ASKS_SUMMARY, "asks_summary")
    order = matches(ASKS_ORDER, None)
    about_assistant = matches(ASKS_WHAT_YOU_SAID, "asks_what_you_said")
    if language is None:
        first_person = not FIRST_PERSON_WORDS.isdisjoint(query_words)
    else:
        first_person = language.matches("first_person", low)
    looks_back = matches(LOOKS_BACK, "looks_back")
    recalls = summary or order or about_assistant or looks_back or not speakers <= users
    asks_advice = not recalls and request > IS_REQUEST
    asks_when = matches(ASKS_WHEN, "asks_when")
    # "When can I go swimming?" asks for a time, and not whether that is wise.
    about_medicine = asks_advice and not asks_when and matches(ABOUT_MEDICINE, "about_body")
    asks_whether = asks_advice and not asks_when and language is None
    about_food_or_sport = asks_whether and not _OF_BODY.isdisjoint(ENGLISH.topics_of(low))
    features = {
        "namespace_has_user": bool(users),
        "query_names_one_speaker": len(speakers) == 1,
        "query_asks_summary": summary and not speakers,
        "query_is_about_assistant": about_assistant and not summary and not speakers,
        "query_is_first_person": first_person and not (about_assistant or summary or speakers),
        "query_asks_when": asks_when,
        "query_asks_number": matches(ASKS_NUMBER, "asks_number"),
        "query_asks_name": matches(ASKS_NAME, "asks_name"),
        "query_asks_advice": asks_advice,
        "query_asks_whether": matches(ASKS_WHETHER, None),
        "query_is_about_body": about_medicine or about_food_or_sport,
        "query_is_about_food_or_sport": about_food_or_sport and not about_medicine,
        "query_asks_present": matches(ASKS_PRESENT, "asks_present"),
        "query_is_not_recall": not (summary or order or looks_back),
    }
    return {name: 1.0 for name, holds in features.items() if holds}


def _unknown_language(text: str) -> str:
    """ "und" for a question in Latin script with the accents of another language, else ""."""
    chunks = text.split()
    accented = len(chunks) - sum(map(str.isascii, chunks))
    return "und" if len(chunks) >= _MIN_CHUNKS and accented > _MAX_ACCENTED * len(chunks) else ""


def _state(
    low: str, language: Language | None, query_words: Collection[str], terms: Sequence[Term]
) -> tuple[float, tuple[int, ...]] | None:
    """The state that a question asks for, and the places of the terms for its owner; else None.

    The state is 0 where the question asks for the present of something that no table names. What is
    asked of others mostly does not change, unless the question says "now" or "formerly"; in English
    they are left to the other parts.
    """
    if language is None:
        if STATE_WORDS.isdisjoint(query_words) or FIRST_PERSON_WORDS.isdisjoint(query_words):
            return None
        state, number = ENGLISH.state(low), state_said(low, ENGLISH)
        # "Where did I live?" may mean any time, "Where did I live before?" any but the present.
        has_time = ASKS_FORMER.search(low) or not ENGLISH.matches("looks_back", low)
        return (number, ()) if state is not None and has_time and number > 0.0 else None
    state, number = language.state(low), state_said(low, language)
    asks_present = language.matches("asks_present", low)
    if state is None or not number:
        return (0.0, ()) if asks_present else None
    has_time = asks_present or language.matches("asks_former", low)
    if not has_time and (number < 0.0 or language.matches("looks_back", low)):
        return None
    subject_stems = frozenset(map(stem, words(state[1])))
    subject = (place for place, term in enumerate(terms) if subject_stems.isdisjoint(term))
    return number, tuple(subject)


def _without_names(text: str, names: Collection[str]) -> str:
    """The text without words that only name speakers, which mean nothing to an embedder."""
    if not names:
        return text
    chunks = []
    for chunk in text.split():
        parts = words(chunk.replace("\u2019", "'"))
        parts = parts[:-1] if len(parts) > 1 and parts[-1] == "s" else parts
        if not parts or any(word not in names for word in parts):
            chunks.append(chunk)
    return " ".join(chunks)

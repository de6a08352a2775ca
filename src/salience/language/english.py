"""Word lists and patterns of English, in `tables/english.txt`, for questions and memories.

Other languages have tables in `languages`; those without one match none of these, and rank by words
and meaning alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from salience.language.analysis_types import Wording
from salience.language.cues import CueTable
from salience.language.tokens import stem, words

_TABLE = CueTable("english")

STOP_WORDS = _TABLE.words("stop_words")
REPORTING_WORDS = _TABLE.words("reporting_words")
CONVERSATION_WORDS = _TABLE.words("conversation_words")
REQUEST_WORDS = _TABLE.words("request_words")
KIND_WORDS = _TABLE.words("kind_words")
EXTENT_WORDS = _TABLE.words("extent_words")
FRAMING_WORDS = REPORTING_WORDS | CONVERSATION_WORDS | REQUEST_WORDS | KIND_WORDS | EXTENT_WORDS
"""Words that frame a query about a conversation; they do not tell its topic."""
IRREGULAR_FORMS = tuple(
    tuple(forms.split()) for line in _TABLE["_irregular_forms"].lines for forms in line.split("|")
)
"""Groups of forms of one word that no stemmer brings together."""
FIRST_PERSON_WORDS = _TABLE.words("first_person_words")
USER_NAMES = _TABLE.words("user_names")
ASSISTANT_NAMES = _TABLE.words("assistant_names")
ROLE_NAMES = USER_NAMES | ASSISTANT_NAMES | {"system", "agent"}
MONTHS = {name: i for i, name in enumerate(_TABLE["_months"].words, 1)}
MONTHS |= {name[:3]: i for name, i in MONTHS.items()} | {"sept": 9}
NAMESAKE_MONTHS = _TABLE.words("namesake_months")
AMBIGUOUS_MONTHS = _TABLE.words("ambiguous_months", NAMESAKE_MONTHS)
WEEKDAYS = _TABLE.words("weekdays")
HONORIFICS = _TABLE.words("honorifics")
NAME_PARTICLES = _TABLE.words("name_particles")
ORDINARY_WORDS = _TABLE.words("ordinary_words", STOP_WORDS | FRAMING_WORDS)
OPENING_WORDS = _TABLE.words("opening_words")
NAMESAKE_WORDS = _TABLE.words("namesake_words")
ORDINARY_ENDING = _TABLE.pattern("ordinary_ending")


# Cues of what a query asks for, matched against the folded query: `tables/query.txt`

_QUERY = CueTable("query")

QUESTION_MARK = _QUERY.pattern("question_mark")
ASKS = _QUERY.pattern("asks")
TASK_WORDS = _QUERY.words("task_words")
LINKING_WORDS = _QUERY.words("linking_words")
DETERMINERS = _QUERY.words("determiners")
ASKS_WHEN = _QUERY.pattern("asks_when")
ASKS_NUMBER = _QUERY.pattern("asks_number")
ASKS_NAME = _QUERY.pattern("asks_name")
ASKS_KIND = _QUERY.pattern("asks_kind")
ASKS_SUMMARY = _QUERY.pattern("asks_summary")
ASKS_ORDER = _QUERY.pattern("asks_order")
ASKS_WHAT_YOU_SAID = _QUERY.pattern("asks_what_you_said")
LOOKS_BACK = _QUERY.pattern("looks_back")
NAMES_USER = _QUERY.pattern("names_user")
ASKS_WHETHER = _QUERY.pattern("asks_whether")
LIGHT_VERBS = _QUERY.words("light_verbs")
ABOUT_MEDICINE = _QUERY.pattern("about_medicine")
ASKS_PRESENT = _QUERY.pattern("asks_present")
ASKS_FORMER = _QUERY.pattern("asks_former")
USED_TO = _QUERY.pattern("used_to")
QUOTED_PHRASE = _QUERY.pattern("quoted_phrase")
WORD_PREFIX = _QUERY.pattern("word_prefix")


# Cues of what a memory says: `tables/memory.txt`

_MEMORY = CueTable("memory")

TEMPORAL_WORDS = _MEMORY.words("temporal_words")
CLOCK = _MEMORY.pattern("clock")
TEMPORAL = _MEMORY.pattern("temporal")
NUMBER_WORDS = _MEMORY.words("number_words")
DIGIT = _MEMORY.pattern("digit")
NUMBER = _MEMORY.pattern("number")
CAPITALIZED_INSIDE = _MEMORY.pattern("capitalized_inside")
GREETING = _MEMORY.pattern("greeting")
INSTRUCTION = _MEMORY.pattern("instruction")
INSTRUCTION_WORDS = _MEMORY.words("instruction_words")

_INCLUDES = "@"


def instance_wordings(low: str) -> tuple[Wording, ...]:
    """The wordings of things of the kinds that a folded question asks for; empty without a kind.

    A question for several things names their kind ("Which sports does Ana do?"), and what answers
    it mostly names one of them and not the kind. `kinds.txt` lists some hundred words of everyday
    English for the commonest questions.
    What the question itself names is none of them: it is looked for anyway.
    """
    kinds_asked = [stem(word) for match in ASKS_KIND.finditer(low) for word in words(match[1])]
    kinds = _kinds()
    instances = {instance for kind in kinds_asked for instance in kinds.get(kind, ())}
    if not instances:
        return ()
    own = {*map(stem, words(low))}
    single = sorted(base for base, *more in instances if not more and base not in own)
    several = sorted(stems for stems in instances if len(stems) > 1 and not own.issuperset(stems))
    # One of many words is as good as another, so they are forms of one.
    together: tuple[Wording, ...] = ((tuple(single),),) if single else ()
    return (*together, *(tuple((base,) for base in stems) for stems in several))


@cache
def _kinds() -> Mapping[str, frozenset[tuple[str, ...]]]:
    """The instances of each kind, as the stems of their words, by the stem of its name."""
    listed = Path(__file__).with_name("kinds.txt").read_text("utf-8")
    lines = [line.split(": ") for line in listed.splitlines() if ": " in line]
    instances = {name: listed.split() for names, listed in lines for name in names.split()}

    def below(name: str) -> Iterator[tuple[str, ...]]:
        for instance in instances[name]:
            if instance.startswith(_INCLUDES):
                yield from below(instance.removeprefix(_INCLUDES))
            else:
                yield tuple(map(stem, instance.split("_")))

    return {stem(name): frozenset(below(name)) for name in instances}

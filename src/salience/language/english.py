"""Word lists and patterns of English, in `tables/english.txt`, for questions and memories.

Other languages have tables in `languages`; those without one match none of these, and rank by words
and meaning alone.
"""

from __future__ import annotations

from salience.language.cues import CueTable

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
ASKS_ADVICE = _QUERY.pattern("asks_advice")
ABOUT_BODY = _QUERY.pattern("about_body")
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

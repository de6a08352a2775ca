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
NAMESAKE_WORDS = _TABLE.words("namesake_words")
ORDINARY_ENDING = _TABLE.pattern("ordinary_ending")

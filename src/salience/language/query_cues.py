"""Cues of what a query asks for, matched against the folded query: `tables/query.txt`."""

from __future__ import annotations

from salience.language.cues import CueTable

_TABLE = CueTable("query")

QUESTION_MARK = _TABLE.pattern("question_mark")
ASKS = _TABLE.pattern("asks")
TASK_WORDS = _TABLE.words("task_words")
LINKING_WORDS = _TABLE.words("linking_words")
DETERMINERS = _TABLE.words("determiners")
ASKS_WHEN = _TABLE.pattern("asks_when")
ASKS_NUMBER = _TABLE.pattern("asks_number")
ASKS_NAME = _TABLE.pattern("asks_name")
ASKS_KIND = _TABLE.pattern("asks_kind")
ASKS_SUMMARY = _TABLE.pattern("asks_summary")
ASKS_ORDER = _TABLE.pattern("asks_order")
ASKS_WHAT_YOU_SAID = _TABLE.pattern("asks_what_you_said")
LOOKS_BACK = _TABLE.pattern("looks_back")
NAMES_USER = _TABLE.pattern("names_user")
ASKS_ADVICE = _TABLE.pattern("asks_advice")
ABOUT_BODY = _TABLE.pattern("about_body")
ASKS_PRESENT = _TABLE.pattern("asks_present")
ASKS_FORMER = _TABLE.pattern("asks_former")
USED_TO = _TABLE.pattern("used_to")
QUOTED_PHRASE = _TABLE.pattern("quoted_phrase")
WORD_PREFIX = _TABLE.pattern("word_prefix")

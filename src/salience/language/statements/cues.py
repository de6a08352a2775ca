"""Words and patterns that statements are recognised by: `tables/statements.txt`."""

from __future__ import annotations

from salience.language.cues import CueTable

_TABLE = CueTable("statements")

OPEN_ENDED = _TABLE.words("open_ended")
HALF_DENIAL = _TABLE.pattern("half_denial")
CODE = _TABLE.pattern("code")
FILLERS = _TABLE.pattern("fillers")
FILLER_WORDS = _TABLE.words("filler_words")
DENIAL_WORDS = _TABLE.words("denial_words")
DENIAL = _TABLE.pattern("denial")
NO_SUBJECTS = _TABLE.words("no_subjects")
UNNAMED_SUBJECTS = _TABLE.words("unnamed_subjects")
COLOURS = _TABLE.words("colours")
COUNTRIES = _TABLE.words("countries")
CHANGES = _TABLE.pattern("changes")
INTRANSITIVE = _TABLE.pattern("intransitive")
ENDING = _TABLE.pattern("ending")
TRAILING = _TABLE.pattern("trailing")
CHANGED_OBJECT = _TABLE.pattern("changed_object")
CHANGED_SUBJECT = _TABLE.pattern("changed_subject")
UNNAMED = _TABLE.words("unnamed")
STATUSES = _TABLE.words("statuses")
EXCLUSIVE = _TABLE.groups("exclusive_")
ALTERNATIVES = _TABLE.groups("alternatives_")
MULTI_VALUED = _TABLE.words("multi_valued")
PAST_EVENTS = _TABLE.words("past_events")

"""Cues of what a memory says: `tables/memory.txt`."""

from __future__ import annotations

from salience.language.cues import CueTable

_TABLE = CueTable("memory")

TEMPORAL_WORDS = _TABLE.words("temporal_words")
CLOCK = _TABLE.pattern("clock")
TEMPORAL = _TABLE.pattern("temporal")
NUMBER_WORDS = _TABLE.words("number_words")
DIGIT = _TABLE.pattern("digit")
NUMBER = _TABLE.pattern("number")
CAPITALIZED_INSIDE = _TABLE.pattern("capitalized_inside")
GREETING = _TABLE.pattern("greeting")
INSTRUCTION = _TABLE.pattern("instruction")
INSTRUCTION_WORDS = _TABLE.words("instruction_words")

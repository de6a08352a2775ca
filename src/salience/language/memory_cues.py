"""Cues of what a memory says; those in lower case are for texts in lower case."""

from __future__ import annotations

from salience.language.cues import pattern_cue, word_cue

TEMPORAL_WORDS = word_cue(
    "temporal_words",
    "memory: words that name a time",
    """yesterday today tonight tomorrow ago last next past recently since weekend week weeks month
    months year years day days morning evening monday tuesday wednesday thursday friday saturday
    sunday january february march april june july august september october november
    december""",
    catches="we met last week",
    must_not_catch="we met in the park",
)
CLOCK = pattern_cue(
    "clock",
    "memory: a year, date or time of day in figures, by its first digit, quickest to look for",
    r"\d(?<!\w\d)(?:(?:(?<=1)9|(?<=2)0)\d\d|\d?[:/.]\d{1,2}|\d?(?:st|nd|rd|th)|\d? ?[ap]m)\b",
    catches="at 10:30",
    must_not_catch="at gate 1030",
)
TEMPORAL = pattern_cue(
    "temporal",
    "memory: names a time, in words or figures",
    rf"\b(?:{'|'.join(sorted(TEMPORAL_WORDS))})\b|{CLOCK.pattern}",
    catches="we met on monday",
    must_not_catch="we met in the park",
)
NUMBER_WORDS = word_cue(
    "number_words",
    "memory: words that name a number",
    """two three four five six seven eight nine ten eleven twelve dozen hundred thousand twice once
    couple half""",
    catches="she has two cats",
    must_not_catch="she has cats",
)
DIGIT = pattern_cue(
    "digit",
    "memory: holds a figure",
    r"\d",
    catches="4 cats",
    must_not_catch="four cats",
)
NUMBER = pattern_cue(
    "number",
    "memory: holds a number, in words or figures",
    rf"{DIGIT.pattern}|\b(?:{'|'.join(sorted(NUMBER_WORDS))})\b",
    catches="a dozen eggs",
    must_not_catch="some eggs",
)
CAPITALIZED_INSIDE = pattern_cue(
    "capitalized_inside",
    "memory: a capitalized word inside a sentence",
    r"(?<=[a-z,] )[A-Z][a-z]+",
    catches="I met Ana",
    must_not_catch="Met a friend",
)
GREETING = pattern_cue(
    "greeting",
    "memory: greets or thanks somebody by name at its beginning",
    r"^\W*(?:[Hh]ey|[Hh]i|[Hh]ello|HEY|HI|[Dd]ear|[Tt]hanks|[Tt]hank you)[ ,]+([A-Z][a-z]{2,})\b",
    catches="Hey Sarah, how are you?",
    must_not_catch="Hey there, Sarah",
)
INSTRUCTION = pattern_cue(
    "instruction",
    "memory: tells an assistant how to do things from now on",
    r"(?:^|[.!?:;]\s+|\n)(?:please |and |so )?(?:always"
    r"|never(?! (?:mind|been|have|had|a|the|in)\b)|from now on|going forward"
    r"|in (?:the )?future|remember to|don't ever|do not ever|make sure (?:to|you)|be sure to)\b"
    r"|\b(?:when(?:ever)?|if|every time|any time|anytime) i(?:'m)? "
    r"(?:ask|asking|request|tell you to|mention|talk about|bring up|say)\b"
    r"|\bi(?:'d like| want| need) you to (?:always|never)\b|\bfrom now on\b",
    catches="always answer in french",
    must_not_catch="it always rains in paris",
)
INSTRUCTION_WORDS = word_cue(
    "instruction_words",
    "memory: one of these is in every INSTRUCTION, and quick to look for",
    """always never now forward future remember ever sure ask asking request tell mention talk bring
    say""",
    catches="never call me",
    must_not_catch="call me",
)

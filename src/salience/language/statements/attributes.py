"""The readers, one for each kind of attribute, tried in turn on a sentence without its denial.

Each gives subject, attribute and values, or None. What a sentence says besides is made a part of
the attribute, so that only statements with the same circumstances are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from salience.language.english import DIGIT, MONTHS, WEEKDAYS
from salience.language.statements import cues, slots, things
from salience.language.statements.frames import frames_of
from salience.language.statements.values import NUMBER_WORDS, Reading

_FIGURE = "0"  # stands for any word with a digit
_CUES = ""  # stands for the cues of the frames


def _specific(sentence: str) -> Reading | None:
    return frames_of("en").read(sentence)


def _general(sentence: str) -> Reading | None:
    return frames_of("en").read(sentence, general=True)


_READERS: Sequence[tuple[Callable[[str], Reading | None], str]] = (
    (things.spot, things.SPOTS),
    (things.assignee, "to by"),
    (things.status, " ".join(cues.STATUSES)),
    (things.location, "in on to"),
    (things.marriage, "single married divorced engaged widowed"),
    (things.preference, "prefer prefers"),
    (_specific, _CUES),
    (things.version, _FIGURE),
    (
        slots.slot,
        " ".join([_FIGURE, "noon midnight http https", *WEEKDAYS, *MONTHS, *NUMBER_WORDS]),
    ),
    (things.quality, "is are am"),
    (_general, _CUES),
)


@cache
def _readers() -> Mapping[str, Sequence[int]]:
    """The places of the readers to try, by a word that they need."""
    places: dict[str, list[int]] = {}
    for place, (reader, triggers) in enumerate(_READERS):
        is_general = reader is _general
        of_frames = (f.cues for f in frames_of("en").frames if f.is_general == is_general)
        for word in triggers.split() or frozenset().union(*of_frames):
            places.setdefault(word, []).append(place)
    return places


def read_attribute(sentence: str, tokens: Sequence[str]) -> Reading | None:
    """The first reading of a sentence with these words; None if it states no known attribute."""
    places_of = _readers()
    triggers = places_of.keys() & set(tokens)
    if DIGIT.search(sentence):
        triggers |= {_FIGURE}
    for place in sorted({place for word in triggers for place in places_of[word]}):
        reading = _READERS[place][0](sentence)
        if reading is not None:
            return reading
    return None

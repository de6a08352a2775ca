"""The readers, one for each kind of attribute, tried in turn on a sentence without its denial.

Each gives subject, attribute and values, or None. What a sentence says besides is made a part of
the attribute, so that only statements with the same circumstances are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from salience.language.english import MONTHS, WEEKDAYS
from salience.language.memory_cues import DIGIT
from salience.language.statements import copulas, cues, people, slots, things
from salience.language.statements.phrases import Reading
from salience.language.statements.values import NUMBER_WORDS

_FIGURE = "0"  # stands for any word with a digit
_READERS: Sequence[tuple[Callable[[str], Reading | None], str]] = (
    (things.spot, things.SPOTS),
    (things.assignee, "to by"),
    (things.status, " ".join(cues.STATUSES)),
    (copulas.role, "is are became become as succeeds succeeded hired new named to called"),
    (things.location, "in on to"),
    (people.residence, "in to"),
    (people.origin, "from"),
    (people.school, " ".join(people.SCHOOL_WORDS)),
    (people.employer, "at for by joined"),
    (people.job, "as"),
    (people.marriage, "single married divorced engaged widowed"),
    (people.favourite, "favourite favorite preferred"),
    (
        things.attribute,
        "is are am changed reset updated name number phone email mail code pin size password",
    ),
    (things.called, "called named renamed"),
    (people.age, _FIGURE),
    (people.preference, "prefer prefers"),
    (people.choice, " ".join(people.CHOICES)),
    (things.version, _FIGURE),
    (
        slots.slot,
        " ".join([_FIGURE, "noon midnight http https", *WEEKDAYS, *MONTHS, *NUMBER_WORDS]),
    ),
    (things.quality, "is are am"),
)
READERS = tuple((read, frozenset(triggers.split())) for read, triggers in _READERS)
"""The readers in the order in which they are tried, each with the words of which it needs one."""
_PLACES_OF = {
    word: tuple(place for place, (_, triggers) in enumerate(READERS) if word in triggers)
    for word in frozenset().union(*(triggers for _, triggers in READERS))
}
_TRIGGERS = frozenset(_PLACES_OF)


def read_attribute(sentence: str, tokens: Sequence[str]) -> Reading | None:
    """The first reading of a sentence with these words; None if it states no known attribute."""
    triggers = _TRIGGERS.intersection(tokens)
    if DIGIT.search(sentence):
        triggers |= {_FIGURE}
    for place in sorted({place for word in triggers for place in _PLACES_OF[word]}):
        reading = READERS[place][0](sentence)
        if reading is not None:
            return reading
    return None

"""States: which attribute a text speaks of, in the languages of the tables, as a number."""

from __future__ import annotations

from hashlib import blake2b

from salience.language.languages.table import Language

NO_STATE = 0.0
_MAX_WORDS = 20
_MAX_CHARACTERS = 40  # of a text whose words are not spaced
_EXACT = 1 << 24  # whole numbers below it are exact in single precision


def state_number(attribute: str) -> int:
    """A hash of an attribute in 1 .. 2^24 - 1, the same in every process."""
    digest = blake2b(attribute.encode(), digest_size=4).digest()
    return 1 + int.from_bytes(digest, "big") % (_EXACT - 1)


def state_said(folded: str, language: Language) -> float:
    """The number of the attribute that a short folded text states, 0 for none.

    Below 0 if the text is not about whoever says it.
    """
    length = len(folded.split()) if language.is_spaced else len(folded)
    if length > (_MAX_WORDS if language.is_spaced else _MAX_CHARACTERS):
        return NO_STATE
    state = language.state(folded)
    if state is None:
        return NO_STATE
    number = float(state_number(state[0]))
    return number if language.is_about_speaker(folded) else -number

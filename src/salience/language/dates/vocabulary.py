"""Words for dates and times in the languages besides English, by the English words for them.

They stand in the table of each language (`tables/de.txt`). Each line of `phrases` gives an English
wording and patterns over folded text for the same; a wording of several parts stands before those
that it begins with. Months, weekdays and numbers are in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from salience.language.cues import read_table

MONTH_NAMES = (
    "january february march april may june july august september october november december".split()
)
WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday".split()


class Vocabulary(NamedTuple):
    """The words of one language; `is_spaced` where they are written apart.

    `marks` tell the language of a text, as do its months and days of the week.
    """

    months: str
    weekdays: str
    numbers: str
    phrases: str
    marks: str = ""
    is_spaced: bool = True


_CODES = ("de", "nl", "fr", "it", "es", "pt", "ru", "zh", "ja", "ko")
_WITHOUT_BLANKS = ("zh", "ja", "ko")


def _vocabulary(code: str) -> Vocabulary:
    table = read_table(code)
    months, weekdays, numbers, marks = (
        " ".join(table[name].lines) if name in table else ""
        for name in ("months", "weekdays", "numbers", "date_marks")
    )
    phrases = "\n".join(table["phrases"].lines)
    return Vocabulary(months, weekdays, numbers, phrases, marks, code not in _WITHOUT_BLANKS)


VOCABULARIES: Mapping[str, Vocabulary] = {code: _vocabulary(code) for code in _CODES}
"""The vocabularies by the codes of their languages."""

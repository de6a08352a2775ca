"""The words around a value, by language: what remains of a sentence without them is its attribute.

Each entry (`wording owners` in the table of a language) is a pattern of alternatives over folded
text; those of spaced scripts are whole words.
"""

from __future__ import annotations

import re
from functools import cache, cached_property

from salience.language.cues import read_table
from salience.language.tokens import unified
from salience.lazily import dataclass, field


@dataclass(frozen=True)
class Wordings:
    """The words of one language.

    Attributes:
        owners: possessives and articles before the noun of an attribute.
        present: words for now, and those that say only that something is new.
        links: verbs between an attribute and its value.
        changes: verbs by which a value takes the place of another.
        origins: what was before, between a verb of change and the new value.
        corrections: words by which somebody corrects what was said, or says that it is no more so.
        past: signs of what happened once, which states nothing unless it is a change.
        vague: words for what may be, is denied, or is said of nobody known.
        indefinite: articles of one among many.
        calendar: names of months, days of the week and times of day.
        particles: endings of words in a language that writes them together.
        is_spaced: whether words are written apart.
    """

    owners: str
    present: str
    links: str
    changes: str
    origins: str
    corrections: str
    past: str
    vague: str
    indefinite: str
    calendar: str
    particles: str = ""
    is_spaced: bool = True
    _compiled: dict[str, re.Pattern[str]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def find(self, name: str, text: str) -> re.Match[str] | None:
        """The first place of an entry in a folded text."""
        return self._pattern(name).search(text)

    def without(self, text: str, *names: str) -> str:
        """A folded text without some entries."""
        for name in names:
            text = self._pattern(name).sub(" " if self.is_spaced else "", text)
        return text

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """The single words of all entries that are no patterns, to know the language by."""
        entries = (self.owners, self.present, self.links, self.changes, self.calendar)
        listed = [word for entry in entries for word in entry.split("|")]
        listed += [form for word in listed if word[-1:] == "?" for form in (word[:-1], word[:-2])]
        return frozenset(filter(str.isalpha, listed))

    @cached_property
    def calendar_words(self) -> str:
        """The calendar as it stands in a pattern."""
        return unified(self.calendar)

    def _pattern(self, name: str) -> re.Pattern[str]:
        compiled = self._compiled.get(name)
        if compiled is None:
            listed = unified(getattr(self, name)) or r"(?!)"
            bounded = rf"(?<!\w)(?:{listed})(?!\w)" if self.is_spaced else f"(?:{listed})"
            compiled = self._compiled[name] = re.compile(bounded)
        return compiled


_ENTRIES = (
    *("owners", "present", "links", "changes", "origins", "corrections", "past", "vague"),
    *("indefinite", "calendar", "particles"),
)
_WITHOUT_BLANKS = ("zh", "ja", "ko")


@cache
def wordings_of(code: str) -> Wordings:
    """The wordings of a language, by its code (ISO 639-1)."""
    table = read_table(code)
    titles = {name: f"wording {name}" for name in _ENTRIES}
    listed = {name: table[title].pattern for name, title in titles.items() if title in table}
    return Wordings(**listed, is_spaced=code not in _WITHOUT_BLANKS)

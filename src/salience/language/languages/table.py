"""The shape of a table of cues: what the words of one language tell about a text (`tables/de.txt`).

A cue is a pattern over folded text with an example that it catches and one that it must not. In a
spaced script it stands between the ends of words, so `wann|seit wann` is two whole wordings. It is
compiled when it is first used, as most stores hold one or two languages.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Literal, cast, get_args

from salience.language.cues import Entry, read_table
from salience.language.tokens import fold, snowball_stem, unified
from salience.lazily import dataclass, field

_MIN_INFLECTED = 4  # letters

CueName = Literal[
    "asks",
    "asks_when",
    "asks_number",
    "asks_name",
    "asks_present",
    "asks_former",
    "asks_summary",
    "asks_what_you_said",
    "looks_back",
    "first_person",
    "has_time",
    "has_number",
    "instruction",
    "preference",
    "health",
    "circumstance",
    "about_body",
]
CUE_NAMES: tuple[CueName, ...] = get_args(CueName)
"""The cues of tables: nine that questions are read by, and five for any text."""
Attribute = Literal[
    "residence",
    "employer",
    "job",
    "name",
    "phone",
    "email",
    "age",
    "drives",
    "plays",
    "learns",
    "favourite",
]
ATTRIBUTES: tuple[Attribute, ...] = get_args(Attribute)
"""The attributes that somebody has one of at a time, or mostly one; a favourite of each kind."""


@dataclass(frozen=True)
class Cue:
    """A pattern over folded text, a text that it catches, and one that it must not catch."""

    pattern: str
    catches: str
    must_not_catch: str


@dataclass(frozen=True)
class Language:
    """The table of one language.

    Attributes:
        code: ISO 639-1.
        name: in English.
        stop_words: words without a meaning of their own, folded.
        marks: words that no other language of the tables has, so that one of them is enough to
            know it by; for scripts that several languages share.
        framing: words that frame a question about what was said, and do not tell its topic.
        topics: of requests, by name: a pattern, and words for what bears on it in somebody's life.
        endings: of the forms of a word; none where the index brings them together by itself.
        cues: the patterns by name.
        states: the patterns of what is said and asked of an attribute. That of `favourite` has
            groups `noun` for the kind of thing.
        others: a pattern of subjects other than the speaker, for a language that mostly leaves
            out who speaks; None where a statement without `first_person` is about somebody else.
        is_spaced: whether words are written apart.
        is_capital_a_name: whether a capital inside a sentence marks a name.
    """

    code: str
    name: str
    stop_words: frozenset[str]
    cues: Mapping[CueName, Cue]
    states: Mapping[Attribute, Cue]
    marks: frozenset[str] = frozenset()
    framing: frozenset[str] = frozenset()
    endings: frozenset[str] = frozenset()
    topics: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    others: str | None = None
    is_spaced: bool = True
    is_capital_a_name: bool = True
    _compiled: dict[str, re.Pattern[str]] = field(default_factory=dict, compare=False, repr=False)

    def matches(self, cue: CueName, text: str) -> bool:
        """Test whether a cue is in a folded text."""
        entry = self.cues.get(cue)
        return entry is not None and self._search("cue", cue, entry.pattern, text) is not None

    def count(self, cue: CueName, text: str) -> int:
        """The number of times that a cue is in a folded text."""
        entry = self.cues.get(cue)
        if entry is None:
            return 0
        return sum(1 for _ in self._compiled_pattern("cue", cue, entry.pattern).finditer(text))

    def state(self, text: str) -> tuple[str, str] | None:
        """The attribute that a folded text speaks of, and the words by which; None without one.

        A favourite is named with its kind: `favourite farbe`.
        """
        for attribute, cue in self.states.items():
            match = self._search("state", attribute, cue.pattern, text)
            if match is not None:
                nouns = (noun for noun in match.groups() if noun)
                return " ".join([attribute, *nouns]), match[0]
        return None

    def topics_of(self, text: str) -> frozenset[str]:
        """The topics of a folded request, by name."""
        found = (
            name for name, (cue, _) in self.topics.items() if self._search("topic", name, cue, text)
        )
        return frozenset(found)

    def concerns(self, text: str) -> frozenset[str]:
        """The forms of the words for what bears on the topics of a folded request."""
        listed = (word for name in self.topics_of(text) for word in self.topics[name][1])
        return frozenset(form for word in listed for form in self.forms(fold(word)))

    def is_about_speaker(self, text: str) -> bool:
        """Test whether a folded text is about its speaker."""
        if self.matches("first_person", text):
            return True
        return self.others is not None and not self._search("others", "", self.others, text)

    def forms(self, word: str) -> Sequence[str]:
        """A folded word, and what its stem in this language is with each of the `endings`.

        Source: Porter, Snowball: a language for stemming algorithms, 2001.
        """
        if len(word) < _MIN_INFLECTED or not self.endings:
            return [word]
        base = snowball_stem(word, self.name.lower())
        return [word, *(base + ending for ending in sorted(self.endings))]

    @cached_property
    def cut(self) -> re.Pattern[str] | None:
        """The stop words of several characters as a pattern; None where words are spaced."""
        if self.is_spaced:
            return None
        phrases = (phrase for phrase in self.stop_words | self.framing if len(phrase) > 1)
        longest_first = sorted(map(unified, phrases), key=lambda phrase: (-len(phrase), phrase))
        return re.compile("|".join(map(re.escape, longest_first)))

    def _search(self, kind: str, name: str, pattern: str, text: str) -> re.Match[str] | None:
        return self._compiled_pattern(kind, name, pattern).search(text)

    def _compiled_pattern(self, kind: str, name: str, pattern: str) -> re.Pattern[str]:
        key = f"{kind} {name}"
        compiled = self._compiled.get(key)
        if compiled is None:
            # Texts are unified when they are folded.
            bounded = rf"(?<!\w)(?:{pattern})(?!\w)" if self.is_spaced else unified(pattern)
            compiled = self._compiled[key] = re.compile(bounded)
        return compiled


def read_language(
    code: str,
    name: str,
    *,
    stop_words: frozenset[str] = frozenset(),
    is_spaced: bool = True,
    is_capital_a_name: bool = True,
) -> Language:
    """The language whose table is the file of its code; English has its stop words elsewhere."""
    table = read_table(code)

    def words(title: str) -> frozenset[str]:
        return frozenset(table[title].words) if title in table else frozenset()

    def cue(entry: Entry) -> Cue:
        return Cue(entry.pattern, entry.catches[0], entry.must_not_catch[0])

    def topic(line: str) -> tuple[str, tuple[str, tuple[str, ...]]]:
        head, _, listed = line.partition(" = ")
        name, _, pattern = head.partition(": ")
        return name, (pattern, tuple(listed.split()))

    states = {title[6:]: cue(table[title]) for title in table if title.startswith("state ")}
    return Language(
        code,
        name,
        stop_words or words("stop_words"),
        {one: cue(table[one]) for one in CUE_NAMES if one in table},
        cast("Mapping[Attribute, Cue]", states),
        words("marks"),
        words("framing"),
        words("endings"),
        dict(map(topic, table["topics"].lines)) if "topics" in table else {},
        table["others"].pattern if "others" in table else None,
        is_spaced,
        is_capital_a_name,
    )


# States: which attribute a text speaks of, in the languages of the tables, as a number

NO_STATE = 0.0
_MAX_WORDS = 20
_MAX_CHARACTERS = 40  # of a text whose words are not spaced
_EXACT = 1 << 24  # whole numbers below it are exact in single precision


def state_number(attribute: str) -> int:
    """A hash of an attribute in 1 .. 2^24 - 1, the same in every process."""
    digest = blake2b(attribute.encode(), digest_size=4).digest()
    return 1 + int.from_bytes(digest, "big") % (_EXACT - 1)


CHANGE = -1.0
"""Stands for the value that is replaced where a text tells a change and not of what."""


def change_number(stemmed: str, *, is_end: bool = False) -> float:
    """The number of a change, or of the end, of what a word with this stem names; below 0."""
    return -float(state_number(f"{'end' if is_end else 'change'} of {stemmed}"))


def state_said(folded: str, language: Language) -> float:
    """The number of the attribute that a short folded text states, 0 for none.

    Below 0 if the text is not about its speaker.
    """
    length = len(folded.split()) if language.is_spaced else len(folded)
    if length > (_MAX_WORDS if language.is_spaced else _MAX_CHARACTERS):
        return NO_STATE
    state = language.state(folded)
    if state is None:
        return NO_STATE
    number = float(state_number(state[0]))
    return number if language.is_about_speaker(folded) else -number


# Scripts: that of a word, and the share of a text that is not in Latin script

_RANGES = (  # first code point, script; up to the next one
    (0x0000, "latin"),
    (0x0370, "greek"),
    (0x0400, "cyrillic"),
    (0x0530, "armenian"),
    (0x0590, "hebrew"),
    (0x0600, "arabic"),
    (0x0700, "other"),
    (0x0750, "arabic"),
    (0x0780, "other"),
    (0x0900, "devanagari"),
    (0x0980, "bengali"),
    (0x0A00, "other"),
    (0x0B80, "tamil"),
    (0x0C00, "other"),
    (0x0E00, "thai"),
    (0x0E80, "other"),
    (0x10A0, "georgian"),
    (0x1100, "hangul"),
    (0x1200, "other"),
    (0x1780, "khmer"),
    (0x1800, "other"),
    (0x1E00, "latin"),
    (0x1F00, "greek"),
    (0x2000, "latin"),
    (0x2E80, "han"),
    (0x3040, "kana"),
    (0x3100, "han"),
    (0x3130, "hangul"),
    (0x3190, "han"),
    (0x31F0, "kana"),
    (0x3200, "han"),
    (0xAC00, "hangul"),
    (0xD7B0, "other"),
    (0xF900, "han"),
    (0xFB00, "latin"),
    (0xFB1D, "hebrew"),
    (0xFB50, "arabic"),
    (0xFE70, "arabic"),
    (0xFF00, "latin"),
    (0xFF66, "kana"),
    (0xFFA0, "hangul"),
    (0xFFE0, "other"),
    (0x20000, "han"),
    (0x32000, "other"),
)
_STARTS = tuple(start for start, _ in _RANGES)
SCRIPTS = ("latin", *sorted({script for _, script in _RANGES} - {"latin"}))
"""The scripts that are distinguished; their places are stored, so add a new one at the end."""
_PLACE_OF = {script: place for place, script in enumerate(SCRIPTS)}
LATIN = (0, 0.0)
"""The `writing` of a text in Latin script."""


def script_of(word: str) -> str:
    """The script of a word's first character; a figure counts as Latin."""
    return _RANGES[bisect_right(_STARTS, ord(word[0])) - 1][1]


def writing(words: Sequence[str]) -> tuple[int, float]:
    """The other script of a text beside Latin, and the share of words not in Latin.

    The script is its place in `SCRIPTS`: the most frequent one that is not Latin. A figure is no
    word.
    """
    counts = Counter(script_of(word) for word in words if not word.isdecimal())
    total, latin = counts.total(), counts.pop("latin", 0)
    if not counts:
        return LATIN
    most = min(counts, key=lambda script: (-counts[script], _PLACE_OF[script]))
    return _PLACE_OF[most], (total - latin) / total

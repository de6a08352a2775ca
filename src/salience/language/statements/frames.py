"""Frames: the wordings of an attribute, read from a file for each language (`language/frames`).

`gone` patterns find what somebody no longer has: `old` belonged to the person the text is about,
`was` to the speaker. `[terms]` are parts that patterns include as `{name}`. `[[frames]]` are
matched in turn against a whole sentence. Each has the `attribute` that it states, its patterns
(`told`), the words of which a sentence needs one (`cues`), and an `example` with its reading
(subject with attribute, value). The groups of a pattern are `who` has the attribute, `what` else
belongs to its name, and the `value`. Accents in patterns do not matter; `[spellings]` give values
and names one spelling.

`count` says how many values one person has: `"one"`; `"mostly"` one, which a later value replaces
for questions without contradicting it; or `"many"`, each an attribute of its own. Frames of
`kind = "general"` are tried last.

The reader itself knows these terms, the first five as whole words:

- `speaker`: never part of a subject or of an attribute's name
- `article`: removed where a value begins with it
- `clause`: never in a value or a subject
- `several`: nouns for what people have several of
- `unsure`: marks a sentence that only may be true, or was true
- `conjunction`, `pronoun`: what joins two clauses, and the subject that the second may lack
- `denied`, `denials`: what shows that a sentence denies something, and what is then removed
- `inverted`: a verb before its subject, as two groups
- `speaks`: the end of the text before a verb of the speaker
- `ending`: of nouns that name the same attribute with and without it
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from salience.language.statements.values import Reading, is_country
from salience.language.tokens import fold, stem, unified, words
from salience.lazily import dataclass, regex

Count = Literal["one", "mostly", "many"]
CHOICE = "choice"
"""The part of a value beside which another one may hold."""
_TERM = regex(r"\{([a-z_]+)\}")
_NEVER = "(?!)"
_WHOLE_WORDS = ("speaker", "article", "clause", "several", "unsure")
_PATTERNS = ("denied", "denials", "inverted", "ending", "speaks")
_CLAUSES = (  # a comma before a digit stands in a figure
    r"(?P<first>(?:(?P<who>{pronoun}) )?(?:[^,\uff0c]|,(?=\d))*?)"
    r"(?:(?:,(?!\d)|[;\uff0c\uff1b]) *(?:(?:{conjunction}) )?| (?:{conjunction}) )(?P<last>.+?)"
)
_ACCENTS = regex("[\u0300-\u0305\u0307\u0309-\u036f]|(?<!\u0438)\u0306|\u0308")


@dataclass(frozen=True)
class Frame:
    """A wording of an attribute, and an example of it with what it reads."""

    attribute: str
    told: tuple[str, ...]
    cues: frozenset[str]
    count: Count
    part: str
    is_general: bool
    example: tuple[str, str, str]


@dataclass(frozen=True)
class Frames:
    """The frames of a language, in the order of trial, and its terms.

    `is_head_first` says that the first word of a value names it ("Seat rojo"), `needs_subject` that
    no verb goes without one.
    """

    frames: tuple[Frame, ...]
    gone: tuple[str, ...]
    terms: Mapping[str, re.Pattern[str]]
    clauses: re.Pattern[str]
    is_spaced: bool
    is_head_first: bool
    subject: re.Pattern[str]
    needs_subject: bool
    spellings: Mapping[str, str]

    def read(self, sentence: str, *, general: bool = False) -> Reading | None:
        """The subject, the attribute and its value that a sentence or one of its clauses states."""
        plain = without_accents(sentence)
        cued = self._cued(plain, general)
        if not cued or self.terms["unsure"].search(plain.lower()):
            return None
        reading = self._read(plain, cued)
        parts = None if reading or general else self.clauses.fullmatch(plain)
        if parts is None:
            return reading
        clauses = [f"{parts['who']} {parts['last']}"] if parts["who"] else []
        clauses += [parts["last"], parts["first"]]
        return next(filter(None, (self._read(clause, cued) for clause in clauses)), None)

    def undenied(self, sentence: str) -> tuple[str, bool]:
        """A sentence without its denial, and whether it has one."""
        plain = without_accents(sentence)
        if self.terms["denied"].search(plain) is None:
            return sentence, False
        return " ".join(self.terms["denials"].sub("", plain).split()), True

    def person(self, text: str) -> str | None:
        """The stems of the person that a text is about, "" for the speaker; None if it names none.

        In a language that needs no pronoun, a text that names nobody is about the speaker.
        """
        subject = self.subject.match(without_accents(text))
        if subject is None:
            return None if self.needs_subject else ""
        return self._noun_stems(fold(subject["who"]))

    def given_up(self, low: str, text: str) -> tuple[str, str | None] | None:
        """The value that somebody no longer has, and their `person`; `low` is the text, folded."""
        matches = (_compiled(pattern).search(low) for pattern in self.gone)
        match = next(filter(None, matches), None)
        if match is None:
            return None
        [(how, value)] = [(name, said) for name, said in match.groupdict().items() if said]
        before = low[: match.start()]  # "" in "Sold the Fiat."
        is_speaker = how == "was" or not before or self.terms["speaks"].search(before) is not None
        return value, "" if is_speaker else self.person(text)

    def names_several(self, noun: str) -> bool:
        """Test whether people have several of what a noun names."""
        several = self.terms["several"].finditer(noun)
        # "My son's best friend" is one, as is "the brother's wife".
        return any(at.end() == len(noun) or self.is_head_first for at in several)

    def _cued(self, plain: str, general: bool) -> list[Frame]:
        """The frames that a sentence has a cue for."""
        tokens = words(plain) if self.is_spaced else [cue for cue in self._places if cue in plain]
        cued = {place for cue in self._places.keys() & set(tokens) for place in self._places[cue]}
        return [self.frames[at] for at in sorted(cued) if self.frames[at].is_general == general]

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        """The places of the frames by their cues."""
        places: dict[str, list[int]] = {}
        for place, frame in enumerate(self.frames):
            for cue in frame.cues:
                places.setdefault(cue, []).append(place)
        return places

    def _read(self, clause: str, frames: Sequence[Frame]) -> Reading | None:
        plain = self.terms["inverted"].sub(lambda at: f"{at[2]} {at[1].lower()}", clause)
        for frame in frames:
            for pattern in frame.told:
                match = _compiled(pattern).fullmatch(plain)
                reading = None if match is None else self._reading(frame, match)
                if reading is not None:
                    return reading
        return None

    def _reading(self, frame: Frame, match: re.Match[str]) -> Reading | None:
        parts = {name: fold(text or "") for name, text in match.groupdict().items()}
        value, what = self._value(parts["value"]), parts.get("what", "")
        who = self.terms["speaker"].sub(" ", parts.get("who", ""))
        clause = self.terms["clause"]
        if not value or any(map(clause.search, (parts["value"], who, what))):
            return None
        if self.names_several(what):
            return None
        noun = self.terms["ending"].sub("", self.terms["speaker"].sub(" ", what))
        attribute = f"{frame.attribute} {self._noun_stems(noun)}".strip()
        if frame.count == "many":
            attribute = f"{attribute} {self._noun_stems(value)}"
        return self._noun_stems(who), attribute, {self._part(frame, value): value.replace(",", "")}

    @staticmethod
    def _part(frame: Frame, value: str) -> str:
        if frame.part == "place":
            return "country" if is_country(value.partition(",")[0]) else "town"
        return CHOICE if frame.count == "mostly" else frame.part

    def _value(self, text: str) -> str:
        """A value without the articles that it begins with."""
        article = self.terms["article"].match(text)
        while article is not None and article.end():
            text = text[article.end() :]
            article = self.terms["article"].match(text)
        return self._spelled(text.strip(" ,."))

    def _spelled(self, text: str) -> str:
        return " ".join(self.spellings.get(word, word) for word in text.split())

    def _noun_stems(self, phrase: str) -> str:
        """The stems of a noun phrase without its owner, in alphabetical order."""
        bare = self.terms["speaker"].sub(" ", phrase)
        tokens = words(self._spelled(bare)) if self.is_spaced else bare.split()
        return " ".join(sorted({*map(stem, tokens)}))


@cache
def frames_of(code: str) -> Frames:
    """The frames of the language with a code (ISO 639-1)."""
    table = _table(code)
    texts = {name: text for name, text in table["terms"].items() if isinstance(text, str)}
    is_spaced = table["terms"].get("is_spaced", True)
    is_head_first = table["terms"].get("head_first", False)
    needs_subject = table["terms"].get("needs_subject", False)
    terms = {name: _filled(text, texts) for name, text in texts.items()}
    patterns = {name: re.compile(terms.get(name, _NEVER)) for name in _PATTERNS}
    for name in _WHOLE_WORDS:
        term = terms.get(name, _NEVER)
        patterns[name] = re.compile(rf"\b(?:{term})\b\s*" if is_spaced else f"(?:{term})")
    clauses = _CLAUSES.format_map({"pronoun": _NEVER, "conjunction": _NEVER, **terms})
    frames = tuple(_frame(each, terms) for each in table["frames"])
    names = ("pronoun", "proper") if needs_subject else ("pronoun",)
    subject = "|".join(terms.get(name, _NEVER) for name in names)
    return Frames(
        frames,
        tuple(_filled(pattern, terms) for pattern in table["gone"]),
        patterns,
        re.compile(clauses),
        is_spaced,
        is_head_first,
        re.compile(rf"(?:[^,]{{0,25}}, )?(?P<who>{subject})" + (r"(?![\w-])" if is_spaced else "")),
        needs_subject,
        table.get("spellings", {}),
    )


@cache
def cues_of(code: str) -> frozenset[str]:
    """The cues of all frames of a language, read without compiling a pattern."""
    return frozenset().union(*(fold(listed["cues"]).split() for listed in _table(code)["frames"]))


@cache
def _table(code: str) -> Mapping[str, Any]:
    import tomllib  # read for the first fact

    listed = Path(__file__).parents[1].joinpath("frames", f"{code}.toml")
    return tomllib.loads(listed.read_text("utf-8"))


def _frame(listed: Mapping[str, Any], terms: Mapping[str, str]) -> Frame:
    return Frame(
        listed["attribute"],
        tuple(_filled(pattern, terms) for pattern in listed["told"]),
        frozenset(fold(listed["cues"]).split()),
        listed.get("count", "one"),
        listed.get("part", "value"),
        listed.get("kind") == "general",
        tuple(listed["example"]),
    )


def _filled(pattern: str, terms: Mapping[str, str]) -> str:
    """A pattern with its terms in place of their names, without accents."""
    while _TERM.search(pattern):
        pattern = _TERM.sub(lambda name: terms[name[1]], pattern)
    return without_accents(pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def without_accents(text: str) -> str:
    """A text in its own letters, capital or not, without accents, in simplified characters."""
    if text.isascii():
        return text
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", unified(text)))
    return unicodedata.normalize("NFC", bare)

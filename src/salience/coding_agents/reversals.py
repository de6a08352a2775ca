"""Reversals: a statement that rejects what an older one takes, or takes what that rejects.

They are read off the wording, so a statement reverses another only if both name the same thing in
the same words, and the newer one does not hold somewhere else alone. The rules know English.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from salience.coding_agents.recall import STANDING
from salience.coding_agents.statements import substance
from salience.engine.memory import Memory
from salience.language.tokens import stem, words
from salience.lazily import dataclass, regex
from salience.records.record import MemoryRecord

_MOST_COMPARED = 1_000  # the newest memories
_SENTENCE = regex(r"^.+?(?=[.!?](?:\s|$)|\s\(|,? \b(?:because|since|so that|otherwise)\b|$)", re.S)
_BREAK = regex(
    r"([;:()]|,(?! (?:for|in|inside|on|under|when|with)\b)|\s-\s|—"
    r"|\b(?:instead of|rather than|in place of|do not|don't|no longer|no more|no(?= \w)|not|never"
    r"|stop|quit|avoid|and|but|instead|rather|then)\b)"
)
_NEUTRAL = frozenset(("and", "but", "instead", "rather", "then", *",;:()-—"))
_REWORDINGS = (
    (
        regex(r"\b(?:chang|migrat|mov|switch)\w*(?: away)? from (.+?) to (.+)"),
        r"use \2, not \1",
    ),
    (regex(r"\bprefer (.+?) (?:over|to) (.+)"), r"use \1, not \2"),
)
_PREPOSITION = r"(?:at|from|in|into|on|to|under|with)\b"
_HEAD = regex(rf"^\s*(?:{_PREPOSITION})?.*?(?=\b{_PREPOSITION}|$)", re.S)
_PURPOSE = regex(r"\bfor (?!our |that |the |these |this |those |your ).*")
_MEANS = regex(
    r".*?\b(?:with|(?:live|lives|go|goes|belong|belongs|kept|stored|put|keep) .*?\b(?:in|under))\b"
)
_PLACE = r"(?:for|in|inside|on|under|within)"
_OPENING_PLACE = regex(
    rf"^{_PLACE} (.+?)(?:,| (?=(?:we|you|use|prefer|avoid|always|never|do not|don't)\b))"
)
_CLOSING_PLACE = regex(rf"^(.*?),? \b{_PLACE} (.+)$", re.S)
_ANYWHERE = frozenset(
    "a adopt all any base code codebase each every everyone everywhere follow here migrate move "
    "our please project repo repository stuff switch that the these this those we you".split()
)


@dataclass(frozen=True)
class Choice:
    """Choice of a statement: the stems of each thing that it takes, and of each that it rejects.

    `place` are the stems of where, or for what, it holds; none if it holds everywhere.
    """

    taken: frozenset[frozenset[str]]
    rejected: frozenset[frozenset[str]]
    place: frozenset[str] = frozenset()

    def reverses(self, older: Choice) -> bool:
        """Test whether this takes what the older one rejects, or rejects what that takes."""
        if self.place and self.place != older.place:
            return False
        return bool(self.taken & older.rejected or self.rejected & older.taken)


def choice_of(text: str) -> Choice:
    """Read what the first sentence of a statement takes and rejects."""
    plain = text.strip().lower().replace("\u2019", "'")
    for pattern, reworded in _REWORDINGS:
        plain = pattern.sub(reworded, plain)
    match = _SENTENCE.match(plain)
    sentence = match[0] if match else ""
    opening = _OPENING_PLACE.match(sentence)
    clauses = _BREAK.split(sentence[opening.end() :] if opening else sentence)
    taken: set[frozenset[str]] = set()
    rejected: set[frozenset[str]] = set()
    is_denied = False
    for number, part in enumerate(clauses):
        if number % 2:  # what parts the clauses
            is_denied = part.strip() not in _NEUTRAL
        elif not is_denied:
            taken.update(_things(part))
        elif (head := _HEAD.match(part)) and substance(head[0]):  # none of "any in tests"
            rejected.update(_things(part))
    place = _stems(words(opening[1]) if opening else _closing_place(clauses[-1]))
    return Choice(frozenset(taken), frozenset(rejected - taken), place)


def _closing_place(clause: str) -> Iterable[str]:
    """The words of where the last clause of a sentence says that it holds."""
    closing = _CLOSING_PLACE.match(clause)
    if closing is None or not substance(closing[1]) or _MEANS.match(clause):
        return ()
    return words(closing[2])


def _stems(names: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(name) for name in names if name not in _ANYWHERE)


def supersede_reversed(memory: Memory, new: Collection[str]) -> None:
    """Let new memories take the place of the older ones that they reverse.

    What an assistant says takes the place of nothing that a user said.
    """
    newest_first = memory.get_all(STANDING, limit=_MOST_COMPARED)
    choices: list[tuple[MemoryRecord, Choice]] = []
    for record in reversed(list(newest_first)):
        choice = choice_of(record.content)
        if record.id in new:
            obsolete = [
                older.id
                for older, other in choices
                if choice.reverses(other) and (record.speaker == "user" or older.speaker != "user")
            ]
            for id in obsolete:
                memory.supersede(id, record.id)
            choices = [each for each in choices if each[0].id not in obsolete]
        choices.append((record, choice))


def _things(clause: str) -> Iterator[frozenset[str]]:
    """A clause as the thing it names: whole, without what it is for, and only the means."""
    for text in (clause, _PURPOSE.sub("", clause), _MEANS.sub("", clause)):
        if thing := _stems(substance(text)):
            yield thing

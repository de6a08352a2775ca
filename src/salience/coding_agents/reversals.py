"""Reversals: a statement that rejects what an older one takes, or takes what that rejects.

They are read off the wording, so a statement reverses another only if both name the same thing in
the same words. The rules know English.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from salience.coding_agents.recall import STANDING
from salience.coding_agents.statements import substance
from salience.engine.memory import Memory
from salience.language.tokens import stem
from salience.records.record import MemoryRecord

_MOST_COMPARED = 1_000  # the newest memories
_SENTENCE = re.compile(
    r"^.+?(?=[.!?](?:\s|$)|\s\(|,? \b(?:because|since|so that|otherwise)\b|$)", re.S
)
_BREAK = re.compile(
    r"([;:()]|,(?! (?:for|in|inside|on|under|when|with)\b)|\s-\s|—"
    r"|\b(?:instead of|rather than|in place of|do not|don't|no longer|no more|no(?= \w)|not|never"
    r"|stop|quit|avoid|and|but|instead|rather|then)\b)"
)
_NEUTRAL = frozenset(("and", "but", "instead", "rather", "then", *",;:()-—"))
_REWORDINGS = (
    (
        re.compile(r"\b(?:chang|migrat|mov|switch)\w*(?: away)? from (.+?) to (.+)"),
        r"use \2, not \1",
    ),
    (re.compile(r"\bprefer (.+?) (?:over|to) (.+)"), r"use \1, not \2"),
)
_PREPOSITION = r"(?:at|from|in|into|on|to|under|with)\b"
_HEAD = re.compile(rf"^\s*(?:{_PREPOSITION})?.*?(?=\b{_PREPOSITION}|$)", re.S)
_PURPOSE = re.compile(r"\bfor (?!our |that |the |these |this |those |your ).*")
_MEANS = re.compile(
    r".*?\b(?:with|(?:live|lives|go|goes|belong|belongs|kept|stored|put|keep) .*?\b(?:in|under))\b"
)
_ANYWHERE = frozenset(
    "adopt base code codebase everyone everywhere follow here migrate move our please project "
    "repo repository stuff switch we you".split()
)


@dataclass(frozen=True)
class Choice:
    """Choice of a statement: the stems of each thing that it takes, and of each that it rejects."""

    taken: frozenset[frozenset[str]]
    rejected: frozenset[frozenset[str]]

    def reverses(self, older: Choice) -> bool:
        """Test whether this takes what the older one rejects, or rejects what that takes."""
        return bool(self.taken & older.rejected or self.rejected & older.taken)


def choice_of(text: str) -> Choice:
    """Read what the first sentence of a statement takes and rejects."""
    plain = text.strip().lower().replace("\u2019", "'")
    for pattern, words in _REWORDINGS:
        plain = pattern.sub(words, plain)
    sentence = _SENTENCE.match(plain)
    taken: set[frozenset[str]] = set()
    rejected: set[frozenset[str]] = set()
    is_denied = False
    for place, part in enumerate(_BREAK.split(sentence[0]) if sentence else ()):
        if place % 2:  # what parts the clauses
            is_denied = part.strip() not in _NEUTRAL
        elif not is_denied:
            taken.update(_things(part))
        elif (head := _HEAD.match(part)) and substance(head[0]):  # none of "any in tests"
            rejected.update(_things(part))
    return Choice(frozenset(taken), frozenset(rejected - taken))


def supersede_reversed(memory: Memory, new: Collection[str]) -> None:
    """Let new memories take the place of the older ones that they reverse.

    What an assistant says takes the place of nothing that a user said.
    """
    newest_first = memory.get_all(STANDING, limit=_MOST_COMPARED)
    read: list[tuple[MemoryRecord, Choice]] = []
    for record in reversed(list(newest_first)):
        choice = choice_of(record.content)
        if record.id in new:
            obsolete = [
                older.id
                for older, other in read
                if choice.reverses(other) and (record.speaker == "user" or older.speaker != "user")
            ]
            for id in obsolete:
                memory.supersede(id, record.id)
            read = [each for each in read if each[0].id not in obsolete]
        read.append((record, choice))


def _things(clause: str) -> Iterator[frozenset[str]]:
    """A clause as the thing it names: whole, without what it is for, and only the means."""
    for words in (clause, _PURPOSE.sub("", clause), _MEANS.sub("", clause)):
        if thing := frozenset(map(stem, substance(words) - _ANYWHERE)):
            yield thing

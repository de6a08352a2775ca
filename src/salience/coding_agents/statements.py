"""Statements of a conversation that are kept: sentences as they are read, able to stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, cast

from salience.coding_agents.transcripts import Turn
from salience.language.english import STOP_WORDS
from salience.language.reader import Reading, read
from salience.language.secrets import secret_in
from salience.language.tokens import words
from salience.lazily import dataclass, regex

Kind = Literal["correction", "convention", "decision", "finding"]
Speaker = Literal["user", "assistant"]
KEPT = 0.45
"""The least probability with which a sentence is kept."""
_IN_EARNEST = ("told", "planned", "ordered")

_MIN_BYTES, _MAX_CHARACTERS = 8, 400  # of a sentence; some scripts say much in a few characters
_MAX_PER_TURN = 12
_MAX_TURN_CHARACTERS = 6_000  # of a longer turn, which quotes something, both ends are read
_MAX_CONTEXT_CHARACTERS = 160
_MIN_SUBSTANCE = 2  # words of its own that a statement needs if it may refer to its context

_FENCED = regex(r"^[ \t]*(```|~~~).*?^[ \t]*\1[^\n]*$", re.S | re.M)
_PASTED = regex(  # quotations, tables, diffs, traces, logs, prompts of a shell, markup
    r"^\s*(?:>|\||\+{1,3}[ \w<{/@]|-{1,3}(?=[\w<{/@])|@@|\$ |at \S+ ?\(|File \"|Traceback"
    r"|\d{4}-\d\d-\d\d[T ]\d|\[\d|\w+Error:|(?i:error|warning|info|debug|fatal)\b[: \[]|<\/?\w|#!"
    r"|import |from \w+ import )"
)
_BULLET = regex(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_SENTENCE_END = regex(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)[\"')`]*\s+|(?<=[。！？])"
)
_CLAUSE_END = regex(r"[,;:]\s+|\s[-–—]+\s")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u2013", "''\"\"-")
_REQUEST = regex(
    r"^(?:(?:hey|please|and|also|ok|so)[, ]+)*(?:can|could|would|will) you (?:please )?", re.I
)
_FILLER = regex(
    r"^(?:(?:no|nope|nah|wrong|wait|actually|ok|okay|yes|yeah|yep|sure|right|great|perfect|cool"
    r"|thanks|thank you|hmm?|oh|ah|well|not quite|that's (?:wrong|not right"
    r"|incorrect))\s*[,.!:;-]+\s*|(?:hey|also|and|but|so|well|please|just|btw|by the way|ok"
    r"|okay)\b,?\s+)+",
    re.I,
)
_REASON = regex(  # the beginning of a sentence that says why
    r"^(?:because|since|otherwise|that way|the reason|this (?:avoids|keeps|prevents|makes|way)"
    r"|so that|it(?:'s| is) because)\b"
)
_OPENERS = regex(r"^(?:no|nope|nah|wrong|stop|wait|not quite|that's (?:wrong|not right))[.!]*$")
_CHOICE = regex(r"\b(?:option|approach|variant|choice|plan) ([a-d])\b|\b(\d)\b", re.I)
_REFERRING = regex(r"\b(?:it|that|this|those|these|them|one|ones)\b", re.I)
_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "last": -1,
    "latter": -1,
    "former": 1,
}
_VAGUE = STOP_WORDS | frozenset(
    """
    a approach b call choice convention decision d decided do fine from future go good idea
    instead it kept keep let lets make more next no number now ok okay on one option please
    plan prefer proposal rather really recommendation same solution stay stick suggested
    suggestion that thing things this time use using variant version want way what yes you
    your always never run write add put remember note stop keep work first second third
    fourth last latter former other settle agree agreed""".split()
)
"""Words that say nothing about what to do."""


@dataclass(frozen=True)
class Statement:
    """A statement to keep: its kind and text, the role and the turn that said it, how surely."""

    kind: Kind
    text: str
    speaker: Speaker
    turn: int
    probability: float


def statements(turns: Sequence[Turn], first: int = 0) -> Iterator[Statement]:
    """The statements of the turns from an index on; those before it give the context.

    The `turn` of a statement is the index of its turn.
    """
    answer = ""  # by the assistant, since the user spoke
    commands: tuple[str, ...] = ()
    for index, turn in enumerate(turns):
        if index >= first and turn.text:
            context = _Context(answer, commands) if turn.role == "user" else _Context("", ())
            for reading, text in islice(_kept_sentences(turn, context), _MAX_PER_TURN):
                kind = cast("Kind", reading.kept)
                yield Statement(kind, text, turn.role, index, round(reading.keep, 3))
        if turn.role == "user" and turn.text:
            answer, commands = "", ()
        else:
            answer, commands = f"{answer}\n{turn.text}".strip(), (*commands, *turn.commands)


@dataclass(frozen=True)
class _Context:
    """The words and commands of the assistant right before."""

    said: str
    commands: tuple[str, ...]

    def option(self, text: str) -> str | None:
        """The line of the option that a text chooses, None if it chooses none."""
        lines = self.said.splitlines()
        listed = [
            line
            for line in lines
            if re.match(r"^\W*(?:option |approach )?(?:\d|[a-d])[.):\s]", line, re.I)
        ]
        listed = listed or [line for line in lines if _BULLET.match(line)]
        for word in words(text):
            if word in _ORDINALS and listed:
                place = _ORDINALS[word]
                return listed[place - (place > 0)] if abs(place) <= len(listed) else None
        for choice in _CHOICE.finditer(text):
            name = regex(
                rf"^\W*(?:option |approach )?{re.escape(choice[1] or choice[2])}[.):\s]", re.I
            )
            if line := next((line for line in lines if name.match(line)), None):
                return line
        return None

    def last(self, kind: Kind) -> str | None:
        """The thing a short answer refers to: a command it corrects, else the last sentence."""
        if kind == "correction" and self.commands:
            return f"`{self.commands[-1]}`"
        sentences = [each for line in _lines(self.said) for each in _sentences(line)]
        return sentences[-1] if sentences else None


def _kept_sentences(turn: Turn, context: _Context) -> Iterator[tuple[Reading, str]]:
    """The reading and the text of each statement of a turn that is kept."""
    opener = heading = ""  # a "no" that stands alone, and the line above a list
    for line in _lines(_both_ends(turn.text)):
        if line.rstrip().endswith(":"):
            heading = _plain(line)
            continue
        bullet = _BULLET.match(line)
        heading = heading if bullet else ""
        sentences = list(_sentences(line[bullet.end() :] if bullet else line))
        readings = read([_plain(each) for each in sentences], [heading] * len(sentences))
        reason = ""
        for place, (sentence, reading) in enumerate(zip(sentences, readings, strict=True)):
            if sentence == reason:
                continue
            if _OPENERS.match(_plain(sentence)):
                opener = f"{sentence.rstrip('.!')}, "
                continue
            if opener:
                [reading], opener = read([_plain(opener + sentence)]), ""
            if reading.force == "forget":  # what holds from now on may be said after it
                sentence = _CLAUSE_END.split(sentence)[-1]
                [reading] = read([_plain(sentence)])
            if not _is_kept(sentence, reading, turn.role):
                continue
            if place + 1 < len(sentences) and _REASON.search(_plain(sentences[place + 1])):
                reason = sentences[place + 1]
                sentence = f"{sentence} {reason}"
            if alone := _standing_alone(sentence, cast("Kind", reading.kept), context):
                yield reading, alone


def _is_kept(sentence: str, reading: Reading, speaker: Speaker) -> bool:
    plain = _plain(sentence)
    if len(plain.encode()) < _MIN_BYTES or len(plain) > _MAX_CHARACTERS or secret_in(sentence):
        return False
    if plain.endswith(("?", "\uff1f")) and not _REQUEST.match(plain):
        return False
    if speaker == "assistant" and reading.kept != "finding":  # it lays down no rules
        return False
    return reading.keep >= KEPT and reading.force in _IN_EARNEST


def _standing_alone(sentence: str, kind: Kind, context: _Context) -> str | None:
    """The sentence, with what it refers to where it says too little itself; None without that."""
    text = _FILLER.sub("", sentence).strip() or sentence
    if request := _REQUEST.match(text):
        text = text[request.end() :].rstrip("?")
    content = substance(text)
    refers = kind != "convention" or _REFERRING.search(text) is not None
    if len(content) >= (_MIN_SUBSTANCE if refers else 1):
        return text
    if chosen := context.option(text):
        return f"{text} ({_shortened(_BULLET.sub('', chosen))})"
    before = context.last(kind)
    if before is None or len(substance(before)) < _MIN_SUBSTANCE or secret_in(before):
        return text if content else None
    return f"{text} (Said after: {_shortened(before)})"


def substance(text: str) -> set[str]:
    """The words of a text that say what it is about."""
    return {word for word in words(text) if word not in _VAGUE and not word.isdigit()}


def _lines(text: str) -> list[str]:
    """The lines that somebody wrote, without code and what was pasted."""
    return [
        line
        for line in _FENCED.sub("\n", text).splitlines()
        if line.strip() and not _PASTED.match(line)
    ]


def _sentences(line: str) -> list[str]:
    return [sentence for part in _SENTENCE_END.split(line) if (sentence := part.strip())]


def _plain(text: str) -> str:
    """The text as it is read."""
    return " ".join(text.translate(_QUOTES).lower().replace("**", "").split())


def _both_ends(text: str) -> str:
    half = _MAX_TURN_CHARACTERS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n\n{text[-half:]}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return (
        line if len(line) <= _MAX_CONTEXT_CHARACTERS else f"{line[: _MAX_CONTEXT_CHARACTERS - 1]}…"
    )

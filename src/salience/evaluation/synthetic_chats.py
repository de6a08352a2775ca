"""Synthetic conversations for measuring speed: any number of texts, shaped like real ones.

Lengths, word frequencies (Zipf) and the growth of the vocabulary (Heaps) follow those of chat;
the turns of one session share a topic. The texts mean nothing, so they say nothing about the
quality of recall.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.cues import read_table
from salience.lazily import regex

_TABLE = read_table("chat_words", Path(__file__).parent)
WEEKDAYS, MONTHS, NAMES, CITIES, NOUNS, VERBS, ADJECTIVES, ADVERBS, DETERMINERS = (
    _TABLE[name].words
    for name in (
        *("weekdays", "months", "names", "cities", "nouns", "verbs", "adjectives", "adverbs"),
        "determiners",
    )
)
OPENERS, CORES, TAILS, ENDS = (
    tuple(line[1:-1] for line in _TABLE[name].lines)
    for name in ("openers", "cores", "tails", "ends")
)

Ints = NDArray[np.int64]
Objects = NDArray[np.object_]
Random = np.random.Generator

_START = datetime(2024, 1, 1, tzinfo=UTC)
_SPAN = 2 * 365 * 86_400
_SPEAKERS = 40
_BATCH = 100  # sessions generated at once
_SENTENCES = 10  # drawn for each text, which is cut to its length
_MIN_WORDS, _MAX_WORDS = 8, 60  # of a text
_TOPIC_NOUNS = 6  # that recur in a session
_SLOTS = "oPSXxCnNvdgjaMKDWTI"


def realistic(n: int, *, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield `n` synthetic conversation turns, ready for `Memory.add_many`.

    The same seed gives the same texts, and the texts for a smaller `n` are the first of those for a
    larger one; only the times differ, because they always spread over two years.
    """
    rng = np.random.default_rng(seed)
    count = 0
    while count < n:
        batch = list(islice(_batch(rng, count, n), n - count))
        yield from batch
        count += len(batch)


def queries(n: int, items: Sequence[Mapping[str, Any]], *, seed: int = 0) -> list[str]:
    """`n` questions, each about an item of `items` chosen at random.

    A question names a person and two to five content words of the item, and at times its month.
    """
    if not items:
        return []
    rng = np.random.default_rng(seed)
    return [_question(rng, items[at]) for at in rng.integers(len(items), size=n)]


# Words


def _plural(noun: str) -> str:
    if noun[-1] == "y" and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _past(verb: str) -> str:
    if verb[-1] == "y" and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb[-1] == "e" else "ed")


def _gerund(verb: str) -> str:
    return (verb[:-1] if verb[-1] == "e" and verb[-2] not in "eo" else verb) + "ing"


def _objects(values: Sequence[str]) -> Objects:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


_LISTS: dict[str, Objects] = {
    "o": _objects(DETERMINERS),
    "P": _objects(NAMES),
    "C": _objects(CITIES),
    "n": _objects(NOUNS),
    "N": _objects([_plural(noun) for noun in NOUNS]),
    "v": _objects(VERBS),
    "d": _objects([_past(verb) for verb in VERBS]),
    "g": _objects([_gerund(verb) for verb in VERBS]),
    "j": _objects(ADJECTIVES),
    "a": _objects(ADVERBS),
    "W": _objects(WEEKDAYS),
}
_PREFIXES = ("INV", "TK", "PR", "REQ", "ORD")
_SYLLABLES: list[str] = [
    onset + vowel + coda
    for onset in [*"bdfghklmnprstvz", "br", "dr", "kr", "st", "tr"]
    for vowel in [*"aeiou", "ai", "ei", "ou"]
    for coda in ["", *"lnrsmtvx", "nd", "rk", "sh"]
]


@lru_cache(maxsize=200_000)
def _invented(number: int) -> str:
    """The pronounceable word of a number; two numbers seldom share one."""
    base = len(_SYLLABLES)
    # A multiplier prime to the base scatters neighbours over the alphabet.
    size = base * base if number < base * base else base * base * base
    rest, last = divmod(number * 1_000_003 % size, base)
    middle, first = divmod(rest, base)
    return _SYLLABLES[first] + (_SYLLABLES[middle] if middle else "") + _SYLLABLES[last]


def _proper(number: int) -> str:
    return _invented(2 * number).capitalize()


def _common(number: int) -> str:
    return _invented(2 * number + 1)


@cache
def _cumulated(size: int) -> NDArray[np.float64]:
    weights = 1.0 / (np.arange(size) + 8.0)
    return np.cumsum(weights / weights.sum())


def _ranks(rng: Random, count: int, size: int) -> Ints:
    """Ranks below `size`, as frequent as Zipf's law has it."""
    return np.searchsorted(_cumulated(size), rng.random(count)).clip(max=size - 1)


def _rare(rng: Random, count: int) -> Ints:
    """Ranks without an end, of so heavy a tail that new ones never cease to come."""
    return np.minimum(rng.random(count) ** -3.3, 3e9).astype(np.int64)


# Sentences


class _Frames:
    """Phrases cut into pieces: a literal is its place in `literals`, slot k is -1 - k."""

    def __init__(self, *groups: Sequence[str]) -> None:
        literals: dict[str, int] = {}
        codes: list[int] = []
        starts: list[int] = [0]
        words: list[int] = []
        self.first: list[int] = []
        for group in groups:
            self.first.append(len(words))
            for phrase in group:
                for piece in re.findall(r"\{\w\}|[^{]+", phrase):
                    if piece[0] == "{":
                        codes.append(-1 - _SLOTS.index(piece[1]))
                    else:
                        codes.append(literals.setdefault(piece, len(literals)))
                starts.append(len(codes))
                # Two slots give two words each: a name with its surname, and a date.
                plain = re.sub(r"\{[SD]\}", "two words", phrase).split()
                words.append(sum(any(map(str.isalnum, word)) for word in plain))
        self.literals = _objects(list(literals))
        self.codes = np.array(codes)
        self.starts = np.array(starts)
        self.words = np.array(words)

    def flat(self, phrases: Ints) -> tuple[Ints, Ints]:
        """The pieces of the phrases one after another, and how many each phrase has."""
        sizes = self.starts[phrases + 1] - self.starts[phrases]
        before = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) + np.repeat(self.starts[phrases] - before, sizes)
        return self.codes[places], sizes


_CAPITAL_CORES = tuple(core[0].upper() + core[1:] for core in CORES)
_FRAMES = _Frames(OPENERS, CORES, _CAPITAL_CORES, TAILS, ENDS)


def _sentences(rng: Random, texts: int) -> tuple[Ints, Ints]:
    """The phrases of the texts one after another, four to a sentence, and each text's sentences."""
    shape = (texts, _SENTENCES)
    opener, core, capital, tail, end = _FRAMES.first
    openers = opener + rng.integers(len(OPENERS), size=shape)
    silent = _FRAMES.words[openers] == 0
    cores = rng.integers(len(CORES), size=shape) + np.where(silent, capital, core)
    tails = tail + rng.integers(len(TAILS), size=shape)
    ends = end + rng.integers(len(ENDS), size=shape)
    phrases = np.stack([openers, cores, tails, ends], axis=2)
    length = _FRAMES.words[phrases].sum(axis=2).cumsum(axis=1)
    target = np.exp(rng.normal(np.log(15), 0.6, texts)).clip(_MIN_WORDS, _MAX_WORDS - 8)
    counts = 1 + (length < target[:, None]).sum(axis=1)
    counts -= length[np.arange(texts), counts - 1] > _MAX_WORDS
    return phrases[np.arange(_SENTENCES) < counts[:, None]].ravel(), counts


def _slot(slot: str, rng: Random, count: int) -> Objects:
    """`count` words for a slot that knows nothing of the session it is in."""
    if slot in _LISTS:
        words = _LISTS[slot]
        return words[_ranks(rng, count, len(words))]
    if slot == "S":
        names = _LISTS["P"][_ranks(rng, count, len(NAMES))]
        coined = _rare(rng, count).tolist()
        return _objects([f"{a} {_proper(b)}" for a, b in zip(names, coined, strict=True)])
    if slot == "D":
        days, months = rng.integers(1, 29, count).tolist(), rng.integers(12, size=count).tolist()
        return _objects([f"{day} {MONTHS[month]}" for day, month in zip(days, months, strict=True)])
    if slot == "T":
        minutes = (5 * rng.integers(72, 264, count)).tolist()
        return _objects([f"{minute // 60}:{minute % 60:02}" for minute in minutes])
    if slot == "I":
        numbers = (10 ** rng.uniform(3, 5, count)).astype(np.int64).tolist()
        return _objects([f"{_PREFIXES[number % 5]}-{number}" for number in numbers])
    top = 4.0 if slot == "M" else 2.5
    return _objects([str(int(amount)) for amount in 10 ** rng.uniform(0.4, top, count)])


def _topical(rng: Random, ranks: Ints, topics: Ints, share: float) -> Ints:
    """`ranks`, of which a share gives way to a topic; row i of `topics` holds those for rank i."""
    chosen = topics[np.arange(len(ranks)), rng.integers(topics.shape[1], size=len(ranks))]
    return np.where(rng.random(len(ranks)) < share, chosen, ranks)


def _texts(rng: Random, session: Ints) -> Iterator[str]:
    """One text for each element of `session`, which numbers the session it belongs to."""
    sessions = int(session[-1]) + 1
    nouns = _ranks(rng, sessions * _TOPIC_NOUNS, len(NOUNS)).reshape(sessions, _TOPIC_NOUNS)
    coined = _rare(rng, sessions * 2).reshape(sessions, 2)
    phrases, counts = _sentences(rng, len(session))
    codes, sizes = _FRAMES.flat(phrases)
    owner = np.repeat(np.repeat(session, 4 * counts), sizes)
    pieces = _FRAMES.literals[codes.clip(min=0)]
    for number, slot in enumerate(_SLOTS):
        places = np.flatnonzero(codes == -1 - number)
        if slot in "nN":
            ranks = _ranks(rng, len(places), len(NOUNS))
            pieces[places] = _LISTS[slot][_topical(rng, ranks, nouns[owner[places]], 0.35)]
        elif slot in "Xx":
            ranks = _topical(rng, _rare(rng, len(places)), coined[owner[places]], 0.35)
            name = _proper if slot == "X" else _common
            pieces[places] = _objects([name(rank) for rank in ranks.tolist()])
        else:
            pieces[places] = _slot(slot, rng, len(places))
    last = np.cumsum(np.add.reduceat(sizes, 4 * (np.cumsum(counts) - counts))).tolist()
    words: list[str] = pieces.tolist()
    for start, stop in pairwise([0, *last]):
        yield "".join(words[start:stop]).rstrip()


def _batch(rng: Random, first: int, n: int) -> Iterator[dict[str, Any]]:
    """The turns of the next sessions, `first` being the number of those before them."""
    turns = rng.integers(12, 29, _BATCH)
    session = np.repeat(np.arange(_BATCH), turns)
    opening = np.cumsum(turns) - turns
    position = np.arange(len(session)) - opening[session]
    asker = rng.integers(_SPEAKERS, size=_BATCH)
    other = (asker + rng.integers(1, _SPEAKERS, _BATCH)) % _SPEAKERS
    speaker = np.where(position % 2 == 0, asker[session], other[session]).tolist()
    waited = np.cumsum(rng.integers(20, 180, len(session)))
    waited -= waited[opening][session]
    began = int(_START.timestamp()) + _SPAN * (first + opening) // n
    times = np.datetime_as_string((began[session] + waited).astype("datetime64[s]"), timezone="UTC")
    opened = (first + opening[session]).tolist()
    turns_made = zip(opened, speaker, times.tolist(), _texts(rng, session), strict=True)
    for number, (at, who, time, content) in enumerate(turns_made, start=first):
        yield {
            "id": f"t{number}",
            "content": content,
            "speaker": NAMES[who],
            "session_id": f"s{at}",
            "kind": "turn",
            "created_at": time,
        }


# Questions

_ASKED = (
    "What did {who} say about the {words}?",
    "When did {who} mention the {words}?",
    "Why was {who} talking about {words}?",
    "What do I know about {who}, {words}?",
    "How did it go with {who} and the {words}?",
    "Who else was there when {who} mentioned {words}?",
    "{who} {words}",
)
_WORD = regex(r"[^\W\d_]{3,}")
_PLAIN = frozenset(
    _WORD.findall(
        " ".join([*_FRAMES.literals, *_PREFIXES, *DETERMINERS, *NAMES, *WEEKDAYS, *MONTHS]).lower()
    )
)


def _question(rng: Random, item: Mapping[str, Any]) -> str:
    tokens = _WORD.findall(item["content"])
    people = [word for word in tokens if word in NAMES] or [item.get("speaker") or "somebody"]
    candidates = list(dict.fromkeys(word for word in tokens if word.lower() not in _PLAIN))
    count = min(len(candidates), int(rng.integers(2, 6)))
    words = [candidates[at] for at in sorted(rng.permutation(len(candidates))[:count])]
    question = _ASKED[rng.integers(len(_ASKED))].format(
        who=people[rng.integers(len(people))], words=" ".join(words)
    )
    when = item.get("created_at")
    if when is None or rng.random() > 0.25:
        return question
    month = when.month if isinstance(when, datetime) else int(str(when)[5:7])
    bare = question.removesuffix("?")
    return f"{bare} in {MONTHS[month - 1]}" + question[len(bare) :]

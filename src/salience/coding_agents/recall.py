"""Memories for an agent: at the start what holds in its project, for a prompt what comes near.

A memory that has nothing to do with the prompt costs tokens and misleads, so there is a floor; most
prompts are told nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo

from salience.display.for_models import fenced
from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.language.english import STOP_WORDS
from salience.language.tokens import words
from salience.lazily import dataclass, regex
from salience.records.record import MemoryRecord
from salience.search.request import Filters
from salience.search.results import Hit

TAG = "coding-agent"
"""The tag of all that the hooks keep."""
KINDS = ("convention", "decision", "correction", "finding")
"""The kinds that the hooks keep, those first that an agent is told first."""
_AT_START = KINDS[:3]
STANDING: Filters = {
    "tags": {"contains": TAG},
    "kind": {"in": list(_AT_START)},
    "status": "active",
}
"""The memories of what holds in a project."""
_MOST_AT_START = 40
_HITS = 12
_CHARACTERS_PER_TOKEN = 4
_MAX_PROMPT_CHARACTERS = 2_000  # of a longer prompt, which pastes something, the beginning is asked
_IDENTIFIER = regex(
    r"[A-Za-z0-9]+(?:[_./:-]+[A-Za-z0-9]+)+|[a-z]+[A-Z]\w+|\b[A-Z]{2,}-?\d+\b|\d{3,}"
)
_HEAD = (
    "salience recalled what users of this repository settled in earlier sessions, in their words. "
    "Take it as their standing preference where it fits; what they ask now goes first."
)


@dataclass(frozen=True)
class Briefing:
    """A text for the agent, "" for none, and the memories in it."""

    text: str
    memories: tuple[MemoryRecord, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the memories."""
        return tuple(record.id for record in self.memories)


NOTHING = Briefing("", ())


@dataclass(frozen=True)
class Limits:
    """The budgets of tokens, and the floor under which a memory is not told.

    A memory passes if its cosine with the prompt is at least `similarity`; or, if it has a word of
    the prompt, `similarity_with_word`; or if both name the same path, identifier or number. The two
    cosines are those of the default embedder, with which unrelated sentences about code reach some
    .25. Without vectors, two words in common are enough.
    """

    start_tokens: int = 500
    prompt_tokens: int = 500
    similarity: float = 0.3
    similarity_with_word: float = 0.2
    words_without_vectors: int = 2

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Limits:
        """The limits, as SALIENCE_HOOK_TOKENS and SALIENCE_HOOK_SIMILARITY change them.

        Raises:
            InvalidInput: one is not a number.
        """
        limits = cls()
        if tokens := _number(environment, "SALIENCE_HOOK_TOKENS"):
            limits = cls(start_tokens=int(tokens), prompt_tokens=int(tokens))
        if (similarity := _number(environment, "SALIENCE_HOOK_SIMILARITY")) is not None:
            share = cls.similarity_with_word / cls.similarity
            limits = cls(limits.start_tokens, limits.prompt_tokens, similarity, similarity * share)
        return limits

    def passes(self, hit: Hit, prompt: str) -> bool:
        """Test whether a hit comes near enough to the prompt to be told."""
        shared = _content_words(prompt) & _content_words(hit.content)
        if _identifiers(prompt) & _identifiers(hit.content):
            return True
        if hit.similarity is None:
            return len(shared) >= self.words_without_vectors
        least = self.similarity_with_word if shared else self.similarity
        return hit.similarity >= least


def recall_at_start(memory: Memory, namespaces: Iterable[str], limits: Limits) -> Briefing:
    """The newest conventions, decisions and corrections of a project, within the budget."""
    records = [
        record
        for namespace in namespaces
        for record in memory.for_namespace(namespace).get_all(STANDING, limit=_MOST_AT_START)
    ]
    records.sort(key=lambda r: _AT_START.index(r.kind))  # stable: the newest stay in front
    return _briefing(records, limits.start_tokens, memory.time_zone)


def recall_for_prompt(
    memory: Memory, namespaces: Iterable[str], prompt: str, told: Iterable[str], limits: Limits
) -> Briefing:
    """The memories that a prompt comes near, best first, but those told already; often none."""
    query = prompt.strip()[:_MAX_PROMPT_CHARACTERS]
    if not _content_words(query):
        return NOTHING
    seen = set(told)
    result = memory.search(query, limit=_HITS, namespaces=list(namespaces), touch=False)
    near = [hit for hit in result if hit.id not in seen and limits.passes(hit, query)]
    return _briefing(near, limits.prompt_tokens, memory.time_zone)


def _briefing(memories: Sequence[MemoryRecord], max_tokens: int, zone: tzinfo) -> Briefing:
    room = max_tokens - -(-len(_HEAD) // _CHARACTERS_PER_TOKEN) - 1
    text = fenced(memories, max_tokens=max(room, 1), zone=zone)
    if not text:
        return NOTHING
    return Briefing(f"{_HEAD}\n\n{text}", tuple(r for r in memories if f'id "{r.id}"' in text))


def _content_words(text: str) -> set[str]:
    return {word for word in words(text) if word not in STOP_WORDS and len(word) > 1}


def _identifiers(text: str) -> set[str]:
    return {name.casefold() for name in _IDENTIFIER.findall(text)}


def _number(environment: Mapping[str, str], name: str) -> float | None:
    value = environment.get(name, "").strip()
    if not value:
        return None
    try:
        return float(value)
    except ValueError:
        raise InvalidInput(name, f"is {value!r}", "give a number, or leave it out") from None

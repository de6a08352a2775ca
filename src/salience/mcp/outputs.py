"""Outputs: memories as structured content and as text, both within a budget of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypeVar

from typing_extensions import TypedDict

from salience.display.for_models import (
    MIN_CUT_CHARACTERS,
    NOTICE,
    clean,
    fenced,
    one_line,
    replaced_by,
)
from salience.display.result import to_json
from salience.engine.async_memory import AsyncMemory
from salience.language.english import STOP_WORDS
from salience.language.query_analysis import asks_something
from salience.language.tokens import count_tokens, stem, terms, words
from salience.lazily import dataclass, replace
from salience.mcp.tool import Answer, Caller, about
from salience.records.record import UNSET_SHARE, MemoryRecord
from salience.search.cutoff import ONE_ANSWERS, doubt
from salience.search.passages import Passage, excerpt
from salience.search.results import Hit, SearchResult

T = TypeVar("T")
MAX_ID_CHARACTERS = 512
MAX_HINT_CHARACTERS = 300
_MAX_TAGS = 50  # that are shown of one memory
_ALWAYS = ("id", "content", "kind")  # a text may have invisible characters alone


class MemoryView(TypedDict):
    """A memory as a model sees it: data, and no instruction."""

    id: str
    content: Annotated[str, about("Its text, without invisible characters.")]
    cut_at: NotRequired[
        Annotated[int, about("Where it was cut; get_memory reads on from this start.")]
    ]
    passages_at: NotRequired[
        Annotated[
            list[int],
            about(
                "Of a long text only the passages that match are shown, from these starts on; "
                "get_memory reads the rest."
            ),
        ]
    ]
    title: NotRequired[str]
    kind: str
    speaker: NotRequired[Annotated[str, about("Who said it.")]]
    created_at: Annotated[str, about("When it was said or happened.")]
    session_id: NotRequired[str]
    source: NotRequired[Annotated[str, about("Where it comes from.")]]
    tags: NotRequired[list[str]]
    status: NotRequired[Annotated[str, about("Its status, unless it is active.")]]
    importance: NotRequired[float]
    valid_from: NotRequired[str]
    valid_to: NotRequired[str]
    expires_at: NotRequired[str]
    pinned: NotRequired[bool]
    version: int
    score: NotRequired[
        Annotated[float, about("Comparable within one answer alone, not beyond it.")]
    ]
    similarity: NotRequired[
        Annotated[float, about("The cosine of its meaning and the query's, from 0.")]
    ]
    probability: NotRequired[Annotated[float, about(ONE_ANSWERS)]]
    may_be_replaced_by: NotRequired[
        Annotated[list[str], about("Later memories that may have taken its place.")]
    ]
    found_by: NotRequired[Annotated[list[str], about("The routes on which it was found.")]]


class Memories(TypedDict):
    """Memories, as many as fit into the budget."""

    notice: str
    memories: list[MemoryView]
    left_out: NotRequired[Annotated[int, about("Those that did not fit.")]]
    hint: NotRequired[Annotated[str, about("What to try if this is not enough.")]]


@dataclass(frozen=True)
class Item:
    """A memory to show, where its text begins, and further values beside it."""

    record: MemoryRecord
    extra: Mapping[str, Any]
    start: int = 0
    end: int | None = None
    passages: tuple[Passage, ...] = ()  # of a long text, which are shown instead of it

    @classmethod
    def of_hit(cls, hit: Hit) -> Item:
        """A hit of a search, with its evidence."""
        extra: dict[str, Any] = {"score": round(hit.score, 3)}
        if hit.similarity is not None:
            extra["similarity"] = round(hit.similarity, 3)
        if hit.probability is not None:
            extra["probability"] = round(hit.probability, 3)
        extra["found_by"] = sorted(hit.routes)
        extra["may_be_replaced_by"] = [one_line(id) for id in hit.may_be_replaced_by]
        return cls(hit.record, extra, passages=hit.passages)

    @property
    def content(self) -> str:
        """The part of the text that is shown, cleaned."""
        text = excerpt(self.passages) if self.passages else self.record.content
        return clean(text[self.start : self.end])

    @property
    def reads_on(self) -> int | None:
        """The start to read on from where the text is cut; None if it is not."""
        if self.end is None or not self.passages:
            return self.end
        return min(passage.start for passage in self.passages)

    def cut(self, characters: int) -> Item:
        """The same with a number of characters of its text."""
        return replace(self, end=self.start + characters)

    def view(self) -> dict[str, Any]:
        """The memory as a `MemoryView`; what it does not have is left out."""
        record = self.record
        names = ("valid_from", "valid_to", "expires_at")
        importance = None if record.importance == UNSET_SHARE else record.importance
        values: dict[str, Any] = {
            "id": one_line(record.id, MAX_ID_CHARACTERS),
            "content": self.content,
            "cut_at": self.reads_on,
            "passages_at": sorted(passage.start for passage in self.passages),
            "title": record.title and one_line(record.title),
            "kind": one_line(record.kind),
            "speaker": record.speaker and one_line(record.speaker),
            "created_at": to_json(record.created_at),
            "session_id": record.session_id and one_line(record.session_id),
            "source": _source(record),
            "tags": [one_line(tag) for tag in record.tags[:_MAX_TAGS]],
            "status": None if record.status == "active" else record.status,
            **{name: to_json(getattr(record, name)) for name in names},
            "importance": importance,
            "pinned": True if record.pinned else None,
            "version": record.version,
            **self.extra,
        }
        return {n: v for n, v in values.items() if n in _ALWAYS or v not in (None, "", [])}

    @property
    def evidence(self) -> str:
        """The version, the probability and what may replace it, for its line of the text."""
        parts = [f"version {self.record.version}"] if self.record.version > 1 else []
        if "probability" in self.extra:
            parts.append(f"probability {self.extra['probability']:.2f}")
        if newer := self.extra.get("may_be_replaced_by"):
            parts.append(replaced_by(newer))
        return " · ".join(parts)

    def shown(self) -> MemoryRecord:
        """The memory with the text that is shown, for the fence."""
        more = " [...]" if self.end is not None else ""
        return MemoryRecord.from_values({**vars(self.record), "content": self.content + more})


def memories(
    items: Sequence[Item],
    caller: Caller,
    max_tokens: int,
    extra: Mapping[str, Any] = {},
    nothing: str = "",
) -> Answer:
    """An answer of memories within the caller's budget of tokens, each form of it.

    `extra` is further structured content; a `hint` among it is also part of the text. `nothing` is
    the text for no memories.
    """
    if "hint" in extra:
        extra = {**extra, "hint": one_line(extra["hint"], MAX_HINT_CHARACTERS)}
    budget, zone = caller.budget(max_tokens), caller.memory.time_zone

    def write(part: Sequence[Item], left_out: int) -> Answer:
        content = {"notice": NOTICE, "memories": [item.view() for item in part], **extra}
        recalled = fenced(
            (item.shown() for item in part), evidence=[item.evidence for item in part], zone=zone
        )
        lines = [recalled or nothing, *_texts(extra)]
        if part and part[-1].end is not None:
            lines.append(f"The last is cut: get_memory reads on from start={part[-1].reads_on}.")
        if left_out:
            content["left_out"] = left_out
            lines.append(f"{left_out} more did not fit into {budget} tokens; raise max_tokens.")
        return Answer(content, "\n\n".join(filter(None, lines)))

    return fitted(items, budget, write, Item.cut, lambda item: len(item.content))


def _texts(extra: Mapping[str, Any]) -> list[str]:
    """Further content as text."""
    return [str(value) if name == "hint" else f"{name}: {value}" for name, value in extra.items()]


def fitted(
    items: Sequence[T],
    budget: int,
    write: Callable[[Sequence[T], int], Answer],
    cut: Callable[[T, int], T] | None = None,
    length: Callable[[T], int] = lambda _: 0,
) -> Answer:
    """The answer with the most items that takes no more tokens than the budget.

    `write` makes it of some items and the number of those left out. The first item that does not
    fit is cut, if it can be.
    """
    answer = write(items, 0)
    if tokens(answer) <= budget or not items:
        return answer
    count = _most(len(items) - 1, lambda n: write(items[:n], len(items) - n), budget)
    fitting, left_out = items[:count], len(items) - count
    answer = write(fitting, left_out)
    if cut is None or length(items[count]) < MIN_CUT_CHARACTERS:
        return answer

    def with_part(characters: int) -> Answer:
        return write([*fitting, cut(items[count], characters)], left_out - 1)

    room = _most(length(items[count]) - 1, with_part, budget)
    return with_part(room) if room >= MIN_CUT_CHARACTERS else answer


def _most(highest: int, write: Callable[[int], Answer], budget: int) -> int:
    """The largest number, from 0, whose answer is within the budget."""
    low, high = 0, highest
    while low < high:
        middle = (low + high + 1) // 2
        if tokens(write(middle)) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def tokens(answer: Answer) -> int:
    """The tokens of the longer of both forms: a client gives one of them to its model, or both."""
    content = json.dumps(answer.content, ensure_ascii=False)
    return max(count_tokens(content), count_tokens(answer.text))


def _source(record: MemoryRecord) -> str | None:
    source = record.metadata.get("source")
    return one_line(source) if isinstance(source, str) else None


# Hints: what to try where a search found little, from facts and not from a guess

_READ_CHARACTERS = 20_000  # of a memory, to look for words of the query
_CLOSE = 3  # memories that are named where none answers


def found_little(result: SearchResult) -> bool:
    """Test whether a search found nothing, or nothing with a word of the query."""
    taken = (word for corrections in result.taken.values() for word in corrections)
    stems = {stem(word) for word in (*words(result.query), *taken) if word not in STOP_WORDS}
    return not result.hits or (bool(stems) and not any(stems & _words_of(hit) for hit in result))


def _words_of(hit: Hit) -> set[str]:
    """The stems of the words by which a memory may be asked for."""
    names = (hit.title, hit.speaker, hit.gist, *hit.tags, *hit.entities)
    return set(terms(" ".join(filter(None, (hit.content[:_READ_CHARACTERS], *names)))))


def lacks(degraded: Iterable[str]) -> list[str]:
    """Sentences on what a search went without."""
    return [f"Searched without {one_line(lack)}." for lack in degraded]


async def hint(
    memory: AsyncMemory,
    result: SearchResult,
    where: Mapping[str, Any] | None,
    bounds: Mapping[str, Any],
) -> str | None:
    """A sentence on what was searched, what came close and what to try; None for good results.

    `where` is the filter of the search, and `bounds` are the other arguments that leave hits out.
    """
    notes = lacks(result.degraded)
    notes += [
        f"No memory has {one_line(word)!r}; searched for {one_line(', '.join(corrections))}."
        for word, corrections in result.taken.items()
    ]
    doubtful = doubt(result.probability)
    may_doubt = asks_something(result.query) if result.hits else not (where or bounds)
    if doubtful is not None and may_doubt:
        notes.append(await _doubtful(memory, result, doubtful))
    elif found_little(result):
        notes.append(await _little(memory, result, where, bounds))
    return " ".join(notes) or None


async def _doubtful(memory: AsyncMemory, result: SearchResult, doubtful: str) -> str:
    if result.hits:
        return f"{doubtful} This came closest; else ask in other words, or take it as unknown."
    wider = await memory.search(result.query, limit=_CLOSE, touch=False)
    if not wider.hits:
        return await _little(memory, result, None, {})
    doubt_text = doubt(wider.probability) or "All that was found is cut."
    return f"{doubt_text} These came closest: {_ids(wider)}. Or ask in other words."


async def _little(
    memory: AsyncMemory,
    result: SearchResult,
    where: Mapping[str, Any] | None,
    bounds: Mapping[str, Any],
) -> str:
    if result.hits:
        return (
            "No memory has a word of the query; these were found by likeness of meaning alone. "
            "If they do not answer it, ask in other words, or take it that nothing is known."
        )
    stored = await memory.count(archived=False)
    if not stored:
        return "Nothing is remembered yet."
    searched = await memory.count(where, archived=False) if where else stored
    notes = [f"Nothing found among {searched:,} memories."]
    if where or bounds:
        wider = await memory.search(result.query, limit=_CLOSE, touch=False)
        if wider.hits:
            notes.append(f"Without filters and bounds, these come closest: {_ids(wider)}.")
        else:
            notes.append("Without filters and bounds there is nothing, either.")
    else:
        notes.append("Ask in other words, or list_memories to see what there is.")
    return " ".join(notes)


def _ids(result: SearchResult) -> str:
    return ", ".join(json.dumps(one_line(hit.id)) for hit in result.hits)

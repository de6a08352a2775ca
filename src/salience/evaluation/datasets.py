"""Sets of conversations with questions: a folder of JSON files, each read by the importer."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from salience.closing import regular_file
from salience.display.result import to_json
from salience.engine.memory import Memory
from salience.importers import ImportProblem, conversation
from salience.importers.conversation import Query
from salience.lazily import dataclass, replace
from salience.records.validation import timestamp
from salience.search.request import Filters
from salience.write import chat


@dataclass(frozen=True)
class Conversation:
    """One conversation: its memories, and the questions asked at `now`, its end.

    `unanswered` are the questions that no memory answers. Its memories are in the namespace of its
    name, unless another is given.
    """

    name: str
    memories: tuple[dict[str, Any], ...]
    queries: tuple[Query, ...]
    now: datetime | None
    namespace: str = ""
    unanswered: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The namespace of its memories."""
        return self.namespace or self.name

    def unanswerable(self) -> list[str]:
        """A note on each question with answers that are not memories of this conversation."""
        memory_ids = {item["id"] for item in self.memories}
        missing = {query.id: sorted({*query.relevant} - memory_ids) for query in self.queries}
        return [
            f"{self.name}: question {id} names memories that do not exist: {', '.join(ids)}"
            for id, ids in missing.items()
            if ids
        ]

    def with_sides(self) -> Conversation:
        """The conversation, each turn with the vectors of its side (see `salience.write.chat`)."""
        return replace(self, memories=tuple(chat.chunks_from_turns(self.memories, "sides")))


def load(folder: str | Path) -> tuple[Conversation, ...]:
    """The conversations of a folder's `*.json` files, by name, without unanswered questions.

    Raises:
        ImportProblem: no such folder, no file in it, or one that is not a conversation.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ImportProblem(folder, "is not a folder", "give a folder of conversation files")
    conversations = tuple(_read(path) for path in sorted(folder.glob("*.json")))
    if not any(member.queries for member in conversations):
        raise ImportProblem(
            folder,
            "holds no questions with answers",
            'give a folder of *.json files: {"memories": [...], "queries": [...]}',
        )
    return conversations


def load_unanswerable(folder: str | Path) -> dict[str, tuple[str, ...]]:
    """The questions without an answer of a folder's `*.json` files, by their conversation's name.

    Each file is `{"name": "talk", "questions": ["...", ...]}`.

    Raises:
        ImportProblem: no such folder, no file in it, or one of another form.
    """
    folder = Path(folder)
    questions: dict[str, tuple[str, ...]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            with regular_file(path) as file:
                document = json.loads(file.read().decode("utf-8"))
        except ValueError as problem:
            raise ImportProblem(path, f"is not JSON: {problem}", "repair the file") from None
        texts = document.get("questions") if isinstance(document, dict) else None
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            raise ImportProblem(
                path, 'has no list of "questions"', 'write {"name": "talk", "questions": ["..."]}'
            )
        questions[str(document.get("name", path.stem))] = tuple(texts)
    if not questions:
        raise ImportProblem(folder, "holds no files of questions", "give a folder of *.json files")
    return questions


def _read(path: Path) -> Conversation:
    memories: tuple[dict[str, Any], ...] = tuple(conversation.numbered(path))
    times = [
        timestamp("created_at", item["created_at"]) for item in memories if "created_at" in item
    ]
    queries = tuple(conversation.queries(path))
    return Conversation(
        path.stem,
        memories,
        tuple(query for query in queries if query.relevant),
        max(times, default=None),
        unanswered=tuple(query.text for query in queries if not query.relevant),
    )


def labelled_set(memory: Memory, filters: Filters = None) -> dict[str, Any]:
    """A namespace and its labelled questions as a file of a set that `eval` and `tune` read.

    `filters` is a condition that the memories meet.
    """
    turns = [
        {
            "id": record.id,
            "text": record.content,
            "speaker": record.speaker,
            "session": record.session_id,
            "created_at": to_json(record.created_at),
        }
        for record in memory.iterate(filters, order="oldest")
    ]
    queries = [
        {"id": each.id, "text": each.query, "relevant": [*each.relevant]}
        for each in memory.labels.questions()
        if each.relevant
    ]
    return {"memories": turns, "queries": queries}

"""Shapes: how the entries of a format are recognized, found and read. One reader reads all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from salience.display.for_models import spoken
from salience.importers._entries import (
    EMPTY,
    PLACE,
    Ids,
    documents,
    entries,
    imported,
    listing,
    mapping,
)
from salience.importers._source import ImportProblem, Item, Job, Place, clean, moment
from salience.lazily import dataclass, field
from salience.records.fields import FIELDS

Entry = dict[str, Any]
OWN = " ".join((*FIELDS, "links", "supersedes"))
"""The fields of entries that have been made with the names of those of a memory."""
Documents = Callable[[Any, Job, bool], Iterator[tuple[str, Any]]]

_ROLES = {
    **dict.fromkeys(("human", "user", "me"), "user"),
    **dict.fromkeys(("gpt", "ai", "model", "bot", "gemini", "chatgpt", "assistant"), "assistant"),
}
_SAMPLED = 5  # entries of a list


def said(value: Any) -> str:
    """The text of a message: of a text, of an object with one, or of a list of such parts."""
    return clean("\n\n".join(text for text in spoken(value) if text.strip()))


def joined(value: Any) -> str:
    """The text of a message whose parts, of whatever type, follow each other without a gap."""
    parts = value if isinstance(value, list) else [value]
    return clean("".join(spoken([mapping(part).get("text", part) for part in parts])))


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The look of the files of a format, by paths to what they hold.

    A path is the names of keys with dots between ("message.content"), in which a list stands for
    its first element; "a|b" is the first of two that has a value. Fields are written with their
    paths ("title=name"), or alone if these are the same.

    Attributes:
        name: of the format.
        about: what it is and where it lies, in a few words.
        signs: paths with spaces between, all of which an entry of the format has, perhaps with a
            value ("type=message"); each of the signs tells the format.
        tables: columns of the tables that a SQLite file of the format has.
        documents: reads a file; yields documents with their places.
        gathered: the lines of a file are one document: a list with their places as `PLACE`.
        within: the names of lists of entries in a document, if it is not itself an entry or a list.
        arranged: makes entries of a document, where its own are not; also called with the path, and
            with whom to tell.
        messages: the path of the list of messages in an entry that is a conversation; none if each
            entry is a memory.
        shared: the paths of fields that the messages of a conversation share.
        fields: the paths of the fields of a memory.
        values: makes the value of a field of what is at its path, if `_VALUES` does not.
        details: the paths of what the metadata keep, by their names there.
        rest: the keys of entries that are no metadata, if all others are; None if they are not.
        only: the values that an entry has at paths; others are no memories.
        hidden: paths at which an entry that is no memory has something.
        required: the path that every entry must have a text at; "" if those without are none.
        kind: of the memories, unless a path gives it.
        scoped: ids are unique in their conversation, and not beyond.
        by_file: a memory without a time has that of the file's last change.
    """

    name: str
    about: str
    signs: tuple[str, ...] = ()
    tables: Mapping[str, set[str]] = field(default_factory=dict)
    documents: Documents = documents
    gathered: bool = False
    within: tuple[str, ...] = ()
    arranged: Callable[[Place, Any, Job], Iterable[Entry]] | None = None
    messages: str = ""
    shared: str = ""
    fields: str = ""
    values: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    details: str = ""
    rest: frozenset[str] | None = None
    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    required: str = ""
    kind: str = "turn"
    scoped: bool = False
    by_file: bool = False

    def fits(self, sample: Any) -> bool:
        """Test whether a document, or the first lines of one, have a sign of the format."""
        return any(_has(entry, sign) for entry in _sampled(self, sample) for sign in self.signs)

    def keys(self) -> set[str]:
        """The names of keys that tell the format or have fields in it."""
        signs = " ".join(part.partition("=")[0] for sign in self.signs for part in sign.split())
        texts = (*signs.split(), self.messages, *paths(self.shared + " " + self.fields).values())
        return {key for path in texts for key in _names(path) if key}

    def read(self, place: Place, job: Job) -> Iterator[Item]:
        """Yield the memories of a file; what cannot be read goes to the `job`."""
        ids = Ids()
        for where, document in self.documents(place, job, self.gathered):
            yield from self._items(place, where, document, ids, job)

    def _items(self, place: Place, where: str, document: Any, ids: Ids, job: Job) -> Iterator[Item]:
        try:
            if self.arranged is None:
                placed = entries(place, document, *self.within, place=where, job=job)
            else:
                placed = ((e.get(PLACE, where), e) for e in self.arranged(place, document, job))
            for position, entry in placed:
                if not self.messages:
                    yield from self._alone(place, position, entry, job)
                else:
                    yield from self._conversation(place, position, entry, ids, job)
        except ImportProblem as problem:
            job.left_out(problem)

    def _alone(self, place: Place, where: str, entry: Entry, job: Job) -> Iterator[Item]:
        try:
            if (item := self._item(place, where, entry, {})) is not None:
                yield item
        except ImportProblem as problem:
            job.left_out(problem)

    def _conversation(
        self, place: Place, where: str, entry: Entry, ids: Ids, job: Job
    ) -> Iterator[Item]:
        """The turns of a conversation, each with the fields that it has."""
        shared = {n: v for n, v in self._found(self.shared, entry).items() if v not in EMPTY}
        own = shared.pop("session_id", None)
        latest = shared.pop("created_at", None)
        messages = at(entry, self.messages) or []
        if not isinstance(messages, list):
            raise ImportProblem(
                place, f"{where or 'it'}: its {self.messages} are not a list", "export it again"
            )
        turns: list[Item] = []
        for number, message in enumerate(messages, start=1):
            own_place = ", ".join(filter(None, (where, f"message {number}")))
            if not isinstance(message, dict):
                job.left_out(_no_object(place, own_place, message))
                continue
            item = self._item(place, message.get(PLACE, own_place), message, shared)
            if item is not None:
                # A message without a time was said no sooner than the one before it.
                if "created_at" not in item and latest is not None:
                    item["created_at"] = latest
                elif isinstance(item.get("created_at"), (datetime, str)):
                    latest = item["created_at"]
                turns.append(item)
        session = str(own or next((t["session_id"] for t in turns if "session_id" in t), ""))
        session = session or ids.session(turns)
        for turn in turns:
            turn.setdefault("session_id", session)
            id = turn.get("id")
            if id is None:
                turn["id"] = ids.turn(turn["session_id"], turn)
            elif self.scoped:
                turn["id"] = f"{turn['session_id']}:{id}"
            yield turn

    def _item(self, place: Place, where: str, entry: Entry, shared: Entry) -> Item | None:
        """The memory of an entry; None for an entry that is not one."""
        for path, values in self.only.items():
            if at(entry, path) not in values:
                return None
        if any(at(entry, path) for path in self.hidden):
            return None
        fields = self._found(self.fields, entry)
        if self.required and not isinstance(at(entry, self.required), str):
            name = self.required.partition("|")[0]
            raise ImportProblem(place, f"{where}: has no text {name!r}", "export it again")
        if not fields["content"]:
            return None
        metadata = (
            {} if self.rest is None else {n: v for n, v in entry.items() if n not in self.rest}
        )
        metadata |= self._found(self.details, entry)
        metadata = {n: v for n, v in metadata.items() if v not in EMPTY and n != PLACE}
        metadata |= mapping(fields.pop("metadata", None))
        filled = {name: value for name, value in fields.items() if value not in EMPTY}
        fields = {"kind": self.kind, **shared, **filled, "metadata": metadata}
        if self.by_file and "created_at" not in filled and isinstance(place, Path):
            fields["created_at"] = datetime.fromtimestamp(place.stat().st_mtime, tz=UTC)
            return Item(imported(self.name, where, fields), where, assumed=("created_at",))
        return imported(self.name, where, fields)

    def _found(self, written: str, entry: Entry) -> dict[str, Any]:
        """The values of fields, made of what an entry has at their paths."""
        makers = {**_VALUES, **self.values}
        values = {name: at(entry, path) for name, path in paths(written).items()}
        return {name: makers.get(name, _as_it_is)(value) for name, value in values.items()}


def distinct(items: Iterable[Item]) -> Iterator[Item]:
    """Items each once: one with id and words of an earlier one is dropped; ids become unique."""
    ids, contents = Ids(), dict[str, str]()
    for item in items:
        id, content = item.get("id"), item.get("content", "")
        if not isinstance(id, str):
            id = ids.turn(str(item.get("session_id")), item) if content else None
        elif contents.get(id, content) != content:
            id = ids.of(id, content)
        elif id in contents:
            continue
        if id is not None:
            contents[id] = content
            item["id"] = id
        yield item


def at(entry: Any, path: str) -> Any:
    """The value of an entry at a path, unless it is None or empty; else None."""
    for names in _alternatives(path):
        value = entry
        for name in names:
            if isinstance(value, list):
                value = value[0] if value else None
            value = value.get(name) if isinstance(value, dict) else None
        if value not in EMPTY:
            return value
    return None


@lru_cache(maxsize=1_000)
def paths(written: str) -> Mapping[str, str]:
    """The paths of fields by their names, of how a shape writes them."""
    parts = (part.partition("=") for part in written.split())
    return {name: path or name for name, _, path in parts}


@lru_cache(maxsize=1_000)
def _alternatives(path: str) -> list[list[str]]:
    return [part.split(".") for part in path.split("|")]


def _names(path: str) -> Iterator[str]:
    return (name for names in _alternatives(path) for name in names)


def _has(entry: Any, sign: str) -> bool:
    for part in sign.split():
        path, equals, value = part.partition("=")
        if not (at(entry, path) in value.split("|") if equals else _holds(entry, path)):
            return False
    return True


def _holds(entry: Any, path: str) -> bool:
    """Test whether an entry has something at a path, be it empty."""
    before, _, name = path.rpartition(".")
    holder = at(entry, before) if before else entry
    holder = holder[0] if isinstance(holder, list) and holder else holder
    return isinstance(holder, dict) and name in holder


def _sampled(shape: Shape, sample: Any) -> Iterator[Any]:
    """The parts of a document, or of the first lines of one, that may be entries."""
    lists = [sample] if isinstance(sample, list) else []
    if isinstance(sample, dict):
        yield sample
        lists = [sample[name] for name in shape.within if isinstance(sample.get(name), list)]
    for group in lists:
        yield from group[: max(_SAMPLED, len(group) if shape.gathered else 0)]


def _no_object(place: Place, where: str, value: Any) -> ImportProblem:
    problem = f"{where}: not a JSON object but {type(value).__name__}"
    return ImportProblem(place, problem, "repair it, or remove it")


def _as_it_is(value: Any) -> Any:
    return value


def _word(value: Any) -> str | None:
    """A text or number as text."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return clean(str(value)) or None if isinstance(value, str) or is_number else None


def role(value: Any) -> str | None:
    """The speaker of a chat with an assistant, which apps call by many names."""
    word = _word(value)
    return _ROLES.get(word.casefold(), word) if word else None


_VALUES: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("id", "session_id", "user_id", "agent_id", "title"), _word),
    **dict.fromkeys(("created_at", "updated_at", "expires_at", "valid_from", "valid_to"), moment),
    **dict.fromkeys(("tags", "entities"), listing),
    "speaker": _word,
    "content": said,
}


# Shared by the tables of chats: conversations of entries


def turns(entry: Mapping[str, Any], messages: Iterable[Any]) -> Entry:
    """A conversation with these messages."""
    return {**entry, "messages": list(messages)}


def dicts(value: Any) -> list[Entry]:
    """The objects of a list; none of anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def lines_of(place: Place, document: Any, job: Job) -> list[Entry]:
    """The objects of a document that is a file of lines, or one of these."""
    return [entry for _, entry in entries(place, document, job=job)]


def decoded(value: Any) -> Any:
    """The value of a JSON text; None for any other text."""
    try:
        return json.loads(value)
    except (ValueError, TypeError, RecursionError):
        return None

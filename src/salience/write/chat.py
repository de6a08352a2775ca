"""Chunks: a conversation as questions with their answers, and as whole sessions.

A chunk is one exchange: messages of the user with the answer of the assistant. Its vectors are
`content` (all of it), `user`, `asst`, `next_user` (the next message of the user, once there is
one) and `facet_<name>` (see `salience.write.facets`). In the mode "hybrid" the session is a memory,
too, which the chunks of its turns support; see the profile "multi_route".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Literal, TypeVar, cast

from salience.display.for_models import spoken
from salience.errors import InvalidInput, shown
from salience.language.english import ASSISTANT_NAMES, USER_NAMES
from salience.lazily import dataclass
from salience.records.fields import CHUNK, SESSION_CHUNK, TURN_CHUNK
from salience.records.record import new_id
from salience.records.validation import elements, native
from salience.write.facets import Facets, by_rules, facets_of
from salience.write.idempotency import Once, session_of
from salience.write.items import BORDERS_KEY

T = TypeVar("T", bound=Mapping[str, Any])

Mode = Literal["chunks", "hybrid"]
ItemMode = Literal["chunks", "hybrid", "sides"]
Side = Literal["user", "asst"]
SIDES = ("user", "asst", "next_user")
"""The vectors of the text of each side, and of the next message of the user."""
LABELS: dict[Side, str] = {"user": "User", "asst": "Assistant"}
MAX_MESSAGES = 100_000  # in one call
_SESSION_FIELDS = ("agent_id", "user_id", "tags", "created_at")


@dataclass(frozen=True)
class ChatMessage:
    """One message: its side, the label before it in a chunk, text, time and id."""

    side: Side
    label: str
    text: str
    at: Any = None
    id: str | None = None

    def __str__(self) -> str:
        return f"{self.prefix}{self.text}"

    @property
    def prefix(self) -> str:
        """The words before its text in a chunk."""
        return f"{self.label}: " if self.label else ""


def parse_messages(messages: Any) -> list[ChatMessage]:
    """The messages of a chat, each `{"role", "content"}` and perhaps `name`, `created_at`, `id`.

    Messages without text and those of a system or a tool are left out.
    """
    parsed = []
    for i, message in enumerate(elements("messages", messages, MAX_MESSAGES)):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise InvalidInput(
                f"messages[{i}]",
                "is not a chat message",
                'write {"role": "user", "content": "..."}',
            )
        side = _side(message["role"])
        words = "" if side is None else message_text(message, f"messages[{i}]")
        if side is not None and words.strip():
            label = _id(message.get("name")) or LABELS[side]
            parsed.append(
                ChatMessage(side, label, words, message.get("created_at"), _id(message.get("id")))
            )
    return parsed


def _id(value: Any) -> str | None:
    """An id or a name as text."""
    return None if value is None else native(str(native(value)))


def _side(role: str) -> Side | None:
    folded = role.casefold()
    return "user" if folded in USER_NAMES else "asst" if folded in ASSISTANT_NAMES else None


def split_exchanges(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """The messages in exchanges: each message of the user begins one."""
    exchanges: list[list[ChatMessage]] = []
    for message in messages:
        if message.side == "user" or not exchanges:
            exchanges.append([])
        exchanges[-1].append(message)
    return exchanges


def text_of_side(messages: Sequence[ChatMessage], side: Side) -> str:
    """The text of all messages of one side."""
    return "\n".join(message.text for message in messages if message.side == side)


def borders_of(messages: Sequence[ChatMessage]) -> list[list[Any]]:
    """The side, the label and the number of characters of each message of a chunk."""
    return [[message.side, message.label, len(message.text)] for message in messages]


def messages_within(content: str, borders: Any) -> list[ChatMessage] | None:
    """The messages of a chunk; None if the borders do not fit its content."""
    messages: list[ChatMessage] = []
    start = 0
    for border in borders if isinstance(borders, Sequence) else ():
        match border:
            case ["user" | "asst" as side, str(label), int(length)]:
                start += len(ChatMessage(side, label, "").prefix)
                messages.append(ChatMessage(side, label, content[start : start + length]))
                start += length + len("\n")
            case _:
                return None
    return messages if "\n".join(map(str, messages)) == content else None


def chunk_fields(messages: Sequence[ChatMessage], facets: Facets) -> dict[str, Any]:
    """The fields of one chunk, as `Memory.add_many` takes them."""
    user, assistant = text_of_side(messages, "user"), text_of_side(messages, "asst")
    aspects = facets_of(facets, user, assistant)
    texts = {"user": user, "asst": assistant} | {f"facet_{n}": t for n, t in aspects.items()}
    metadata: dict[str, Any] = {BORDERS_KEY: borders_of(messages)}
    if aspects:
        metadata["facets"] = aspects
    if any(message.id for message in messages):
        metadata["turns"] = [message.id for message in messages if message.id]
    return {
        "content": "\n".join(map(str, messages)),
        "vector_texts": {name: words for name, words in texts.items() if words.strip()},
        "metadata": metadata,
    }


def chunk_items(
    messages: Sequence[ChatMessage], common: Mapping[str, Any], mode: Mode, facets: Facets
) -> list[dict[str, Any]]:
    """The chunks of one session; the user's text of each is `next_user` of the one before."""
    items: list[dict[str, Any]] = []
    for exchange in split_exchanges(messages):
        item = {
            **common,
            **chunk_fields(exchange, facets),
            "kind": TURN_CHUNK if mode == "hybrid" else CHUNK,
        }
        if exchange[0].at is not None:
            item["created_at"] = exchange[0].at
        if items and exchange[0].side == "user":
            items[-1]["vector_texts"]["next_user"] = text_of_side(exchange, "user")
        items.append(item)
    return items


def session_item(
    messages: Sequence[ChatMessage], common: Mapping[str, Any], facets: Facets
) -> dict[str, Any]:
    """The item of a whole session."""
    item = {**common, **chunk_fields(messages, facets), "kind": SESSION_CHUNK}
    if messages[0].at is not None:
        item["created_at"] = messages[0].at
    return item


def chunks_from_turns(
    items: Iterable[Mapping[str, Any]], mode: ItemMode = "chunks", facets: Facets = by_rules
) -> Iterator[dict[str, Any]]:
    """Chunks from the turns of conversations, as `Memory.add_many` takes both.

    A turn is an item with texts as `session_id`, `speaker` and `content`; others pass unchanged.
    If the speakers are not called user and assistant, the first one of a session is the user. The
    ids of the turns are kept as `metadata.turns`. The id of a chunk is made from the first one: it
    is the same each time.

    In the mode "sides" every turn stays a memory of its own, with the vector of its side; the turn
    before one of the user also has a vector of that next text (`next_user`).
    """
    if mode == "sides":
        yield from _sided(items)
        return
    sessions: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        if _is_turn(item):
            sessions.setdefault(item["session_id"], []).append(item)
        else:
            yield item if isinstance(item, dict) else dict(item)
    for name, turns in sessions.items():
        common = {"session_id": name, **{k: turns[0][k] for k in _SESSION_FIELDS if k in turns[0]}}
        first = turns[0]["speaker"]
        messages = [
            ChatMessage(
                _side_of(turn["speaker"], first),
                turn["speaker"],
                turn["content"],
                turn.get("created_at"),
                _id(turn.get("id")),
            )
            for turn in turns
        ]
        whole = [session_item(messages, common, facets)] if mode == "hybrid" else []
        for item in (*whole, *chunk_items(messages, common, mode, facets)):
            first_turn = next(iter(item["metadata"].get("turns", ())), None)
            yield {**item, "id": f"{item['kind']}:{first_turn}"} if first_turn else item


def _is_turn(item: Mapping[str, Any]) -> bool:
    return all(isinstance(item.get(name), str) for name in ("session_id", "speaker", "content"))


def _sided(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items in their order, turns with the texts of their vectors."""
    copies = [copy(item) if isinstance(item, dict) else dict(item) for item in items]
    first: dict[str, str] = {}
    before: dict[str, dict[str, str]] = {}  # the texts of the last turn, by session
    for item in copies:
        if not _is_turn(item):
            continue
        name, speaker = item["session_id"], item["speaker"]
        side = _side_of(speaker, first.setdefault(name, speaker))
        if side == "user" and name in before:
            before[name]["next_user"] = item["content"]
        before[name] = item["vector_texts"] = {side: item["content"]}
    return copies


def _side_of(speaker: str, first: str) -> Side:
    """The side of a speaker in a session that `first` began."""
    return _side(speaker) or ("user" if speaker == first else "asst")


_MESSAGE_FIELDS = ("created_at", "id")


def message_items(content: Sequence[Any], common: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One item for each chat message `{"role", "content"}`, in one session.

    The speaker is the message's `name` or else its `role`, and its `created_at` and `id` are those
    of the memory; messages without text are left out.
    """
    session = common.get("session_id") or new_id()
    if common.get("id") is not None:
        raise InvalidInput("id", "cannot name several messages", "leave it out")
    # All turns share these values, so an iterator, which can be read only once, is read here.
    common = {n: list(v) if isinstance(v, Iterator) else v for n, v in common.items()}
    items = []
    for i, message in enumerate(content):
        if not isinstance(message, Mapping) or "role" not in message:
            remedy = 'write {"role": "user", "content": "..."}, or add memories by add_many'
            raise InvalidInput(f"content[{i}]", "is not a chat message", remedy)
        words = message_text(message, f"content[{i}]")
        if words.strip():
            speaker = common.get("speaker") or message.get("name") or message["role"]
            own = {name: message[name] for name in _MESSAGE_FIELDS if message.get(name) is not None}
            items.append(
                {**common, **own, "content": words, "speaker": speaker, "session_id": session}
            )
    if not items:
        raise InvalidInput("content", "has no message with text")
    return items


def message_text(message: Mapping[str, Any], name: str) -> str:
    """The text of a chat message, "" if it has none; thoughts and pictures do not count.

    Raises:
        InvalidInput: its content is something else; `name` is that of the message.
    """
    content = message.get("content")
    if content is None or isinstance(content, str):
        return native(content or "")
    content = [content] if isinstance(content, Mapping) else content  # a part of its own
    is_list = isinstance(content, list | tuple)
    if not is_list or not all(isinstance(part, str | Mapping) for part in content):
        raise InvalidInput(name, "has a content that is not text", "give text, or a list of parts")
    return "\n".join(map(native, spoken(content)))


def one_or_many(content: Any, fields: T) -> tuple[Any, T]:
    """The content and fields for `Memory.add`: a mapping stands for a message, or text with fields.

    Raises:
        InvalidInput: it has no content, or a field is there twice.
    """
    if not isinstance(content, Mapping):
        return content, fields
    if "role" in content:
        return [content], fields
    message = dict(content)
    if "content" not in message:
        keys = ", ".join(shown(key) for key in message)
        problem = f"is a mapping without content{f', of {keys}' if keys else ''}"
        raise InvalidInput("content", problem, 'write {"content": "...", ...}, or give the text')
    if twice := sorted(message.keys() & fields.keys()):
        raise InvalidInput(twice[0], "is in the mapping, too", "give it once")
    return message.pop("content"), cast("T", {**message, **fields})


def items_of(content: Any, fields: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Once | None]:
    """The items that `Memory.add` writes: one of a text, or one for each chat message.

    Fields that are None are left out. Messages share an idempotency key: repeating it gives the
    same session.
    """
    fields = {name: value for name, value in fields.items() if value is not None}
    if not isinstance(content, Sequence) or isinstance(content, (str, bytes)):
        return [{"content": content, **fields}], None
    key = fields.pop("idempotency_key", None)
    if key is None:
        return message_items(content, fields), None
    items = message_items(content, {"session_id": session_of(key), **fields})
    return items, Once.of(key, items)

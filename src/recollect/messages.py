"""Chat messages as items to be written, a turn each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recollect.errors import InvalidInput
from recollect.memory import new_id

_OWN = ("created_at", "id")


def messages(content: Sequence[Any], common: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One item for each chat message `{"role", "content"}`, in one session.

    The speaker is the message's `name` or else its `role`, and its `created_at` and `id` are those
    of the memory; messages without text are left out.

    Raises:
        InvalidInput: names the message that is none.
    """
    session = common.get("session_id") or new_id()
    if common.get("id") is not None:
        raise InvalidInput("id", "cannot name several messages", "leave it out")
    # Each turn is given the same, so what can be read only once is read here.
    common = {n: list(each) if isinstance(each, Iterator) else each for n, each in common.items()}
    items = []
    for i, message in enumerate(content):
        if not isinstance(message, Mapping) or "role" not in message:
            raise InvalidInput(
                f"content[{i}]", "is no chat message", 'write {"role": "user", "content": "..."}'
            )
        said = message_text(message, f"content[{i}]")
        if said.strip():
            speaker = common.get("speaker") or message.get("name") or message["role"]
            own = {name: message[name] for name in _OWN if message.get(name) is not None}
            items.append(
                {**common, **own, "content": said, "speaker": speaker, "session_id": session}
            )
    if not items:
        raise InvalidInput("content", "has no message with text")
    return items


def message_text(message: Mapping[str, Any], name: str) -> str:
    """The text of a chat message, "" where it has none.

    Raises:
        InvalidInput: its content is something else; the message goes by `name`.
    """
    said = message.get("content")
    if said is None or isinstance(said, str):
        return said or ""
    if not isinstance(said, list | tuple) or not all(isinstance(p, str | Mapping) for p in said):
        raise InvalidInput(name, "has a content that is no text", "give text, or a list of parts")
    # Of the parts, as multimodal chat has them, images and the like have no text.
    texts = (part if isinstance(part, str) else part.get("text") for part in said)
    return "\n".join(text for text in texts if isinstance(text, str))

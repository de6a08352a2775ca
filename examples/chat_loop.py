"""A chat that remembers over restarts, and says where an answer comes from.

    python examples/chat_loop.py --db chat.db

It reads what you say from stdin, a line each, until Ctrl-D. Replace `model` by your own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from salience import Memory

Messages = Sequence[Mapping[str, str]]


def model(messages: Messages) -> str:
    """Yours: ask a language model here. This one leaves the answer to the sources."""
    return "I remember this:" if messages[-1]["content"].endswith("?") else "Noted."


def turn(memory: Memory, session: str, said: str) -> None:
    """Recall, answer with the sources, and keep both messages."""
    context = memory.get_context(said, 500, format="messages", cut="auto")
    message = {"role": "user", "content": said}
    reply = model([*context.messages, message])
    print(reply)
    asked = said.endswith("?")
    for record in memory.get_many(context.ids[:3] if asked else ()):
        if record is not None:
            print(f"  {record.speaker} on {record.created_at:%Y-%m-%d}: {record.content}")
    memory.add([message, {"role": "assistant", "content": reply}], session_id=session)


def main() -> None:
    """One session: a turn for each line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", default="chat.db", help="a file, or the address of a server")
    session = datetime.now(UTC).isoformat()
    with Memory(parser.parse_args().db) as memory:
        for line in sys.stdin:
            if said := line.strip():
                turn(memory, session, said)


if __name__ == "__main__":
    main()

"""A scripted model: answers of a chat endpoint with given facts, for the scripted server."""

from __future__ import annotations

import json
from typing import Any

from salience.engine.extraction import Extractor
from support.scripted_server import Server, Step, answer


def says(content: Any) -> Step:
    """The model answers a text, or JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return answer(200, {"choices": [{"message": {"role": "assistant", "content": text}}]})


def finds(*facts: str | tuple[str, list[int]]) -> Step:
    """The model finds facts, each with the numbers of its turns (the first one by default)."""
    listed = [(fact, [1]) if isinstance(fact, str) else fact for fact in facts]
    return says({"facts": [{"text": t, "turns": n, "source": "user"} for t, n in listed]})


def extractor(server: Server, **options: Any) -> Extractor:
    """An extractor that asks a scripted server."""
    return Extractor("m", **{"base_url": server.url, "backoff": 0.001, **options})


def asked(server: Server, place: int = -1) -> tuple[str, dict[str, Any]]:
    """The prompt and the JSON that the model was asked."""
    system, user = server.seen[place][2]["messages"]
    return system["content"], json.loads(user["content"])

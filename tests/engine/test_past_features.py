"""The past takes from the present what follows from texts that are as they were."""

from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest

from salience import Memory
from salience.engine import time_travel
from salience.evaluation.synthetic_chats import realistic
from salience.stores import codec

AT = datetime(2026, 3, 1, tzinfo=UTC)
ITEMS = [
    *({**item, "id": f"m{number}"} for number, item in enumerate(realistic(40))),
    {"id": "lives", "content": "Ana lives in Lisbon.", "kind": "fact"},
    {"id": "works", "content": "Ben works at a bakery.", "kind": "fact"},
    {"id": "likes", "content": "I like tea.", "session_id": "s", "speaker": "Ana"},
]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    memory = Memory.open(tmp_path / "m.db", embedder=None, clock=lambda: now)
    memory.add_many(ITEMS, dedup=False)
    now = datetime(2026, 2, 1, tzinfo=UTC)
    memory.update("m3", content="Tea was drunk in Lisbon before that time.")
    now = datetime(2026, 6, 1, tzinfo=UTC)
    memory.update("m1", content="Nothing of what it was.")
    memory.update("m2", tags=["edited"])
    memory.update("lives", content="Ana lives in Porto.")
    memory.search("tea", touch=False)
    return memory


def test_only_texts_that_were_edited_since_are_worked_out_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memory:
        counted = {name: Mock(wraps=getattr(codec, name)) for name in ("features", "attribute_key")}
        for name, mock in counted.items():
            monkeypatch.setattr(codec, name, mock)
        memory.search("tea in Lisbon", as_of=AT, touch=False)
        assert counted["features"].call_count == 2  # m1 and lives
        stating = counted["attribute_key"].call_count  # of these, and of what states something
        assert stating < len(ITEMS) / 2


def test_the_past_is_what_it_is_if_all_is_worked_out(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> list[tuple[str, float, str]]:
        found = memory.search("Where does Ana live? Tea?", as_of=AT, touch=False, limit=50)
        memory._core.dispatcher._pasts.clear()
        return [(hit.id, hit.score, hit.content) for hit in found]

    with memory:
        short = asked()
        monkeypatch.setattr(time_travel, "_changes_text", lambda edits: True)
        assert asked() == short
        assert {("lives", "Ana lives in Lisbon.")} <= {(id, text) for id, _, text in short}

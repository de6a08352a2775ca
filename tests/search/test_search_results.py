"""The short form of a search result, for APIs."""

from __future__ import annotations

import json

import pytest

from salience import Memory
from salience.errors import InvalidInput


def test_the_compact_form_has_what_is_there_and_nothing_empty() -> None:
    with Memory("ram://") as memory:
        memory.add("Ana moved to Lisbon.", id="move", tags=["home"])
        found = memory.search("Where did Ana move?")
    whole = json.loads(json.dumps(found.compact()))
    [hit] = whole["hits"]
    assert {"id", "content", "score", "probability", "kind", "created_at", "tags"} == hit.keys()
    assert found.compact(["rank"])["hits"] == [{"id": "move", "rank": 1}]
    assert "degraded" not in whole
    with pytest.raises(InvalidInput, match=r"fields: a hit has no 'colour'; use some of "):
        found.compact(["colour"])

"""What nobody says, such as calls of tools, is found only by whoever asks for its kind."""

from __future__ import annotations

from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.integrations._memory import ITEM_KIND, without_items


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (None, {"turn"}),
        ({"session_id": "one"}, {"turn"}),
        ({"or": [{"session_id": "one"}, {"session_id": "two"}]}, {"turn"}),
        ({"kind": ITEM_KIND}, {"call"}),
        ({"not": {"kind": "note"}}, {"turn", "call"}),
    ],
)
def test_items_are_left_out_unless_a_kind_is_asked_for(filters: Any, found: set[str]) -> None:
    with Memory("ram://", embedder=None) as memory:
        memory.add("Look at the sea.", id="turn", session_id="one")
        memory.add("look(sea)", id="call", kind=ITEM_KIND, session_id="one")
        assert set(memory.search("sea", filters=without_items(filters)).ids) == found


def test_a_wrong_filter_is_refused() -> None:
    with pytest.raises(InvalidInput, match="colour"):
        without_items({"colour": "red"})

"""What others write while a search is under way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recollect import Memory
from recollect.ops import Op, Read
from recollect.plan import drive
from recollect.search import search


def test_a_memory_edited_between_ranking_and_reading_is_returned_as_it_is_now(
    tmp_path: Path,
) -> None:
    with (
        Memory.open(f"sqlite:///{tmp_path}/a.db", embedder=None) as memory,
        Memory.open(f"sqlite:///{tmp_path}/a.db", embedder=None) as other,
    ):
        memory.add_many(
            [
                {"id": "tea", "content": "The green tea is in the cupboard"},
                {"id": "pot", "content": "The tea pot is green"},
                {"id": "cup", "content": "A green cup for tea"},
            ]
        )
        batch = memory._core.world.batch
        edits = iter([True])

        def meanwhile(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, Read) for op in ops) and next(edits, False):
                other.update("pot", content="The tea pot is blue now")
                other.delete("cup")
            return batch(ops)

        result = drive(search(memory._core.request("green tea")), meanwhile)
        found = {hit.id: hit.content for hit in result}
        assert found == {
            "tea": "The green tea is in the cupboard",
            "pot": "The tea pot is blue now",
        }
        assert [hit.rank for hit in result] == [1, 2]

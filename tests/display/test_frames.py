"""Hits and listed memories as tables of pandas."""

from __future__ import annotations

import sys

import pandas
import pytest

from salience import Memory, SalienceError
from support.kitchen import QUERY, kitchen


def test_hits_are_rows_with_their_fields() -> None:
    result = kitchen().search(QUERY, limit=3)
    frame = result.to_pandas()
    assert list(frame["id"]) == list(result.ids)
    assert list(frame["score"]) == [hit.score for hit in result]
    assert list(frame["rank"]) == [1, 2, 3]
    assert frame["importance"].notna().all()
    assert isinstance(frame["created_at"].dtype, pandas.DatetimeTZDtype)
    assert list(frame["content"]) == [hit.content for hit in result]


def test_listed_memories_are_rows() -> None:
    memory = kitchen()
    page = memory.get_all(limit=5)
    frame = page.to_pandas()
    assert list(frame["id"]) == [record.id for record in page]
    assert set(frame.columns) == set(page[0].to_dict())


def test_no_row_has_the_columns_still() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        hits, page = memory.search("x").to_pandas(), memory.get_all().to_pandas()
        assert (len(hits), len(page)) == (0, 0)
        assert {"rank", "score", "id", "content"} <= set(hits.columns)
        assert {"id", "content"} <= set(page.columns)


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SalienceError, match=r"pip install 'salience\[pandas\]'"):
        kitchen().search(QUERY).to_pandas()

"""Haystack's own tests of a document store, and the same filters beside its store in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing.document_store import DocumentStoreBaseTests
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    WriteDocumentsAsyncTest,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.errors import InvalidInput
from salience.integrations.haystack import SalienceDocumentStore
from salience.testing.embedder import WordHashEmbedder


def new_store() -> SalienceDocumentStore:
    return SalienceDocumentStore(Memory("ram://", embedder=WordHashEmbedder()), user_id="ana")


class TestTheirs(
    DocumentStoreBaseTests,
    CountDocumentsAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    WriteDocumentsAsyncTest,
):
    """All of Haystack's tests of the protocol; embeddings are not kept, so not compared."""

    @pytest.fixture
    def document_store(self) -> SalienceDocumentStore:
        return new_store()

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        assert received == [replace(document, embedding=None) for document in expected]

    def test_write_documents(self, document_store: Any) -> None:
        """Without a policy an id that is taken is an error, as in Haystack's store in memory."""
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([Document(content="new"), document])
        self.assert_documents_are_equal(document_store.filter_documents(), [document])

    async def test_write_documents_async(self, document_store: Any) -> None:
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


_META = st.fixed_dictionaries(
    {},
    optional={
        "number": st.integers(-2, 2),
        "name": st.sampled_from(["a", "b", ""]),
        "flag": st.booleans(),
        "date": st.sampled_from(["2024-01-01", "2024-06-01", "2025-01-01"]),
        "deep": st.fixed_dictionaries({"number": st.integers(0, 1)}),
    },
)
_NUMBER = st.sampled_from(["meta.number", "number", "meta.deep.number"])
_VALUES = st.integers(-2, 2) | st.none()
_COMPARISONS = st.one_of(
    st.tuples(_NUMBER, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), _VALUES),
    st.tuples(_NUMBER, st.sampled_from(["in", "not in"]), st.lists(_VALUES, max_size=2)),
    st.tuples(
        st.just("meta.date"),
        st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
        st.sampled_from(["2024-06-01", "2023-01-01"]),
    ),
    st.tuples(
        st.sampled_from(["meta.name", "id", "content"]),
        st.sampled_from(["==", "!="]),
        st.sampled_from(["a", "", "0", "Text 1"]),
    ),
).map(lambda parts: dict(zip(("field", "operator", "value"), parts, strict=True)))
_FILTERS = st.recursive(
    _COMPARISONS,
    lambda inner: st.fixed_dictionaries(
        {
            "operator": st.sampled_from(["AND", "OR", "NOT"]),
            "conditions": st.lists(inner, min_size=1, max_size=2),
        }
    ),
    max_leaves=3,
)


@settings(max_examples=80)
@given(st.lists(_META, max_size=5), st.lists(_FILTERS, min_size=1, max_size=4))
def test_filters_pass_what_they_pass_in_memory(
    metas: list[dict[str, Any]], filters: list[dict[str, Any]]
) -> None:
    documents = [
        Document(id=f"{number}", content=f"Text {number}", meta=meta)
        for number, meta in enumerate(metas)
    ]
    ours, theirs = new_store(), InMemoryDocumentStore()
    for store in (ours, theirs):
        store.write_documents(documents)
    for condition in filters:
        assert ours.filter_documents(condition) == theirs.filter_documents(condition)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abc"), max_size=3),
            st.sampled_from([p for p in DuplicatePolicy if p is not DuplicatePolicy.FAIL]),
        ),
        max_size=4,
    )
)
def test_policies_are_those_in_memory(writes: list[tuple[list[str], DuplicatePolicy]]) -> None:
    ours, theirs = new_store(), InMemoryDocumentStore()
    for number, (ids, policy) in enumerate(writes):
        documents = [
            Document(id=id, content=f"Text {number} {place}") for place, id in enumerate(ids)
        ]
        results: list[Any] = []
        for store in (ours, theirs):
            if policy is DuplicatePolicy.NONE:  # that in memory keeps those before the taken one
                known = {document.id for document in ours.filter_documents()}
                documents = (
                    [d for d in documents if d.id not in known] if store is ours else documents
                )
                documents = list({d.id: d for d in documents}.values())
            results.append(store.write_documents(documents, policy))
        assert results[0] == results[1]
        kept = [sorted(s.filter_documents(), key=lambda d: d.id) for s in (ours, theirs)]
        assert kept[0] == kept[1]


def test_what_cannot_be_kept_or_compared_is_refused() -> None:
    store = new_store()
    with pytest.raises(InvalidInput, match=r"documents\[0\]\.content"):
        store.write_documents([Document(meta={"only": "meta"})])
    with pytest.raises(DuplicateDocumentError, match="twice"):
        store.write_documents([Document(id="1", content="a"), Document(id="1", content="b")])
    for wrong in (
        {"field": "meta.x", "operator": "like", "value": 1},
        {"operator": "XOR", "conditions": []},
        {"operator": "AND", "conditions": ["x"]},
        {"field": "meta.x", "operator": ">", "value": {"a": 1}},
        {"field": "memory.colour", "operator": "==", "value": "red"},
    ):
        with pytest.raises(FilterError):
            store.filter_documents(wrong)
    assert store.count_documents() == 0

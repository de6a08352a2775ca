"""LangChain's own tests of retrievers and of vector stores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from salience import Memory
from salience.integrations.langchain import SalienceRetriever, SalienceVectorStore


@pytest.mark.asyncio
class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return SalienceRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        memory = Memory("ram://", embedder=None)
        memory.add_many([f"Ana drinks tea number {i}." for i in range(5)], dedup=False)
        return {"memory": memory, "k": 4}

    @property
    def retriever_query_example(self) -> str:
        return "tea"


@pytest.mark.asyncio
class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[SalienceVectorStore]:
        store = SalienceVectorStore("ram://", self.get_embeddings())
        yield store
        store.close()

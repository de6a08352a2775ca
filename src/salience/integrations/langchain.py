"""A memory as LangChain's retriever, vector store, history of a chat, and middleware of an agent.

    from langchain.agents import create_agent
    from salience.integrations.langchain import MemoryMiddleware

    agent = create_agent(model, middleware=[MemoryMiddleware("agent.db", user_id="ana")])

A user's memories are in the namespace `scope(user_id)`; without a `user_id` they are in that of the
memory.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any, Self, Unpack

from salience.display.for_models import clean, fenced
from salience.engine.memory import Memory
from salience.engine.options import Settings
from salience.errors import InvalidInput
from salience.integrations._extra import extra
from salience.integrations._langchain import COSINE, conditions, marginal_relevance, opened_with
from salience.integrations._memory import (
    ITEM_KIND,
    MemoryLike,
    Opened,
    as_query,
    in_order,
    without_items,
)
from salience.records.filters import all_of, parse_filter
from salience.records.record import MemoryRecord, new_id
from salience.retrieval.plan import in_thread
from salience.search.request import Filters
from salience.search.results import Hit, SearchResult

with extra("langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import ModelRequest, ModelResponse
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import (
        BaseMessage,
        HumanMessage,
        message_to_dict,
        messages_from_dict,
    )
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langgraph.runtime import Runtime
    from pydantic import ConfigDict, Field, PrivateAttr

DOCUMENT_KIND = "document"
"""The kind of the memories of a vector store; it sees no others."""
MESSAGE_KEY = "langchain_message"
"""The key of the metadata that holds a message as JSON."""
_SPEAKERS = {"human": "user", "ai": "assistant"}
_PROVENANCE = ("kind", "speaker", "session_id", "created_at")


class SalienceRetriever(BaseRetriever):
    """A retriever of all memories of a user, ranked by salience.

    A document has the text, id and metadata of a memory, and in its metadata as well, unless there
    are other values: `score`, `kind`, `speaker`, `session_id`, and `created_at` as ISO 8601 text.

    memory: a memory, or the address of one.
    user_id: the user whose memories are found.
    k: the most documents, 1 to 1000.
    options: those of `Memory.search`, such as {"filters": ..., "cut": "auto"}.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: Any = Field(exclude=True, repr=False)
    user_id: str | None = None
    k: int = 4
    options: dict[str, Any] = Field(default_factory=dict)
    _opened: Opened = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Open the memory."""
        super().model_post_init(context)
        self._opened = Opened(self.memory).of_user(self.user_id)

    def close(self) -> None:
        """Close what was opened by an address."""
        self._opened.close()

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        # The options of a call go before those of the retriever.
        chosen = {"limit": options.pop("k", self.k), **self.options, **options}
        return [_with_provenance(hit) for hit in self._opened.sync.search(query, **chosen)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        get = partial(self._get_relevant_documents, run_manager=run_manager.get_sync())
        return await in_thread(get, query, **options)


class SalienceVectorStore(VectorStore):
    """Documents kept in a memory, as a vector store keeps them.

    It ranks by cosines of `embedding`, or without one by salience's own ranking. It sees none but
    its own documents; other memories of the user are found by `SalienceRetriever`.
    """

    def __init__(
        self,
        memory: MemoryLike,
        embedding: Embeddings | None = None,
        *,
        user_id: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Make a vector store over a memory, or open the one at an address.

        Args:
            memory: a memory, or an address as `Memory.open` takes it.
            embedding: embeddings that rank in place of salience.
            user_id: the user whose documents these are.
            settings: those of `Memory.open`, for an address.

        Raises:
            InvalidInput: a setting is wrong, or embeddings are given for a memory that is open
                already or at a server, which has an embedder of its own.
            SalienceError: the address cannot be opened.
        """
        self._embedding = embedding
        self._opened = opened_with(embedding, memory, settings).of_user(user_id)

    @property
    def embeddings(self) -> Embeddings | None:
        """The embeddings that were given."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        memory: MemoryLike | None = None,
        **settings: Any,
    ) -> Self:
        """Make a vector store over a memory, and add texts to it.

        Args:
            texts: the texts.
            embedding: embeddings that rank in place of salience.
            metadatas: the metadata of each text.
            ids: the id of each text; new ones by default.
            memory: a memory, or an address as `Memory.open` takes it.
            settings: `user_id`, and those of `Memory.open`.

        Raises:
            InvalidInput: no memory is given, or what `add_texts` refuses.
        """
        if memory is None:
            raise InvalidInput(
                "memory", "is missing", 'give the path of a store, "ram://" for none'
            )
        store = cls(memory, embedding, **settings)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def close(self) -> None:
        """Close what was opened by an address."""
        self._opened.close()

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **options: Any,
    ) -> list[str]:
        """Add texts, or replace those of the same ids; returns their ids.

        Raises:
            InvalidInput: one cannot be kept, or another memory has its id; nothing was written.
            ValueError: there are more or fewer metadata or ids than texts.
        """
        contents = list(texts)
        chosen = [id or new_id() for id in ids or [None] * len(contents)]
        described = metadatas or [{}] * len(contents)
        items = [
            {"id": id, "content": text, "metadata": metadata, "kind": DOCUMENT_KIND}
            for id, text, metadata in zip(chosen, contents, described, strict=True)
        ]
        if not items:
            return []
        for record in self._opened.sync.get_many(chosen):
            if record is not None and record.kind != DOCUMENT_KIND:
                problem = f"has {record.id!r}, which is the id of a memory that is no document"
                raise InvalidInput("ids", problem, "give another id")
        # Of items with one id the last one counts.
        last = list({item["id"]: item for item in items}.values())
        write: Any = {"strict": True, "dedup": False, "on_conflict": "replace"}
        self._opened.sync.add_many(last, **write)
        return chosen

    def delete(self, ids: list[str] | None = None, **options: Any) -> bool:
        """Erase the documents of some ids, or all; True, even if some were not there."""
        where: dict[str, Any] = {"kind": DOCUMENT_KIND}
        if ids is not None:
            where["id"] = {"in": ids}
        if ids != []:
            self._opened.sync.delete_all(where)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Get the documents of some ids, in their order; those that are not there are left out."""
        records = self._opened.sync.get_many(list(ids))
        return [_document(r) for r in records if r is not None and r.kind == DOCUMENT_KIND]

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Find the best documents for a query, as `similarity_search_with_score` does."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **options)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Find the best documents for a query, with their scores; a higher one is better.

        Args:
            query: what is asked.
            k: the most documents, 1 to 1000.
            options: `filter`, what values of the metadata have to be: equal, or as `$eq`, `$ne`,
                `$gt`, `$gte`, `$lt`, `$lte` say; and the options of `Memory.search`.
        """
        return [(_document(hit.record), hit.score) for hit in self._search(query, k, options)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,
    ) -> list[Document]:
        """Find documents that are relevant and unlike each other, by the cosines of their vectors.

        Args:
            query: what is asked.
            k: the most documents, 1 to 1000.
            fetch_k: out of how many of the most similar ones they are picked.
            lambda_mult: the weight of relevance from 0 to 1; the rest is that of diversity.
            options: those of `similarity_search_with_score`, but for `profile`.
        """
        profile = marginal_relevance(fetch_k, lambda_mult)
        return self.similarity_search(query, k, profile=profile, **options)

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        hits = self._search(query, k, options)
        return [(_document(hit.record), _relevance(hit)) for hit in hits]

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        return await in_thread(self._similarity_search_with_relevance_scores, query, k, **options)

    def _search(self, query: str, k: int, options: dict[str, Any]) -> SearchResult:
        """The hits among the documents."""
        chosen, values = dict(options), options.get("filter")
        chosen.pop("filter", None)
        if values is not None and not isinstance(values, Mapping):
            problem = f"is a {type(values).__name__}"
            raise InvalidInput("filter", problem, 'give values by key: {"source": "chat"}')
        where = {"and": [{"kind": DOCUMENT_KIND}, *conditions("metadata", values or {})]}
        chosen["filters"] = _all(where, chosen.get("filters"))
        if self._embedding is not None:
            chosen.setdefault("profile", COSINE)
        return self._opened.sync.search(query, limit=k, **chosen)


class SalienceChatHistory(BaseChatMessageHistory):
    """The messages of a chat, kept as memories, in the order of writing.

    What was said in one chat can be recalled in every other of the user. Several processes may
    share a chat.
    """

    def __init__(
        self,
        session_id: str,
        memory: MemoryLike,
        *,
        user_id: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Open the history of a chat, which may have messages already.

        Args:
            session_id: the chat.
            memory: a memory, or an address as `Memory.open` takes it.
            user_id: the user whose chat it is.
            settings: those of `Memory.open`, for an address.
        """
        self.session_id = session_id
        self._opened = Opened(memory, **settings).of_user(user_id)
        self._filters = {"session_id": session_id, f"metadata.{MESSAGE_KEY}": {"exists": True}}

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages of the chat."""
        records = in_order(self._opened.sync, self._filters)
        return messages_from_dict([json.loads(r.metadata[MESSAGE_KEY]) for r in records])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Write messages behind those that are there.

        Raises:
            InvalidInput: one is too large, or no JSON; nothing was written.
        """
        items = [_turn(message, self.session_id) for message in messages]
        if items:
            self._opened.sync.add_many(items, strict=True, dedup=False)

    def clear(self) -> None:
        """Erase all messages of the chat; what else is known of the user stays."""
        self._opened.sync.delete_all(self._filters)

    def close(self) -> None:
        """Close what was opened by an address; the messages stay."""
        self._opened.close()


class MemoryMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Recall before each call of a model, and remembering after each turn of an agent.

    What was recalled for the user's last words is put right before them, as quoted data. The model
    gets it, the state of the agent does not. What is in the conversation already is not recalled.
    After the turn, what the user and the agent said is remembered.
    """

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user_id: str | Callable[[Runtime[Any]], str] | None = None,
        max_tokens: int = 1_000,
        remember: bool = True,
        **options: Any,
    ) -> None:
        """Make a middleware for `create_agent`.

        Args:
            memory: a memory, or the address of one.
            user_id: the user whose memories these are, or a function that tells it of the run, as
                `lambda runtime: runtime.context.user_id`. It is never asked of the model.
            max_tokens: the most tokens of what is recalled.
            remember: keep what is said; False only recalls.
            options: those of `Memory.search`; `limit` is 5 by default.
        """
        super().__init__()
        self._opened = Opened(memory)
        self._user_id, self._max_tokens, self._remember = user_id, max_tokens, remember
        self._options: dict[str, Any] = {"limit": 5, **options}
        parse_filter(options.get("filters"))

    def close(self) -> None:
        """Close what was opened by an address."""
        self._opened.close()

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Call the model with what was recalled before the user's last words."""
        return handler(self._recalled(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, awaited."""
        return await handler(await in_thread(self._recalled, request))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Remember the turn that ends: the words since the user spoke, each once."""
        memory = self._of(runtime)
        messages = state["messages"]
        place = _last_of_user(messages)
        if not self._remember or place is None:
            return
        run = runtime.execution_info
        session_id = None if run is None else run.thread_id
        turns = [m for m in messages[place:] if m.type in _SPEAKERS and _text(m)]
        now = datetime.now(timezone.utc)
        items = [
            {
                "id": f"langchain:{message.id}" if message.id else new_id(),
                "content": _text(message),
                "kind": "turn",
                "speaker": _SPEAKERS[message.type],
                "session_id": session_id,
                "created_at": now,
            }
            for message in turns
        ]
        if items:
            memory.add_many(items, strict=True, dedup=False, on_conflict="skip")

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """`after_agent`, awaited."""
        await in_thread(self.after_agent, state, runtime)

    def _of(self, runtime: Runtime[Any]) -> Memory:
        """The memory of the user of a run."""
        user_id = self._user_id(runtime) if callable(self._user_id) else self._user_id
        if user_id is None and self._user_id is not None:
            raise InvalidInput("user_id", "is not known of this run", "give it in the context")
        return self._opened.of_user(user_id).sync

    def _recalled(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """The request with what its last words of the user recall."""
        memory = self._of(request.runtime)
        messages = request.messages
        place = _last_of_user(messages)
        query = "" if place is None else as_query(_text(messages[place]))
        if not query:
            return request
        texts = sorted({_text(message) for message in messages} - {""})
        spoken = without_items(self._options.get("filters"))
        options = {**self._options, "filters": _all({"content": {"nin": texts}}, spoken)}
        # The calls after those of tools recall the same, which is no further access.
        options.setdefault("touch", place == len(messages) - 1)
        result = memory.search(query, **options)
        text = fenced(result, max_tokens=self._max_tokens, zone=memory.time_zone)
        if not text:
            return request
        recalled = [*messages[:place], HumanMessage(text), *messages[place:]]
        return request.override(messages=recalled)


def _all(where: Filters, further: Filters) -> Filters:
    """The filter that two hold together."""
    return all_of(parse_filter(where), parse_filter(further))


def _document(record: MemoryRecord) -> Document:
    """The document of a memory, with a copy of its metadata."""
    metadata = json.loads(json.dumps(dict(record.metadata)))
    return Document(id=record.id, page_content=record.content, metadata=metadata)


def _with_provenance(hit: Hit) -> Document:
    document, record = _document(hit.record), hit.record
    values = {name: getattr(record, name) for name in _PROVENANCE}
    values = {**values, "created_at": record.created_at.isoformat(), "score": hit.score}
    provenance = {name: value for name, value in values.items() if value is not None}
    document.metadata = {**provenance, **document.metadata}
    return document


def _relevance(hit: Hit) -> float:
    """The cosine of a hit, in [0, 1]; 0 if there are no vectors."""
    return min(hit.similarity or 0.0, 1.0)


def _turn(message: BaseMessage, session_id: str) -> dict[str, Any]:
    """The fields of a message as a memory."""
    text = _text(message)
    spoken = bool(text) and message.type in _SPEAKERS
    return {
        "content": text or message.type,
        "kind": "turn" if spoken else ITEM_KIND,
        "speaker": _SPEAKERS.get(message.type, message.type),
        "session_id": session_id,
        "metadata": {MESSAGE_KEY: json.dumps(message_to_dict(message))},
    }


def _text(message: BaseMessage) -> str:
    """The words of a message, without characters that nobody sees."""
    return clean(str(message.text)).strip()


def _last_of_user(messages: Sequence[BaseMessage]) -> int | None:
    """The place of the user's last message."""
    places = (i for i in reversed(range(len(messages))) if isinstance(messages[i], HumanMessage))
    return next(places, None)

"""`Client`: a server's memories, feedback and searches in groups, as client.memories.create(...).

Its fields have the names of REST documents: `importance_score` and `relevance_score` (0.5 where a
memory has none), `threshold`, `combined_score`, and a memory's `tier`, `content_type` and
`memory_nature` as arguments of a search.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from salience.closing import Closing
from salience.engine.options import DEFAULT_TIMEOUT_SECONDS, Settings
from salience.errors import NotFound
from salience.records.record import UNSET_SHARE
from salience.remote.calls import CALLS
from salience.remote.keys import RemoteKeys
from salience.remote.settings import RemoteSettings
from salience.remote.transport import Transport


class Answer(dict[str, Any]):
    """An object of an answer: `answer["results"]` is `answer.results`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the answer has no {name!r}, but {', '.join(self)}") from None


class Client(Closing):
    """A client of one server, with methods in groups.

    `memories` creates, changes, lists and erases memories; `feedback` judges them, `keys` are
    those of the server's store. Searches are ranked as everywhere; those with a `threshold`,
    `tier`, `content_type` or `memory_nature` and without a profile by "six_factor", on whose scale
    a threshold is a share of 1.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        namespace: str | None = None,
        timeout: float | None = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        """Create a client; nothing is sent yet.

        Args:
            url: the address of the server, as `http://host:port`; by default that in the
                environment's SALIENCE_DB.
            api_key: its key; that in the environment's SALIENCE_API_KEY by default.
            namespace: the namespace of the memories; the first of the key by default.
            timeout: the seconds without a sign of the server after which a request fails.
        """
        settings: Settings = {"api_key": api_key, "timeout": timeout}
        if namespace is not None:
            settings["namespace"] = namespace
        self._settings = RemoteSettings.of("Client", url, **settings)
        self._transport = Transport(self._settings)
        self.memories = Memories(self)
        self.feedback = Feedback(self)
        self.keys = RemoteKeys(self._settings, self._transport)

    def search(self, query: str, *, threshold: float | None = None, **options: Any) -> Answer:
        """Find memories: `results` in the answer, best first, each with its `combined_score`.

        Args:
            query: a question or search terms.
            threshold: the least `combined_score`.
            options: `limit`, `tier`, `content_type`, `memory_nature`, and those of `Memory.search`.
        """
        return self.ask("search", {"query": query, "threshold": threshold, **options})

    def get_context(self, query: str, max_tokens: int = 2000, **options: Any) -> Answer:
        """Build a prompt context for a query, in at most `max_tokens` tokens: its `text`."""
        return self.ask("get_context", {"query": query, "max_tokens": max_tokens, **options})

    def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """The JSON of the answer to an operation, by the name of the method of `Memory`.

        Raises:
            SalienceError: what the server refused, or why it cannot be reached.
        """
        request = self._settings.request(CALLS[operation], arguments)
        return _with_attributes(self._transport.send(request))

    def close(self) -> None:
        """Close the connections; the server goes on."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"Client({self._settings.url!r})"


class Memories:
    """The memories of a client's namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, content: str, **fields: Any) -> Answer:
        """Remember a text; the answer has its `id`, and in `items` the outcome."""
        names = {} if "importance" in fields else {"importance_score": None}  # for the answer
        answer: Answer = self._client.ask("add", {"content": content, **names, **fields})
        return answer

    def update(self, id: str, **fields: Any) -> Answer:
        """Change fields of a memory; the answer is the memory as it is now, with its scores.

        Raises:
            NotFound: there is no such memory.
        """
        return _scored(self._client.ask("update", {"id": id, **fields}))

    def get(self, id: str) -> Answer | None:
        """Get one memory with its scores, or None."""
        try:
            return _scored(self._client.ask("get", {"id": id}))
        except NotFound:
            return None

    def list(self, **options: Any) -> Answer:
        """List a page of memories, `memories`, and the `cursor` of the next one.

        Its options are those of `Memory.get_all`.
        """
        answer: Answer = self._client.ask("get_all", options)
        answer["memories"] = [_scored(memory) for memory in answer["memories"]]
        return answer

    def delete(self, id: str) -> bool:
        """Erase a memory; True if there was one."""
        try:
            self._client.ask("delete", {"id": id})
        except NotFound:
            return False
        return True


class Feedback:
    """Judgements of a client's memories."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, memory_id: str, type: str, context: str | None = None) -> Answer:
        """Judge a memory: useful, confirmed, not_useful, outdated or incorrect; give a reason.

        Raises:
            NotFound: there is no such memory.
            InvalidInput: another kind of judgement.
        """
        judgement = {"memory_id": memory_id, "type": type, "context": context}
        answer: Answer = self._client.ask("feedback", judgement)
        return answer


def _scored(memory: Answer) -> Answer:
    """A memory with its scores as they count: 0.5 where it has none."""
    for name, value in (
        ("importance_score", memory.get("importance")),
        ("relevance_score", memory.get("relevance_score")),
    ):
        memory[name] = UNSET_SHARE if value is None else value
    return memory


def _with_attributes(value: Any) -> Any:
    """The JSON of an answer, with attributes."""
    if isinstance(value, dict):
        return Answer({key: _with_attributes(item) for key, item in value.items()})
    return [_with_attributes(item) for item in value] if isinstance(value, list) else value

"""The operations: each public method with its verb, path, scope and weight, as one table.

The server, its document and its guard, and the remote client read a row, and the rest off the
signature and docstring of the method.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, Final, Literal

from salience.api.parameters import NOT_GIVEN
from salience.lazily import dataclass, field

Scope = Literal["memories:read", "memories:write", "memories:delete", "upkeep", "transfer", "keys"]

PREFIX: Final = "/v1"
READ: Final = "memories:read"
WRITE: Final = "memories:write"
DELETE: Final = "memories:delete"
UPKEEP: Final = "upkeep"
TRANSFER: Final = "transfer"
KEYS: Final = "keys"


@dataclass(frozen=True)
class Operation:
    """A method of `Memory` behind a verb and a path.

    The arguments of a GET are its query, those of another verb its body, but for an id that is in
    the path and `if_version`, which is the header If-Match as well.

    name: the method, as "search" or "inspect.zones"; the last one of a name is what the remote
        client asks for.
    route: verb and path, as "POST /prune".
    scope: what a key needs.
    title, means: what it does, and what the answer is, where it is neither a memory nor nothing.
    example: the arguments of an example.
    heavy: it waits for one of the heavy slots of a server; upkeep and transfers wait for long ones.
    repeats: to send it twice has the effect of once, as it has for all that read.
    member: the one member of the answer that is the result.
    absent: the result where the memory is not there (404), if that is no error.
    without: the arguments that a server does not take.
    renamed: other names of arguments.
    defaults: the defaults of a server where they are others than those of the method.
    status: that of the answer, where it is neither 200 nor (for nothing) 204.
    errors: the statuses of refusals beside those that follow from the rest.
    id, schema: the names in the document of it and of its arguments, where that of the method does
        not do.
    """

    name: str
    route: str
    scope: Scope
    title: str
    means: str = ""
    example: Mapping[str, Any] = field(default_factory=dict)
    heavy: bool = False
    repeats: bool = False
    member: str = ""
    absent: Any = NOT_GIVEN
    without: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    status: int = 0
    errors: tuple[int, ...] = ()
    id: str = ""
    schema: str = ""

    def of(self, memory: Any) -> Any:
        """The method of a memory, or of a class of memories."""
        return attrgetter(self.name)(memory)

    @property
    def word(self) -> str:
        """The last word of the name."""
        return self.name.rpartition(".")[2]

    @property
    def verb(self) -> str:
        """The method of HTTP."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path below the prefix, with the name of its place."""
        return self.route.partition(" ")[2]

    @property
    def is_long(self) -> bool:
        """True if it goes over all that a namespace holds."""
        return self.scope in (UPKEEP, TRANSFER)

    @property
    def is_repeatable(self) -> bool:
        """True if to send it twice has the effect of once."""
        return self.repeats or self.scope == READ or self.verb == "GET"

    @property
    def whole_route(self) -> str:
        """Verb and path, as "POST /v1/prune"."""
        return f"{self.verb} {PREFIX}{self.path}"


_MESSAGES = [
    {"role": "user", "content": "Where did I put the keys?"},
    {"role": "assistant", "content": "On the shelf by the door."},
]

GROUPS: Mapping[str, tuple[Operation, ...]] = {
    "Memories": (
        Operation(
            "add",
            "POST /memories",
            WRITE,
            "Add a memory, or the turns of a chat",
            "It was added.",
            {"content": "Ana moved to Lisbon in March.", "tags": ["ana"]},
            heavy=True,
            status=201,
            renamed={"importance_score": "importance"},
        ),
        Operation(
            "add_many",
            "POST /memories/batch",
            WRITE,
            "Add many memories",
            "The outcome of each item.",
            {"items": ["Ben has a cello.", {"content": "Ana likes tea.", "speaker": "Ana"}]},
            heavy=True,
            errors=(409,),
        ),
        Operation(
            "get_many",
            "POST /memories/get",
            READ,
            "Get memories by their ids",
            "The memories in the order of the ids; null where there is none.",
            {"ids": ["note-1", "note-2"]},
            heavy=True,
            member="memories",
        ),
        Operation(
            "get_all",
            "GET /memories",
            READ,
            "List memories",
            "A page of memories.",
            heavy=True,
            id="list_memories",
            schema="List",
        ),
        Operation(
            "get_all",
            "POST /memories/list",
            READ,
            "List memories that pass a filter",
            "A page of memories.",
            {"filters": {"tags": {"contains": "ana"}}, "limit": 20, "order": "oldest"},
            heavy=True,
            id="list_filtered",
            schema="List",
        ),
        Operation(
            "count",
            "POST /memories/count",
            READ,
            "Count memories",
            "The number of memories.",
            {"filters": {"kind": "note"}},
            heavy=True,
            member="count",
        ),
        Operation(
            "delete_all",
            "POST /memories/delete",
            DELETE,
            "Erase memories",
            "How many there were; with filters or all, the receipt of the erasure.",
            {"ids": ["note-1", "note-2"]},
            heavy=True,
            member="receipt",
            id="delete_many",
        ),
        Operation(  # answered by the one above
            "delete_many", "POST /memories/delete", DELETE, "Erase memories", member="deleted"
        ),
        Operation(
            "delete_user",
            "POST /users/delete",
            DELETE,
            "Erase a user",
            "The receipt of the erasure.",
            {"user_id": "ana"},
            heavy=True,
            without=("rewrite",),
        ),
        Operation("get", "GET /memories/{id}", READ, "Get a memory", "The memory.", absent=None),
        Operation(
            "update",
            "PATCH /memories/{id}",
            WRITE,
            "Change a memory",
            example={"importance": 0.8, "metadata": {"topic": "moving"}},
            renamed={"importance_score": "importance"},
        ),
        Operation(
            "delete",
            "DELETE /memories/{id}",
            DELETE,
            "Erase a memory",
            "It is erased.",
            absent=False,
        ),
        Operation(
            "history",
            "GET /memories/{id}/history",
            READ,
            "List what happened to a memory",
            "Its events and versions, oldest first.",
            heavy=True,
        ),
    ),
    "Judgements": (
        Operation(
            "feedback",
            "POST /feedback",
            WRITE,
            "Judge a memory",
            example={"id": "note-1", "kind": "useful", "context": "It answered the question."},
            renamed={"memory_id": "id", "type": "kind"},
        ),
        Operation(
            "touch",
            "POST /touch",
            WRITE,
            "Record a use of memories",
            "It is counted within a second.",
            {"ids": ["note-1"], "use": "reference"},
        ),
        Operation(
            "supersede",
            "POST /supersede",
            WRITE,
            "Replace a memory with a newer one",
            example={"old": "note-1", "new": "note-2"},
        ),
        Operation(
            "pin",
            "POST /memories/{id}/pin",
            WRITE,
            "Never archive a memory automatically",
        ),
        Operation(
            "unpin",
            "POST /memories/{id}/unpin",
            WRITE,
            "Let a memory be archived again",
        ),
        Operation("upkeep.decay", "POST /decay", UPKEEP, "Let all memories fade", repeats=True),
    ),
    "Keys": (),  # of the store, not of a memory
    "Links and chats": (
        Operation(
            "link",
            "POST /links",
            WRITE,
            "Link two memories",
            "They are linked.",
            {"source": "note-1", "target": "note-2", "type": "supports"},
        ),
        Operation("links", "GET /links", READ, "List links", "The links.", member="links"),
        Operation(
            "inspect.graph",
            "GET /graph",
            READ,
            "Get the neighbourhood of a memory",
            "The memories and the links between them, nearest first.",
            heavy=True,
        ),
        Operation(
            "add_chat",
            "POST /chats",
            WRITE,
            "Add a chat",
            "Chunks were added.",
            {"messages": _MESSAGES},
            heavy=True,
            status=201,
        ),
    ),
    "Listings": (
        Operation(
            "about",
            "POST /about",
            READ,
            "List what is known about a user",
            "What the user said about themselves.",
            {"user": "ana"},
            heavy=True,
        ),
        Operation("tags", "GET /tags", READ, "List the tags", "A page of tags.", heavy=True),
        Operation(
            "entities",
            "GET /entities",
            READ,
            "List the entities",
            "A page of entities.",
            heavy=True,
        ),
        Operation(
            "events",
            "GET /events",
            READ,
            "List events",
            "A page of events, oldest first unless the newest are asked for.",
        ),
    ),
    "Recall": (
        Operation(
            "search",
            "POST /search",
            READ,
            "Search",
            "The hits, best first.",
            {"query": "Where does Ana live?", "limit": 3},
            heavy=True,
        ),
        Operation(
            "get_context",
            "POST /context",
            READ,
            "Build a prompt context",
            "The text, and the memories it comes from.",
            {"query": "Where does Ana live?", "max_tokens": 500, "format": "markdown"},
            heavy=True,
            schema="Context",
        ),
        Operation(
            "explain",
            "POST /explain",
            READ,
            "Explain",
            "The reasons.",
            {"query": "Where does Ana live?", "id": "note-1"},
            heavy=True,
        ),
        Operation(  # answered by the one above
            "explain_many", "POST /explain", READ, "Explain memories", member="reports"
        ),
        Operation(
            "inspect.candidates",
            "POST /candidates",
            READ,
            "List what a search ranks",
            "The candidates, the hits first, with the parts of their scores.",
            {"query": "Where does Ana live?", "limit": 20},
            heavy=True,
        ),
        Operation(
            "inspect.compare",
            "POST /compare",
            READ,
            "Compare profiles",
            "The memories, with a rank for each.",
            {"query": "Where does Ana live?", "profiles": ["balanced", "six_factor"]},
            heavy=True,
        ),
    ),
    "Questions": (
        Operation(
            "labels.questions",
            "GET /questions",
            READ,
            "List the labelled questions",
            "The questions.",
            heavy=True,
        ),
        Operation(
            "labels.add",
            "POST /questions",
            WRITE,
            "Label a question with what answers it",
            "The question as it is kept.",
            {"query": "Where does Ana live?", "relevant": ["note-1"], "id": "question-1"},
            id="add_question",
            schema="add_question",
        ),
        Operation(
            "labels.delete",
            "DELETE /questions/{id}",
            WRITE,
            "Delete a labelled question",
            "It is deleted.",
            repeats=True,
            absent=False,
            id="delete_question",
        ),
        Operation(
            "labels.score",
            "POST /questions/score",
            READ,
            "Measure profiles on the labelled questions",
            "The measures of each profile with their intervals.",
            {"profiles": ["balanced", "six_factor"]},
            heavy=True,
            id="score_questions",
            schema="score_questions",
        ),
        Operation(
            "inspect.searches",
            "GET /searches",
            READ,
            "List the recorded searches",
            "A page of searches, newest first.",
            heavy=True,
        ),
    ),
    "Server": (
        Operation(
            "stats", "GET /stats", READ, "Count memories, links and more", "The counts.", heavy=True
        ),
    ),
    "Transfer": (
        Operation(
            "export",
            "GET /export",
            TRANSFER,
            "Export everything",
            "Lines of JSON.",
            without=("target",),
        ),
        Operation(
            "load",
            "POST /load",
            TRANSFER,
            "Import an export into an empty namespace",
            "How much was written.",
            without=("source",),
            errors=(409,),
        ),
        Operation(
            "upkeep.flush",
            "POST /flush",
            WRITE,
            "Write the accesses that are queued",
            "All accesses are written.",
            repeats=True,
        ),
    ),
    "Upkeep": (
        Operation(
            "inspect.zones",
            "GET /zones",
            READ,
            "Label memories by their vitality",
            "The memories, liveliest first.",
            heavy=True,
        ),
        Operation(
            "inspect.zones",
            "POST /zones",
            READ,
            "Label memories that pass a filter by their vitality",
            "The memories, liveliest first.",
            {"filters": {"kind": "note"}},
            heavy=True,
            id="zones_filtered",
        ),
        Operation(
            "inspect.zone_shares",
            "POST /zones/shares",
            READ,
            "Count the memories in each zone at several times",
            "The counts at each time.",
            {"points": 12},
            heavy=True,
        ),
        Operation(
            "inspect.vitality",
            "GET /memories/{id}/vitality",
            READ,
            "Follow the vitality of a memory",
            "Its vitality at each time, the changes of its zone, and when it is archived.",
            heavy=True,
        ),
        Operation(
            "archive",
            "POST /archive",
            UPKEEP,
            "Move memories to the archive",
            "The run, for undo; null if all were archived already.",
            {"ids": ["note-1"]},
            member="run",
        ),
        Operation(
            "unarchive",
            "POST /unarchive",
            UPKEEP,
            "Bring memories back from the archive",
            "The restored status of each memory, by id.",
            {"ids": ["note-1"]},
            member="restored",
        ),
        Operation(
            "upkeep.prune",
            "POST /prune",
            UPKEEP,
            "Archive faded memories, or preview that",
            "The candidates; archived if applied.",
            {"apply": False, "cap": 10},
        ),
        Operation(
            "upkeep.consolidate",
            "POST /consolidate",
            UPKEEP,
            "Merge memories that say the same, or preview that",
            "The clusters; merged if applied.",
            {"apply": False},
        ),
        Operation(
            "upkeep.maintain",
            "POST /maintain",
            UPKEEP,
            "Run the maintenance that is due, or show it",
            "The changes, step by step.",
            {"dry_run": True},
            defaults={"dry_run": True},
            errors=(409,),
        ),
        Operation(
            "undo",
            "POST /undo",
            UPKEEP,
            "Undo what a run changed",
            "The memories restored and erased.",
            {"run": "prune-2026-06-01"},
        ),
        Operation(
            "undo_actor",
            "POST /undo/actor",
            UPKEEP,
            "Undo everything one actor did, or preview that",
            "What was undone, or would be.",
            {"actor": "a1b2c3d4", "since": "2026-06-01"},
        ),
        Operation(
            "upkeep.audit",
            "POST /audit",
            UPKEEP,
            "Count duplicates, junk and other findings",
            "The findings.",
            {"mend": []},
        ),
        Operation(
            "upkeep.verify",
            "POST /verify",
            UPKEEP,
            "Compare every memory with its log",
            "The differences.",
            {"repair": False},
            repeats=True,
        ),
    ),
}
"""The operations by the heading under which the document has them."""

OPERATIONS: tuple[Operation, ...] = tuple(chain.from_iterable(GROUPS.values()))
BY_NAME: Mapping[str, Operation] = {each.name: each for each in OPERATIONS}
"""The operation that the remote client asks for, by the name of the method."""

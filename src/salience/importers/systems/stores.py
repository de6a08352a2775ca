"""The table of stores: databases and vector stores in which systems keep memories, a shape each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from salience.importers import _archives
from salience.importers._entries import PLACE, documents, listing, mapping, time
from salience.importers._source import Address, ImportProblem, Job, Place, moment
from salience.importers.shapes import OWN, Entry, Shape, paths
from salience.records.record import LINK_TYPES

CHROMA_FILE = "chroma.sqlite3"
_BATCH = 256
_LANGGRAPH = {"store": {"prefix", "key", "value", "created_at", "updated_at"}}
_OPENMEM = {
    "memories": {"id", "type", "text", "gist", "entities", "strength", "confidence", "status"},
    "edges": {"source_id", "target_id", "rel_type", "weight"},
}
_HISTORY = {"history": {"memory_id", "old_memory", "new_memory", "event"}}
_TEXT_KEYS = ("content", "text", "memory", "fact", "data")
_MEM0_FIELDS = (
    "id content=memory|data|text created_at updated_at user_id agent_id session_id=run_id "
    "speaker=actor_id|role kind=role tags=categories entities expires_at=expiration_date metadata"
)
# Derived from the text, or of one search.
_MEM0_DERIVED = ("hash", "text_lemmatized", "score", "structured_attributes")


def _tables(place: Path, tables: Mapping[str, set[str]], name: str) -> None:
    """Check that a file has the tables of a system."""
    there = _archives.columns(place) if place.is_file() else {}
    for table, columns in tables.items():
        if not there.get(table, set()) >= columns:
            raise ImportProblem(place, f"has no table {table!r} of {name}", "give its SQLite file")


def _openmem(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    """The memories of a file, each with the edges from it as links."""
    assert isinstance(place, Path)
    _tables(place, _OPENMEM, "OpenMem")
    links: dict[str, list[Entry]] = {}
    for edge in _archives.rows(place, "SELECT * FROM edges ORDER BY created_at, id"):
        type = edge["rel_type"] if edge["rel_type"] in LINK_TYPES else "mentions"
        if edge["source_id"] != edge["target_id"]:
            links.setdefault(edge["source_id"], []).append(
                {
                    "target": edge["target_id"],
                    "type": type,
                    "weight": min(max(edge["weight"], 0.0), 1.0),
                    "created_at": moment(edge["created_at"]),
                }
            )
    for row in _archives.rows(place, "SELECT * FROM memories ORDER BY created_at, id"):
        try:
            entities = _archives.json_of(place, row["id"], row["entities"])
        except ImportProblem as problem:
            job.left_out(problem)
            continue
        yield row["id"], {**row, "entities": entities, "links": links.get(row["id"])}


def _langgraph(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    """The items of a SQLite file, or of the table on a server."""
    if isinstance(place, Address):
        rows = _of_postgres(place)
    else:
        _tables(place, _LANGGRAPH, "LangGraph")
        rows = _archives.rows(place, _SELECT)
    for row in rows:
        id = f"{row['prefix']}/{row['key']}"
        try:
            value = row["value"]
            if isinstance(place, Path):  # PostgreSQL has read it already
                value = _archives.json_of(place, id, value)
            if not isinstance(value, dict):
                raise ImportProblem(
                    place, f"{id}: its value is not a JSON object", "remove the row"
                )
        except ImportProblem as problem:
            job.left_out(problem)
            continue
        content, further = _content(value)
        yield (
            id,
            {
                "id": id,
                "content": content,
                **{
                    name: time(row.get(name)) for name in ("created_at", "updated_at", "expires_at")
                },
                "metadata": {**further, "namespace": row["prefix"].split("."), "key": row["key"]},
            },
        )


_SELECT = "SELECT * FROM store ORDER BY prefix, key"


def _content(value: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text of a value, perhaps one level deeper, else its JSON; and what else it has."""
    for key in _TEXT_KEYS:
        other_parts = {name: part for name, part in value.items() if name != key}
        if isinstance(value.get(key), str):
            return value[key], other_parts
        if isinstance(value.get(key), dict):
            for inner in _TEXT_KEYS:
                if isinstance(value[key].get(inner), str):
                    rest = {name: part for name, part in value[key].items() if name != inner}
                    return value[key][inner], {**other_parts, **({key: rest} if rest else {})}
    return json.dumps(value, ensure_ascii=False), dict(value)


def _of_postgres(place: Address) -> Iterator[Mapping[str, Any]]:
    try:
        psycopg = import_module("psycopg")
    except ImportError:
        raise ImportProblem(place, "needs psycopg", "pip install 'salience[postgres]'") from None
    try:
        with (
            psycopg.connect(
                place.url, row_factory=import_module("psycopg.rows").dict_row
            ) as server,
            server.cursor("salience_import") as cursor,  # the server keeps what is not read yet
        ):
            yield from cursor.execute(_SELECT)
    except psycopg.Error as problem:
        raise ImportProblem(
            place, f"cannot be read: {str(problem).strip()}", "check the address and the table"
        ) from None


def _chroma(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    """Pages of the collections of a persistent client, as `get` returns them, or its JSON."""
    assert isinstance(place, Path)
    folder = place.parent if place.name == CHROMA_FILE else place
    if place.is_file() and place.name != CHROMA_FILE and not _archives.is_database(place):
        yield from documents(place, job, gathered)
        return
    if not (folder / CHROMA_FILE).is_file():
        raise ImportProblem(place, f"holds no {CHROMA_FILE}", "give the folder of its client")
    try:
        chroma = import_module("chromadb")
    except ImportError:
        raise ImportProblem(
            place, "is of Chroma, which needs chromadb", "pip install 'salience[chroma]'"
        ) from None
    try:
        settings = chroma.Settings(anonymized_telemetry=False)
        client = chroma.PersistentClient(str(folder), settings=settings)
        names = sorted(collection.name for collection in client.list_collections())
        collections = [client.get_collection(name, embedding_function=None) for name in names]
    except Exception as problem:  # also of a file of another version
        raise ImportProblem(
            place, f"cannot be opened by chromadb: {problem}", "use the version that wrote it"
        ) from None
    for collection in collections:
        offset, size = 0, _BATCH
        while size == _BATCH:
            fields = ["documents", "metadatas"]
            try:
                page = collection.get(limit=_BATCH, offset=offset, include=fields)
            except Exception as problem:
                what = f"{collection.name} cannot be read: {problem}"
                raise ImportProblem(place, what, "repair the folder") from None
            size = len(page["ids"])
            offset += size
            yield collection.name, {**page, "collection": collection.name}


def _of_chroma(place: Place, page: Any, job: Job) -> Iterator[Entry]:
    """The documents of a page; one without text has nothing to remember."""
    page = mapping(page)
    collection = page.get("collection")
    columns = [page.get(name) for name in ("ids", "documents", "metadatas")]
    if columns[0] and all(
        isinstance(c, list) and c and isinstance(c[0], list) for c in columns[:2]
    ):
        columns = [c[0] if isinstance(c, list) and c else c for c in columns]  # of one query
    lists = [column if isinstance(column, list) else [] for column in columns]
    if len(lists[0]) != len(lists[1]):
        raise ImportProblem(place, "its ids and documents differ in number", "export it again")
    lists[2] += [None] * (len(lists[0]) - len(lists[2]))
    for id, document, metadata in zip(*lists, strict=False):
        if isinstance(document, str) and document:
            yield _chroma_fields(collection, str(id), document, mapping(metadata))


def _chroma_fields(collection: Any, id: str, document: str, metadata: Entry) -> Entry:
    found: dict[str, tuple[str, Any]] = {}
    for field, names in (
        *((name, (name,)) for name in ("user_id", "agent_id", "title")),
        ("session_id", ("session_id", "thread_id", "run_id")),
    ):
        name = next((name for name in names if isinstance(metadata.get(name), str)), None)
        found |= {field: (name, metadata[name])} if name else {}
    times = (name for name in ("created_at", "timestamp") if time(metadata.get(name)))
    if name := next(times, None):
        found["created_at"] = (name, time(metadata[name]))
    if listing(metadata.get("tags")):
        found["tags"] = ("tags", listing(metadata["tags"]))
    taken = {name for name, _ in found.values()}
    further = {name: value for name, value in metadata.items() if name not in taken}
    return {
        **{field: value for field, (_, value) in found.items()},
        "id": f"{collection}/{id}" if collection else id,
        "content": document,
        "metadata": {**further, **({"collection": collection} if collection else {})},
        PLACE: f"{collection}, {id}" if collection else id,
    }


def _mem0(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    """The JSON of `get_all`, the rows of history.db, or the points of Qdrant."""
    if isinstance(place, Address) or place.is_dir():
        yield from _points(place)
    elif _archives.is_database(place):
        _tables(place, _HISTORY, "mem0")
        yield from _history(place)
    else:
        yield from documents(place, job, gathered)


def _history(place: Path) -> Iterator[tuple[str, Any]]:
    """The memories of a log of changes, as the last of these left them."""
    memories: dict[str, Entry] = {}
    for row in _archives.rows(place, "SELECT rowid, * FROM history ORDER BY created_at, rowid"):
        id = str(row["memory_id"])
        if row["event"] == "DELETE" or row.get("is_deleted"):
            memories.pop(id, None)
            continue
        speaker = {name: row.get(name) for name in ("actor_id", "role") if row.get(name)}
        created = memories.get(id, row)["created_at"]
        times = {"created_at": created, "updated_at": row.get("updated_at") or row["created_at"]}
        memories[id] = {**memories.get(id, {}), **speaker, **times, "memory": row["new_memory"]}
    for id, memory in memories.items():
        yield id, {**memory, "id": id}


def _expiry(value: Any) -> Any:
    """The end of the last day on which a memory holds."""
    try:
        day = datetime.fromisoformat(str(value)[:10]).replace(tzinfo=UTC)
    except ValueError:
        return value  # refused with the name of the field
    return day + timedelta(days=1)


def _points(place: Place) -> Iterator[tuple[str, dict[str, Any]]]:
    """The points of all collections in the shape of `get_all`, with the names of entities."""
    client, only = _client(place)
    try:
        names = sorted(c.name for c in client.get_collections().collections)
        if only and only not in names:
            raise ImportProblem(place, f"has no collection {only!r}", f"it has {', '.join(names)}")
        payloads = {
            name: list(_scrolled(client, name))
            for name in names
            if only is None or name in (only, f"{only}_entities")
        }
    except ImportProblem:
        raise
    except Exception as problem:  # of qdrant-client, httpx, or the server
        raise ImportProblem(
            place, f"cannot be read by qdrant-client: {problem}", "check that it is Qdrant's"
        ) from None
    finally:
        client.close()
    entities: dict[str, list[str]] = {}
    for _, payload in (point for points in payloads.values() for point in points):
        for id in payload.get("linked_memory_ids") or ():
            entities.setdefault(str(id), []).append(str(payload.get("data")))
    for name, points in payloads.items():
        for id, payload in points:
            if "data" in payload and "linked_memory_ids" not in payload:
                named = {"entities": sorted(entities.get(id, ()))} if id in entities else {}
                yield f"{name}, point {id}", {**payload, **named, "id": id}


def _scrolled(client: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    offset = None
    while True:
        points, offset = client.scroll(name, limit=_BATCH, offset=offset, with_vectors=False)
        for point in points:
            yield str(point.id), point.payload or {}
        if offset is None:
            return


def _client(place: Place) -> tuple[Any, str | None]:
    """A client of Qdrant, and the one collection that the address names."""
    try:
        qdrant = import_module("qdrant_client")
    except ImportError:
        raise ImportProblem(
            place, "is of Qdrant, which needs qdrant-client", "pip install 'salience[qdrant]'"
        ) from None
    try:
        if isinstance(place, Address):
            server, _, collection = place.url.partition("://")[2].partition("/")
            scheme = place.url.partition("://")[0]
            key = os.environ.get("QDRANT_API_KEY")
            client = qdrant.QdrantClient(url=f"{scheme}://{server}", api_key=key)
            return client, collection.strip("/") or None
        return qdrant.QdrantClient(path=str(place)), None
    except Exception as problem:  # a lock of another process, files of another version
        raise ImportProblem(
            place, f"cannot be opened by qdrant-client: {problem}", "close what uses it"
        ) from None


STORES = (
    Shape(
        name="chroma",
        about="Chroma: the folder of a persistent client, or the JSON of `get`",
        signs=("ids documents",),
        tables={"collections": {"id", "name"}, "embeddings": {"id"}},
        documents=_chroma,
        arranged=_of_chroma,
        fields=OWN,
        kind="note",
    ),
    Shape(
        name="langgraph",
        about="LangGraph: the SQLite file of a store, or the address of PostgreSQL",
        tables=_LANGGRAPH,
        documents=_langgraph,
        fields=OWN,
        kind="note",
    ),
    Shape(
        name="mem0",
        about="mem0: JSON of get_all, an export, history.db, or Qdrant by folder or address",
        signs=("memory hash", "memory user_id", "memory id created_at"),
        tables=_HISTORY,
        documents=_mem0,
        within=("results", "memories"),
        fields=_MEM0_FIELDS,
        values={"expires_at": _expiry, "kind": lambda role: "turn" if role else None},
        rest=frozenset(
            (*_MEM0_DERIVED, *(n for path in paths(_MEM0_FIELDS).values() for n in path.split("|")))
        ),
        required="memory|data|text",
        kind="fact",
    ),
    Shape(
        name="openmem",
        about="OpenMem: its SQLite file",
        tables=_OPENMEM,
        documents=_openmem,
        fields=(
            "id content=text gist kind=type entities created_at updated_at strength confidence "
            "status links"
        ),
        values={"status": lambda status: None if status == "active" else status},
    ),
)

"""Documents of Chroma, by the folder of its persistent client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from salience.importers._entries import imported, listing, time
from salience.importers._source import ImportProblem, Item, clean

FILE = "chroma.sqlite3"
_BATCH = 256
_TIMES = ("created_at", "timestamp")
_SESSIONS = ("session_id", "thread_id", "run_id")


def read(path: Path) -> Iterator[Item]:
    """Yield the documents of all collections; the id is made of the collection's name and its own.

    Of the metadata, `user_id`, `agent_id`, `session_id` (or `thread_id`, `run_id`), `title`,
    `tags` and `created_at` (or `timestamp`) become fields if they have a fitting type. Entries
    without a document have nothing to remember, and are left out. Vectors are made anew.

    Raises:
        ImportProblem: there is no folder of Chroma, or chromadb cannot read it.
    """
    folder = path.parent if path.name == FILE else path
    if not (folder / FILE).is_file():
        raise ImportProblem(path, f"holds no {FILE}", "give the folder of a persistent client")
    try:
        chroma = import_module("chromadb")
    except ImportError:
        raise ImportProblem(
            path, "is of Chroma, which needs chromadb", "pip install 'salience[chroma]'"
        ) from None
    try:
        settings = chroma.Settings(anonymized_telemetry=False)
        client = chroma.PersistentClient(str(folder), settings=settings)
        names = sorted(collection.name for collection in client.list_collections())
        collections = [client.get_collection(name, embedding_function=None) for name in names]
    except Exception as problem:  # also of a file of another version
        raise ImportProblem(
            path, f"cannot be opened by chromadb: {problem}", "use the version that wrote it"
        ) from None
    for collection in collections:
        for id, document, metadata in _entries(path, collection):
            yield _item(collection.name, id, document, metadata or {})


def _entries(path: Path, collection: Any) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    offset = 0
    while True:
        try:
            page = collection.get(limit=_BATCH, offset=offset, include=["documents", "metadatas"])
        except Exception as problem:
            raise ImportProblem(
                path, f"{collection.name} cannot be read: {problem}", "repair the folder"
            ) from None
        for id, document, metadata in zip(
            page["ids"], page["documents"], page["metadatas"], strict=True
        ):
            if document:
                yield id, document, metadata
        if len(page["ids"]) < _BATCH:
            return
        offset += _BATCH


def _item(collection: str, id: str, document: str, metadata: Mapping[str, Any]) -> Item:
    fields: dict[str, Any] = {}
    for field, names in (
        *((name, (name,)) for name in ("user_id", "agent_id", "title")),
        ("session_id", _SESSIONS),
    ):
        name = next((name for name in names if isinstance(metadata.get(name), str)), None)
        fields |= {field: (name, metadata[name])} if name else {}
    name = next((name for name in _TIMES if time(metadata.get(name))), None)
    fields |= {"created_at": (name, time(metadata[name]))} if name else {}
    if listing(metadata.get("tags")):
        fields["tags"] = ("tags", listing(metadata["tags"]))
    taken = {name for name, _ in fields.values()}
    return imported(
        "chroma",
        f"{collection}, {id}",
        {
            **{field: value for field, (_, value) in fields.items()},
            "id": f"{collection}/{id}",
            "content": clean(document),
            "kind": "note",
            "metadata": {
                **{name: value for name, value in metadata.items() if name not in taken},
                "collection": collection,
            },
        },
    )

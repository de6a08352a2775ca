"""Memories of Hindsight: the ZIP of a transfer, or the JSON of a bank's list of memories."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from salience.importers._entries import (
    derived_id,
    entries,
    imported,
    listing,
    mapping,
    objects,
    required,
    time,
)
from salience.importers._source import ZIP_DAMAGE, ImportProblem, Item, unpacked

_MANIFEST, _DOCUMENTS, _OBSERVATIONS = "manifest.json", "documents/", "observations.json"
_VERSION = 1
_TIMES = ("mentioned_at", "occurred_start", "event_date", "date", "created_at")
_DETAILS = ("fact_type", "context", "occurred_start", "occurred_end", "proof_count")


def read(path: Path) -> Iterator[Item]:
    """Yield facts, then observations with links to the facts that they sum up.

    The time of a memory is that of its mention, else of what occurred, else of its creation.
    `occurred_start` and `occurred_end` say when an event was, not how long its memory holds, so
    they are metadata. Invalidated memories and the texts of the documents are left out.

    Raises:
        ImportProblem: the file is damaged, or of another version.
    """
    if zipfile.is_zipfile(path):
        yield from _transfer(path)
        return
    for place, entry in objects(path, "items", "memories"):
        if entry.get("state") != "invalidated":
            sources = listing(entry.get("source_memory_ids"))
            id = required(path, place, entry, "id") or derived_id(entry.get("text"))
            yield _item(path, place, entry, id, _links("consolidates", sources))


def is_transfer(path: Path) -> bool:
    """Test whether a file is the ZIP of a transfer."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _MANIFEST in archive.namelist() and any(
                name == _OBSERVATIONS or name.startswith(_DOCUMENTS) for name in archive.namelist()
            )
    except ZIP_DAMAGE:
        return False


def _transfer(path: Path) -> Iterator[Item]:
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = mapping(_json(path, archive, _MANIFEST))
            version = manifest.get("schema_version", _VERSION)
            if version != _VERSION:
                raise ImportProblem(
                    path, f"is a transfer of version {version}, not {_VERSION}", "upgrade salience"
                )
            bank = str(manifest.get("source_bank_id"))
            names = [name for name in archive.namelist() if name.startswith(_DOCUMENTS)]
            ids: dict[tuple[str, int], str] = {}
            for name in sorted(names):
                document = mapping(_json(path, archive, name))
                yield from _facts(path, name, bank, document, ids)
            if _OBSERVATIONS in archive.namelist():
                found = entries(path, _json(path, archive, _OBSERVATIONS), place=_OBSERVATIONS)
                for place, entry in found:
                    yield _observation(path, place, bank, entry, ids)
    except (KeyError, *ZIP_DAMAGE) as damage:
        raise ImportProblem(path, f"cannot be unpacked: {damage}", "export it again") from None


def _json(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    try:
        return json.loads(unpacked(path, archive, name))
    except (ValueError, RecursionError) as problem:
        raise ImportProblem(path, f"{name} is not JSON: {problem}", "export it again") from None


def _facts(
    path: Path,
    name: str,
    bank: str,
    document: Mapping[str, Any],
    ids: dict[tuple[str, int], str],
) -> Iterator[Item]:
    """The facts of a document; their ids are added to `ids`, by document and number."""
    id = str(document.get("id"))
    facts = list(entries(path, document, "facts", place=name))
    if "facts" not in document:
        raise ImportProblem(path, f"{name} has no facts", "export it again")
    for number, (place, fact) in enumerate(facts):
        text = required(path, place, fact, "text")
        ids[id, number] = str(fact.get("source_id") or derived_id(bank, id, text))
    for number, (place, fact) in enumerate(facts):
        causes = [
            ids[id, relation["target_fact_index"]]
            for relation in fact.get("causal_relations") or ()
            if (id, mapping(relation).get("target_fact_index")) in ids
        ]
        item = _item(path, place, fact, ids[id, number], _links("depends_on", causes))
        item["metadata"] |= {"bank": bank, "document": id}
        yield item


def _observation(
    path: Path,
    place: str,
    bank: str,
    entry: Mapping[str, Any],
    ids: Mapping[tuple[str, int], str],
) -> Item:
    text = required(path, place, entry, "text")
    places = [mapping(source) for source in entry.get("sources") or ()]
    sources = [ids.get((str(p.get("document_id")), p.get("fact_index", -1))) for p in places]
    id = str(entry.get("source_id") or derived_id(bank, text))
    found = list(dict.fromkeys(source for source in sources if source))
    observed = {"fact_type": "observation", **entry}
    item = _item(path, place, observed, id, _links("consolidates", found))
    item["metadata"] |= {"bank": bank}
    return item


def _item(
    path: Path, place: str, entry: Mapping[str, Any], id: str, links: list[dict[str, Any]]
) -> Item:
    created = next((found for name in _TIMES if (found := time(entry.get(name)))), None)
    details = {name: entry.get(name) for name in _DETAILS}
    return imported(
        "hindsight",
        place,
        {
            "id": id,
            "content": required(path, place, entry, "text"),
            "kind": "observation" if entry.get("fact_type") == "observation" else "fact",
            "tags": listing(entry.get("tags")),
            "entities": listing(entry.get("entities")),
            "created_at": created,
            "links": [link for link in links if link["target"] != id],
            "metadata": {
                **mapping(entry.get("metadata")),
                **{name: value for name, value in details.items() if value not in (None, "")},
            },
        },
    )


def _links(type: str, targets: list[str]) -> list[dict[str, Any]]:
    return [{"target": target, "type": type, "weight": 1.0} for target in dict.fromkeys(targets)]

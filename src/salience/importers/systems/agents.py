"""Memories of agents: blocks, messages and facts, as systems export them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from salience.importers._entries import (
    PLACE,
    derived_id,
    documents,
    entries,
    links,
    listing,
    mapping,
    time,
)
from salience.importers._source import ZIP_DAMAGE, ImportProblem, Job, Place, clean, unpacked
from salience.importers.shapes import OWN, Entry, Shape, said

_ROLES = ("user", "assistant")


_SAYS = "send_message"  # the tool by which older agents of Letta speak


_MANIFEST, _DOCUMENTS, _OBSERVATIONS = "manifest.json", "documents/", "observations.json"


_HINDSIGHT_VERSION = 1


_HINDSIGHT_DETAILS = "fact_type context occurred_start occurred_end proof_count bank document"


def _of_letta(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    """The blocks and the words of each agent, and blocks that are of none.

    The ids of an agent file are numbered again in every export, so an agent goes by its name.
    """
    if isinstance(document, str):  # an answer that was encoded once more
        try:
            document = json.loads(document)
        except (ValueError, RecursionError):
            document = None
    document = mapping(document)
    if isinstance(document.get("agents"), list):
        blocks = {str(block.get("id")): block for block in _objects(place, document, "blocks")}
        for agent in _objects(place, document, "agents"):
            ids = map(str, agent["block_ids"] if isinstance(agent.get("block_ids"), list) else ())
            agent_blocks = [blocks.pop(id) for id in ids if id in blocks]
            agent_blocks += _objects(place, agent, "memory_blocks")
            yield from _of_agent(place, agent, agent_blocks, job)
        yield from _blocks(place, None, list(blocks.values()), job)
    elif isinstance(document.get("core_memory"), list):  # the first version: one agent
        yield from _of_agent(place, document, _objects(place, document, "core_memory"), job)
    else:
        raise ImportProblem(
            place, "is not an agent file: it has no agents", "export the agent again"
        )


def _objects(place: Place, document: Mapping[str, Any], name: str) -> list[Entry]:
    objects = document.get(name) or []
    if not isinstance(objects, list) or not all(isinstance(each, dict) for each in objects):
        raise ImportProblem(place, f"{name} is not a list of objects", "export the agent again")
    return objects


def _blocks(place: Place, agent: str | None, blocks: list[Entry], job: Job) -> Iterator[Entry]:
    for block in blocks:
        label, value = str(block.get("label")), block.get("value")
        where = f"{agent}, block {label}" if agent else f"block {label}"
        if not isinstance(value, str):
            job.left_out(ImportProblem(place, f"{where}: has no text 'value'", "export it again"))
            continue
        yield {
            "id": f"{agent}/{label}" if agent else label,
            "content": value,
            "kind": "block",
            "title": label,
            "agent_id": agent,
            "tags": block.get("tags"),
            "created_at": block.get("created_at"),
            "updated_at": block.get("updated_at"),
            "metadata": {
                **mapping(block.get("metadata")),
                "description": block.get("description") or "",
            },
            PLACE: where,
        }


def _of_agent(place: Place, agent: Entry, blocks: list[Entry], job: Job) -> Iterator[Entry]:
    stem = place.stem if isinstance(place, Path) else ""
    name = clean(str(agent.get("name") or stem))
    yield from _blocks(place, name, blocks, job)
    for number, message in enumerate(_objects(place, agent, "messages"), start=1):
        content = _message_text(message)
        if content:
            created = message.get("created_at")
            yield {
                "id": derived_id("letta", name, created, message["role"], content),
                "content": content,
                "kind": "turn",
                "speaker": message.get("name") or message["role"],
                "session_id": name,
                "agent_id": name,
                "created_at": created,
                "metadata": {"model": message.get("model") or ""},
                PLACE: f"{name}, message {number}",
            }


def _message_text(message: Mapping[str, Any]) -> str:
    """The text of a message between user and agent; empty for any other."""
    if message.get("role") not in _ROLES:
        return ""
    calls = message.get("tool_calls")
    spoken = [_spoken(call) for call in calls] if isinstance(calls, list) else []
    if any(spoken):
        return clean("\n\n".join(filter(None, spoken)))  # the content is then a thought
    if message["role"] == "assistant":
        return "" if calls else said(message.get("content"))
    parts = message.get("content")
    texts = map(said, parts) if isinstance(parts, list) else [said(parts)]
    return clean("\n\n".join(filter(None, map(_unpacked, texts))))


def _unpacked(words: str) -> str:
    """The words of a user's message, which older agents keep in JSON; none of an event's."""
    try:
        packed = json.loads(words)
    except (ValueError, RecursionError):
        return words
    if not isinstance(packed, dict) or "type" not in packed:
        return words
    message = packed.get("message")
    return message if packed["type"] == "user_message" and isinstance(message, str) else ""


def _spoken(call: Any) -> str:
    function = mapping(mapping(call).get("function"))
    if function.get("name") != _SAYS:
        return ""
    try:
        message = mapping(json.loads(function.get("arguments") or "")).get("message")
    except (ValueError, TypeError, RecursionError):
        return ""
    return message if isinstance(message, str) else ""


def is_transfer(path: Path) -> bool:
    """Test whether a file is the ZIP of a transfer of Hindsight."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _MANIFEST in archive.namelist() and any(
                name == _OBSERVATIONS or name.startswith(_DOCUMENTS) for name in archive.namelist()
            )
    except ZIP_DAMAGE:
        return False


def _hindsight_documents(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    """The JSON of a list of memories, or the documents and observations of a transfer."""
    if not isinstance(place, Path) or not zipfile.is_zipfile(place):
        yield from documents(place, job, gathered)
        return
    try:
        with zipfile.ZipFile(place) as archive:

            def parsed(name: str) -> Any:
                try:
                    return json.loads(unpacked(place, archive, name))
                except (ValueError, RecursionError) as problem:
                    what = f"{name} is not JSON: {problem}"
                    raise ImportProblem(place, what, "export it again") from None

            manifest = mapping(parsed(_MANIFEST))
            version = manifest.get("schema_version", _HINDSIGHT_VERSION)
            if version != _HINDSIGHT_VERSION:
                what = f"is a transfer of version {version}, not {_HINDSIGHT_VERSION}"
                raise ImportProblem(place, what, "upgrade salience")
            names = sorted(name for name in archive.namelist() if name.startswith(_DOCUMENTS))
            parts = {name: mapping(parsed(name)) for name in names}
            has_more = _OBSERVATIONS in archive.namelist()
            observations = parsed(_OBSERVATIONS) if has_more else []
    except (KeyError, *ZIP_DAMAGE) as damage:
        raise ImportProblem(place, f"cannot be unpacked: {damage}", "export it again") from None
    bank = str(manifest.get("source_bank_id"))
    yield "", {"bank": bank, "documents": parts, "observations": observations}


def _of_hindsight(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    """Facts, then observations with links to the facts that they sum up."""
    if not isinstance(document, dict) or "bank" not in document or "documents" not in document:
        for where, entry in entries(place, document, "items", "memories", job=job):
            if entry.get("state") != "invalidated":
                sources = listing(entry.get("source_memory_ids"))
                yield {**entry, "links": links("consolidates", sources), PLACE: where}
        return
    bank, ids = document["bank"], dict[tuple[str, int], str]()
    for name, part in document["documents"].items():
        if not isinstance(part.get("facts"), list):
            job.left_out(ImportProblem(place, f"{name} has no facts", "export it again"))
            continue
        facts = list(entries(place, part, "facts", place=name, job=job))
        id = str(part.get("id"))
        for number, (_, fact) in enumerate(facts):
            ids[id, number] = str(fact.get("source_id") or derived_id(bank, id, fact.get("text")))
        for number, (where, fact) in enumerate(facts):
            causes = [
                ids[id, relation["target_fact_index"]]
                for relation in fact.get("causal_relations") or ()
                if (id, mapping(relation).get("target_fact_index")) in ids
            ]
            extra = {"id": ids[id, number], "links": links("depends_on", causes), PLACE: where}
            yield {**fact, **extra, "bank": bank, "document": id}
    for where, entry in entries(place, document["observations"], place=_OBSERVATIONS, job=job):
        places = [mapping(source) for source in entry.get("sources") or ()]
        targets = [ids.get((str(p.get("document_id")), p.get("fact_index", -1))) for p in places]
        yield {
            "fact_type": "observation",
            **entry,
            "id": str(entry.get("source_id") or derived_id(bank, entry.get("text"))),
            "links": links("consolidates", [source for source in targets if source]),
            "bank": bank,
            PLACE: where,
        }


AGENTS = (
    Shape(
        name="letta",
        about="Letta: an agent file (.af)",
        signs=("agents.block_ids", "agents.messages", "agent_type", "core_memory"),
        arranged=_of_letta,
        fields=OWN,
    ),
    Shape(
        name="hindsight",
        about="Hindsight: the zip of a transfer, or a bank's list of memories",
        signs=("fact_type text",),
        documents=_hindsight_documents,
        within=("items", "memories"),
        arranged=_of_hindsight,
        fields=(
            "id content=text kind=fact_type tags entities "
            "created_at=mentioned_at|occurred_start|event_date|date|created_at links "
            "metadata"
        ),
        values={
            "created_at": time,
            "kind": lambda type: "observation" if type == "observation" else "fact",
        },
        details=_HINDSIGHT_DETAILS,
        required="text",
    ),
)

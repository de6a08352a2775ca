"""Notes of Basic Memory: Markdown with observations and relations in lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from salience.importers import markdown
from salience.importers._entries import ORIGIN, derived_id, imported
from salience.importers._source import ImportProblem, Item, Job, Place, clean, head
from salience.lazily import regex
from salience.records.record import LINK_TYPES

_LIST_ITEM = regex(r"^[ \t]*[-*+][ \t]+(?P<words>\S.*)$")
_FENCE = regex(r"^[ \t]*(```|~~~)")
_CATEGORY = regex(r"^\[([^\[\]()]+)\]\s+(.+)")
_LINK_ALONE = regex(r"^\[.*?\]\(.*?\)$|^\[\[.*?\]\]$")
_CLOCK = regex(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+\d[\d:.,]*)?")
_CONTEXT = regex(r"\s*\(([^()]*)\)\s*$")
_RELATION = regex(
    r"^(?:(?P<quote>[\"'])(?P<quoted>[^\"']+)(?P=quote)|(?P<word>[^\s\"'\[][^\s\[]*))\s*"
    r"\[\[(?P<target>[^\[\]]+)\]\]\s*(?:\((?P<context>.*)\))?\s*$"
)
_SECTION = regex(r"^#{1,6}[ \t]+(?:Observations|Relations)[ \t]*$", re.IGNORECASE)
_FRONT = regex(rb"\A---\s*\n(?=.*^permalink:)(?=.*^type:).*?^---", re.DOTALL | re.MULTILINE)


def read(path: Place, job: Job) -> Iterator[Item]:
    """Yield each note (see `salience.importers.markdown`) and each of its observations.

    `- [category] text #tag (context)` is an observation: a fact with the category and the tags as
    tags, which mentions its note. `- relation [[Target]]` is a link of the note: of the type
    `relation` if there is such a type, else of the type "mentions"; the relations are also listed
    in the metadata. Both are taken out of the text of the note.

    Raises:
        ImportProblem: a file cannot be read, or its front matter is broken.
    """
    notes = list(markdown.read(path, job))
    targets: dict[str, str] = {}
    for name in ("permalink", "path", "title"):
        for note in notes:
            name_of_note = note.get(name) or note["metadata"].get(name)
            if isinstance(name_of_note, str):
                targets.setdefault(name_of_note.removesuffix(".md").casefold(), note["id"])
    for note in notes:
        yield from _items(note, targets)


def is_note(path: Path) -> bool:
    """Test whether a note has the front matter that Basic Memory writes."""
    try:
        return _FRONT.match(head(path).replace(b"\r\n", b"\n")) is not None
    except ImportProblem:
        return False


def _items(note: Item, targets: dict[str, str]) -> Iterator[Item]:
    remaining: list[str] = []
    observations: dict[str, Item] = {}
    relations: list[dict[str, str]] = []
    in_code = False
    for line in note["content"].split("\n"):
        in_code ^= bool(_FENCE.match(line))
        words = _LIST_ITEM.match(line)
        relation = _relation(words["words"]) if words and not in_code else None
        observation = _observation(note, words["words"]) if words and not in_code else None
        if relation:
            relations.append(relation)
        elif observation:
            observations.setdefault(observation["id"], observation)
        elif not _SECTION.match(line):
            remaining.append(line)
    links = {link["target"]: link for link in note["links"]}
    for relation in relations:
        target = targets.get(relation["target"].casefold())
        if target is None:  # a note that does not exist (yet) is named as a link in its text is
            continue
        type = relation["type"].casefold().replace(" ", "_").replace("-", "_")
        if target != note["id"] and type in LINK_TYPES:
            links[target] = {"target": target, "type": type, "weight": 1.0}
        elif target != note["id"]:
            links.setdefault(target, {"target": target, "type": "mentions", "weight": 1.0})
    metadata = {ORIGIN: "basic-memory", **note["metadata"]}
    metadata |= {"relations": relations} if relations else {}
    fields = {
        **note,
        "content": clean("\n".join(remaining)) or note["title"],
        "links": list(links.values()),
        "metadata": metadata,
    }
    yield Item(fields, note.place, assumed=note.assumed)
    yield from observations.values()


def _relation(words: str) -> dict[str, str] | None:
    match = _RELATION.match(words)
    if match is None:
        return None
    target = match["target"].partition("|")[0].strip()
    relation = {"type": (match["quoted"] or match["word"]).strip(), "target": target}
    return {**relation, "context": match["context"].strip()} if match["context"] else relation


def _observation(note: Item, words: str) -> Item | None:
    category, content = _category(words)
    tags = [tag for part in content.split() if part.startswith("#") for tag in _tags(part)]
    if _LINK_ALONE.match(words) or (category is None and not tags) or _is_task(words):
        return None
    context = _CONTEXT.search(content)
    content = content[: context.start()] if context else content
    if not clean(content):
        return None
    item = imported(
        "basic-memory",
        note.place,
        {
            "id": f"{note['id']}#{derived_id(category, content)}",
            "content": clean(content),
            "title": note["title"],
            "kind": "fact",
            "tags": list(dict.fromkeys([*([category] if category else []), *tags])),
            "created_at": note["created_at"],
            "links": [{"target": note["id"], "type": "mentions", "weight": 1.0}],
            "metadata": {
                "path": note["metadata"]["path"],
                "context": context[1] if context else "",
            },
        },
    )
    return Item(item, note.place, assumed=note.assumed)


def _category(words: str) -> tuple[str | None, str]:
    """The category of a list item and its text; a time or the box of a task is no category."""
    match = _CATEGORY.match(words)
    if match is None or _CLOCK.fullmatch(match[1].strip()) or _is_task(words):
        return None, words
    return match[1].strip(), match[2].strip()


def _is_task(words: str) -> bool:
    box = re.match(r"^\[(.)\]", words)
    return box is not None and (box[1] in "xX" or not box[1].isalnum())


def _tags(part: str) -> Iterable[str]:
    return (tag for tag in part.rstrip(".,;:!?").split("#") if tag)

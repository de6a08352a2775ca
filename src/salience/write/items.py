"""Items: the arguments of a write, checked field by field."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo
from functools import partial
from hashlib import sha256
from typing import Any, Literal, get_args

from salience.display.result import to_json
from salience.errors import InvalidInput, shown
from salience.language import passages
from salience.language.passages import CODE, linked_names
from salience.language.secrets import Secret, secret_in
from salience.language.tokens import slug
from salience.lazily import dataclass, replace
from salience.records.events import ACCESSES
from salience.records.fields import FIELDS
from salience.records.json_values import metadata_mapping
from salience.records.limits import DEFAULT_LIMITS, Limits, Type
from salience.records.record import BLANK, LINK_TYPES, Embedding, Link, MemoryRecord, new_id
from salience.records.time_zone import UTC, localized
from salience.records.tombstones import Erasing, ErasureKind
from salience.records.validation import (
    choice,
    elements,
    flag,
    mapping,
    native,
    number,
    optional_text,
    optional_timestamp,
    text,
    texts,
    timestamp,
    unit,
    vector,
)
from salience.retrieval.vector_sets import OTHER
from salience.write.facets import FACETS

CONTENT_VECTORS = ("content", "user", "asst", "next_user", *(f"facet_{name}" for name in FACETS))
"""The vectors made of a memory's text (see `salience.write.chat`), stale when that changes."""


def follows_text(name: str) -> bool:
    """Test whether a vector is made of a memory's text: one of the above, or that of a passage."""
    return name in CONTENT_VECTORS or passages.is_vector_name(name)


_TEXTS_KEY = "vector_texts"  # of the metadata: the texts of further vectors, by their names
BORDERS_KEY = "messages"  # of the metadata: the borders of a chunk's messages
_SET_BY_ENGINE = {
    *("updated_at", "version", *ACCESSES),
    "written_by",  # by the actor, whom no caller of a server names
}
FLAGS = ("pinned", "outdated")
REQUIRED = ("id", "content", "kind", "status", "created_at")

Check = Callable[[str, Any], Any]


def _check(name: str) -> Check:
    """The check of a value of a field."""
    field, required = FIELDS[name], name in REQUIRED
    if field.choices:
        return partial(choice, required=required)
    by_type: dict[Type, Check] = {
        "text": text if required else optional_text,
        "number": flag if name in FLAGS else number,
        "time": timestamp if required else optional_timestamp,
        "list": texts,
        "json": lambda _, value: metadata_mapping(value),
    }
    return by_type[field.type]


CHECKS = {name: _check(name) for name in FIELDS if name not in _SET_BY_ENGINE}
_LIMITED: Mapping[str, Callable[[Any, Limits], Any]] = {  # checks that depend on the limits
    "content": lambda value, limits: text("content", value, limit=limits.text),
    "tags": lambda value, limits: texts("tags", value, count=limits.tags),
    "entities": lambda value, limits: texts("entities", value, count=limits.tags),
    "metadata": lambda value, limits: metadata_mapping(value, limits.metadata),
}
MAX_KEY_CHARACTERS = 512
MAX_LINKS = 10_000  # that an item brings
LINK_KEYS = ("target", "type", "weight", "created_at")
MAX_NAME_CHARACTERS = 2_000  # of the target of a link: an id, or a title
MAX_VECTORS = 256  # that an item brings
_SETTABLE = frozenset(CHECKS) - {"status"}
ITEM_KEYS = frozenset(
    {*_SETTABLE, "vectors", "vector_texts", "links", "supersedes", "idempotency_key"}
)
"""The keys of an item: the fields that may be set, and what comes with them."""


SecretPolicy = Literal["keep", "flag", "refuse"]
"""The ways to treat a text that seems to hold a key or a password."""
SECRETS_VARIABLE = "SALIENCE_SECRETS"
"""The environment variable with the policy of a memory that is opened without one."""


def secret_policy(value: Any) -> SecretPolicy:
    """A checked policy, by default that of the environment's SALIENCE_SECRETS, else "flag"."""
    policy = native(os.environ.get(SECRETS_VARIABLE) or "flag" if value is None else value)
    if not isinstance(policy, str) or policy not in get_args(SecretPolicy):
        remedy = f"use {', '.join(get_args(SecretPolicy))}"
        raise InvalidInput("secrets", f"is {shown(policy)}", remedy)
    return policy  # type: ignore[return-value]


@dataclass(frozen=True)
class WriteContext:
    """The context of a write: namespace, embedder (and whether there is one), time and actor.

    `embedder` and `dimensions` are None if there is none, or while it cannot be reached.
    """

    namespace: str
    embeds: bool
    embedder: str | None
    dimensions: int | None
    now: datetime
    actor: str | None = None
    limits: Limits = DEFAULT_LIMITS
    secrets: SecretPolicy = "flag"
    zone: tzinfo = UTC

    def erasing(self, kind: ErasureKind) -> Erasing:
        """An erasure in this context."""
        return Erasing(self.now, self.actor, kind)


def secret_of(texts: Iterable[str | None], scope: WriteContext) -> Secret | None:
    """The kind of secret that texts of a memory seem to hold, unless the policy is to keep them.

    Raises:
        InvalidInput: they seem to hold one, and the policy is to refuse them.
    """
    if scope.secrets == "keep":
        return None
    secret = next((kind for text in texts if text and (kind := secret_in(text))), None)
    if secret is not None and scope.secrets == "refuse":
        problem = f"seems to hold a {secret}, and this memory refuses secrets"
        remedy = 'leave it out, or open the memory with secrets="flag"'
        raise InvalidInput("content", problem, remedy)
    return secret


@dataclass(frozen=True)
class Item:
    """One checked item of a write."""

    record: MemoryRecord
    vectors: Mapping[str, Embedding]
    vector_texts: Mapping[str, str]  # the texts of further vectors, by their names
    links: tuple[Link, ...]
    named: bool  # True if the caller gave the entities
    given: frozenset[str] = frozenset()  # the fields that the caller gave; links even if empty
    supersedes: str | None = None
    key: str | None = None
    fingerprint: str | None = None  # of an item with a key: of all that the caller gave
    secret: Secret | None = None  # that its text seems to hold


def check_field(name: str, value: Any, limits: Limits, zone: tzinfo = UTC) -> Any:
    """A value of a field as it is stored; a time without a zone is one of `zone`.

    Raises:
        InvalidInput: the field cannot have the value.
    """
    check = _LIMITED.get(name)
    if check is not None:
        return check(value, limits)
    is_time = FIELDS[name].type == "time"
    return CHECKS[name](name, localized(value, zone) if is_time else value)


def parse_item(source: Any, scope: WriteContext, dimensions: Mapping[str, int]) -> Item:
    """A checked item from the mapping that a caller gave; `dimensions` of vectors by name."""
    if isinstance(source, str):
        source = {"content": source}
    source = mapping("item", source)
    unknown = set(source) - ITEM_KEYS
    if unknown:
        raise InvalidInput(
            str(sorted(unknown, key=str)[0]),
            "is not a field",
            f"use {', '.join(sorted(ITEM_KEYS))}",
        )
    values = {
        name: check_field(name, value, scope.limits, scope.zone)
        for name, value in ({"content": None} | source).items()  # it is looked at first
        if value is not None and name in _SETTABLE
    }
    if "content" not in values:
        raise InvalidInput("content", "is missing", "give the text to remember")
    values.setdefault("id", new_id())
    values.setdefault("created_at", scope.now)
    values.setdefault("kind", "turn" if "session_id" in values else "note")
    values["accesses"] = (values["created_at"],)
    values["namespace"] = scope.namespace
    values.setdefault("added_at", scope.now)
    values["updated_at"] = scope.now
    values["written_by"] = scope.actor
    record = MemoryRecord.from_values({**vars(BLANK), **values})
    check_validity_period(record)
    further = _vector_texts(source.get("vector_texts"), scope.limits)
    record = with_vector_texts(record, further)
    links = tuple(
        parse_link(
            scope,
            record.id,
            link.get("target"),
            link.get("type"),
            link.get("weight", 1.0),
            link.get("created_at", min(record.created_at, scope.now)),
        )
        for link in _links(source.get("links", _links_in(record)))
    )
    vectors = _vectors(source.get("vectors"), dimensions)
    empty = {"links": not links, "vectors": not vectors, "vector_texts": not further}
    given = frozenset(n for n, v in source.items() if v is not None)
    filled = frozenset(n for n in given if not empty.get(n))
    key = _optional_name("idempotency_key", source.get("idempotency_key"))
    return Item(
        record,
        vectors,
        further,
        links,
        "entities" in values,
        filled | (given & {"links"}),
        _optional_name("supersedes", source.get("supersedes")),
        key,
        None if key is None else _fingerprint(record, source, filled),
        secret_of((record.content, record.title), scope),
    )


def _fingerprint(record: MemoryRecord, source: Mapping[str, Any], given: Iterable[str]) -> str:
    """A hash of what a caller gave, the same for the same item at any time."""
    values = {
        name: getattr(record, name) if name in _SETTABLE else source[name]
        for name in given
        if name != "idempotency_key"
    }
    return sha256(json.dumps(to_json(values), sort_keys=True).encode()).hexdigest()[:32]


def _optional_name(name: str, value: Any) -> str | None:
    return None if value is None else text(name, value, limit=MAX_KEY_CHARACTERS)


def check_validity_period(record: MemoryRecord) -> None:
    """Refuse a record whose validity ends before it begins.

    Raises:
        InvalidInput: `valid_to` is before `valid_from`.
    """
    start, end = record.valid_from, record.valid_to
    if start is not None and end is not None and end < start:
        raise InvalidInput(
            "valid_to", f"{end.isoformat()} is before valid_from", "give a later time, or swap them"
        )


def _vectors(value: Any, dimensions: Mapping[str, int]) -> dict[str, Embedding]:
    if value is None:
        return {}
    vectors = mapping("vectors", value)
    if len(vectors) > MAX_VECTORS:
        raise InvalidInput("vectors", f"are more than {MAX_VECTORS}", "give fewer")
    _refuse_reserved("vectors", vectors)
    return {
        text("vectors", name, limit=64): vector(f"vectors.{name}", numbers, dimensions.get(name))
        for name, numbers in vectors.items()
    }


def _refuse_reserved(field: str, names: Iterable[Any]) -> None:
    """Refuse names of vectors that the store gives itself: of the set beside, and of passages."""
    for name in names:
        if isinstance(name, str) and name.startswith(OTHER):
            raise InvalidInput(f"{field}.{name}", "begins with an underscore", "name it otherwise")
        if isinstance(name, str) and passages.is_vector_name(name):
            problem = "is the name of the vector of a passage"
            raise InvalidInput(f"{field}.{name}", problem, "name it otherwise")


def _vector_texts(value: Any, limits: Limits) -> dict[str, str]:
    if value is None:
        return {}
    texts = mapping("vector_texts", value)
    if len(texts) > MAX_VECTORS:
        raise InvalidInput("vector_texts", f"are more than {MAX_VECTORS}", "give fewer")
    _refuse_reserved("vector_texts", texts)
    return {
        text("vector_texts", name, limit=64): text(f"vector_texts.{name}", words, limit=limits.text)
        for name, words in texts.items()
    }


def texts_to_embed(record: MemoryRecord) -> dict[str, str]:
    """The texts that the vectors of a record are made of, by the names of these."""
    texts = record.metadata.get(_TEXTS_KEY)
    further = texts if isinstance(texts, Mapping) else {}
    return {
        **content_texts(record),
        **{name: words for name, words in further.items() if isinstance(words, str)},
    }


def metadata_for(record: MemoryRecord, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """New metadata of a record, with what the old say about its text unless the new do."""
    kept = (_TEXTS_KEY, BORDERS_KEY)
    return {**{key: record.metadata[key] for key in kept if key in record.metadata}, **metadata}


def with_vector_texts(record: MemoryRecord, texts: Mapping[str, str | None]) -> MemoryRecord:
    """The record with the texts of further vectors in its metadata; None removes one."""
    if _TEXTS_KEY not in record.metadata and all(words is None for words in texts.values()):
        return record
    old = record.metadata.get(_TEXTS_KEY)
    merged = {**(old if isinstance(old, Mapping) else {}), **texts}
    new = {name: words for name, words in merged.items() if words is not None}
    rest = {name: value for name, value in record.metadata.items() if name != _TEXTS_KEY}
    return replace(record, metadata={**rest, **({_TEXTS_KEY: new} if new else {})})


def _mappings(name: str, value: Any) -> list[Mapping[str, Any]]:
    if value is None:
        return []
    mappings = elements(name, value, MAX_LINKS)
    if not all(isinstance(item, Mapping) for item in mappings):
        raise InvalidInput(name, "must be a list of mappings")
    return [mapping(name, item) for item in mappings]


def text_links(record: MemoryRecord, scope: WriteContext) -> list[Link]:
    """The links that the text of a memory names, as of now."""
    links = _links_in(record)
    return [parse_link(scope, record.id, link["target"], link["type"]) for link in links]


def _links_in(record: MemoryRecord) -> list[Mapping[str, Any]]:
    """The links of a note to what it names as `[[Name]]`, by ids as importers make them."""
    if record.kind != "note" or "[[" not in record.content:
        return []
    names = linked_names(CODE.sub(" ", record.content))
    targets = dict.fromkeys(slug(name) or name for name in names)
    own_names = {record.id, slug(record.title or "")}
    return [
        {"target": target, "type": "mentions"}
        for target in [*targets][:MAX_LINKS]
        if target not in own_names and len(target) <= MAX_NAME_CHARACTERS
    ]


def _links(value: Any) -> list[Mapping[str, Any]]:
    """The links of an item, with no keys but `LINK_KEYS`."""
    links = _mappings("links", value)
    for place, link in enumerate(links):
        for key in link.keys() - set(LINK_KEYS):
            raise InvalidInput(
                f"links[{place}].{key}", "is not a field of a link", f"use {', '.join(LINK_KEYS)}"
            )
    return links


def parse_link(
    scope: WriteContext,
    source: Any,
    target: Any,
    type: Any,
    weight: Any = None,
    created_at: Any = None,
) -> Link:
    """A link of checked ends, type, weight (1 by default) and time (now by default)."""
    type = native(type)
    if not isinstance(type, str) or type not in LINK_TYPES:
        raise InvalidInput(
            "type", f"there is no {shown(type)}", f"use one of {', '.join(LINK_TYPES)}"
        )
    checked = unit("weight", weight)
    return Link(
        scope.namespace,
        text("source", source, limit=MAX_NAME_CHARACTERS),
        text("target", target, limit=MAX_NAME_CHARACTERS),
        type,
        1.0 if checked is None else checked,
        optional_timestamp("created_at", localized(created_at, scope.zone)) or scope.now,
    )


def content_texts(record: MemoryRecord) -> dict[str, str]:
    """The texts of the vectors "content" and of the passages of a record, by name."""
    spans = passages.SPLITTER.split(record.content)
    whole = {"content": embedded_text(record)}
    if not spans:
        return whole
    speaker = f"{record.speaker}: " if record.speaker else ""
    return whole | {
        passages.vector_name(place): speaker
        + passages.passage_text(span, record.title, record.content)
        for place, span in enumerate(spans)
    }


def embedded_text(record: MemoryRecord) -> str:
    """The text of the vector "content" of a record: speaker, title and content."""
    words = f"{record.title}\n{record.content}" if record.title else record.content
    return f"{record.speaker}: {words}" if record.speaker else words


EMBEDDED_FIELDS = frozenset({"content", "title", "speaker"})
"""The fields that `embedded_text` is made of."""

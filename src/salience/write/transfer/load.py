"""Importing what was exported, after all of it was checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice

from salience.errors import InvalidInput, StoreError
from salience.lazily import dataclass, field, replace
from salience.records.events import Event, imported
from salience.records.limits import Limits
from salience.records.validation import namespace_name, optional_text
from salience.retrieval.plan import Plan, drive
from salience.write.embedding import embed_to_keep
from salience.write.items import WriteContext, follows_text, texts_to_embed
from salience.write.outcomes import Transferred
from salience.write.transfer import lines, parts
from salience.write.transfer.export import (
    DIGEST_BYTES,
    Perform,
    Progress,
    without_made_vectors,
)

Lines = Callable[[], Iterable[bytes]]
"""Reads the lines of a file from its beginning."""


@dataclass
class _Namespace:
    """A namespace of a file: its notes, the events of all its memories, and their number.

    `last` is the last place of its log.
    """

    name: str
    notes: Mapping[str, str]
    events: tuple[Event, ...]
    memories: int = 0
    last: int = 0


@dataclass
class _Contents:
    """The contents of a file, as far as it is checked; `digest` is not empty once it has ended."""

    limits: Limits  # of the texts of memories
    digest: str = ""
    has_header: bool = False
    ids: set[str] = field(default_factory=set)  # of the last namespace
    embedder: str | None = None
    namespaces: list[_Namespace] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"memories": 0, "links": 0, "events": 0})

    def take(self, events: Sequence[Event]) -> None:
        """Count events of the last namespace."""
        self.counts["events"] += len(events)
        own = self.namespaces[-1]
        own.last = max((own.last, *(event.seq for event in events)))


def load(
    name: str, read: Lines, target: str | None, scope: WriteContext, perform: Perform,
    report: Progress,
) -> Transferred:  # fmt: skip
    """Write all that an export has; an import that was broken off goes on where it was.

    Args:
        name: the name of the file, for errors.
        read: reads its lines.
        target: the namespace to write to; None for all namespaces under their own names.
        scope: the context of the write; what has no vector gets one by its embedder.
        perform: answers operations.
        report: called with the progress.

    Raises:
        InvalidInput: the file is damaged, and in which line; nothing was written.
        NotEmpty: a namespace already holds memories.
    """
    contents = _check(name, read, scope.limits, report)
    if target is not None and len(contents.namespaces) != 1:
        raise InvalidInput(
            name,
            f"holds {len(contents.namespaces)} namespaces, not one",
            "import it with everywhere=True (--all on the command line)",
        )
    origin = f"import {contents.digest}"
    degraded: dict[str, None] = {}
    entries = _entries(read)
    next(entries)  # the header
    targets = [target or each.name for each in contents.namespaces]
    for namespace in targets:
        drive(parts.begin(namespace, origin), perform)
    for source, namespace in zip(contents.namespaces, targets, strict=True):
        next(entries)  # the line of the namespace
        own, done = replace(scope, namespace=namespace), 0
        while done < source.memories:
            size = min(parts.CHUNK_MEMORIES, source.memories - done)
            raws = [raw for _, raw in islice(entries, size)]
            chunk = [
                _signed(lines.part_of(lines.parsed(raw), namespace, scope.limits), scope.actor)
                for raw in raws
            ]
            problem = drive(_write(chunk, source, contents.embedder, own), perform)
            degraded |= {problem: None} if problem else {}
            done += size
            report(f"importing {namespace}", done, source.memories)
    notes = [source.notes for source in contents.namespaces]
    drive(parts.finish(dict(zip(targets, notes, strict=True))), perform)
    counts = contents.counts
    return Transferred(
        tuple(targets), counts["memories"], counts["links"], counts["events"], tuple(degraded)
    )


def _write(
    chunk: Sequence[parts.Part], source: _Namespace, embedder: str | None, scope: WriteContext
) -> Plan[str]:
    """Write some memories; return why vectors are missing."""
    if scope.embedder is not None and embedder not in (None, scope.embedder):
        chunk = [_without_vectors_of_another(part) for part in chunk]
        embedder = None
    texts_of = [
        {
            name: words
            for name, words in texts_to_embed(part.record).items()
            if name not in part.vectors
        }
        for part in chunk
    ]
    vector_of, problem = yield from embed_to_keep(
        (words for texts in texts_of for words in texts.values()), scope
    )
    complete = []
    for part, texts in zip(chunk, texts_of, strict=True):
        made = {name: vector_of[words] for name, words in texts.items() if words in vector_of}
        complete.append(replace(part, vectors={**part.vectors, **made}))
    model = embedder or (scope.embedder if vector_of else None)
    of_all = [imported(event, scope.actor) for event in source.events]
    taken = yield from parts.write_parts(scope.namespace, complete, of_all, source.last, model)
    if taken:
        raise StoreError(
            f"somebody else writes to the namespace {scope.namespace!r}: {taken[0]!r} is there"
        )
    return problem


def _signed(part: parts.Part, importer: str | None) -> parts.Part:
    """A memory of a file with the importer as its writer; the actors of the file stay beside.

    Without a name of who imports, the writer is who is named by its first write.
    """
    events = tuple(imported(event, importer) for event in part.events)
    writer = next((event.actor for event in events if event.type == "write"), importer)
    return replace(part, events=events, record=replace(part.record, written_by=writer))


def _without_vectors_of_another(part: parts.Part) -> parts.Part:
    """A memory without the vectors of an embedder that is not in use here."""
    former = tuple(each for each in part.former if not follows_text(each[1]))
    return replace(without_made_vectors(part), former=former)


def _entries(read: Lines) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers."""
    return ((number, raw) for number, raw in enumerate(read(), 1) if raw.strip())


def _check(name: str, read: Lines, limits: Limits, report: Progress) -> _Contents:
    """Read a file to its end, and check every line."""
    contents, digest = _Contents(limits), blake2b(digest_size=DIGEST_BYTES)
    number = 0
    for number, raw in _entries(read):
        try:
            line = lines.parsed(raw)
            if contents.digest:
                raise InvalidInput("line", "comes after the end")
            if "end" in line:
                _check_end(line["end"], contents, digest.hexdigest())
            else:
                _take(line, contents)
                digest.update(raw)
        except InvalidInput as problem:
            raise InvalidInput(f"{name}, line {number}", str(problem)) from None
        if number % parts.CHUNK_MEMORIES == 0:
            report(f"checking {name}", number, 0)
    if not contents.digest:
        raise InvalidInput(
            f"{name}, line {number}",
            "is the last, and not the end: the export was broken off",
            "export again",
        )
    return contents


def _take(line: lines.Fields, contents: _Contents) -> None:
    """Check a line, and count what it has."""
    if not contents.has_header:
        lines.check_header(line)
        contents.embedder = optional_text("embedder", line.get("embedder"))
        contents.has_header = True
    elif "namespace" in line:
        contents.ids.clear()
        name = namespace_name(line["namespace"])
        if any(each.name == name for each in contents.namespaces):
            raise InvalidInput("namespace", f"{name!r} begins again")
        source = _Namespace(
            name, lines.notes_of(line), lines.events_of(line, None, contents.limits)
        )
        contents.namespaces.append(source)
        contents.take(source.events)
    elif "memory" in line and contents.namespaces:
        part = lines.part_of(line, contents.namespaces[-1].name, contents.limits)
        if part.record.id in contents.ids:
            raise InvalidInput("memory.id", f"{part.record.id!r} is there twice")
        contents.ids.add(part.record.id)
        contents.namespaces[-1].memories += 1
        contents.counts["memories"] += 1
        contents.counts["links"] += len(part.links)
        contents.take(part.events)
    else:
        raise InvalidInput("line", "is neither a namespace nor a memory of one")


def _check_end(end: object, contents: _Contents, digest: str) -> None:
    if not isinstance(end, dict):
        raise InvalidInput("end", "must be a mapping")
    contents.digest = digest
    said = end.get("digest")
    counts = {name: end.get(name) for name in contents.counts}
    if said is not None and (said, counts) != (digest, contents.counts):
        raise InvalidInput(
            "digest",
            "differs: a line before was changed or lost since",
            'export again; if that was meant, write {"end": {}} as the last line',
        )

"""Writes, as steps of one transaction that begins by locking the namespaces it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from salience.records.events import edit_event, write_event
from salience.records.fields import FIELDS, LEXICAL
from salience.records.record import Draft
from salience.retrieval import operations
from salience.stores import codec
from salience.stores.postgres import schema
from salience.stores.postgres.sql.columns import codec_values
from salience.stores.postgres.sql.identifiers import spelling_keys
from salience.stores.postgres.wire.commands import Abandon, Command, Copy, Many, Statement, Steps
from salience.stores.postgres.write import event_log, segments, session_order
from salience.stores.postgres.write.batch import NamespaceBatch, link_commands, log_links
from salience.stores.postgres.write.session_order import NOWHERE, Turn

_INSERT_MAX_ROWS = 24  # rows up to which they are sent together with everything else, not by COPY
_COLUMN_TYPES = {
    "text": "text",
    "number": "float8",
    "time": "float8",
    "list": "text[]",
    "json": "text",
}
_MEMORY_COLUMNS: dict[str, str] = {
    "namespace": "text",
    "row": "int4",
    "sequence": "int4",
    **{name: _COLUMN_TYPES.get(each.type, "float8[]") for name, each in FIELDS.items()},
    "features": "bytea",
    "greets": "text",
    "text_key": "int8",
    "spellings": "text[]",
}
_WORDS_COLUMNS: dict[str, str] = {
    "namespace": "text",
    "row": "int4",
    **dict.fromkeys(LEXICAL, "bytea"),
}
_PLACES_COLUMNS: dict[str, str] = {
    "namespace": "text",
    "row": "int4",
    "version": "int8",
    "living": "bool",
    **dict.fromkeys(("previous", "following", "position", *LEXICAL), "int4"),
}
_VECTORS_COLUMNS = {"namespace": "text", "name": "text", "row": "int4", "vector": "halfvec"}
LOCK_NAMESPACE = (
    "INSERT INTO spaces (namespace, counter, version) VALUES (%s, 0, 1) ON CONFLICT (namespace)"
    " DO UPDATE SET version = spaces.version + 1 RETURNING counter, version, merged"
)
_REPLACED_COLUMNS = ("row", "sequence", *FIELDS)
"""What is read of a memory that gives way."""


PreparedDrafts = Sequence[tuple[Draft, dict[str, Any]]]


def written_namespaces(op: operations.Put) -> list[str]:
    """The namespaces that a write is about, in the order in which they are locked."""
    return sorted(
        {draft.record.namespace for draft in op.drafts}
        | {link.namespace for link in (*op.links, *op.unlinks)}
        | ({op.also.namespace} if op.also is not None else set())
        | ({op.past.namespace} if op.past is not None else set())
    )


def put(op: operations.Put, prepared: PreparedDrafts) -> Steps[tuple[str, ...]]:
    """Write all, or nothing and the ids that stand in the way."""
    spaces, embedder = yield from _begin(op)
    before = {name: space.counter for name, space in spaces.items()}
    _check_ids(op, spaces)
    codec.check_vectors(
        op,
        embedder,
        lambda namespace, names: {
            name: size for name, size in spaces[namespace].sizes.items() if name in set(names)
        },
    )
    commands: list[Command] = []
    if op.also is not None:
        space = spaces[op.also.namespace]
        changes, entries = event_log.apply_events(op.also.namespace, space.states, op.also.events)
        commands += changes
        space.entries += entries
    for draft, values in prepared:
        _add_memory(spaces[draft.record.namespace], draft, dict(values), op)
    for space in spaces.values() if op.past is None else ():
        log_links(space, op)
    places = yield [
        event_log.advance_clock(name, len(space.entries)) for name, space in spaces.items()
    ]
    for space, [[last]] in zip(spaces.values(), places, strict=True):
        commands += _write_commands(space, last)
        commands += event_log.append_events(space.namespace, last, space.entries)
    commands += link_commands(op, spaces)
    if op.past is not None:
        commands += event_log.import_history(op.past, spaces[op.past.namespace].sequences)
    if op.embedder and embedder is None and any(draft.vectors for draft in op.drafts):
        commands.append(
            Statement(
                "INSERT INTO meta VALUES ('embedder', %s) ON CONFLICT DO NOTHING", (op.embedder,)
            )
        )
    yield commands
    for space in spaces.values():
        if space.counter - space.merged >= segments.FLUSH_ROWS:
            yield from segments.flush_segments(space.namespace, space.merged, space.counter)
        else:
            yield from schema.analyze_if_doubled(
                space.namespace, before[space.namespace], space.counter
            )
    return ()


def _begin(op: operations.Put) -> Steps[tuple[dict[str, NamespaceBatch], str | None]]:
    """Lock the namespaces, and see what is there."""
    names = written_namespaces(op)
    commands: list[Command] = [Statement("SELECT value FROM meta WHERE key = 'embedder'")]
    asked = [_select_state(op, name) for name in names]
    commands += [statement for each in asked for statement in each]
    [kept, *answers] = yield commands
    spaces, given = {}, iter(answers)
    for name, each in zip(names, asked, strict=True):
        [[counter, version, merged]], old, sizes, having, known, ends, gone, begun, *also = [
            next(given) for _ in each
        ]
        space = spaces[name] = NamespaceBatch(name, counter, version, merged)
        space.old = {
            values[0]: dict(zip(_REPLACED_COLUMNS, values[1:], strict=True)) for values in old
        }
        space.sizes = dict(sizes)
        for row, vector in having:
            space.vectors.setdefault(row, set()).add(vector)
        space.keys = {key for (key,) in known}
        space.sequences = dict(ends)
        space.unlinked = {tuple(link) for link in gone}
        space.begun = {session for (session,) in begun}
        space.states = also[0] if also else ()
    return spaces, (kept[0][0] if kept else None)


def _select_state(op: operations.Put, name: str) -> list[Statement]:
    """What has to be known of a namespace before it is written to."""
    drafts = [draft for draft in op.drafts if draft.record.namespace == name]
    ids = [draft.record.id for draft in drafts]
    keys = [draft.note["key"] for draft in drafts if "key" in draft.note]
    links = [link for link in (*op.links, *op.unlinks) if link.namespace == name]
    gone = [link for link in op.unlinks if link.namespace == name]
    sessions = {id for draft in drafts if (id := draft.record.session_id) is not None}
    columns = ", ".join(
        "metadata::text" if n == "metadata" else f'"{n}"' for n in _REPLACED_COLUMNS
    )
    found = [
        Statement(LOCK_NAMESPACE, (name,)),
        Statement(
            f"SELECT id, {columns} FROM memories WHERE namespace = %s AND id = ANY(%s::text[]) "
            'ORDER BY "row" FOR UPDATE',
            (name, ids),
        ),
        Statement(
            "SELECT name, size FROM tallies WHERE namespace = %s AND kind = 'vector' "
            "AND number > 0",
            (name,),
        ),
        Statement(
            'SELECT v."row", v.name FROM memories m JOIN vectors v ON v.namespace = '
            'm.namespace AND v."row" = m."row" WHERE m.namespace = %s AND m.id = '
            "ANY(%s::text[]) AND v.name IN (SELECT name FROM tallies WHERE namespace = %s "
            "AND kind = 'vector')",
            (name, ids if op.replace else [], name),
        ),
        Statement(
            "SELECT payload ->> 'key' FROM events WHERE namespace = %s "
            "AND payload ->> 'key' = ANY(%s::text[])",
            (name, keys),
        ),
        Statement(
            "SELECT id, sequence FROM memories WHERE namespace = %s AND id = ANY(%s::text[])",
            (name, [link.source for link in links]),
        ),
        Statement(
            "SELECT source, target, type FROM links WHERE namespace = %s "
            "AND source = ANY(%s::text[])",
            (name, [link.source for link in gone]),
        ),
        session_order.select_begun_sessions(name, sorted(sessions)),
    ]
    if op.also is not None and op.also.namespace == name:
        found.append(event_log.lock_state(name, event_log.event_ids(op.also.events)))
    return found


def _check_ids(op: operations.Put, spaces: Mapping[str, NamespaceBatch]) -> None:
    keys = [(draft.record.namespace, draft.record.id) for draft in op.drafts]
    if op.replace:
        old = {
            (name, id): codec_values(o)
            for name, space in spaces.items()
            for id, o in space.old.items()
        }
        refused = codec.conflicting_ids(op, old)
    else:
        twice = [key for key, count in Counter(keys).items() if count > 1]
        refused = [id for namespace, id in keys if id in spaces[namespace].old]
        refused += [id for _, id in twice]
        refused += [
            draft.record.id
            for draft in op.drafts
            if draft.note.get("key") in spaces[draft.record.namespace].keys
        ]
    if refused:
        raise Abandon(tuple(refused))


def _add_memory(
    space: NamespaceBatch, draft: Draft, values: dict[str, Any], op: operations.Put
) -> None:
    """Note one memory with the next row."""
    record = draft.record
    space.counter += 1
    row = space.counter
    values.update(namespace=space.namespace, row=row, sequence=row)
    before = space.old.get(record.id)
    if before is not None:
        had = space.vectors.get(before["row"], set())
        handed, lost = codec.split_vectors(op, draft, had)
        space.moved += [(row, space.namespace, name, before["row"]) for name in sorted(handed)]
        space.lose(before["row"], before, handed)
        kept = codec_values(before)
        values.update(codec.merge_accesses(values, kept), sequence=before["sequence"])
        old = codec.record_of(space.namespace, kept)
        event = edit_event(old, record, op.actor, draft.vectors.keys() - had)
        space.former.append((before["sequence"], len(space.entries), before["row"], sorted(lost)))
    else:
        event = write_event(draft, op.actor)
    if op.past is None:
        space.entries.append((values["sequence"], event))
    space.sequences[record.id] = values["sequence"]
    values.update(
        tags=list(record.tags) or None,
        entities=list(record.entities) or None,
        accesses=list(codec.unpack_times(values["accesses"])),
        access_count=float(values["access_count"]),
        spellings=spelling_keys(record),
    )
    blobs = [values[f"terms.{name}"] for name in LEXICAL]
    space.memories.append([values[name] for name in _MEMORY_COLUMNS])
    space.words.append([space.namespace, row, *blobs])
    lengths = [len(blob) // 8 if blob else 0 for blob in blobs]
    space.lengths.append((row, lengths))
    if record.speaker:
        space.tallies["speaker", record.speaker] += 1
    if record.session_id is not None:
        space.sessions.add(record.session_id)
        space.turns.append(
            Turn(record.session_id, row, values["created_at"], values["sequence"], record.speaker)
        )
    for name, vector in draft.vectors.items():
        space.given.append([space.namespace, name, row, vector])
        space.tallies["vector", name] += 1
        space.sizes.setdefault(name, len(vector))


def _write_commands(space: NamespaceBatch, last: int) -> list[Command]:
    name = space.namespace
    old = [before["row"] for before in space.old.values()] if space.memories else []
    commands: list[Command] = []
    first = last - len(space.entries) + 1
    former = [
        (memory, first + at, name, row, names) for memory, at, row, names in space.former if names
    ]
    if former:
        commands.append(
            Many(
                "INSERT INTO former_vectors SELECT namespace, %s::integer, %s::bigint, name, "
                'vector FROM vectors WHERE namespace = %s AND "row" = %s::integer '
                "AND name = ANY(%s::text[])",
                former,
            )
        )
    if old:
        commands += [
            Statement(
                f'DELETE FROM {table} WHERE namespace = %s AND "row" = ANY(%s::integer[])',
                (name, old),
            )
            for table in ("memories", "words")
        ]
        commands.append(bury_places(space, old))
        if space.moved:
            commands.append(
                Many(
                    'UPDATE vectors SET "row" = %s WHERE namespace = %s AND name = %s '
                    'AND "row" = %s',
                    space.moved,
                )
            )
        commands.append(delete_vectors(space, old))
    placed = space.placed()
    places = [
        [name, row, space.version, True, *placed.get(row, NOWHERE), *lengths]
        for row, lengths in space.lengths
    ]
    for table, columns, rows in (
        ("memories", _MEMORY_COLUMNS, space.memories),
        ("words", _WORDS_COLUMNS, space.words),
        ("places", _PLACES_COLUMNS, places),
        ("vectors", _VECTORS_COLUMNS, space.given),
    ):
        if rows:
            commands.append(_insert(table, columns, rows))
    commands.append(
        Statement(
            "UPDATE spaces SET counter = %s, living = living + %s WHERE namespace = %s",
            (space.counter, len(space.memories) - len(old), name),
        )
    )
    return commands + space.tally() + space.relink(bool(old))


def bury_places(space: NamespaceBatch, rows: Sequence[int]) -> Statement:
    """Let rows be dead; that they were there is all that stays."""
    zeros = ", ".join(f"{column} = 0" for column in LEXICAL)
    return Statement(
        f"UPDATE places SET living = FALSE, version = %s, previous = 0, following = 0, "
        f'position = -1, {zeros} WHERE namespace = %s AND "row" = ANY(%s::integer[])',
        (space.version, space.namespace, list(rows)),
    )


def delete_vectors(space: NamespaceBatch, rows: Sequence[int]) -> Statement:
    """Erase the vectors of rows."""
    return Statement(
        "DELETE FROM vectors WHERE namespace = %s AND name IN (SELECT name FROM tallies "
        "WHERE namespace = %s AND kind = 'vector') AND \"row\" = ANY(%s::integer[])",
        (space.namespace, space.namespace, list(rows)),
    )


def _insert(table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> Command:
    if len(rows) > _INSERT_MAX_ROWS:
        return Copy(table, tuple(columns), tuple(columns.values()), rows)
    names = ", ".join(f'"{name}"' for name in columns)
    marks = ", ".join(
        "%s::json" if name == "metadata" else f"%s::{kind}" for name, kind in columns.items()
    )
    return Many(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)


def prepare(drafts: Sequence[Draft]) -> PreparedDrafts:
    """Drafts with everything that is kept of them."""
    return [(draft, codec.encode_draft(draft)) for draft in drafts]

"""Put: writing drafts, links and events in one transaction that locks their namespaces first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from salience.records.events import Event, edit_event, write_event
from salience.records.record import Draft, Edit
from salience.retrieval import operations
from salience.stores import codec
from salience.stores.postgres import schema
from salience.stores.postgres.sql.columns import WHOLE_NUMBERS, names_of, terms_of
from salience.stores.postgres.write.batch import NamespaceBatch, link_commands, log_links
from salience.stores.postgres.write.dialect import DIALECT, MEMORY_COLUMNS, lock_namespace
from salience.stores.tables.commands import Abandon, Command, Many, Send, Statement
from salience.stores.tables.dialect import (
    SELECT_SETS,
    parse_sets,
    records_by_id,
    select_states,
    select_stored,
    states_by_id,
    stored_by_id,
)
from salience.stores.tables.event_log import append_events, import_history, last_tombstone

SHARE_SETS = "SELECT pg_advisory_xact_lock_shared(1380402262)"  # see `vector_sets`
PreparedDrafts = Sequence[tuple[Draft, dict[str, Any]]]


def written_namespaces(op: operations.Put) -> list[str]:
    """The namespaces of a write, in the order in which they are locked."""
    return sorted(
        {draft.record.namespace for draft in op.drafts}
        | {link.namespace for link in (*op.links, *op.unlinks)}
        | ({op.also.namespace} if op.also is not None else set())
        | ({op.past.namespace} if op.past is not None else set())
        | ({op.seen.namespace} if op.seen is not None else set())
    )


def put(op: operations.Put, prepared: PreparedDrafts, send: Send) -> tuple[str, ...]:
    """Write everything, or nothing; the ids that stand in the way."""
    batches, embedder = _begin(op, send)
    before = {name: batch.counter for name, batch in batches.items()}
    _check_ids(op, batches)
    codec.check_vectors(
        op,
        embedder,
        lambda namespace, names: {
            name: size
            for name in names
            if (size := batches[namespace].stored_dimensions(name)) is not None
        },
    )
    for draft, values in prepared:
        _add_memory(batches[draft.record.namespace], draft, dict(values), op)
    changes: list[Command] = []
    if op.also is not None:
        batch = batches[op.also.namespace]
        states = {**batch.event_states, **batch.written_states}
        changed, entries = op.also.applied(states)
        changes = DIALECT.set_rows(op.also.namespace, changed)
        batch.log_entries += entries
    for batch in batches.values() if op.past is None else ():
        log_links(batch, op)
    for name in [name for name, counter in before.items() if not counter]:
        [[[last]]] = send(last_tombstone(name))
        if last:  # of one of that name before; its log goes on
            send(*DIALECT.advance(name, last))
    places = send(
        *[DIALECT.reserve(name, len(batch.log_entries)) for name, batch in batches.items()]
    )
    commands: list[Command] = []
    for batch, [[last]] in zip(batches.values(), places, strict=True):
        commands += _write_commands(batch, last)
        commands += append_events(batch.namespace, last, batch.log_entries, DIALECT)
    commands += [*changes, *link_commands(op, batches)]
    if op.past is not None:
        batch = batches[op.past.namespace]
        commands += import_history(op.past, batch.sequences, batch.sets, DIALECT)
    if op.embedder and embedder is None and any(draft.vectors for draft in op.drafts):
        commands += DIALECT.replace("meta", [("embedder", op.embedder)])
    send(*commands)
    for batch in batches.values():
        schema.analyze_if_doubled(batch.namespace, before[batch.namespace], batch.counter, send)
    return ()


def _begin(op: operations.Put, send: Send) -> tuple[dict[str, NamespaceBatch], str | None]:
    """Lock the namespaces, and read their state: a batch of each, and the embedder."""
    names = written_namespaces(op)
    commands: list[Command] = [Statement(SHARE_SETS), SELECT_SETS]
    selects = [_select_state(op, name) for name in names]
    commands += [statement for own in selects for statement in own]
    [_, stored_sets, *answers] = send(*commands)
    embedder, sets = parse_sets(stored_sets)
    batches, remaining = {}, iter(answers)
    for name, own in zip(names, selects, strict=True):
        (
            [[counter, version]],
            old,
            dimensions,
            vectors,
            keys,
            sources,
            links,
            *further,
        ) = (next(remaining) for _ in own)
        batch = batches[name] = NamespaceBatch(name, counter, version, sets)
        batch.replaced = stored_by_id(old, DIALECT)
        batch.dimensions = dict(dimensions)
        for row, vector in vectors:
            batch.replaced_vectors.setdefault(row, set()).add(vector)
        batch.used_keys = {key for (key,) in keys}
        batch.sequences = dict(sources)
        batch.existing_links = {tuple(link) for link in links}
        if _has_seen(op, name):
            batch.saying_the_same = [
                [(id, row, (key, *owner)) for id, row, key, *owner in found]
                for found in further[:2]
            ]
            further = further[2:]
        if further:
            batch.event_states = states_by_id(further[0], DIALECT)
            batch.those_that_were = records_by_id(name, further[1], DIALECT)
    return batches, embedder


def _select_state(op: operations.Put, name: str) -> list[Statement]:
    """Lock a namespace and read its state, as far as a write depends on it."""
    drafts = [draft for draft in op.drafts if draft.record.namespace == name]
    ids = [draft.record.id for draft in drafts]
    keys = [key for namespace, key, _ in op.keys if namespace == name]
    links = [link for link in (*op.links, *op.unlinks) if link.namespace == name]
    unlinks = [link for link in op.unlinks if link.namespace == name]
    statements = [
        lock_namespace(name),
        select_stored(name, ids, locked=True),
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
            (name, [edit.record.id for edit in op.edits if edit.record.namespace == name], name),
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
            (name, [link.source for link in unlinks]),
        ),
    ]
    if op.seen is not None and _has_seen(op, name):
        owner = ", ".join(operations.OWNER_FIELDS)
        statements += [
            Statement(
                f'SELECT id, "row", {column}, {owner} FROM memories WHERE namespace = %s '
                f'AND {column} = ANY(%s::bigint[]) AND "row" > %s',
                (name, keys_seen, after),
            )
            for column, keys_seen, after in op.seen.lookups()
        ]
    if op.also is not None and op.also.namespace == name:
        statements.append(select_states(name, op.also.ids))
        statements.append(select_stored(name, [was.id for was in op.also.were]))
    return statements


def _has_seen(op: operations.Put, namespace: str) -> bool:
    """Test whether a write depends on what was seen in a namespace."""
    return op.seen is not None and op.seen.namespace == namespace


def _check_ids(op: operations.Put, batches: Mapping[str, NamespaceBatch]) -> None:
    """Abandon the write if memories stand in its way."""
    old = {
        (name, id): stored
        for name, batch in batches.items()
        for id, stored in batch.replaced.items()
    }
    used = {(name, key) for name, batch in batches.items() for key in batch.used_keys}
    refused = codec.conflicting_ids(op, old, used)
    if op.seen is not None and not refused:
        refused = op.seen.unseen_ids(batches[op.seen.namespace].saying_the_same)
    if op.also is not None and not refused:
        batch = batches[op.also.namespace]
        refused = op.refused_events(batch.event_states, batch.those_that_were)
    if refused:
        raise Abandon(refused)


def _add_memory(
    batch: NamespaceBatch, draft: Draft, values: dict[str, Any], op: operations.Put
) -> None:
    """Add one memory to a batch, with the next row."""
    record = draft.record
    batch.counter += 1
    row = batch.counter
    values.update(namespace=batch.namespace, row=row, sequence=row)
    if record.id in batch.replaced:
        event = _replace_memory(batch, draft, values, op)
    else:
        event = write_event(draft, op.actor)
    if op.past is None:
        batch.log_entries.append((values["sequence"], event))
    batch.sequences[record.id] = values["sequence"]
    if op.also is not None and (op.also.ids is None or record.id in op.also.ids):
        place = {"row": row, "sequence": values["sequence"]}
        batch.written_states[record.id] = {**codec.decode_state(values), **place}
    values.update(
        tags=list(record.tags) or None,
        entities=list(record.entities) or None,
        accesses=list(codec.unpack_times(values["accesses"])),
        **names_of(record),
    )
    values.update((name, float(values[name])) for name in WHOLE_NUMBERS)
    batch.memories.append([values[name] for name in MEMORY_COLUMNS])
    batch.words.append([batch.namespace, row, *terms_of(values)])
    batch.places.append([batch.namespace, row, batch.version, True])
    if record.speaker:
        batch.tallies["speaker", record.speaker] += 1
    for own_name, vector in draft.vectors.items():
        name = batch.sets.stored_name(own_name)
        batch.new_vectors.append([batch.namespace, name, row, vector])
        batch.tallies["vector", name] += 1
        batch.dimensions.setdefault(name, len(vector))


def _replace_memory(
    batch: NamespaceBatch, draft: Draft, values: dict[str, Any], op: operations.Put
) -> Event:
    """Take over vectors, accesses and the sequence number of an old row; the event of the edit."""
    before = batch.replaced[draft.record.id]
    names = batch.replaced_vectors.get(before["row"], set())
    assert isinstance(draft, Edit)
    handed, lost = codec.split_vectors(draft, names, batch.sets)
    batch.moved_vectors += [
        (values["row"], batch.namespace, name, before["row"]) for name in sorted(handed)
    ]
    batch.remove(before["row"], before, handed)
    values.update(codec.succession(values, before, draft.note), sequence=before["sequence"])
    batch.former_vectors.append(
        (before["sequence"], len(batch.log_entries), before["row"], sorted(lost))
    )
    old = codec.record_of(batch.namespace, before)
    had = {batch.sets.searched_name(name) for name in names}
    return edit_event(old, draft, op.actor, draft.vectors.keys() - had)


def _write_commands(batch: NamespaceBatch, last: int) -> list[Command]:
    """Write the rows of a batch, whose last event has the number `last`."""
    name = batch.namespace
    old = [values["row"] for values in batch.replaced.values()] if batch.memories else []
    commands = _replace_commands(batch, old, last - len(batch.log_entries) + 1)
    for table, rows in (
        ("memories", batch.memories),
        ("words", batch.words),
        ("places", batch.places),
        ("vectors", batch.new_vectors),
    ):
        commands += DIALECT.insert(table, rows)
    commands.append(
        Statement(
            "UPDATE spaces SET counter = %s, living = living + %s WHERE namespace = %s",
            (batch.counter, len(batch.memories) - len(old), name),
        )
    )
    return commands + batch.tally_commands()


def _replace_commands(batch: NamespaceBatch, old: Sequence[int], first: int) -> list[Command]:
    """Erase old rows, and hand on their vectors; `first` is the number of the first event."""
    name = batch.namespace
    commands: list[Command] = []
    former = [
        (memory, first + at, name, row, names)
        for memory, at, row, names in batch.former_vectors
        if names
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
    if not old:
        return commands
    commands += [
        Statement(
            f'DELETE FROM {table} WHERE namespace = %s AND "row" = ANY(%s::integer[])',
            (name, old),
        )
        for table in ("memories", "words")
    ]
    commands.append(bury_places(batch, old))
    if batch.moved_vectors:
        move = 'UPDATE vectors SET "row" = %s WHERE namespace = %s AND name = %s AND "row" = %s'
        commands.append(Many(move, batch.moved_vectors))
    commands.append(delete_vectors(batch, old))
    return commands


def bury_places(batch: NamespaceBatch, rows: Sequence[int]) -> Statement:
    """Mark rows as dead; only their places stay."""
    return Statement(
        "UPDATE places SET living = FALSE, version = %s WHERE namespace = %s "
        'AND "row" = ANY(%s::integer[])',
        (batch.version, batch.namespace, list(rows)),
    )


def delete_vectors(batch: NamespaceBatch, rows: Sequence[int]) -> Statement:
    """Erase the vectors of rows."""
    return Statement(
        "DELETE FROM vectors WHERE namespace = %s AND name IN (SELECT name FROM tallies "
        "WHERE namespace = %s AND kind = 'vector') AND \"row\" = ANY(%s::integer[])",
        (batch.namespace, batch.namespace, list(rows)),
    )


def prepare(drafts: Sequence[Draft]) -> PreparedDrafts:
    """Drafts with the values that are stored of them."""
    return [(draft, codec.encode_draft(draft)) for draft in drafts]

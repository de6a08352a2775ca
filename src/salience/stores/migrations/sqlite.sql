-- The schema of a new file, the same as that of an old one after its last step.
-- Every row belongs to a namespace ("space"), and every statement goes by it or by a row number.
-- Row numbers and change numbers come from one counter: what is newer has the larger number.
-- A checksum is that of the whole row, and of a memory that of its contents and what follows from
-- them: see salience.stores.checksums.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    checksum INTEGER
) WITHOUT ROWID;

-- Each transaction has a random state. A write-ahead log belongs to the file if its first state
-- followed that of the file: see salience.stores.sqlite.open_files.
CREATE TABLE counter (
    value INTEGER NOT NULL,
    state BLOB,
    previous_state BLOB,
    schemas INTEGER NOT NULL DEFAULT 0 -- see salience.stores.sqlite.open_files.next_state
);
INSERT INTO counter VALUES (0, randomblob(8), NULL, 0);

CREATE TABLE spaces (
    space INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    last INTEGER NOT NULL DEFAULT 0,
    checksum INTEGER
);

-- SQLite drops the last column at the comma before it: no comment behind `content` has one.
CREATE TABLE memories (
    row INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES spaces,
    id TEXT NOT NULL,
    sequence INTEGER NOT NULL, -- the number of its first version in the namespace
    created_at REAL NOT NULL, -- seconds since 1970, as every time
    updated_at REAL NOT NULL,
    last_accessed REAL,
    access_count INTEGER NOT NULL,
    accesses BLOB, -- float64, the most recent times, newest first
    expires_at REAL,
    importance REAL, -- this and the next four in [0, 1]
    relevance_score REAL,
    memory_score REAL,
    confidence REAL,
    strength REAL,
    decayed_at REAL, -- when strength last decayed
    decay_rate REAL, -- per hour
    feedback_for REAL, -- sums of weights
    feedback_against REAL,
    review TEXT, -- outdated, incorrect
    pinned REAL, -- 0 or 1
    boost REAL, -- as it was at boosted_at
    boosted_at REAL,
    tier TEXT,
    memory_nature TEXT,
    content_type TEXT,
    layer TEXT,
    status TEXT NOT NULL,
    kind TEXT NOT NULL,
    speaker TEXT,
    session_id TEXT,
    agent_id TEXT,
    user_id TEXT,
    title TEXT,
    gist TEXT,
    tags TEXT, -- JSON, NULL when empty
    entities TEXT,
    features BLOB NOT NULL, -- float32, see salience.language.features.FEATURES
    greets TEXT, -- whom it greets by name
    terms_title BLOB, -- uint64 term hashes, see salience.language.tokens.term_id
    terms_gist BLOB,
    terms_tags BLOB,
    terms_entities BLOB,
    terms_content BLOB,
    metadata TEXT,
    content TEXT NOT NULL, -- loading an index reads what is before and no pages of long texts
    valid_from REAL,
    valid_to REAL,
    text_key INTEGER, -- the same for the same text outside of any session
    outdated REAL, -- 0 or 1
    added_at REAL, -- when it came into the store
    version INTEGER NOT NULL DEFAULT 1, -- see UPDATING_EVENTS in salience.records.events
    attribute_key INTEGER, -- see salience.language.statements
    passages TEXT, -- JSON or NULL
    terms_passages BLOB, -- those of each passage after each other
    checksum INTEGER,
    written_by TEXT, -- the actor of its first write
    write_count INTEGER NOT NULL DEFAULT 0,
    derived_by INTEGER -- what worked out terms, features and keys: salience.stores.codec.deriver
);
CREATE UNIQUE INDEX memories_by_id ON memories (space, id);
CREATE INDEX memories_by_space ON memories (space);
CREATE INDEX memories_by_text ON memories (space, text_key) WHERE text_key IS NOT NULL;
CREATE INDEX memories_by_time ON memories (space, created_at, sequence); -- the order of listings
CREATE INDEX memories_by_attribute ON memories (space, attribute_key)
    WHERE attribute_key IS NOT NULL;
CREATE INDEX memories_with_passages ON memories (space, row) WHERE passages IS NOT NULL;
CREATE UNIQUE INDEX memories_by_sequence ON memories (space, sequence);

CREATE TABLE vectors (
    space INTEGER NOT NULL REFERENCES spaces,
    name TEXT NOT NULL,
    row INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    vector BLOB NOT NULL, -- float16, unit length
    checksum INTEGER,
    PRIMARY KEY (space, name, row)
) WITHOUT ROWID;
CREATE INDEX vectors_by_row ON vectors (row);

CREATE TABLE links (
    space INTEGER NOT NULL REFERENCES spaces,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    type TEXT NOT NULL,
    weight REAL NOT NULL,
    created_at REAL NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (space, source, target, type)
) WITHOUT ROWID;
CREATE INDEX links_by_target ON links (space, target);

-- What indexes must learn besides new rows; old entries are dropped, and `changes_from` in meta
-- says since when it is complete.
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    row INTEGER NOT NULL,
    kind TEXT NOT NULL -- removed, patched; linked (row 0) for new links
);
CREATE INDEX changes_by_space ON changes (space, seq);

-- What happened to memories: see salience.records.events. Whatever an event changes can be worked
-- out anew from the log.
CREATE TABLE events (
    space INTEGER NOT NULL REFERENCES spaces,
    seq INTEGER NOT NULL, -- its place in the log of the namespace
    memory INTEGER NOT NULL, -- the sequence of the memory, 0 for all of the namespace
    type TEXT NOT NULL,
    at REAL NOT NULL, -- seconds since 1970
    actor TEXT,
    session TEXT,
    payload TEXT, -- JSON, NULL when empty
    checksum INTEGER,
    PRIMARY KEY (space, seq)
) WITHOUT ROWID;
CREATE INDEX events_by_memory ON events (space, memory);
CREATE UNIQUE INDEX events_by_key ON events (space, json_extract(payload, '$.key'))
    WHERE payload IS NOT NULL AND json_extract(payload, '$.key') IS NOT NULL;
-- An erasure finds all events that name another memory.
CREATE INDEX events_by_mention ON events (
    space,
    coalesce(
        json_extract(payload, '$.target'), json_extract(payload, '$.match'),
        json_extract(payload, '$.into')
    )
) WHERE payload IS NOT NULL AND coalesce(
    json_extract(payload, '$.target'), json_extract(payload, '$.match'),
    json_extract(payload, '$.into')
) IS NOT NULL;

-- Vectors that edits replaced.
CREATE TABLE former_vectors (
    space INTEGER NOT NULL REFERENCES spaces,
    memory INTEGER NOT NULL, -- its sequence
    event INTEGER NOT NULL, -- the edit's place in the log
    name TEXT NOT NULL,
    vector BLOB NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (space, memory, event, name)
) WITHOUT ROWID;

-- What upkeep has noted of a namespace: its lock, how far it has come.
CREATE TABLE notes (
    space INTEGER NOT NULL REFERENCES spaces,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (space, key)
) WITHOUT ROWID;

-- Keys of access: see salience.records.access_key. They belong to no namespace.
CREATE TABLE access_keys (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    entry TEXT NOT NULL, -- JSON
    last_used REAL, -- seconds since 1970
    checksum INTEGER -- of all but the last use
) WITHOUT ROWID;

-- Tombstones: who erased how many memories when. Of what was erased there are hashes alone: see
-- salience.records.tombstones.
CREATE TABLE erasures (
    namespace TEXT NOT NULL, -- the hash of its name
    seq INTEGER NOT NULL, -- its place in the log of the namespace
    at REAL NOT NULL, -- seconds since 1970
    actor TEXT,
    kind TEXT NOT NULL, -- the method of Memory
    memories INTEGER NOT NULL, -- how many
    ids BLOB NOT NULL, -- hashes of their ids, after each other
    checksum INTEGER,
    key TEXT, -- the idempotency key of the erasure
    body TEXT, -- the hash of all that its request gave
    PRIMARY KEY (namespace, seq)
) WITHOUT ROWID;
CREATE INDEX erasures_by_key ON erasures (namespace, key) WHERE key IS NOT NULL;

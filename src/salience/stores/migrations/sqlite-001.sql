-- Every row belongs to a namespace ("space"), and every statement goes by it or by a row number.
-- Row numbers and change numbers come from one counter: what is newer has the larger number.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE counter (
    value INTEGER NOT NULL
);
INSERT INTO counter VALUES (0);

CREATE TABLE spaces (
    space INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE memories (
    row INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES spaces,
    id TEXT NOT NULL,
    sequence INTEGER NOT NULL, -- the row of its first version: its place among equal times
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
    content TEXT NOT NULL -- last, so that loading an index never reads a long text's pages
);
CREATE UNIQUE INDEX memories_by_id ON memories (space, id);
CREATE INDEX memories_by_space ON memories (space);

CREATE TABLE vectors (
    space INTEGER NOT NULL REFERENCES spaces,
    name TEXT NOT NULL,
    row INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    vector BLOB NOT NULL, -- float16, unit length
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

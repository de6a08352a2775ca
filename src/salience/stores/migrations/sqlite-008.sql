-- Keys for the doors of the store: see salience.records.access_key. They belong to no namespace.
CREATE TABLE access_keys (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    entry TEXT NOT NULL, -- JSON
    last_used REAL -- seconds since 1970
) WITHOUT ROWID;

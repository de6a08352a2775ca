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
    PRIMARY KEY (namespace, seq)
) WITHOUT ROWID;

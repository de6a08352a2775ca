-- A memory's sequence number and the places in the log are counted in each namespace by itself, so that
-- they tell nothing of the others. The counter of the file goes on with rows and changes.
ALTER TABLE spaces ADD COLUMN last INTEGER NOT NULL DEFAULT 0; -- the last number given in it
DROP INDEX events_by_memory;
CREATE INDEX events_by_memory ON events (space, memory);
DROP INDEX memories_by_sequence;
CREATE UNIQUE INDEX memories_by_sequence ON memories (space, sequence);
UPDATE spaces SET last = max(
    coalesce((SELECT max(sequence) FROM memories WHERE memories.space = spaces.space), 0),
    coalesce((SELECT max(seq) FROM events WHERE events.space = spaces.space), 0)
);

-- Vectors that edits replaced.
CREATE TABLE replaced_vectors (
    space INTEGER NOT NULL REFERENCES spaces,
    memory INTEGER NOT NULL, -- its sequence
    event INTEGER NOT NULL, -- the edit's place in the log
    name TEXT NOT NULL,
    change INTEGER NOT NULL, -- when it was replaced, by the counter of the file
    vector BLOB NOT NULL,
    PRIMARY KEY (space, memory, event, name)
) WITHOUT ROWID;
INSERT INTO replaced_vectors
SELECT space, former.memory, event, name, event, vector
FROM former_vectors AS former JOIN events ON events.memory = former.memory AND seq = event;
DROP TABLE former_vectors;
ALTER TABLE replaced_vectors RENAME TO former_vectors;

-- Hashes of the ids of what was erased, after each other: see salience.records.tombstones. Those of before have none.
ALTER TABLE erasures ADD COLUMN ids bytea NOT NULL DEFAULT '';

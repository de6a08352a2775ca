-- The passages of long texts, and their terms: see salience.language.passages.
ALTER TABLE memories ADD COLUMN passages text; -- JSON, NULL for a short text
ALTER TABLE words ADD COLUMN passages bytea; -- uint64 term hashes, those of each passage after each other
CREATE INDEX memories_with_passages ON memories (namespace, "row") WHERE passages IS NOT NULL;

-- The passages of long texts, and their terms: see salience.language.passages.
ALTER TABLE memories ADD COLUMN passages TEXT; -- JSON, NULL for a short text
ALTER TABLE memories ADD COLUMN terms_passages BLOB; -- uint64 term hashes, those of each passage after each other
UPDATE memories SET
    passages = passage_borders(title, content),
    terms_passages = passage_terms(title, content)
WHERE passage_borders(title, content) IS NOT NULL;
CREATE INDEX memories_with_passages ON memories (space, row) WHERE passages IS NOT NULL;

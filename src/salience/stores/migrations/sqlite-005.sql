-- Which memories outside of any session have the same text: see salience.language.tokens.text_key.
ALTER TABLE memories ADD COLUMN text_key INTEGER;
UPDATE memories SET text_key = text_key(content) WHERE session_id IS NULL;
CREATE INDEX memories_by_text ON memories (space, text_key) WHERE text_key IS NOT NULL;

-- Which memories outside of any session have the same text: see salience.language.tokens.text_key.
ALTER TABLE memories ADD COLUMN text_key bigint;
CREATE INDEX memories_by_text ON memories (namespace, text_key) WHERE text_key IS NOT NULL;

-- A memory judged outdated fades twice as fast, whatever else it is judged to be.
ALTER TABLE memories ADD COLUMN outdated REAL; -- 0 or 1
-- When each memory came into the store, however old it is.
ALTER TABLE memories ADD COLUMN added_at REAL; -- seconds since 1970
UPDATE memories SET
    added_at = (SELECT min(at) FROM events WHERE memory = sequence AND type = 'write'),
    outdated = (
        SELECT max(1.0) FROM events WHERE memory = sequence AND type = 'feedback'
            AND json_extract(payload, '$.feedback') = 'outdated'
    );
-- How often what was written or set of a memory has changed: see `UPDATING_EVENTS` in salience.records.events.
ALTER TABLE memories ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
UPDATE memories SET version = 1 + (
    SELECT count(*) FROM events WHERE memory = memories.sequence
    AND type IN ('edit', 'status', 'pin', 'archive', 'restore', 'feedback')
);
-- The order of listings.
CREATE INDEX memories_by_time ON memories (space, created_at, sequence);
-- Which facts outside of any session state the same attribute: see salience.language.statements.
ALTER TABLE memories ADD COLUMN attribute_key INTEGER;
UPDATE memories SET attribute_key = attribute_key(content) WHERE kind = 'fact' AND session_id IS NULL;
CREATE INDEX memories_by_attribute ON memories (space, attribute_key) WHERE attribute_key IS NOT NULL;

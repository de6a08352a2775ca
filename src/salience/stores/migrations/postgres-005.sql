-- A memory judged outdated fades twice as fast, whatever else it is judged to be.
ALTER TABLE memories ADD COLUMN outdated double precision; -- 0 or 1
UPDATE memories SET outdated = 1.0 FROM events
WHERE events.namespace = memories.namespace AND events.memory = memories.sequence
    AND events.type = 'feedback' AND events.payload ->> 'feedback' = 'outdated';
-- When each memory came into the store, however old it is.
ALTER TABLE memories ADD COLUMN added_at double precision; -- seconds since 1970
UPDATE memories SET added_at = events.at FROM events
WHERE events.namespace = memories.namespace AND events.memory = memories.sequence
    AND events.type = 'write';
-- How often what was written or set of a memory has changed: see `UPDATING_EVENTS` in salience.records.events.
ALTER TABLE memories ADD COLUMN version double precision NOT NULL DEFAULT 1;
UPDATE memories m SET version = 1 + changes.number FROM (
    SELECT namespace, memory, count(*) AS number FROM events
    WHERE type IN ('edit', 'status', 'pin', 'archive', 'restore', 'feedback')
    GROUP BY namespace, memory
) AS changes
WHERE changes.namespace = m.namespace AND changes.memory = m.sequence;
-- The order of listings.
DROP INDEX memories_by_time;
CREATE INDEX memories_by_time ON memories (namespace, created_at, sequence);
-- Elements of lists as filters compare them: see `FOLDED_FIELDS` in salience.records.filters.
ALTER TABLE memories ADD COLUMN folded_tags text[] COLLATE "C"; -- NULL when empty
ALTER TABLE memories ADD COLUMN folded_entities text[] COLLATE "C";
UPDATE memories SET
    folded_tags = (
        SELECT array_agg(casefolded(text) ORDER BY place)
        FROM unnest(tags) WITH ORDINALITY AS item (text, place)
    ),
    folded_entities = (
        SELECT array_agg(casefolded(text) ORDER BY place)
        FROM unnest(entities) WITH ORDINALITY AS item (text, place)
    )
WHERE tags IS NOT NULL OR entities IS NOT NULL;
DROP INDEX IF EXISTS memories_by_tag;
CREATE INDEX memories_by_tag ON memories USING gin (namespace, folded_tags)
    WHERE folded_tags IS NOT NULL;
-- Which facts outside of any session state the same attribute: see salience.language.statements.
ALTER TABLE memories ADD COLUMN attribute_key bigint;
CREATE INDEX memories_by_attribute ON memories (namespace, attribute_key) WHERE attribute_key IS NOT NULL;

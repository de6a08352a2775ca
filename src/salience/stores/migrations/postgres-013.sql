-- How often a memory was edited: see `write_count` in salience.records.record. What edits counted as an access says so.
ALTER TABLE memories ADD COLUMN write_count double precision NOT NULL DEFAULT 0;
UPDATE memories m SET write_count = counted.number FROM (
    SELECT namespace, memory, count(*) AS number FROM events
    WHERE type = 'rewrite' OR (type = 'edit' AND payload ->> 'use' = 'write')
    GROUP BY namespace, memory
) AS counted
WHERE counted.namespace = m.namespace AND counted.memory = m.sequence;

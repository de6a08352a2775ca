-- How often a memory was edited: see `write_count` in salience.records.record. What edits counted as an access says so.
ALTER TABLE memories ADD COLUMN write_count INTEGER NOT NULL DEFAULT 0;
UPDATE memories SET write_count = counted.number FROM (
    SELECT space, memory, count(*) AS number FROM events
    WHERE type = 'rewrite' OR (type = 'edit' AND json_extract(payload, '$.use') = 'write')
    GROUP BY space, memory
) AS counted
WHERE counted.space = memories.space AND counted.memory = memories.sequence;

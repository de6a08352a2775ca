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

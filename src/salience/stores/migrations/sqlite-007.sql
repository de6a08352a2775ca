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

-- Who wrote a memory first, as the event of its write says.
ALTER TABLE memories ADD COLUMN written_by TEXT;
UPDATE memories SET written_by = (
    SELECT actor FROM events
    WHERE events.space = memories.space AND memory = sequence AND type = 'write'
);

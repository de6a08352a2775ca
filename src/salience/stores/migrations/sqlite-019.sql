-- Who wrote a memory first, as the event of its write says.
ALTER TABLE memories ADD COLUMN written_by TEXT;
UPDATE memories SET written_by = written.actor FROM (
    SELECT space, memory, actor FROM events WHERE type = 'write'
) AS written
WHERE written.space = memories.space AND written.memory = memories.sequence;

-- Who wrote a memory first, as the event of its write says.
ALTER TABLE memories ADD COLUMN written_by text COLLATE "C";
UPDATE memories m SET written_by = e.actor FROM events e
WHERE e.namespace = m.namespace AND e.memory = m.sequence AND e.type = 'write' AND e.actor IS NOT NULL;

-- An erasure finds all events that name another memory, not only those of links: a write with an idempotency
-- key names what it matched, the status of a merged memory what it went into.
DROP INDEX events_by_target;
CREATE INDEX events_by_mention ON events (
    space, coalesce(json_extract(payload, '$.target'), json_extract(payload, '$.match'), json_extract(payload, '$.into'))
) WHERE payload IS NOT NULL AND coalesce(
    json_extract(payload, '$.target'), json_extract(payload, '$.match'), json_extract(payload, '$.into')
) IS NOT NULL;
-- What was erased before is named by nothing any more.
UPDATE events SET
    payload = now.payload,
    checksum = checksum(events.space, events.seq, memory, type, at, actor, session, now.payload)
FROM (
    SELECT space, seq, json_remove(payload, '$.match', '$.settled_by', '$.into') AS payload
    FROM events
    WHERE payload IS NOT NULL AND type <> 'link'
        AND coalesce(json_extract(payload, '$.match'), json_extract(payload, '$.into')) IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM memories WHERE memories.space = events.space AND memories.id =
                coalesce(json_extract(events.payload, '$.match'), json_extract(events.payload, '$.into'))
        )
) AS now
WHERE events.space = now.space AND events.seq = now.seq;

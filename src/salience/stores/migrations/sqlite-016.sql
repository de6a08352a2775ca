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
        AND coalesce(json_extract(payload, '$.match'), json_extract(payload, '$.into')) NOT IN (
            SELECT id FROM memories WHERE memories.space = events.space
        )
) AS now
WHERE events.space = now.space AND events.seq = now.seq;

-- An erasure finds all events that name another memory, not only those of links: a write with an idempotency
-- key names what it matched, the status of a merged memory what it went into.
DROP INDEX events_by_target;
CREATE INDEX events_by_mention ON events (
    namespace, coalesce(payload ->> 'target', payload ->> 'match', payload ->> 'into')
) WHERE coalesce(payload ->> 'target', payload ->> 'match', payload ->> 'into') IS NOT NULL;
-- What was erased before is named by nothing any more.
UPDATE events SET payload = (payload::jsonb - 'match' - 'settled_by' - 'into')::json
WHERE type <> 'link' AND coalesce(payload ->> 'match', payload ->> 'into') IS NOT NULL AND NOT EXISTS (
    SELECT FROM memories m WHERE m.namespace = events.namespace
        AND m.id = coalesce(events.payload ->> 'match', events.payload ->> 'into')
);
DELETE FROM tallies WHERE kind = 'speaker' AND number <= 0;
-- The name of a namespace goes with its last memory. When it is used again, it is another one: what processes
-- know of the first is forgotten.
ALTER TABLE spaces ADD COLUMN born bigint NOT NULL DEFAULT 0; -- its first version, in microseconds since 1970

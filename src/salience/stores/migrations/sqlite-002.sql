-- What happened to memories: see salience.records.events. Whatever an event changes can be worked out anew
-- from the log.
CREATE TABLE events (
    space INTEGER NOT NULL REFERENCES spaces,
    seq INTEGER NOT NULL, -- from the counter of rows and changes
    memory INTEGER NOT NULL, -- the sequence of the memory that it is of, 0 for all of the namespace
    type TEXT NOT NULL,
    at REAL NOT NULL, -- seconds since 1970
    actor TEXT,
    session TEXT,
    payload TEXT, -- JSON, NULL when empty
    PRIMARY KEY (space, seq)
) WITHOUT ROWID;
CREATE INDEX events_by_memory ON events (memory);
CREATE UNIQUE INDEX events_by_key ON events (space, json_extract(payload, '$.key'))
    WHERE payload IS NOT NULL AND json_extract(payload, '$.key') IS NOT NULL;
CREATE INDEX events_by_target ON events (space, json_extract(payload, '$.target'))
    WHERE type = 'link';
-- The first version of a memory has its sequence for its row; edited ones have to be looked up.
CREATE INDEX memories_by_sequence ON memories (sequence) WHERE row <> sequence;

-- Vectors that edits replaced.
CREATE TABLE former_vectors (
    memory INTEGER NOT NULL, -- its sequence
    event INTEGER NOT NULL, -- the edit's place in the log
    name TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (memory, event, name)
) WITHOUT ROWID;

-- The log of what is there already begins with what it is now.
INSERT INTO events
SELECT
    space,
    (SELECT value FROM counter) + row_number() OVER (ORDER BY sequence),
    sequence,
    'write',
    updated_at,
    NULL,
    NULL,
    json_object('set', json_patch('{}', json_object(
        'created_at', json(exact_json(created_at)),
        'status', status,
        'last_accessed', json(exact_json(last_accessed)),
        'access_count', json(exact_json(access_count)),
        'accesses', json(exact_json(accesses)),
        'expires_at', json(exact_json(expires_at)),
        'importance', json(exact_json(importance)),
        'relevance_score', json(exact_json(relevance_score)),
        'memory_score', json(exact_json(memory_score)),
        'confidence', json(exact_json(confidence)),
        'strength', json(exact_json(strength)),
        'decayed_at', json(exact_json(decayed_at)),
        'decay_rate', json(exact_json(decay_rate)),
        'feedback_for', json(exact_json(feedback_for)),
        'feedback_against', json(exact_json(feedback_against)),
        'review', review,
        'pinned', json(exact_json(pinned)),
        'boost', json(exact_json(boost)),
        'boosted_at', json(exact_json(boosted_at)),
        'tier', tier,
        'memory_nature', memory_nature,
        'content_type', content_type,
        'layer', layer
    )))
FROM memories;
UPDATE counter SET value = value + (SELECT count(*) FROM memories);

INSERT INTO events
SELECT
    links.space,
    (SELECT value FROM counter)
        + row_number() OVER (ORDER BY links.created_at, source, target, links.type),
    memories.sequence,
    'link',
    links.created_at,
    NULL,
    NULL,
    json_object('target', target, 'link', links.type, 'weight', json(exact_json(weight)))
FROM links JOIN memories ON memories.space = links.space AND memories.id = links.source;
UPDATE counter SET value = value + (SELECT count(*) FROM events WHERE type = 'link');

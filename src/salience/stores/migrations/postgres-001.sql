-- Every table and every key leads with the namespace, and every statement names one: so a tenant's
-- rows lie together, row-level security is one condition, and Citus can distribute all tables by it.
-- Text is compared by code point (COLLATE "C"), as every other store does.
CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

CREATE TABLE meta (
    key text PRIMARY KEY,
    value text NOT NULL
);

-- One row a namespace; whoever writes locks it first, so that its writes are numbered in the order
-- in which they are committed.
CREATE TABLE spaces (
    namespace text COLLATE "C" PRIMARY KEY,
    counter integer NOT NULL, -- the last row number given
    version bigint NOT NULL, -- the number of the last write
    living integer NOT NULL DEFAULT 0, -- how many memories there are
    merged integer NOT NULL DEFAULT 0, -- the words of rows up to this are in segments
    erased integer NOT NULL DEFAULT 0, -- rows up to this are gone
    named bigint NOT NULL DEFAULT 0, -- the last write that may have changed what people are called
    linked bigint NOT NULL DEFAULT 0 -- the last write of links
);

CREATE TABLE memories (
    namespace text COLLATE "C" NOT NULL,
    "row" integer NOT NULL, -- within the namespace
    sequence integer NOT NULL, -- the row of its first version: its place among equal times
    id text COLLATE "C" NOT NULL,
    created_at double precision NOT NULL, -- seconds since 1970, as every time
    updated_at double precision NOT NULL,
    last_accessed double precision,
    access_count double precision NOT NULL,
    accesses double precision[] NOT NULL, -- the most recent times, newest first
    expires_at double precision,
    valid_from double precision, -- when what it says holds
    valid_to double precision,
    importance double precision, -- this and the next four in [0, 1]
    relevance_score double precision,
    memory_score double precision,
    confidence double precision,
    strength double precision,
    decayed_at double precision, -- when strength last decayed
    decay_rate double precision, -- per hour
    feedback_for double precision, -- sums of weights
    feedback_against double precision,
    review text COLLATE "C", -- outdated, incorrect
    pinned double precision, -- 0 or 1
    boost double precision, -- as it was at boosted_at
    boosted_at double precision,
    tier text COLLATE "C",
    memory_nature text COLLATE "C",
    content_type text COLLATE "C",
    layer text COLLATE "C",
    status text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    speaker text COLLATE "C",
    session_id text COLLATE "C",
    agent_id text COLLATE "C",
    user_id text COLLATE "C",
    title text COLLATE "C",
    gist text COLLATE "C",
    tags text[] COLLATE "C", -- NULL when empty
    entities text[] COLLATE "C",
    features bytea NOT NULL, -- float32, see salience.language.features.FEATURES
    greets text COLLATE "C", -- whom it greets by name
    spellings text[] COLLATE "C" NOT NULL, -- field and folded value, for routes that look for names
    metadata json, -- NULL when empty
    content text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, "row"),
    UNIQUE (namespace, id)
);
CREATE INDEX memories_by_time ON memories (namespace, created_at, id);
CREATE INDEX memories_by_session ON memories (namespace, session_id, created_at, sequence)
    WHERE session_id IS NOT NULL;
-- What a search with no filter of its own leaves out is among these.
CREATE INDEX memories_special ON memories (namespace, "row")
    WHERE status <> 'active' OR expires_at IS NOT NULL;
CREATE INDEX memories_by_sequence ON memories (namespace, sequence) WHERE "row" <> sequence;
CREATE INDEX memories_greeting ON memories (namespace, session_id) WHERE greets IS NOT NULL;
CREATE INDEX memories_by_spelling ON memories USING gin (namespace, spellings);
CREATE INDEX memories_by_tag ON memories USING gin (namespace, tags) WHERE tags IS NOT NULL;
CREATE INDEX memories_by_title ON memories USING gin (namespace, title gin_trgm_ops)
    WHERE title IS NOT NULL;
CREATE INDEX memories_by_foreign_title ON memories (namespace)
    WHERE octet_length(title) <> char_length(title);

-- How long each memory is and what stands beside it in its session. A process keeps these numbers
-- of the namespaces it searches, and asks for what has a later version than it knows; so a row
-- stays, without its memory, when that is erased.
CREATE TABLE places (
    namespace text COLLATE "C" NOT NULL,
    "row" integer NOT NULL,
    version bigint NOT NULL,
    living boolean NOT NULL,
    previous integer NOT NULL, -- the row of the turn before, 0 for none
    following integer NOT NULL,
    position integer NOT NULL, -- in the session, from 0; -1 outside one
    content integer NOT NULL, -- words of each field
    title integer NOT NULL,
    gist integer NOT NULL,
    tags integer NOT NULL,
    entities integer NOT NULL,
    PRIMARY KEY (namespace, "row")
) WITH (fillfactor = 90);
CREATE INDEX places_by_version ON places (namespace, version);

-- The terms of each memory in order: uint64 hashes, see salience.language.tokens.term_id.
CREATE TABLE words (
    namespace text COLLATE "C" NOT NULL,
    "row" integer NOT NULL,
    content bytea,
    title bytea,
    gist bytea,
    tags bytea,
    entities bytea,
    PRIMARY KEY (namespace, "row")
);

-- Postings of ranges of rows, immutable, sorted by term and cut into chunks of consecutive terms.
CREATE TABLE segments (
    namespace text COLLATE "C" NOT NULL,
    field text NOT NULL,
    first integer NOT NULL, -- the ordinal (row - 1) that it begins with
    size integer NOT NULL,
    PRIMARY KEY (namespace, field, first)
);
CREATE TABLE chunks (
    namespace text COLLATE "C" NOT NULL,
    field text NOT NULL,
    first integer NOT NULL,
    term bigint NOT NULL, -- the first of the chunk
    data bytea NOT NULL,
    PRIMARY KEY (namespace, field, first, term)
);
ALTER TABLE chunks ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE vectors (
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    "row" integer NOT NULL,
    vector halfvec NOT NULL, -- unit length, or zero
    PRIMARY KEY (namespace, name, "row")
);
ALTER TABLE vectors ALTER COLUMN vector SET STORAGE MAIN;

-- How many memories each speaker said, and how many have a vector of each name, of which length.
CREATE TABLE tallies (
    namespace text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL, -- speaker, vector
    name text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    size integer NOT NULL DEFAULT 0,
    version bigint NOT NULL,
    PRIMARY KEY (namespace, kind, name)
);

CREATE TABLE links (
    namespace text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    weight double precision NOT NULL,
    created_at double precision NOT NULL,
    PRIMARY KEY (namespace, source, target, type)
);
CREATE INDEX links_by_target ON links (namespace, target);

-- What happened to memories: see salience.records.events.
CREATE TABLE events (
    namespace text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    memory integer NOT NULL, -- the sequence of the memory that it is of, 0 for all of the namespace
    type text COLLATE "C" NOT NULL,
    at double precision NOT NULL,
    actor text COLLATE "C",
    session text COLLATE "C",
    payload json, -- NULL when empty
    PRIMARY KEY (namespace, seq)
);
CREATE INDEX events_by_memory ON events (namespace, memory);
CREATE UNIQUE INDEX events_by_key ON events (namespace, (payload ->> 'key'))
    WHERE payload ->> 'key' IS NOT NULL;
CREATE INDEX events_by_target ON events (namespace, (payload ->> 'target')) WHERE type = 'link';
-- The place of the last event of a namespace. It is apart from `spaces`, so that counting an access
-- does not wait for somebody who writes much.
CREATE TABLE clocks (
    namespace text COLLATE "C" PRIMARY KEY,
    seq bigint NOT NULL
);

-- Vectors that edits replaced.
CREATE TABLE former_vectors (
    namespace text COLLATE "C" NOT NULL,
    memory integer NOT NULL, -- its sequence
    event bigint NOT NULL, -- the edit's place in the log
    name text COLLATE "C" NOT NULL,
    vector halfvec NOT NULL,
    PRIMARY KEY (namespace, memory, event, name)
);

-- What upkeep has noted of a namespace: its lock, how far it has come.
CREATE TABLE notes (
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (namespace, key)
);

-- Full case folding, for "contains". PostgreSQL has it from version 18 on.
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 180000 THEN
        CREATE FUNCTION casefolded(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
            RETURN casefold(value COLLATE pg_unicode_fast);
    ELSE
        CREATE FUNCTION casefolded(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
            RETURN replace(lower(value), 'ß', 'ss');
    END IF;
END
$$;

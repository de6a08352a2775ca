-- Keys for the doors of the store: see salience.records.access_key. They belong to no namespace.
CREATE TABLE access_keys (
    id text COLLATE "C" PRIMARY KEY,
    version integer NOT NULL,
    entry text NOT NULL, -- JSON
    last_used double precision -- seconds since 1970
);

-- Tombstones: who erased how many memories when. Of the namespace there is a hash alone: see
-- salience.records.tombstones.
CREATE TABLE erasures (
    namespace text COLLATE "C" NOT NULL, -- the hash of its name
    seq bigint NOT NULL, -- its place in the log of the namespace
    at double precision NOT NULL, -- seconds since 1970
    actor text COLLATE "C",
    kind text COLLATE "C" NOT NULL, -- the method of Memory
    memories integer NOT NULL, -- how many
    PRIMARY KEY (namespace, seq)
);

-- Indexes learn of rows that went or changed from one log, as those of a file do; they need no row for each memory that
-- ever was.
CREATE TABLE changes (
    namespace text COLLATE "C" NOT NULL,
    seq bigint NOT NULL, -- the version of the namespace that it made
    "row" integer NOT NULL, -- 0 for links
    kind text COLLATE "C" NOT NULL, -- removed, patched, linked
    PRIMARY KEY (namespace, seq, "row", kind)
);
-- Since which version that is complete: at first the one that the namespace begins with.
ALTER TABLE spaces ADD COLUMN changes_from bigint NOT NULL DEFAULT 0;
UPDATE spaces SET version = version + 1, changes_from = version + 1;
ALTER TABLE spaces DROP COLUMN erased, DROP COLUMN linked, DROP COLUMN born;
DROP TABLE places;
-- The indexes of large namespaces that are built. What else was tallied is counted where it is asked for.
CREATE TABLE indexes (
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL, -- of vectors as they are stored, #terms for words
    size integer NOT NULL, -- dimensions, 0 for words
    PRIMARY KEY (namespace, name)
);
INSERT INTO indexes SELECT namespace, name, size FROM tallies WHERE kind = 'index' AND number > 0;
DROP TABLE tallies;
CREATE INDEX vectors_by_row ON vectors (namespace, "row");

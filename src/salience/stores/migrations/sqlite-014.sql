-- Damage that the disk does to a row is recognised: see salience.stores.checksums.
ALTER TABLE memories ADD COLUMN checksum INTEGER; -- of the contents and what is worked out from them
ALTER TABLE vectors ADD COLUMN checksum INTEGER; -- of the whole row, as of the next three
ALTER TABLE former_vectors ADD COLUMN checksum INTEGER;
ALTER TABLE events ADD COLUMN checksum INTEGER;
ALTER TABLE links ADD COLUMN checksum INTEGER;
UPDATE vectors SET checksum = checksum(space, name, row, vector);
UPDATE former_vectors SET checksum = checksum(space, memory, event, name, vector);
UPDATE events SET checksum = checksum(space, seq, memory, type, at, actor, session, payload);
UPDATE links SET checksum = checksum(space, source, target, type, weight, created_at);
-- Each transaction has a random state. A write-ahead log belongs to the file if its first state followed
-- that of the file: see salience.stores.sqlite.open_files.
ALTER TABLE counter ADD COLUMN state BLOB;
ALTER TABLE counter ADD COLUMN previous_state BLOB;
UPDATE counter SET state = randomblob(8);

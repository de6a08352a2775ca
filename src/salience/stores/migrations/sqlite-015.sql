-- What belongs to no single memory has checksums as well.
ALTER TABLE spaces ADD COLUMN checksum INTEGER; -- of the number and the name
ALTER TABLE notes ADD COLUMN checksum INTEGER;
ALTER TABLE meta ADD COLUMN checksum INTEGER;
ALTER TABLE access_keys ADD COLUMN checksum INTEGER; -- of all but the last use
UPDATE spaces SET checksum = checksum(space, name);
UPDATE notes SET checksum = checksum(space, key, value);
UPDATE meta SET checksum = checksum(key, value);
UPDATE access_keys SET checksum = checksum(id, version, entry);

-- Whoever writes adds the version of the schema that it knows: see salience.stores.sqlite.open_files.guard_schema.
ALTER TABLE counter ADD COLUMN schemas INTEGER NOT NULL DEFAULT 0;

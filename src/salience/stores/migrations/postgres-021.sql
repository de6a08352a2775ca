-- The idempotency key of an erasure, and a hash of all that its request gave.
ALTER TABLE erasures ADD COLUMN key text COLLATE "C", ADD COLUMN body text COLLATE "C";
CREATE INDEX erasures_by_key ON erasures (namespace, key) WHERE key IS NOT NULL;

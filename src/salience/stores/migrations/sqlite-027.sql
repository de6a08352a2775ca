-- The idempotency key of an erasure, and a hash of all that its request gave.
ALTER TABLE erasures ADD COLUMN key TEXT;
ALTER TABLE erasures ADD COLUMN body TEXT;
CREATE INDEX erasures_by_key ON erasures (namespace, key) WHERE key IS NOT NULL;

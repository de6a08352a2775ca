-- The orders in which the best by a formula are looked for: see salience.stores.postgres.sql.threshold.
CREATE INDEX memories_by_importance ON memories (namespace, coalesce(importance, 0.5) DESC);
CREATE INDEX memories_by_use ON memories (namespace, coalesce(last_accessed, created_at) DESC);

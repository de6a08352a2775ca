-- A store has two sets of vectors now, see salience.retrieval.vector_sets. Attempts at re-embedding
-- that were broken off begin anew.
DELETE FROM vectors WHERE starts_with(name, '_');
DELETE FROM tallies WHERE kind = 'vector' AND starts_with(name, '_');

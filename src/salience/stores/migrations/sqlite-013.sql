-- A store has two sets of vectors now, see salience.retrieval.vector_sets. Where vectors were about
-- to be replaced, that is finished: those that had not been given their names yet get them.
DELETE FROM vectors WHERE (row, name) IN (
    SELECT v.row, v.name FROM meta, json_each(meta.value, '$.names') AS n
    JOIN spaces JOIN vectors AS v ON v.space = spaces.space AND v.name = n.value
    WHERE meta.key = 'adoption' AND v.row > json_extract(meta.value, '$.settled')
        AND v.row <= json_extract(meta.value, '$.last')
);
UPDATE vectors SET name = (
    SELECT n.value FROM meta, json_each(meta.value, '$.names') AS n
    WHERE meta.key = 'adoption' AND n.key = vectors.name
) WHERE (row, name) IN (
    SELECT v.row, v.name FROM meta, json_each(meta.value, '$.names') AS n
    JOIN spaces JOIN vectors AS v ON v.space = spaces.space AND v.name = n.key
    WHERE meta.key = 'adoption' AND v.row > json_extract(meta.value, '$.settled')
        AND v.row <= json_extract(meta.value, '$.last')
);
DELETE FROM former_vectors WHERE name IN (
    SELECT n.value FROM meta, json_each(meta.value, '$.names') AS n WHERE meta.key = 'adoption'
) AND change <= (SELECT json_extract(value, '$.last') FROM meta WHERE key = 'adoption');
-- Attempts at re-embedding that were broken off begin anew.
DELETE FROM vectors WHERE substr(name, 1, 1) = '_';
DELETE FROM meta WHERE key = 'adoption';
ALTER TABLE former_vectors DROP COLUMN change;

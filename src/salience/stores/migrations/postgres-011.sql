-- The samples of values that the planner keeps of a column outlive the rows until they are taken anew. So none are
-- taken of what somebody wrote, of hashes of it, or of the ids of single memories. (The plans of searches that compare
-- all vectors need to know how large these are.)
DO $$
DECLARE
    field record;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('spaces')) THEN
            RETURN; -- Citus takes this only before it spreads a table
        END IF;
    END IF;
    FOR field IN
        SELECT a.attrelid::regclass AS own_table, a.attname AS name, format_type(a.atttypid, a.atttypmod)
            || CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE "C"' ELSE '' END AS type,
            CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END
            AS storage
        FROM (VALUES
            ('memories', ARRAY['id', 'content', 'title', 'gist', 'tags', 'entities', 'greets', 'spellings',
                'metadata', 'features', 'passages', 'text_key', 'attribute_key']),
            ('words', ARRAY['content', 'title', 'gist', 'tags', 'entities', 'passages']),
            ('chunks', ARRAY['data']),
            ('former_vectors', ARRAY['vector']),
            ('links', ARRAY['source', 'target']),
            ('events', ARRAY['actor', 'session', 'payload']),
            ('notes', ARRAY['value'])
        ) AS written (own_table, names)
        JOIN pg_attribute a ON a.attrelid = to_regclass(written.own_table) AND a.attname = ANY(written.names)
        JOIN pg_type t ON t.oid = a.atttypid
    LOOP
        -- To be given its own type takes from a column the samples that it has, and its storage.
        EXECUTE format('ALTER TABLE %s ALTER %I TYPE %s', field.own_table, field.name, field.type);
        EXECUTE format('ALTER TABLE %1$s ALTER %2$I SET STATISTICS 0, ALTER %2$I SET STORAGE %3$s', field.own_table,
            field.name, field.storage);
    END LOOP;
    ALTER INDEX events_by_key ALTER 2 SET STATISTICS 0;
    ALTER INDEX events_by_mention ALTER 2 SET STATISTICS 0;
END
$$;

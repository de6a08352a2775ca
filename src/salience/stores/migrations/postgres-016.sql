-- Names are in the normal form NFC, as every door gives them: see `composed` in salience.records.validation. Of two
-- forms of one namespace or id, the other gets a number behind the name.
CREATE FUNCTION composed(name text, value json) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    is_kept boolean := name IN ('metadata', 'key', 'content', 'title', 'gist');
    changed json;
BEGIN
    IF value IS NULL OR value::text IS NFC NORMALIZED OR (json_typeof(value) = 'string' AND is_kept) THEN
        RETURN value;
    END IF;
    CASE json_typeof(value)
    WHEN 'string' THEN
        RETURN to_json(normalize(value #>> '{}'));
    WHEN 'array' THEN
        SELECT json_agg(composed(name, item)) INTO changed FROM json_array_elements(value) AS each (item);
    ELSE
        SELECT json_object_agg(
            CASE WHEN value::jsonb ? normalize(key) THEN key ELSE normalize(key) END,
            composed(CASE WHEN name = 'metadata' THEN name ELSE key END, item)
        ) INTO changed FROM json_each(value) AS each (key, item);
    END CASE;
    RETURN changed;
END
$$;
DO $$
DECLARE
    of_namespaces text;
    other record;
BEGIN
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RETURN; -- it has one form of each
    END IF;
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('spaces')) THEN
            RETURN; -- Citus moves no rows from one namespace to another
        END IF;
    END IF;
    FOR other IN
        SELECT namespace AS name, normalize(namespace) || CASE WHEN place = 1 THEN '' ELSE ' (' || place || ')' END AS form
        FROM (
            SELECT namespace, row_number() OVER (
                PARTITION BY normalize(namespace) ORDER BY namespace IS NFC NORMALIZED DESC, namespace
            ) AS place
            FROM spaces
        ) AS forms
        WHERE namespace IS NOT NFC NORMALIZED
    LOOP
        FOR of_namespaces IN
            SELECT table_name FROM information_schema.columns WHERE table_schema = 'salience' AND column_name = 'namespace'
        LOOP
            EXECUTE format('UPDATE %I SET namespace = $2 WHERE namespace = $1', of_namespaces) USING other.name, other.form;
        END LOOP;
    END LOOP;
    FOR other IN
        SELECT namespace, id AS name, normalize(id) || CASE WHEN place = 1 THEN '' ELSE ' (' || "row" || ')' END AS form
        FROM (
            SELECT namespace, "row", id, row_number() OVER (
                PARTITION BY namespace, normalize(id) ORDER BY id IS NFC NORMALIZED DESC, "row"
            ) AS place
            FROM memories
        ) AS forms
        WHERE id IS NOT NFC NORMALIZED
    LOOP
        UPDATE memories SET id = other.form WHERE namespace = other.namespace AND id = other.name;
        UPDATE links SET source = other.form WHERE namespace = other.namespace AND source = other.name;
        UPDATE links SET target = other.form WHERE namespace = other.namespace AND target = other.name;
    END LOOP;
    UPDATE links l SET target = normalize(target) WHERE target IS NOT NFC NORMALIZED AND NOT EXISTS (
        SELECT FROM links o WHERE o.namespace = l.namespace AND o.source = l.source AND o.target = normalize(l.target)
            AND o.type = l.type
    );
    UPDATE memories SET kind = normalize(kind), speaker = normalize(speaker), session_id = normalize(session_id),
        agent_id = normalize(agent_id), user_id = normalize(user_id), written_by = normalize(written_by),
        tags = normalize(tags::text)::text[], entities = normalize(entities::text)::text[],
        metadata = composed('metadata', metadata)
    WHERE concat(kind, speaker, session_id, agent_id, user_id, written_by, tags, entities, metadata) IS NOT NFC NORMALIZED;
    UPDATE events SET actor = normalize(actor), session = normalize(session), payload = composed('payload', payload)
    WHERE concat(actor, session, payload) IS NOT NFC NORMALIZED;
    UPDATE access_keys SET entry = composed('entry', entry::json)::text WHERE entry IS NOT NFC NORMALIZED;
    DELETE FROM tallies WHERE kind = 'speaker' AND name IS NOT NFC NORMALIZED;
    INSERT INTO tallies (namespace, kind, name, number, version)
    SELECT m.namespace, 'speaker', m.speaker, count(*), max(s.version) + 1
    FROM memories m JOIN spaces s ON s.namespace = m.namespace
    WHERE m.speaker <> '' GROUP BY m.namespace, m.speaker
    ON CONFLICT (namespace, kind, name) DO UPDATE SET number = excluded.number;
END
$$;
DROP FUNCTION composed(text, json);

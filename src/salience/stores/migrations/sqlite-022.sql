-- Names are in the normal form NFC: see `compose_names` in salience.stores.sqlite.row_checksums. Of several forms of one
-- namespace or id, all but one get their number behind the name.
UPDATE spaces SET name = name || ' (' || space || ')', checksum = -1 WHERE space IN (
    SELECT space FROM (
        SELECT space, row_number() OVER (
            PARTITION BY composed('name', name) ORDER BY name = composed('name', name) DESC
        ) AS place FROM spaces
    ) WHERE place > 1
);
CREATE TEMP TABLE further_forms AS SELECT row, space, id, id || ' (' || row || ')' AS name FROM (
    SELECT row, space, id, row_number() OVER (
        PARTITION BY space, composed('id', id) ORDER BY id = composed('id', id) DESC
    ) AS place FROM memories
) WHERE place > 1;
UPDATE links SET source = f.name, checksum = -1 FROM further_forms AS f WHERE f.space = links.space AND f.id = source;
UPDATE links SET target = f.name, checksum = -1 FROM further_forms AS f WHERE f.space = links.space AND f.id = target;
UPDATE memories SET id = f.name, checksum = -1 FROM further_forms AS f WHERE f.row = memories.row;
DROP TABLE further_forms;

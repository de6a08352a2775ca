-- The process ranks, so nothing on the server is needed that only a search there read: postings, lengths, the order of
-- sessions.
DROP TABLE segments;
DROP TABLE chunks;
ALTER TABLE places DROP COLUMN previous, DROP COLUMN following, DROP COLUMN position, DROP COLUMN content,
    DROP COLUMN title, DROP COLUMN gist, DROP COLUMN tags, DROP COLUMN entities;
ALTER TABLE spaces DROP COLUMN merged, DROP COLUMN named;

-- Features of version 9 once more: an older program that had the file open while it was migrated may have written some of
-- its own.
UPDATE memories SET attribute_key = attribute_key(content), features = feature_bytes(content);

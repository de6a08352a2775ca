-- An edit is an access if it changes the content, and no other is: worked out of the log after this step.
-- Features of version 9 once more: an older program that had the file open while it was migrated may have written some of
-- its own.
UPDATE memories SET attribute_key = attribute_key(content), features = feature_bytes(content);

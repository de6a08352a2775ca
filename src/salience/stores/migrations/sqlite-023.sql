-- Features of version 9: what a text says to be changed, and what it says at all.
UPDATE memories SET attribute_key = attribute_key(content), features = feature_bytes(content);

-- Every memory has the key of the attribute that it states, not facts outside of any session alone, and the
-- values that it states and replaces among its features.
UPDATE memories SET attribute_key = attribute_key(content), features = feature_bytes(content);

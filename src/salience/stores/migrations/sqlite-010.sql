-- What a text may be found by is worked out anew once more: see salience.language.tokens and salience.language.features.
UPDATE memories SET
    features = feature_bytes(content),
    text_key = CASE WHEN session_id IS NULL THEN text_key(content) END,
    terms_title = term_bytes(title),
    terms_gist = term_bytes(gist),
    terms_tags = term_bytes((SELECT group_concat(value, ' ') FROM json_each(tags))),
    terms_entities = term_bytes((SELECT group_concat(value, ' ') FROM json_each(entities))),
    terms_content = term_bytes(content);

-- What a memory tells of who said it takes the place of two features: see salience.language.statements.personal.
UPDATE memories SET features = feature_bytes(content);

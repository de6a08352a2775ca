-- What upkeep has noted of a namespace: its lock, how far it has come.
CREATE TABLE notes (
    space INTEGER NOT NULL REFERENCES spaces,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (space, key)
) WITHOUT ROWID;

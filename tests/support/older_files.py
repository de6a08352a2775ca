"""SQLite files as older versions made them."""

import sqlite3


def without_guard(db: sqlite3.Connection) -> None:
    """Let anybody write to a file, whatever schema they know, as before schema 24."""
    db.execute("DROP TRIGGER only_this_schema")
    db.execute("ALTER TABLE counter DROP COLUMN schemas")


def without_last_columns(db: sqlite3.Connection) -> None:
    """Take out the columns of schemas 26 and 27."""
    db.execute("ALTER TABLE memories DROP COLUMN derived_by")
    db.execute("DROP INDEX erasures_by_key")
    for column in ("key", "body"):
        db.execute(f"ALTER TABLE erasures DROP COLUMN {column}")


def without_places(db: sqlite3.Connection) -> None:
    """Let numbers be those of the file again, and not of each namespace; without checksums."""
    without_guard(db)
    own = ("memories", "vectors", "former_vectors", "events", "links")
    for table in (*own, "spaces", "notes", "meta", "access_keys"):
        db.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
    for column in ("state", "previous_state"):
        db.execute(f"ALTER TABLE counter DROP COLUMN {column}")
    db.execute("ALTER TABLE spaces DROP COLUMN last")
    db.execute("DROP INDEX events_by_mention")
    db.execute(
        "CREATE INDEX events_by_target ON events (space, json_extract(payload, '$.target')) "
        "WHERE type = 'link'"
    )
    db.execute("DROP INDEX memories_by_sequence")
    db.execute("CREATE INDEX memories_by_sequence ON memories (sequence) WHERE row <> sequence")
    db.execute("DROP INDEX events_by_memory")
    db.execute("CREATE INDEX events_by_memory ON events (memory)")
    db.execute(
        "CREATE TABLE older (memory INTEGER NOT NULL, event INTEGER NOT NULL, name TEXT NOT NULL, "
        "vector BLOB NOT NULL, PRIMARY KEY (memory, event, name)) WITHOUT ROWID"
    )
    db.execute("INSERT INTO older SELECT memory, event, name, vector FROM former_vectors")
    db.execute("DROP TABLE former_vectors")
    db.execute("ALTER TABLE older RENAME TO former_vectors")

"""Looking for damage in a PostgreSQL store, and mending it."""

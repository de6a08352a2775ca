"""Backups of a SQLite file, and what is done about damage."""

"""One write: one transaction."""

"""Namespaces that are too large for an index in the process."""

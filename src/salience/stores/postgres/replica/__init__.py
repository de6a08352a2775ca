"""Namespaces held in this process, kept current by a feed of changes."""

"""Promises of trust: whole calls, and namespaces that tell nothing of each other."""

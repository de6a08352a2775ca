"""Memories of other memory systems: their exports, files and databases."""

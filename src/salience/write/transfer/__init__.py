"""Exports: everything of a namespace as lines of JSON, and back."""

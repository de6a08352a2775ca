"""Findings that are the same in every store, and the quarantine for what is taken out."""

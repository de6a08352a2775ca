"""Undoing: of runs of changes by their names, and of all that one writer did."""

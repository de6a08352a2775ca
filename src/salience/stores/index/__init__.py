"""The in-memory index of one namespace: columns, postings and vectors over NumPy arrays.

Each memory has an ordinal, its place in every array. Ordinals grow with row numbers, so binary
search finds a row. A memory that is gone keeps its ordinal, marked dead, until the index is
reloaded. The index is a pure function of what the store holds.
"""

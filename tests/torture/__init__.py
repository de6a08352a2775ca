"""Attacks on whole stores: kills, faults, concurrent histories and hostile input.

`python -m torture` (with `tests` on the path; `make torture`) runs all of them for hours and prints
a table; the tests of this folder run a short form of each.
"""

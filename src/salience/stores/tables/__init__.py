"""Commands and functions of both stores about the tables of memories.

A function here is given `send`, which answers commands, and mostly the `Dialect` of a store, for
what its tables have otherwise. What the two say otherwise in a statement is in `FRAGMENTS`.
"""

"""Commands and functions of both stores about the tables of memories.

A function here takes `send`, which answers commands, and mostly the `Dialect` of a store, for what
is different in its tables. `FRAGMENTS` has the parts of statements that differ between the two.
"""

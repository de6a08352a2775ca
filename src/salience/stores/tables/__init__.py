"""Commands and functions of both stores about the tables of memories, in words of PostgreSQL.

A function here is given `send`, which answers commands, and mostly the `Dialect` of a store, for
what its tables have otherwise. `sqlite/dialect.py` says the statements in the words of SQLite.
"""

"""What a memory promises, tested on each of this repository's stores and through a server.

The part of it that an author of a store needs is `salience.testing.conformance`.
"""

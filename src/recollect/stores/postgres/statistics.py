"""What the server believes of how much there is, on which every plan depends.

It knows the namespaces that ANALYZE met. For another it expects a single memory if it believes to
know all of them, and then compares each row with each. Left to itself it looks again after a tenth
of a table has changed, which a new tenant of a large store is not.
"""

from __future__ import annotations

from recollect.stores.postgres.commands import Analyze, Statement, Steps

_GROWING = ("memories", "places", "words", "vectors", "chunks", "segments", "events")
_FEW = 256  # rows up to which any plan will do
_OFF = 8  # times as many as believed from which plans are of another world

LOOK = Analyze(_GROWING)
_WHOSE = Analyze(tuple(f"{table} (namespace)" for table in _GROWING))


def checked(namespace: str, before: int, now: int) -> Steps[None]:
    """Let the server look anew when a namespace has doubled, and is not what it believes."""
    if now < _FEW or now.bit_length() == before.bit_length():
        return
    [[[plan]]] = yield [
        Statement("EXPLAIN (FORMAT JSON) SELECT FROM memories WHERE namespace = %s", (namespace,))
    ]
    if plan[0]["Plan"]["Plan Rows"] * _OFF < now:
        yield [_WHOSE]

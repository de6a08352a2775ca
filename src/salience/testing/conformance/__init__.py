"""The conformance suite: tests of everything that a store has to do, for any store.

    import pytest

    from salience import Memory
    from salience.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path):
            self.path = tmp_path / "memories"

        def open_memory(self, **settings):
            return Memory.open(MyStore(self.path), **settings)

`pytest` then runs every test against `MyStore`. The first `open_memory` of a test has to open an
empty store, later calls the same store again. Set `persistent = False` for a store that loses its
memories when it is closed. The name of a test says what is required, and its class which part of
the store is tested; a table of cases fails with the rows that fail.
"""

from salience.testing.conformance._case import Clock
from salience.testing.conformance._changes import DeletingMany, Exports, MetadataMerging, Upserts
from salience.testing.conformance._durability import (
    Concurrency,
    Durability,
    ErasureDuringSearch,
    Reembedding,
)
from salience.testing.conformance._events import EventLog, Judgments, TimeTravel
from salience.testing.conformance._filters import Filters
from salience.testing.conformance._keys import AccessKeys
from salience.testing.conformance._lifecycle import Lifecycle
from salience.testing.conformance._links import Notes, PendingLinks, UtilitySpreading
from salience.testing.conformance._listings import EventPages, Listing, Names
from salience.testing.conformance._rankings import Rankings
from salience.testing.conformance._reads import Accesses, Hits, SessionTurns, Vectors
from salience.testing.conformance._search import Namespaces, Scripts, Search, Spelling
from salience.testing.conformance._versions import Versions
from salience.testing.conformance._write_outcomes import (
    Contradictions,
    IdempotencyKeys,
    WriteOutcomes,
)
from salience.testing.conformance._writes import Adding, Deleting, Linking, Updating
from salience.testing.conformance.trust._atomicity import Atomicity, SameFacts
from salience.testing.conformance.trust._erasure import (
    ErasureReceipts,
    ForgettingUsers,
    Tombstones,
)
from salience.testing.conformance.trust._isolation import Isolation
from salience.testing.conformance.trust._writers import UndoingWriters, Writers

__all__ = ["Clock", "StoreConformance"]


class StoreConformance(
    Adding, Listing, Updating, Deleting, Linking, Filters, Search, Spelling, Namespaces, Scripts,
    Vectors,
    Accesses, SessionTurns, Durability, ErasureDuringSearch, Concurrency, EventLog, Judgments,
    TimeTravel, PendingLinks, Notes, Lifecycle, UtilitySpreading, Rankings, WriteOutcomes,
    IdempotencyKeys, MetadataMerging, DeletingMany, Upserts, Exports,
    Versions, Contradictions, Hits, AccessKeys,
    Atomicity, SameFacts, Names, EventPages, Isolation, Reembedding,
    ErasureReceipts, ForgettingUsers, Writers, UndoingWriters, Tombstones,
):  # fmt: skip
    """All tests; a subclass defines `open_memory`."""

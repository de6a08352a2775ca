"""All that a memory promises, in one class."""

from salience.testing.conformance import StoreConformance
from support.suite.atomicity import Atomicity, SameFacts
from support.suite.changes import DeletingMany, Exports, MetadataMerging, Upserts
from support.suite.erasure import ErasureReceipts, ForgettingUsers, Tombstones
from support.suite.events import EventLog, Judgments, TimeTravel
from support.suite.isolation import Isolation
from support.suite.keys import AccessKeys
from support.suite.lifecycle import Lifecycle
from support.suite.links import Notes, PendingLinks, UtilitySpreading
from support.suite.listings import EventPages, Listing, Names
from support.suite.rankings import Rankings
from support.suite.reads import Accesses, Hits, SessionTurns, Vectors
from support.suite.reembedding import ErasureDuringSearch, Reembedding
from support.suite.search import Namespaces, Scripts, Search, Spelling
from support.suite.versions import Versions
from support.suite.write_outcomes import Contradictions, IdempotencyKeys, WriteOutcomes
from support.suite.writers import UndoingWriters, Writers


class MemoryConformance(
    StoreConformance, Listing, Search, Spelling, Namespaces, Scripts, Vectors,
    Accesses, SessionTurns, ErasureDuringSearch, EventLog, Judgments,
    TimeTravel, PendingLinks, Notes, Lifecycle, UtilitySpreading, Rankings, WriteOutcomes,
    IdempotencyKeys, MetadataMerging, DeletingMany, Upserts, Exports,
    Versions, Contradictions, Hits, AccessKeys,
    Atomicity, SameFacts, Names, EventPages, Isolation, Reembedding,
    ErasureReceipts, ForgettingUsers, Writers, UndoingWriters, Tombstones,
):  # fmt: skip
    """All tests; a subclass defines `open_memory`."""

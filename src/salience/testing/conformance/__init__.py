"""The conformance suite: tests of what a store has to do, for any store.

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
from salience.testing.conformance._durability import Concurrency, Durability
from salience.testing.conformance._filters import Filters
from salience.testing.conformance._writes import Adding, Deleting, Linking, Updating

__all__ = ["Clock", "StoreConformance"]


class StoreConformance(Adding, Updating, Deleting, Linking, Filters, Durability, Concurrency):
    """All tests; a subclass defines `open_memory`."""

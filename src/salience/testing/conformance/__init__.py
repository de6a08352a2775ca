"""What every store has to do, as tests to run against a store of one's own.

    from salience import Memory
    from salience.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path):
            self.path = tmp_path / "memories"

        def open_memory(self, **settings):
            return Memory.open(MyStore(self.path), **settings)

The first call of `open_memory` in a test has to give an empty store, every later one the same store
again. Set `persistent = False` where nothing survives a closing.
"""

from salience.testing.conformance._case import Clock
from salience.testing.conformance._durability import Concurrency, Lasting, Vanishing
from salience.testing.conformance._events import Living, Logging, Rewinding
from salience.testing.conformance._filters import Filtering
from salience.testing.conformance._lifecycle import Keeping
from salience.testing.conformance._links import Lending, Noting, Pending
from salience.testing.conformance._nearest_vectors import Alike
from salience.testing.conformance._reads import Neighbours, Touching, Vectors
from salience.testing.conformance._search import Namespaces, Scripts, Searching
from salience.testing.conformance._write_outcomes import Keys, Outcomes
from salience.testing.conformance._writes import Adding, Erasing, Linking, Listing, Updating

__all__ = ["Clock", "StoreConformance"]


class StoreConformance(
    Adding, Listing, Updating, Erasing, Linking, Filtering, Searching, Namespaces, Scripts, Vectors,
    Touching, Neighbours, Lasting, Vanishing, Concurrency, Logging, Living, Rewinding, Pending,
    Noting, Keeping, Lending, Alike, Outcomes, Keys,
):  # fmt: skip
    """Every test there is; subclass it and say how the store is opened."""

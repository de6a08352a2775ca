"""What every store has to do, as tests to run against a store of one's own.

    from recollect import Memory
    from recollect.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path):
            self.path = tmp_path / "memories"

        def open_memory(self, **settings):
            return Memory.open(MyStore(self.path), **settings)

The first call of `open_memory` in a test has to give an empty store, every later one the same store
again. Set `persistent = False` where nothing survives a closing.
"""

from recollect.testing._alike import Alike
from recollect.testing._case import Clock
from recollect.testing._filtering import Filtering
from recollect.testing._lasting import Concurrency, Lasting, Vanishing
from recollect.testing._life import Living, Logging, Rewinding
from recollect.testing._linked import Lending, Noting, Pending
from recollect.testing._outcomes import Keys, Outcomes
from recollect.testing._recalling import Neighbours, Touching, Vectors
from recollect.testing._searching import Namespaces, Scripts, Searching
from recollect.testing._upkeep import Keeping
from recollect.testing._writing import Adding, Erasing, Linking, Listing, Updating

__all__ = ["Clock", "StoreConformance"]


class StoreConformance(
    Adding, Listing, Updating, Erasing, Linking, Filtering, Searching, Namespaces, Scripts, Vectors,
    Touching, Neighbours, Lasting, Vanishing, Concurrency, Logging, Living, Rewinding, Pending,
    Noting, Keeping, Lending, Alike, Outcomes, Keys,
):  # fmt: skip
    """Every test there is; subclass it and say how the store is opened."""

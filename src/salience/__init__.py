"""The memory of an AI agent, and the engine that recalls what matters now.

    from salience import Memory

    with Memory.open("sqlite:///memory.db") as memory:
        memory.add("Ana moved to Lisbon in March.")
        for hit in memory.search("Where does Ana live?"):
            print(hit.score, hit.content)

`AsyncMemory` has the same methods, awaited. `ARCHITECTURE.md` shows how a search flows.
"""

from salience.engine import AsyncMemory, Memory
from salience.errors import SalienceError
from salience.lifecycle.history import History
from salience.lifecycle.verify import Verification
from salience.ranking.explanation import Explanation
from salience.ranking.profile import Profile
from salience.records.events import Event
from salience.records.record import Link, MemoryRecord
from salience.search.compare import Comparison
from salience.search.context import Context, Section
from salience.search.explain import ExplainReport
from salience.search.results import Hit, SearchResult
from salience.write.outcomes import AddResult

__version__ = "0.1.0"

__all__ = [
    "AddResult",
    "AsyncMemory",
    "Comparison",
    "Context",
    "Event",
    "ExplainReport",
    "Explanation",
    "History",
    "Hit",
    "Link",
    "Memory",
    "MemoryRecord",
    "Profile",
    "SalienceError",
    "SearchResult",
    "Section",
    "Verification",
]

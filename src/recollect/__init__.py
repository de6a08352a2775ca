"""recollect: the memory of an AI agent, and the engine that recalls what matters now."""

from recollect.compare import Comparison
from recollect.context import Context, Section
from recollect.engine import AsyncMemory, Memory
from recollect.errors import RecollectError
from recollect.explain import Explanation
from recollect.memory import AddResult, Link, MemoryRecord
from recollect.profile import Profile
from recollect.results import Hit, SearchResult
from recollect.why import Reason

__version__ = "0.1.0"

__all__ = [
    "AddResult",
    "AsyncMemory",
    "Comparison",
    "Context",
    "Explanation",
    "Hit",
    "Link",
    "Memory",
    "MemoryRecord",
    "Profile",
    "Reason",
    "RecollectError",
    "SearchResult",
    "Section",
]

"""mem0's `Memory` and `AsyncMemory` over salience: change the import, keep the code.

    from salience.integrations.mem0 import Memory   # was: from mem0 import Memory

mem0 need not be installed.
"""

from salience.engine.extraction import Extractor
from salience.integrations.mem0.memory import AsyncMemory, Memory
from salience.integrations.mem0.shapes import MemoryNotFoundError, ValidationError

__all__ = ["AsyncMemory", "Extractor", "Memory", "MemoryNotFoundError", "ValidationError"]

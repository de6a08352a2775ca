"""`Memory` and `AsyncMemory`: check the arguments, run one plan."""

from salience.engine.async_memory import AsyncMemory
from salience.engine.memory import Memory

__all__ = ["AsyncMemory", "Memory"]

"""Memory and AsyncMemory: checks what is asked, one line a method."""

from salience.engine.memory import AsyncMemory, Memory

__all__ = ["AsyncMemory", "Memory"]

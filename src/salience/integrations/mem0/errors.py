"""Errors in the shapes of mem0: each is also what mem0 raises of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from salience.errors import InvalidInput, NotFound


class ValidationError(InvalidInput):
    """An argument was refused; it has the attributes of mem0's `ValidationError` as well."""

    def __init__(
        self,
        field: str,
        problem: str,
        remedy: str,
        error_code: str,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(field, problem, remedy)
        self.message = str(self)
        self.error_code = error_code
        self.details = dict(details or {})
        self.suggestion = remedy


class MemoryNotFoundError(NotFound, ValueError):
    """There is no memory of that id; mem0 raises `ValueError`."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(f"Memory with id {memory_id} not found")

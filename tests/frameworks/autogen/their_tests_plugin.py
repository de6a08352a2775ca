"""A plugin for pytest that lets AutoGen's tests of `ListMemory` run on `SalienceMemory`."""

from __future__ import annotations

from typing import Any

import autogen_core.memory

from salience import Memory
from salience.integrations.autogen import SalienceMemory
from salience.testing.embedder import WordHashEmbedder
from support.awaiting import pytest_configure, pytest_pyfunc_call

__all__ = ["pytest_configure", "pytest_pyfunc_call"]


class _InItsPlace(SalienceMemory):
    def __init__(self, name: str | None = None, **settings: Any) -> None:
        memory = Memory("ram://", embedder=WordHashEmbedder())
        super().__init__(memory, user_id=name or "anybody", **settings)


autogen_core.memory.ListMemory = _InItsPlace  # type: ignore[misc, assignment]

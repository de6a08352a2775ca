"""The memory of an AI agent, and the engine that recalls what matters now.

    from salience import Memory

    with Memory.open("sqlite:///memory.db") as memory:
        memory.add("Ana moved to Lisbon in March.", id="move")
        for hit in memory.search("Where does Ana live?"):
            print(hit.score, hit.content)
        print(memory.explain("Where does Ana live?", "move"))  # why it is found, or why not
        print(memory.get_context("Where does Ana live?"))  # a text within a token budget

`AsyncMemory` has the same methods, awaited. Both open a server as well, by
`Memory.open("http://host:port", api_key=...)`; `Client` asks one with methods in groups.
What the methods return:

    search        SearchResult, with a Hit for each memory; its Explanation if that is asked for
    explain       ExplainReport
    compare       Comparison, of two or more profiles
    get_context   Context, made of Sections
    add           AddResult
    delete_all    ErasureReceipt; delete_user, too
    get           MemoryRecord; links gives Links
    history       History, with its Events
    verify        Verification
    doctor        Diagnosis, with its Findings
    backup        Backup

A Profile says how to rank. Every error is a SalienceError, from `salience.errors`.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from salience.errors import SalienceError

if TYPE_CHECKING:
    from salience.engine.async_memory import AsyncMemory
    from salience.engine.memory import Memory
    from salience.lifecycle.verify import Diagnosis, History, Verification
    from salience.ranking.explanation import Explanation
    from salience.ranking.profile import Profile
    from salience.records.events import Event
    from salience.records.record import Link, MemoryRecord
    from salience.remote.client import Client
    from salience.retrieval.erasure import ErasureReceipt
    from salience.retrieval.safety import Backup, Finding
    from salience.search.compare import Comparison
    from salience.search.context import Context, Section
    from salience.search.explain import ExplainReport
    from salience.search.results import Hit, SearchResult
    from salience.write.outcomes import AddResult

logging.getLogger(__name__).addHandler(logging.NullHandler())

__version__ = "0.1.0"

__all__ = [
    "AddResult",
    "AsyncMemory",
    "Backup",
    "Client",
    "Comparison",
    "Context",
    "Diagnosis",
    "ErasureReceipt",
    "Event",
    "ExplainReport",
    "Explanation",
    "Finding",
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


_HOMES = {
    "AddResult": "salience.write.outcomes",
    "AsyncMemory": "salience.engine.async_memory",
    "Backup": "salience.retrieval.safety",
    "Client": "salience.remote.client",
    "Comparison": "salience.search.compare",
    "Diagnosis": "salience.lifecycle.verify",
    "Context": "salience.search.context",
    "ErasureReceipt": "salience.retrieval.erasure",
    "Event": "salience.records.events",
    "ExplainReport": "salience.search.explain",
    "Explanation": "salience.ranking.explanation",
    "Finding": "salience.retrieval.safety",
    "History": "salience.lifecycle.verify",
    "Hit": "salience.search.results",
    "Link": "salience.records.record",
    "Memory": "salience.engine.memory",
    "MemoryRecord": "salience.records.record",
    "Profile": "salience.ranking.profile",
    "SearchResult": "salience.search.results",
    "Section": "salience.search.context",
    "Verification": "salience.lifecycle.verify",
}
"""The module of each name, which is imported when the name is first used."""


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__version__"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: a program that asks for little starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value

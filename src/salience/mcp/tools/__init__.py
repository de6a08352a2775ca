"""The tools, in the order in which they are listed, and the sets that a configuration names.

recall     search, context, get, list
remember   add, update, delete, feedback
insight    history, links, names, figures, explanations
care       links, conversations, the archive, undo
connector  search and fetch, as connectors of ChatGPT ask for them
"""

from __future__ import annotations

from collections.abc import Mapping

from salience.errors import InvalidInput, shown
from salience.mcp.tool import Tool
from salience.mcp.tools import care, insight, recall, remember

CORE = (
    remember.add_memory,
    recall.search_memories,
    recall.get_context,
    recall.get_memory,
    recall.list_memories,
    remember.update_memory,
    remember.delete_memory,
    remember.give_feedback,
)
FULL = (
    *CORE,
    care.add_conversation,
    care.link_memories,
    insight.explain_memory,
    insight.get_history,
    insight.list_links,
    insight.list_tags,
    insight.list_entities,
    insight.get_stats,
    care.archive_memories,
    care.unarchive_memories,
    care.undo,
)
CONNECTOR = (care.search, care.fetch)
SETS: Mapping[str, tuple[Tool, ...]] = {"core": CORE, "full": FULL, "chatgpt": CONNECTOR}
"""The sets of tools by name."""
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (*FULL, *CONNECTOR)}
"""All tools by name, in their order."""


def chosen(names: str) -> tuple[Tool, ...]:
    """The tools of some sets and of some names, separated by commas, in their fixed order.

    Raises:
        InvalidInput: there is no such set or tool.
    """
    names_chosen: set[str] = set()
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name in SETS:
            names_chosen |= {tool.name for tool in SETS[name]}
        elif name in TOOLS:
            names_chosen.add(name)
        else:
            remedy = f"use {', '.join(SETS)}, or names of tools: {', '.join(TOOLS)}"
            raise InvalidInput("tools", f"has no {shown(name)}", remedy)
    if not names_chosen:
        raise InvalidInput("tools", "is empty", f"use some of {', '.join(SETS)}")
    return tuple(tool for tool in TOOLS.values() if tool.name in names_chosen)

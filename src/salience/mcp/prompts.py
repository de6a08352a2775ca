"""Prompts: what people pick from a menu, to remember something or to recall it."""

from __future__ import annotations

from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    ListPromptsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from salience.api.operations import READ, WRITE
from salience.display.for_models import clean, one_line
from salience.mcp.tool import Caller
from salience.mcp.tools.recall import get_context

_BUDGET = 2_000
_REMEMBER = Prompt(
    name="remember",
    title="Remember",
    description="Remember what this conversation has settled, or one thing in particular.",
    arguments=[
        PromptArgument(name="what", description="What to remember; default: everything lasting.")
    ],
)
_RECALL = Prompt(
    name="recall",
    title="Recall",
    description="Bring what is remembered about something into the conversation.",
    arguments=[PromptArgument(name="about", description="What it is about.", required=True)],
)


def listed(caller: Caller) -> ListPromptsResult:
    """The prompts that a caller may use."""
    may_remember, may_recall = caller.principal.may(WRITE), caller.principal.may(READ)
    return ListPromptsResult(prompts=[_REMEMBER] * may_remember + [_RECALL] * may_recall)


async def get(caller: Caller, name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """The messages of a prompt.

    Raises:
        MCPError: there is no such prompt, or it lacks an argument.
        SalienceError: the memory cannot be asked.
    """
    if name not in [prompt.name for prompt in listed(caller).prompts]:
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {one_line(name)}")
    if name == _REMEMBER.name:
        return _prompt_result(_REMEMBER, _remember(arguments.get("what", "")))
    about = arguments.get("about", "")
    if not about.strip():
        raise MCPError(INVALID_PARAMS, "about: is missing; say what to recall")
    recalled = await get_context.handler(caller, about, _BUDGET)
    text = f"This is what my memory has about {clean(about)!r}. Take it into account.\n\n"
    return _prompt_result(_RECALL, text + recalled.text)


def _remember(what: str) -> str:
    subject = f"this: {clean(what)}" if what.strip() else "what this conversation has settled"
    return (
        f"Remember {subject}\n\nLook with search_memories what is known of it already. Then call "
        "add_memory once for each lasting thing: a preference, a decision, a fact, a plan. Write "
        "names and dates out, say who said it, and give supersedes=ID where it takes the place "
        "of something older. Leave out what holds only for the moment, and all secrets."
    )


def _prompt_result(prompt: Prompt, text: str) -> GetPromptResult:
    message = PromptMessage(role="user", content=TextContent(text=text))
    return GetPromptResult(description=prompt.description, messages=[message])

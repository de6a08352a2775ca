"""The tools of a memory for a loop of function calls, with no framework between.

tools = memory.tools("openai", user_id="ana")
while True:
    answer = client.chat.completions.create(
        model=model, messages=messages, tools=tools.definitions
    )
    message = answer.choices[0].message
    messages += [message, *tools.answers(message)]
    if not message.tool_calls:
        break
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from salience.display.for_models import fenced
from salience.errors import InvalidInput, SalienceError, shown


class Owner(TypedDict, total=False):
    """The owner of all memories that a model finds, adds and changes through its tools.

    user_id: the user whose memories alone these are.
    agent_id: the agent whose memories alone they are.
    """

    user_id: str
    agent_id: str


Style = Literal["openai", "responses", "anthropic"]
STYLES: tuple[Style, ...] = ("openai", "responses", "anthropic")
MOST_FOUND = 50
_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_ID: Mapping[str, Any] = {**_TEXT, "description": "The id of the memory, as a search gives it."}
_TOOLS: Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]], tuple[str, ...]]] = {
    "search_memories": (
        "Search the memories of earlier conversations. Ask in words, one thing at a time.",
        {
            "query": {**_TEXT, "description": "What to find, as a question or in words."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_FOUND,
                "description": "The most memories; 10 by default.",
            },
        },
        ("query",),
    ),
    "add_memory": (
        "Remember something for later conversations: one fact, preference, plan or event.",
        {
            "content": {**_TEXT, "description": "It, in a sentence that stands for itself."},
            "tags": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Words to find it by.",
            },
        },
        ("content",),
    ),
    "update_memory": (
        "Correct the words of a memory, by the id that a search gave.",
        {"id": _ID, "content": {**_TEXT, "description": "Its new words."}},
        ("id", "content"),
    ),
    "delete_memory": (
        "Forget a memory for good, by the id that a search gave.",
        {"id": _ID},
        ("id",),
    ),
}
"""Each tool: its description, its arguments, and those that have to be there."""


class Offered:
    """The tools that a model is offered, and whose memories they are of."""

    def __init__(
        self, memory: Any, style: Style, owner: Mapping[str, str], max_tokens: int
    ) -> None:
        """`owner` are the fields of all that is found, added and changed, such as its user_id.

        Raises:
            InvalidInput: there is no such style.
        """
        if style not in STYLES:
            raise InvalidInput("style", f"is {shown(style)}", f"use one of {', '.join(STYLES)}")
        self._memory, self._style = memory, style
        self._owner, self._max_tokens = dict(owner), max_tokens

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The tools as the API of the style takes them."""
        return [_definition(name, self._style) for name in _TOOLS]


class Tools(Offered):
    """A set of tools by which a model reads and writes memories.

    An error is an answer, too, which the model reads. What a model sends besides the arguments that
    it was offered is ignored; it never leaves the `owner`.
    """

    def answers(self, message: Any) -> list[dict[str, Any]]:
        """The messages that answer the calls in a message of a model; none if it calls nothing.

        `message` is that of the API, as an object or as a mapping: the message of a chat completion
        ("openai"), a response ("responses"), a message ("anthropic"). Calls of other tools are left
        to others.
        """
        answers = []
        for id, name, arguments in _calls(message, self._style):
            if name in _TOOLS:
                text, is_error = self._answer(name, arguments)
                answers.append(_message(id, text, is_error, self._style))
        if self._style == "anthropic" and answers:  # all in one message
            return [{"role": "user", "content": answers}]
        return answers

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """The answer to one call, as text; `arguments` are a mapping, or its JSON."""
        text, _ = self._answer(name, arguments)
        return text

    def _answer(self, name: str, arguments: str | Mapping[str, Any]) -> tuple[str, bool]:
        """The answer to a call, and whether it tells of an error."""
        try:
            return self._done(name, _checked(name, arguments)), False
        except SalienceError as problem:
            return str(problem), True

    def _done(self, name: str, arguments: Mapping[str, Any]) -> str:
        if name == "search_memories":
            limit = arguments.get("limit", 10)
            result = self._memory.search(arguments["query"], limit=limit, **self._owner)
            text = fenced(result, max_tokens=self._max_tokens, zone=self._memory.time_zone)
            return text or "Nothing is remembered about that."
        if name == "add_memory":
            fields = {"kind": "fact", "tags": arguments.get("tags", ()), **self._owner}
            added = self._memory.add(arguments["content"], **fields)
            [item] = added.items
            outcome = {"id": item.id, "outcome": item.outcome, "reason": item.reason}
            return json.dumps(outcome, ensure_ascii=False)
        record = self._memory.get(arguments["id"])
        if record is None or any(getattr(record, n) != v for n, v in self._owner.items()):
            raise InvalidInput(
                "id", f"is {shown(arguments['id'])}, which no memory has", "search first"
            )
        if name == "update_memory":
            changed = self._memory.update(record.id, content=arguments["content"])
            return json.dumps({"id": changed.id, "version": changed.version})
        deleted = self._memory.delete(record.id)
        return json.dumps({"deleted": bool(deleted)})


def _definition(name: str, style: Style) -> dict[str, Any]:
    description, properties, required = _TOOLS[name]
    schema = {
        "type": "object",
        "properties": {each: dict(about) for each, about in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }
    about = {"name": name, "description": description}
    if style == "anthropic":
        return {**about, "input_schema": schema}
    function = {**about, "parameters": schema}
    if style == "responses":
        return {"type": "function", **function}
    return {"type": "function", "function": function}


def _checked(name: str, arguments: str | Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a tool has, of those sent."""
    if not isinstance(name, str) or name not in _TOOLS:
        problem = f"is {shown(name)}, which no tool has"
        raise InvalidInput("name", problem, f"use {', '.join(_TOOLS)}")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise InvalidInput("arguments", "are not JSON", "send a JSON object") from None
    if not isinstance(arguments, Mapping):
        raise InvalidInput("arguments", "are not an object", "send a JSON object")
    _, properties, required = _TOOLS[name]
    values = {each: arguments[each] for each in properties if arguments.get(each) is not None}
    for each in required:
        if not isinstance(values.get(each), str):
            problem = "is not text" if each in values else "is missing"
            raise InvalidInput(each, problem, "give a text")
    if not isinstance(values.get("tags", []), list):
        raise InvalidInput("tags", "must be a list of texts")
    if "limit" in values and isinstance(values["limit"], int):
        values["limit"] = min(values["limit"], MOST_FOUND)
    return values


def _calls(message: Any, style: Style) -> list[tuple[str, str, Any]]:
    """The id, name and arguments of each call in a message of a model."""
    if style == "openai":
        calls = _of(message, "tool_calls") or ()
        functions = [(_of(call, "id"), _of(call, "function")) for call in calls]
        return [(id, _of(f, "name"), _of(f, "arguments")) for id, f in functions if f is not None]
    kind, id, arguments = ("tool_use", "id", "input")
    blocks: Sequence[Any] = _of(message, "content") or ()
    if style == "responses":
        kind, id, arguments = ("function_call", "call_id", "arguments")
        blocks = _of(message, "output") or ()
    used = [b for b in blocks if not isinstance(b, str) and _of(b, "type") == kind]
    return [(_of(b, id), _of(b, "name"), _of(b, arguments)) for b in used]


def _message(id: str, text: str, is_error: bool, style: Style) -> dict[str, Any]:
    """The answer to a call as the API takes it."""
    if style == "openai":
        return {"role": "tool", "tool_call_id": id, "content": text}
    if style == "responses":
        return {"type": "function_call_output", "call_id": id, "output": text}
    answer = {"type": "tool_result", "tool_use_id": id, "content": text}
    return {**answer, "is_error": True} if is_error else answer


def _of(value: Any, name: str) -> Any:
    """A member of an object or a mapping; None without it."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)

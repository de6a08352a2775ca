"""Requests to forget: what a text asks to be forgotten is named, and retired where a chat asks.

Nothing is erased. What is retired is in the archive, where no search, context or listing of a user
tells of it, and so is a request that says nothing else; `undo` of the run brings both back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from salience.errors import InvalidInput, shown
from salience.language.english import ASSISTANT_NAMES
from salience.language.reader import only_to_forget, to_forget
from salience.lazily import replace
from salience.lifecycle.pruning import archive
from salience.records.validation import native
from salience.retrieval.plan import Plan
from salience.search.request import SearchRequest
from salience.search.search import search
from salience.write.idempotency import SAME_KEY
from salience.write.items import WriteContext
from salience.write.outcomes import ADDING_OUTCOMES, AddResult

Forget = Literal["suggest", "retire"]
"""The ways to answer a request to forget."""
_MOST = 3  # memories that one sentence asks to forget
_MOST_CHARACTERS = 20_000
MOST_READ = 64  # items of a batch; one of more is an import, and nobody's request


def forget_rule(value: Any) -> Forget | None:
    """A checked rule; None for the default: to retire what a chat asks to forget."""
    value = native(value)
    if value is None or (isinstance(value, str) and value in get_args(Forget)):
        return value  # type: ignore[return-value]
    raise InvalidInput("forget", f"is {shown(value)}", f"use {' or '.join(get_args(Forget))}")


def requests_in(items: Any) -> dict[int, tuple[str, ...]]:
    """The sentences that ask to forget something, by the place of the item that has any."""
    if not isinstance(items, Sequence) or len(items) > MOST_READ:
        return {}
    requests = {at: to_forget(text) for at, item in enumerate(items) if (text := _user_text(item))}
    return {at: sentences for at, sentences in requests.items() if sentences}


def _user_text(item: Any) -> str | None:
    """The text of an item, unless an assistant says it."""
    fields = item if isinstance(item, Mapping) else {"content": item}
    text, speaker = fields.get("content"), fields.get("speaker")
    is_assistant = isinstance(speaker, str) and speaker.casefold() in ASSISTANT_NAMES
    if not isinstance(text, str) or is_assistant:
        return None
    return text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()  # what is wrong, add says


def with_forgotten(
    requests: Mapping[int, Sequence[str]],
    items: Sequence[Any],
    added: AddResult,
    rule: Forget | None,
    scope: WriteContext,
    request: Callable[..., SearchRequest],
) -> Plan[AddResult]:
    """The plan of naming what items ask to be forgotten, and of retiring it by the rule.

    Meant are the memories of the same user and agent that most likely answer what is asked, as a
    search estimates it.
    """
    new = {
        at: id
        for at in requests
        if (id := added.items[at].id) is not None
        and added.items[at].outcome in ADDING_OUTCOMES
        and added.items[at].reason != SAME_KEY
    }
    outcomes, retired = [*added.items], list[str]()
    for at, id in new.items():
        source = items[at] if isinstance(items[at], Mapping) else {}
        owners = {name: source.get(name) for name in ("user_id", "agent_id")}
        where: dict[str, Any] = {
            name: {"exists": False} if owner is None else owner for name, owner in owners.items()
        }
        where["id"] = {"nin": [*new.values()]}
        matches: dict[str, bool] = {}
        for sentence in requests[at]:
            options = {"filters": where, "profile": "balanced", "cut": "careful", "touch": False}
            result = yield from search(request(sentence, limit=_MOST, **options))
            matches |= {hit.id: bool(hit.record.pinned) for hit in result}
        outcomes[at] = replace(outcomes[at], forgets=tuple(matches))
        free = [each for each, is_pinned in matches.items() if not is_pinned]
        is_said = source.get("session_id") is not None
        if matches and (rule == "retire" or (rule is None and is_said)):
            retired += [*free, *([id] if only_to_forget(_user_text(items[at]) or "") else [])]
    run = (yield from archive(scope, [*dict.fromkeys(retired)])) if retired else None
    return replace(added, items=tuple(outcomes), run=run)

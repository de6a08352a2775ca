"""Facts that a model finds in memories which were just added, kept beside them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from salience.engine.extraction.endpoint import Fact, FactFinder, Turn
from salience.errors import ExtractionError
from salience.language.english import ASSISTANT_NAMES, ROLE_NAMES
from salience.records.validation import timestamp
from salience.retrieval.operations import Outside
from salience.retrieval.plan import Plan, ask
from salience.search.about import SOURCE_LINK
from salience.search.request import SearchRequest
from salience.search.search import search
from salience.write import add
from salience.write.dedup import DedupPolicy
from salience.write.idempotency import SAME_KEY
from salience.write.items import WriteContext
from salience.write.judgments import supersede
from salience.write.outcomes import ADDING_OUTCOMES, AddResult

_KNOWN = 10  # memories that the model is told of
_QUERY_CHARACTERS = 4_000
_SHARED = ("agent_id", "user_id", "tags", "expires_at")  # of a fact and what it was found in
_log = logging.getLogger(__name__)
_Item = Mapping[str, Any]


def with_facts(
    items: Sequence[_Item],
    added: AddResult,
    finder: FactFinder,
    scope: WriteContext,
    policy: DedupPolicy,
    request: Callable[..., SearchRequest],
) -> Plan[AddResult]:
    """The plan of adding the facts in items that were added; the outcomes of both.

    A fact that contradicts an older one supersedes it. Whatever fails, the items are there;
    `degraded` says what did. `request` makes the request of a search.
    """
    sources = [
        (item, each.id)
        for item, each in zip(items, added, strict=True)
        if each.id and each.outcome in ADDING_OUTCOMES and each.reason != SAME_KEY
    ]
    if not sources:
        return added
    turns = [_turn(item) for item, _ in sources]
    said = "\n".join(turn.text for turn in turns)[:_QUERY_CHARACTERS]
    owners = {name: sources[0][0].get(name) for name in ("agent_id", "user_id")}
    where = {"kind": "fact", **{name: id for name, id in owners.items() if id is not None}}
    near = yield from search(request(said, filters=where, limit=_KNOWN, touch=False))
    known = [hit.content for hit in near]
    try:
        facts = yield from ask(Outside(lambda: finder.facts(turns, known=known, today=scope.now)))
    except Exception as problem:  # of any kind, in foreign code
        brief = problem.brief if isinstance(problem, ExtractionError) else repr(problem)
        _log.warning("extract: %s", brief)
        return replace(added, degraded=(*added.degraded, f"extract: {brief}"))
    found = [_fact_item(fact, sources, finder.model) for fact in facts]
    written = yield from add.add(found, scope, DedupPolicy.of(True, policy), strict=False)
    for each in written:
        if each.settled_by is not None:
            yield from supersede(*each.settled_by, scope)
    return AddResult(
        (*added.items, *written.items),
        tuple(dict.fromkeys((*added.degraded, *written.degraded))),
        added.pending,
    )


def _turn(item: _Item) -> Turn:
    """A memory as a turn of the user, unless the assistant said it."""
    speaker = str(item.get("speaker") or "user")
    role = "assistant" if speaker.casefold() in ASSISTANT_NAMES else "user"
    return Turn(role, item["content"], None if speaker.casefold() in ROLE_NAMES else speaker)


def _fact_item(fact: Fact, sources: Sequence[tuple[_Item, str]], model: str) -> dict[str, Any]:
    """A fact as it is added: as old as what it comes from, with links to that."""
    of_fact = [sources[place] for place in fact.turns]
    times = [
        timestamp("created_at", item["created_at"])
        for item, _ in of_fact
        if item.get("created_at") is not None
    ]
    return {
        **{name: value for name in _SHARED if (value := sources[0][0].get(name)) is not None},
        **({"created_at": max(times)} if times else {}),
        "content": fact.text,
        "kind": "fact",
        "metadata": fact.origin(model),
        "links": [{"target": id, "type": SOURCE_LINK} for _, id in of_fact],
    }

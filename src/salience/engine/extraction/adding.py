"""Facts that a model finds in memories which were just added, kept beside them."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from salience.embedders._http import PUBLIC_ENDPOINT
from salience.engine.extraction.endpoint import Extractor, Fact, FactFinder, Turn, fact_of
from salience.errors import ExtractionError, InvalidInput, shown
from salience.language.english import ASSISTANT_NAMES, ROLE_NAMES
from salience.records.validation import timestamp
from salience.retrieval.operations import Outside
from salience.retrieval.plan import Plan, ask
from salience.search.listing import SOURCE_LINK
from salience.search.request import SearchRequest
from salience.search.search import search
from salience.write import add
from salience.write.dedup import DedupPolicy
from salience.write.idempotency import SAME_KEY
from salience.write.items import WriteContext
from salience.write.judgments import supersede
from salience.write.outcomes import ADDING_OUTCOMES, AddResult

_KNOWN = 10  # memories that the model is shown
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
        if each.forgets is None
    ]
    if not sources:
        return added
    turns = [_turn(item) for item, _ in sources]
    text = "\n".join(turn.text for turn in turns)[:_QUERY_CHARACTERS]
    owners = {name: sources[0][0].get(name) for name in ("agent_id", "user_id")}
    where = {"kind": "fact", **{name: id for name, id in owners.items() if id is not None}}
    near = yield from search(request(text, filters=where, limit=_KNOWN, touch=False))
    contents = [hit.content for hit in near]
    today = scope.now.astimezone(scope.zone)
    try:
        facts = yield from ask(Outside(lambda: finder.facts(turns, known=contents, today=today)))
    except Exception as problem:  # of any kind, in foreign code
        brief = problem.brief if isinstance(problem, ExtractionError) else repr(problem)
        _log.warning("extract: %s", brief)
        return replace(added, degraded=(*added.degraded, f"extract: {brief}"))
    found = [_fact_item(fact, sources, finder.model) for fact in facts]
    written = yield from add.add(found, scope, DedupPolicy.of(True, policy), strict=False)
    for each in written:
        if each.settled_by is not None:
            yield from supersede(*each.settled_by, scope)
    degraded = tuple(dict.fromkeys((*added.degraded, *written.degraded)))
    return replace(added, items=(*added.items, *written.items), degraded=degraded)


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


# Finders of facts: an endpoint by its address, or a function of one's own

ExtractFunction = Callable[[list[dict[str, str]]], Iterable[str | Mapping[str, Any]]]
"""Messages `{"role", "content"}` to facts: texts, or mappings as `Extractor` asks a model for."""
ExtractLike = bool | str | FactFinder | ExtractFunction | None


class FunctionExtractor:
    """A function of one's own as what finds facts; those without `turns` are of all turns."""

    def __init__(self, function: ExtractFunction) -> None:
        self._function = function
        self.model = getattr(function, "__name__", type(function).__name__)

    def facts(
        self, turns: Sequence[Turn], *, known: Sequence[str] = (), today: datetime | None = None
    ) -> list[Fact]:
        """Call the function with the messages.

        Raises:
            ExtractionError: it gives no list of facts.
        """
        answer = self._function([_message(turn) for turn in turns])
        if isinstance(answer, (str, bytes, Mapping)) or not isinstance(answer, Iterable):
            message = f"{self.model} gave no list of facts"
            raise ExtractionError(message, message)
        everywhere = list(range(1, len(turns) + 1))
        listed = [{"text": entry} if isinstance(entry, str) else entry for entry in answer]
        full = [{"turns": everywhere, **entry} for entry in listed if isinstance(entry, Mapping)]
        return [fact for each in full if (fact := fact_of(each, turns)) is not None]


def _message(turn: Turn) -> dict[str, str]:
    name = {} if turn.name is None else {"name": turn.name}
    return {"role": turn.role, "content": turn.text, **name}


def finder_of(extract: Any) -> FactFinder | None:
    """The finder of facts that an argument `extract` names; None for None and False.

    ======================================  =====================================================
    "<model>@<base_url>", "<model>"         `Extractor` there, or at the public endpoint
    True                                    the `Extractor` of the environment
    a function from messages to facts       `FunctionExtractor`
    what has a method `facts`               itself
    ======================================  =====================================================

    Raises:
        InvalidInput: "extract", for anything else.
        ExtractionError: a key is missing.
    """
    if extract is None or extract is False:
        return None
    if extract is True:
        extractor = Extractor.from_environment()
        if extractor is None:
            remedy = "set SALIENCE_EXTRACTION_MODEL and SALIENCE_EXTRACTION_URL, or name a model"
            raise InvalidInput("extract", "no model is configured", remedy)
        return extractor
    if isinstance(extract, str) and extract:
        return _endpoint(extract)
    if callable(getattr(extract, "facts", None)) and not isinstance(extract, type):
        return cast(FactFinder, extract)
    if inspect.iscoroutinefunction(extract):
        raise InvalidInput("extract", "is async", "give a function that returns the facts")
    if callable(extract) and not isinstance(extract, type):
        return FunctionExtractor(extract)
    remedy = 'give "model@https://host/v1", an Extractor, or a function from messages to facts'
    raise InvalidInput("extract", f"{shown(extract)} finds no facts", remedy)


@lru_cache(maxsize=8)  # their connections are kept
def _endpoint(spec: str) -> Extractor:
    name, *base_url = re.split(r"@(?=https?://)", spec, maxsplit=1)
    return Extractor(name, base_url=base_url[0] if base_url else PUBLIC_ENDPOINT)

"""Finders of facts: an endpoint by its address, or a function of one's own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from salience.embedders._http import PUBLIC_ENDPOINT
from salience.engine.extraction.endpoint import Extractor, Fact, FactFinder, Turn, fact_of
from salience.errors import ExtractionError, InvalidInput, shown

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
        listed = [{"text": one} if isinstance(one, str) else one for one in answer]
        full = [{"turns": everywhere, **one} for one in listed if isinstance(one, Mapping)]
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
        found = Extractor.from_environment()
        if found is None:
            remedy = "set SALIENCE_EXTRACTION_MODEL and SALIENCE_EXTRACTION_URL, or name a model"
            raise InvalidInput("extract", "no model is configured", remedy)
        return found
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

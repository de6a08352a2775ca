"""Names that people go by besides their own: what the other one calls them."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from recollect.index.columns import CodedColumn
from recollect.lexicon import ROLES

_OFTEN = 3  # times a name has to be said, and times more often than by the one it names


def nicknames(
    greets: CodedColumn, speakers: CodedColumn, alive: NDArray[np.bool_]
) -> dict[str, str]:
    """Who goes by which name, where just two people talk: "Hey Kate" names who is spoken to."""
    spoken = np.unique(speakers.codes[alive])
    people = [speakers.distinct[code] for code in spoken if speakers.distinct[code]]
    if len(people) != 2 or any(name.casefold() in ROLES for name in people):
        return {}
    greeting = alive & (greets.codes != greets.code(None))
    said = Counter(
        (greets.distinct[name], speakers.distinct[speaker])
        for name, speaker in zip(
            greets.codes[greeting].tolist(), speakers.codes[greeting].tolist(), strict=True
        )
    )
    other = {people[0]: people[1], people[1]: people[0]}
    return {
        name: other[speaker]
        for (name, speaker), times in said.items()
        if speaker in other and times >= _OFTEN and times > _OFTEN * said[name, other[speaker]]
    }

"""The speakers of a namespace, counted over its columns."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from salience.language.analysis_types import Speakers
from salience.language.speakers import count_greetings, nicknames, speakers_of
from salience.stores.index.columns import CodedColumn


def count_speakers(
    speakers: CodedColumn, greets: CodedColumn, sessions: CodedColumn, alive: NDArray[np.bool_]
) -> Speakers:
    """The speakers of the memories alive, with their turns and nicknames."""
    counts = np.bincount(speakers.codes[alive], minlength=len(speakers.distinct))
    turns = {
        name: int(count)
        for name, count in zip(speakers.distinct, counts.tolist(), strict=True)
        if name and count
    }
    return speakers_of(turns, nicknames(_greetings(speakers, greets, sessions, alive)))


def _greetings(
    speakers: CodedColumn, greets: CodedColumn, sessions: CodedColumn, alive: NDArray[np.bool_]
) -> dict[str, Counter[str | None]]:
    """Count how often each name was said to whom (see `count_greetings`)."""
    greeting = np.flatnonzero(alive & (greets.codes != greets.code(None)))
    if not len(greeting):
        return {}
    turns = np.flatnonzero(alive & np.isin(sessions.codes, sessions.codes[greeting]))
    names, greeters = greets.at(greeting), speakers.at(greeting)
    return count_greetings(
        zip(names, sessions.codes[greeting].tolist(), greeters, strict=True),
        zip(sessions.codes[turns].tolist(), speakers.at(turns), strict=True),
    )

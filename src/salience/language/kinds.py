"""Kinds of things that questions ask for, and what belongs to them: hiking is a sport.

A question for several things names their kind ("Which sports does Ana do?"), and what answers it
mostly names one of them and not the kind. `kinds.txt` lists some hundred words of everyday English
for what is asked most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

from salience.language.analysis_types import Wording
from salience.language.english import ASKS_KIND
from salience.language.tokens import stem, words

_INCLUDES = "@"


def instance_wordings(low: str) -> tuple[Wording, ...]:
    """The wordings of things of the kinds that a folded question asks for; empty without a kind.

    What the question itself names is none of them: it is looked for anyway.
    """
    asked = [stem(word) for match in ASKS_KIND.finditer(low) for word in words(match[1])]
    kinds = _kinds()
    instances = {instance for kind in asked for instance in kinds.get(kind, ())}
    if not instances:
        return ()
    own = {*map(stem, words(low))}
    single = sorted(base for base, *more in instances if not more and base not in own)
    several = sorted(stems for stems in instances if len(stems) > 1 and not own.issuperset(stems))
    # One of many words is as good as another, so they are forms of one.
    together: tuple[Wording, ...] = ((tuple(single),),) if single else ()
    return (*together, *(tuple((base,) for base in stems) for stems in several))


@cache
def _kinds() -> Mapping[str, frozenset[tuple[str, ...]]]:
    """The instances of each kind, as the stems of their words, by the stem of its name."""
    listed = resources.files("salience.language").joinpath("kinds.txt").read_text("utf-8")
    lines = [line.split(": ") for line in listed.splitlines() if ": " in line]
    instances = {name: listed.split() for names, listed in lines for name in names.split()}

    def below(name: str) -> Iterator[tuple[str, ...]]:
        for instance in instances[name]:
            if instance.startswith(_INCLUDES):
                yield from below(instance.removeprefix(_INCLUDES))
            else:
                yield tuple(map(stem, instance.split("_")))

    return {stem(name): frozenset(below(name)) for name in instances}

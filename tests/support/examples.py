"""How many examples a property is tried on."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def examples(count: int, least: int = 5) -> int:
    """`count` in the profile `deep`; otherwise a third, `least` or more, at most the profile's."""
    if settings.get_current_profile_name() == "deep":
        return count
    return min(count, max(least, count // 3), settings().max_examples)


def some(values: Iterable[Any], count: int) -> list[Any]:
    """The cases of a test: the first `count` values, and the others as `deep`."""
    cases = [*values]
    return cases[:count] + [pytest.param(case, marks=pytest.mark.deep) for case in cases[count:]]

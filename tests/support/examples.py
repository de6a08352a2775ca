"""How many examples a property is tried on."""

from hypothesis import settings


def examples(count: int) -> int:
    """`count` in the profile `deep`; otherwise a third, at least 5 and at most the profile's."""
    if settings.get_current_profile_name() == "deep":
        return count
    return min(count, max(5, count // 3), settings().max_examples)

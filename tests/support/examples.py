"""How many examples a property is tried on."""

from hypothesis import settings


def examples(count: int, least: int = 5) -> int:
    """`count` in the profile `deep`; otherwise a third, `least` or more, at most the profile's."""
    if settings.get_current_profile_name() == "deep":
        return count
    return min(count, max(least, count // 3), settings().max_examples)

"""How many examples a property is tried on."""

from hypothesis import settings


def examples(count: int) -> int:
    """`count` in the profile `deep`, and at most the profile's own number in another."""
    if settings.get_current_profile_name() == "deep":
        return count
    return min(count, settings().max_examples)

"""The built-in profiles: each a recipe of about ten lines over shared routes and signals."""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.expr import Col
from recollect.profile import Profile
from recollect.routes import Lexical, Vector
from recollect.signals import BestOf, MinMax, OverMax, days_since, decay, importance, similarity
from recollect.stages import cut, recall, score

BUILT_IN: dict[str, Profile] = {}


def _built_in(profile: Profile) -> Profile:
    BUILT_IN[profile.name] = profile.check()
    return profile


_lex = OverMax(Col("lexical.score")).default(0.0).named("lexical")
_den = MinMax(Col("vector.score")).default(0.0).named("dense")

balanced = _built_in(
    Profile(
        "balanced",
        recall(
            Lexical(before=0.5, after=0.3),
            Vector(),
            depth=200,
        )
        >> score(
            1.0 * _lex
            + 1.2 * _den
            + 1.0 * BestOf((_lex + _den) * 0.5, "session_id").default(0.0).named("session")
        )
        >> cut(),
        doc="The default: words and meaning, and what a question says of who, when and where.",
    )
)

composite = _built_in(
    Profile(
        "composite",
        recall(Vector(), depth=None)
        >> score(
            0.5 * similarity()
            + 0.3 * importance()
            + 0.2 * decay(0.05, days_since()).named("recency")
        )
        >> cut(),
        doc="0.5 cosine + 0.3 importance + 0.2 exp(-0.05 days since last access), over everything.",
    )
)


def get(profile: str | Profile) -> Profile:
    """A built-in profile by name, or the profile given.

    Raises:
        InvalidInput: no profile has that name.
    """
    if isinstance(profile, Profile):
        return profile.check()
    if profile not in BUILT_IN:
        raise InvalidInput(
            "profile", f"there is no {profile!r}", f"use one of {', '.join(sorted(BUILT_IN))}"
        )
    return BUILT_IN[profile]

"""The built-in profiles: each a recipe of about ten lines over shared routes and signals."""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.expr import Col, Fact, Given, at_most, exp, maximum, minimum
from recollect.profile import Profile
from recollect.routes import Lexical, Vector
from recollect.signals import (
    BestOf,
    MinMax,
    Nearby,
    OnDate,
    OverMax,
    SaidBy,
    SessionCover,
    days_since,
    decay,
    importance,
    similarity,
)
from recollect.stages import Pipeline, cut, recall, score

BUILT_IN: dict[str, Profile] = {}


def _built_in(profile: Profile) -> Profile:
    BUILT_IN[profile.name] = profile.check()
    return profile


def _balanced() -> Pipeline:
    lexical, cosine = Col("lexical.score"), Col("vector.score")
    user, assistant, nobody = SaidBy("user"), SaidBy("assistant"), SaidBy("nobody")
    lex = OverMax(lexical).default(0.0).named("lexical")
    den = MinMax(cosine).default(0.0).named("dense")
    # Not min-max: among few memories the least unlike is not yet like what is asked.
    like = maximum(0.0, cosine.default(0.0))
    evidence = (lex + 1.2 * den) * (1 / 2.2)
    before = OverMax(Col("previous.lexical.score"), lexical).default(0.0) + MinMax(
        Col("previous.vector.score"), cosine
    ).default(0.0)
    # Between people every turn may open a subject; with an assistant the user's does.
    opens = minimum(1.0, 1.0 + -1.0 * Fact("roles") + user)
    told = minimum(1.0, user + nobody)
    liked = minimum(1.0, opens + nobody)
    words = Col("content_words")
    return (
        recall(Lexical(before=0.5, after=0.3), Vector(), depth=200)
        >> score(
            # the memory itself
            1.0 * lex
            + 1.0 * den
            # around it
            + 0.25 * BestOf(evidence).default(0.0).named("session")
            + 0.5 * OverMax(Nearby(evidence)).default(0.0).named("nearby")
            + 0.25 * SessionCover().default(0.0).named("session_cover")
            + 0.5
            * (0.5 * before * Col("previous.is_question").default(0.0) * at_most(words, 60)).named(
                "answers"
            )
            # the kind of turn
            + 0.4 * (exp(-0.5 * Col("position").default(0.0)) * opens).named("opening")
            + 0.4 * minimum(1.0, 0.1 * words).named("length")
            + 0.2 * Col("first_person").named("first_person")
            + -0.2 * (Col("is_question") * at_most(words, 20)).named("mere_question")
            # whose words
            + 1.25
            * Given("names_one", SaidBy("named") + nobody * Col("mentions_named")).named("speaker")
            + 1.0 * Given("about_self", told).named("self")
            + 1.0 * Given("about_assistant", assistant).named("assistant")
            + 1.0 * Given("wants_summary", assistant).named("summary")
            # when
            + 1.25 * OnDate("month").named("month")
            + 0.25 * OnDate("year").named("year")
            + 1.25 * OnDate("day").named("day")
            + 0.25 * Given("asks_when", Col("has_time")).named("time_word")
            + 0.3 * Given("asks_present", MinMax(Col("created_at"))).named("latest")
            # the kind of answer
            + 0.5 * Given("asks_number", Col("has_number")).named("number")
            + 0.6 * Given("asks_name", Col("names")).named("names")
            + 4.0 * Given("looks_ahead", like * Col("is_instruction") * told).named("instruction")
            + 3.0 * Given("asks_advice", like * Col("is_preference") * liked).named("preference")
        )
        >> cut()
    )


balanced = _built_in(
    Profile(
        "balanced",
        _balanced(),
        doc="The default: words and meaning, and what a question says of who, when and how.",
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
    if not isinstance(profile, str) or profile not in BUILT_IN:
        raise InvalidInput(
            "profile", f"there is no {profile!r}", f"use one of {', '.join(sorted(BUILT_IN))}"
        )
    return BUILT_IN[profile]

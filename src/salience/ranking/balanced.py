"""The profile `balanced`: one sum of seven groups of parts.

    score = match + context + speaker + time + answer type + set by users + versions

Each group is a function that returns its weighted parts; `PARTS` says in a line what each part
stands for. Parts that ask for a feature of the query (`query_asks_when`, ...) are 0 without it.
"""

from __future__ import annotations

from collections.abc import Mapping

from salience.language.statements.personal import CIRCUMSTANCE, HEALTH, INSTRUCTION, PREFERENCE
from salience.ranking.expressions import Col, Constant, NamedExpression, Signal, Subtotal, Sum
from salience.ranking.functions import QueryFlag, WhenQuery, at_most, exp, maximum, minimum
from salience.ranking.signals import (
    Contradicted,
    CurrentVersion,
    Expired,
    GroupMax,
    HoldsTopic,
    IsFact,
    LabelCover,
    LatestFact,
    MaxScaled,
    MentionsName,
    MinMax,
    NeighborMass,
    OnDate,
    RepeatsQuery,
    SaidBy,
    SessionCover,
    StateInForce,
    Sunk,
    TellsOfDay,
    Trusted,
    WhereIs,
    WhereJudged,
    WhereSet,
    days_since,
    decay,
    likeness,
)
from salience.ranking.stages import Depth, Pipeline, changes, conflict, cut, retrieve, score
from salience.retrieval.routes import Lexical, Vector

PARTS: Mapping[str, Mapping[str, str]] = {
    "match": {
        "lexical": "shares words with the query, rare ones above all",
        "semantic": "means something close to the query",
    },
    "context": {
        "session_match": "the best match in its session",
        "nearby_turns": "the turns around it match",
        "session_coverage": "its session has the words of the query",
        "answers_previous_question": "follows a question that matches",
        "turn_position": "early in its session, where topics begin",
        "length": "how long it is, up to ten content words",
        "first_person": "says I, me, my, we",
        "bare_question": "a short question, which tells little",
    },
    "speaker": {
        "named_speaker": "by or about the person named",
        "speaker_session": "the person named speaks in its session",
        "said_by_user": "query says I, or wants advice: by the user, or by nobody",
        "summary_by_assistant": "query for a summary: by the assistant",
    },
    "time": {
        "asked_time": "from the time asked about, or mentions it, and matches",
        "has_time_expression": "query for a time: mentions one",
        "recency": "query for the present: the newer the better",
        "state_in_force": "query for a state: what holds at the time asked about",
        "expired": "a fact that does not hold at the time asked about",
        "fact_recency": "a fact about a name in the query: the newer the better",
    },
    "answer type": {
        "contains_number": "query for a number: contains one",
        "contains_names": "query for a name: contains some",
        "of_kind": "query for a kind of thing, as sports: names one",
        "about_user": "query for advice: what the user said about themselves",
    },
    "set by users": {
        "importance": "its importance, above or below the usual 0.5",
        "relevance": "its relevance score, above or below the usual 0.5",
        "usefulness": "its memory score, above or below the usual 0.5",
        "confidence": "its confidence, below the usual 1",
        "feedback": "judged useful rather than not",
        "pinned": "pinned",
        "labels": "its entities and tags have more words of the query",
        "long_term": "of the tier long",
        "short_term": "of the tier short",
        "incorrect": "judged incorrect",
    },
    "versions": {
        "repeated_question": "asks what the query asks, and says no more",
        "contradicted": "contradicts a stronger one that is found: just below it",
        "current_version": "what holds: just above its older versions",
        "sunk": "judged incorrect twice: below all else that is found",
    },
}
"""Group -> part -> the line that explanations and formulas print for it."""

_GROUPS = {name: (line, group) for group, lines in PARTS.items() for name, line in lines.items()}


def _part(name: str, signal: Signal) -> NamedExpression:
    return signal.named(name, *_GROUPS[name])


_BM25, _COSINE = Col("lexical.score"), Col("vector.score")
_LEXICAL = _part("lexical", MaxScaled(_BM25).default(0.0))
# A cosine of words that the embedder does not know is left to chance: words count in its place.
_SEMANTIC = _part("semantic", Trusted(MinMax(_COSINE).default(0.0), _LEXICAL.of))
_COMBINED_MATCH = (_LEXICAL + 1.2 * _SEMANTIC) * (1 / 2.2)
# MinMax gives the nearest of few memories 1 even if it is not close; the cosine itself does not.
_SIMILARITY = Trusted(likeness(), 0.5 * _LEXICAL.of)
_USER, _ASSISTANT, _NOBODY = SaidBy("user"), SaidBy("assistant"), SaidBy("nobody")
_NAMED = SaidBy("named")
_CONTENT_WORDS = Col("content_words")
_REQUEST = QueryFlag("query_asks_advice")
# A request shares few words with what bears on it, and long turns share many.
_UNLESS_REQUEST = 1.0 + -0.5 * _REQUEST
# The other weights are those for the default embedder, whose cosines say less.
_BY_EMBEDDER = 1.0 + QueryFlag("embedder_reads_context")
_LATEST_NAMED = LatestFact() * MentionsName()
# In a larger namespace more memories that do not answer come before those that do.
_DEPTH = Depth(per_k=1, min_rows=200, share=0.1, share_rows=400)


def balanced_pipeline() -> Pipeline:
    """200 to 400 candidates by words and as many by vectors, scored by the sum of all parts."""
    parts = (
        *(*_match(), *_context(), *_speaker(), *_time(), *_answer_type()),
        *(*_set_by_users(), *_versions()),
    )
    words = Lexical(before=0.5, after=0.3, spelling=True, passages=True)
    found = retrieve(words, Vector(passages=True), depth=_DEPTH)
    return found >> conflict(_standing()) >> changes() >> score(Sum(parts)) >> cut()


def _standing() -> Signal:
    """The measure that decides between two that contradict each other, as in `activation`."""
    not_wrong = 1.0 + -1.0 * WhereIs("review", "incorrect", Constant(1.0))
    strength = Col("strength").default(1.0) * Col("confidence").default(1.0)
    return (strength * decay(0.05, days_since()) * not_wrong).named("standing")


def _match() -> tuple[Signal, ...]:
    """The memory itself, by words and by meaning."""
    return (
        1.0 * _part("lexical", _LEXICAL.of * _UNLESS_REQUEST),
        1.0 * _part("semantic", _SEMANTIC.of * (1.0 + 0.5 * _REQUEST) * _BY_EMBEDDER),
    )


def _context() -> tuple[Signal, ...]:
    """The session around a memory, and the kind of turn that it is."""
    previous_words = MaxScaled(Col("previous.lexical.score"), _BM25).default(0.0)
    previous_cosine = MinMax(Col("previous.vector.score"), _COSINE).default(0.0)
    previous_match = previous_words + Trusted(previous_cosine, previous_words)
    after_question = Col("previous.is_question").default(0.0)
    answers = 0.5 * previous_match * after_question * at_most(_CONTENT_WORDS, 60)
    # Between people any turn may open a topic; with an assistant only the user's do.
    opens_topic = minimum(1.0, 1.0 + -1.0 * QueryFlag("namespace_has_user") + _USER + _NOBODY)
    early = exp(-0.5 * Col("position").default(0.0))
    nearby = MaxScaled(NeighborMass(_COMBINED_MATCH)).default(0.0)
    return (
        0.25 * _part("session_match", GroupMax(_COMBINED_MATCH).default(0.0)),
        0.5 * _part("nearby_turns", nearby * _UNLESS_REQUEST),
        0.25 * _part("session_coverage", SessionCover().default(0.0)),
        0.5 * _part("answers_previous_question", answers),
        0.4 * _part("turn_position", early * opens_topic * _UNLESS_REQUEST),
        0.2 * _part("length", minimum(1.0, 0.1 * _CONTENT_WORDS)),
        0.2 * _part("first_person", Col("first_person")),
        -0.2 * _part("bare_question", Col("is_question") * at_most(_CONTENT_WORDS, 20)),
    )


def _speaker() -> tuple[Signal, ...]:
    """The speaker that the query names or means."""
    said_by_others = 0.5 + -0.5 * _NAMED
    about_named = said_by_others * Col("mentions_named")
    by_user = minimum(1.0, _USER + _NOBODY)
    asked_by_user = maximum(QueryFlag("query_is_first_person"), _REQUEST)
    return (
        1.25 * _part("named_speaker", WhenQuery("query_names_one_speaker", _NAMED + about_named)),
        1.0 * _part("speaker_session", WhenQuery("query_names_one_speaker", GroupMax(_NAMED))),
        1.0 * _part("said_by_user", asked_by_user * by_user),
        1.0 * _part("summary_by_assistant", WhenQuery("query_asks_summary", _ASSISTANT)),
    )


def _time() -> tuple[Signal, ...]:
    """The dates that the query names, the present, and the time at which a fact holds."""
    return (
        3.0 * _part("asked_time", _asked_time()),
        0.25 * _part("has_time_expression", WhenQuery("query_asks_when", Col("has_time"))),
        0.3 * _part("recency", WhenQuery("query_asks_present", MinMax(Col("created_at")))),
        1.0
        * _part(
            "state_in_force", WhenQuery("query_asks_state", StateInForce(_LEXICAL + _SEMANTIC))
        ),
        -2.0 * _part("expired", Expired()),
        2.0 * _part("fact_recency", _SEMANTIC * _LATEST_NAMED),
    )


def _asked_time() -> Signal:
    """1 for a memory of the time that the query asks about, or one that mentions it, as plans do.

    Less for one that matches nothing else of the query: then other days may say more.
    """
    # A fact holds at other times than the one at which it was told: the last one before counts.
    of_time = OnDate() * (1.0 + -1.0 * IsFact()) + _LATEST_NAMED
    matches = minimum(1.0, 0.7 + 0.4 * HoldsTopic() + 0.3 * _SIMILARITY)
    mentions = maximum(Col("mentions_date"), TellsOfDay())
    return WhenQuery("query_names_date", maximum(of_time, mentions) * matches)


def _answer_type() -> tuple[Signal, ...]:
    """The kind of answer that the query asks for."""
    return (
        0.5 * _part("contains_number", WhenQuery("query_asks_number", Col("has_number"))),
        0.6 * _part("contains_names", WhenQuery("query_asks_name", Col("proper_nouns"))),
        0.5 * _part("of_kind", WhenQuery("query_asks_kind", Col("mentions_kind"))),
        1.0 * _part("about_user", _about_user()),
    )


def _about_user() -> Signal:
    """Statements of the user about himself, and how he wants things done; most for a request."""
    # A note without a speaker is the user's if it says "I".
    by_user = minimum(1.0, _USER + _NOBODY * (1.0 + -1.0 * at_most(Col("first_person"), 0)))
    weighed = 0.35 * _states(CIRCUMSTANCE) + _states(PREFERENCE) + _states(HEALTH)
    bears = weighed * by_user * exp(-0.02 * _CONTENT_WORDS)  # the longer, the more it is about
    # Only the user's: a note that says "always" is mostly about something else. A query for a name
    # seldom tells the assistant to do something.
    instruction = _states(INSTRUCTION) * _USER
    instructs = _SIMILARITY * instruction * (1.0 + -0.5 * QueryFlag("query_asks_name"))
    # An allergy bears on a meal and a knee on a run; on medicine, either may.
    elsewhere = QueryFlag("query_is_about_food_or_sport") * (1.0 + -1.0 * Col("mentions_concern"))
    safety = WhenQuery("query_is_about_body", (2.0 + -2.0 * elsewhere) * _states(HEALTH) * by_user)
    brief = (1.0 + -1.0 * at_most(Col("personal"), 0)) * by_user * exp(-0.02 * _CONTENT_WORDS)
    concern = WhenQuery("query_has_concern", brief * Col("mentions_concern"))
    request = 0.7 * bears + 3.0 * _SIMILARITY * bears + 0.7 * concern + instruction + safety
    return WhenQuery("query_is_not_recall", 3.5 * instructs) + WhenQuery(
        "query_asks_advice", request
    )


def _states(kind: float) -> Signal:
    """1 for a statement of that kind, else 0."""
    personal = Col("personal")
    return at_most(personal, kind) + -1.0 * at_most(personal, kind - 1.0)


def _set_by_users() -> tuple[Signal, ...]:
    """Nudges by what somebody set or judged, in proportion to the match; 0 where nothing is set."""
    match = _COMBINED_MATCH
    # To be judged incorrect takes away as much as the best match gives.
    return (
        1.0 * _part("importance", WhereSet("importance", 0.5, match)),
        0.5 * _part("relevance", WhereSet("relevance_score", 0.5, match)),
        0.5 * _part("usefulness", WhereSet("memory_score", 0.5, match)),
        0.5 * _part("confidence", WhereSet("confidence", 1.0, match)),
        1.0 * _part("feedback", WhereJudged(match)),
        0.5 * _part("pinned", WhereSet("pinned", 0.0, match)),
        1.0 * _part("labels", LabelCover()),
        0.15 * _part("long_term", WhereIs("tier", "long", match)),
        -0.15 * _part("short_term", WhereIs("tier", "short", match)),
        -2.0 * _part("incorrect", WhereIs("review", "incorrect", 0.5 + 0.5 * _BY_EMBEDDER)),
    )


def _versions() -> tuple[Signal, ...]:
    """Places beside others, whatever the match."""
    return (
        -0.5 * _part("repeated_question", RepeatsQuery(Subtotal())),
        1.0 * _part("contradicted", Contradicted(Subtotal())),
        1.0 * _part("current_version", CurrentVersion(Subtotal())),
        1.0 * _part("sunk", Sunk(Subtotal())),
    )

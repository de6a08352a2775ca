"""A search request: the options that a search takes, their defaults, and their checks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import date, datetime, tzinfo
from typing import Annotated, Any, TypedDict

from salience.api.parameters import Between, Bounds
from salience.errors import InvalidInput, shown
from salience.language.dates import past_interval
from salience.language.entities import NO_ALIASES, Aliases
from salience.language.spelling import NO_DICTIONARY, Dictionary
from salience.language.tokens import count_tokens
from salience.lazily import dataclass, field, replace
from salience.ranking import profiles
from salience.ranking.constants import ConstantOptions, lacking, with_constants
from salience.ranking.profile import Profile
from salience.ranking.profiles import ProfileLike
from salience.ranking.stages import Pipeline, min_value
from salience.records.field_filters import FIELD_DEFAULTS, ID, TEXT, FieldFilters
from salience.records.filters import And, Compare, Filter, Not, all_of, filter_fields, parse_filter
from salience.records.limits import DEFAULT_LIMITS, Limits
from salience.records.time_zone import localized, time_zone, zone_of
from salience.records.validation import (
    LARGEST_NUMBER,
    MAX_NAMESPACE_CHARACTERS,
    boolean,
    finite,
    integer,
    mapping,
    namespace_name,
    native,
    present,
)
from salience.retrieval.routes import ExactMatch, Lexical, Route, Trigram
from salience.retrieval.routes import Vector as VectorRoute
from salience.search.cutoff import NO_CUTOFF, Cut, Cutoff, cutoff

MAX_HITS = 1000
HITS = Between(1, MAX_HITS)
SHARE = Between(0, 1)
TOKENS = Between(1)
NAMESPACE = Bounds(maxLength=MAX_NAMESPACE_CHARACTERS, pattern=TEXT)
CONTEXTS = tuple(name.partition(".")[2] for name in profiles.BUILT_IN if "." in name)

Query = Annotated[str, Bounds(maxLength=DEFAULT_LIMITS.query, pattern=r"\S")]
Id = Annotated[str, ID]
Filters = Annotated[Mapping[str, Any] | Filter | None, Bounds.of("Filters")]
Moment = Annotated[date | str | float | None, Bounds.of("Moment")]
Present = Annotated[date | str | float | None, Bounds.of("Present")]
TimeZone = str | tzinfo | None


class SharedOptions(FieldFilters, total=False):
    """The options that a comparison shares with a search.

    limit: maximum number of memories, 1 to 1000.
    filters: a condition that each memory must meet; see `salience.records.filters`. Only active
        memories are found, unless it says something about their `status`.
    now: the time to rank for; the present by default.
    as_of: rank what there was at this time, as it was then: contents, links, accesses, judgements,
        statuses. What was erased since cannot be in it. Nothing is touched.
    namespaces: search these instead of the memory's own.
    """

    limit: Annotated[int, HITS]
    filters: Filters
    now: Present
    as_of: Present
    namespaces: Annotated[Sequence[Annotated[str, NAMESPACE]] | None, Bounds(minItems=1)]


class WordOptions(TypedDict, total=False):
    """Other words than those of the query for one kind of comparison, where the profile makes it.

    lexical: the words to look for in texts, instead of those of the query.
    names: the names to look for in titles, speakers and identifiers, instead of the query.
    semantic: the text whose meaning is compared, instead of the query.
    """

    lexical: str | None
    names: str | None
    semantic: str | None


class HitOptions(TypedDict, total=False):
    """Further options of whatever finds hits.

    time_zone: the zone of whoever asks, as Europe/Berlin: of "yesterday" in the query, of times
        that are given without a zone. By default that of the memory, else of `now`, else the
        system's.
    min_score: leave out hits below it; what a score means depends on the profile.
    token_budget: how many tokens the hits (and neighbors) may take together; one that does not fit
        is skipped for the next.
    """

    time_zone: TimeZone
    min_score: float | None
    token_budget: Annotated[int | None, Between(0)]


class RankingOptions(HitOptions, ConstantOptions, WordOptions, total=False):
    """Further options of one ranking.

    weights: other weights for named parts of the profile's score.
    min_similarity: leave out memories whose cosine with the query is below it.
    min_probability: leave out hits whose probability of answering the query is below it, 0 to 1.
    include_archived: find archived memories, too.
    context: a variant of the profile, such as "identity", "knowledge", "episodic" or "activity" of
        "vitality"; by default that of the layer which `filters` ask for.
    """

    weights: Mapping[str, float] | None
    min_similarity: float | None
    min_probability: Annotated[float | None, SHARE]
    include_archived: bool
    context: Annotated[str | None, Bounds(enum=CONTEXTS)]


ASKED = frozenset(("query", *WordOptions.__annotations__))
"""The texts of a query; in them a NUL becomes a space and half an emoji "?"."""


class CompareOptions(SharedOptions, total=False):
    """The options of a comparison.

    options: further options by their names: time_zone, min_score and token_budget, as `search` has
        them.
    """

    options: HitOptions | None


class ExplainOptions(SharedOptions, total=False):
    """The options that an explanation shares with a search.

    profile: how to rank; the memory's profile by default.
    cut: "auto" leaves out what does not answer the query: all hits if the chance that any memory
        answers is below 0.2, else those with less than a fifth of the best hit's. "careful" leaves
        out more, "greedy" less, "none" nothing, as by default.
    options: further options by their names, as {"weights": {"recency": 0.5}}; those of
        `salience.search.request.RankingOptions`.
    """

    profile: ProfileLike | None
    cut: Cut | None
    options: RankingOptions | None


class SearchOptions(ExplainOptions, total=False):
    """The options of a search.

    touch: count an access of each hit (written within a second, never waited for).
    explain: give each hit its `explanation`.
    """

    touch: bool
    explain: bool


SEARCH_DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(SearchOptions.__annotations__),
    **FIELD_DEFAULTS,
    "limit": 10,
    "touch": True,
    "explain": False,
}


_DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(RankingOptions.__annotations__),
    **SEARCH_DEFAULTS,
    "include_archived": False,
}


def further(options: Any, declared: type) -> Mapping[str, Any]:
    """The further options of a method, whose names must be `declared`.

    Raises:
        InvalidInput: it is no readable mapping, or names an option that there is not.
    """
    values = mapping("options", options)
    allowed = declared.__annotations__
    for name in values:
        if name not in allowed:
            from difflib import get_close_matches

            nearest = get_close_matches(str(name), allowed, 1)
            hint = f"use {nearest[0]}, or another of" if nearest else "use some of"
            remedy = f"{hint} {', '.join(allowed)}"
            raise InvalidInput("options", f"has {shown(name)}, which is no option", remedy)
    return values


@contextmanager
def named_in(options: Mapping[str, Any]) -> Iterator[None]:
    """Name what is wrong with one of some further options by its place."""
    try:
        yield
    except InvalidInput as error:
        if error.field.partition(".")[0].partition("[")[0] not in options:
            raise
        raise InvalidInput(f"options.{error.field}", error.problem, error.remedy) from None


@dataclass(frozen=True)
class SearchSettings:
    """The settings that the searches of one memory share, unless their options say otherwise.

    `embedder` gives the identity of the embedder once that has answered; it is None where the
    memory was opened without one. `knows` says how far that embedder knows a script or a language;
    it is None where it does not say. Within a `turn` a search computes; a store whose searches
    compute in this process gives one after the other. The words of the `dictionary` are never
    misspelt. The `time_zone` is the one chosen for the memory, if any is.
    """

    namespace: str
    profile: Profile
    clock: Callable[[], datetime]
    embedder: Callable[[], str | None] | None = None
    knows: Callable[[str], float] | None = None
    count_tokens: Callable[[str], int] = count_tokens
    aliases: Aliases = NO_ALIASES
    limits: Limits = DEFAULT_LIMITS
    slow_search_ms: float | None = None
    turn: Callable[[], AbstractContextManager[object]] = nullcontext
    dictionary: Dictionary = NO_DICTIONARY
    time_zone: tzinfo | None = None

    def zone(self, of_call: Any = None, now: Any = None) -> tzinfo:
        """The zone of a call: that of its `time_zone`, of the memory, of `now`, of the system.

        Raises:
            InvalidInput: `of_call` is no time zone.
        """
        moment = self.clock() if now is None else now
        return zone_of(moment, time_zone("time_zone", of_call), self.time_zone)


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """A checked search; `SearchOptions` says what each part means.

    `about` is the time that the query asks about, in seconds from and to; `asked_at` is `now` in
    the time zone of the search. `words` are those of `WordOptions` that were given.
    """

    text: str
    namespaces: tuple[str, ...]
    profile: Profile
    now: datetime
    as_of: datetime | None
    limit: int
    where: Filter | None
    min_score: float | None
    touch: bool
    explain: bool
    token_budget: int | None
    about: tuple[float, float] | None
    asked_at: datetime
    settings: SearchSettings
    cutoff: Cutoff = NO_CUTOFF
    words: Mapping[str, str] = field(default_factory=dict)


def search_request(
    query: Any, settings: SearchSettings, options: Mapping[str, Any]
) -> SearchRequest:
    """The request for a query with `SearchOptions`."""
    if options.get("options") is not None:
        more = further(options["options"], RankingOptions)
        with named_in(more):
            return search_request(query, settings, {**options, **more, "options": None})
    options = {**_DEFAULTS, **options}
    zone = settings.zone(options["time_zone"], options["now"])
    as_of = past_time(options["as_of"], settings, zone)
    now = present_time(options["now"], as_of, settings, zone)
    profile, namespaces = options["profile"], options["namespaces"]
    profile = settings.profile if profile is None else profiles.get(profile)
    if namespaces is not None and (not isinstance(namespaces, list | tuple) or not namespaces):
        raise InvalidInput("namespaces", "must be a list of at least one namespace")
    names = [namespace_name(name, "namespaces") for name in namespaces or (settings.namespace,)]
    limit = integer("limit", options["limit"], *HITS)
    token_budget = options["token_budget"]
    if token_budget is not None:
        token_budget = integer("token_budget", token_budget, 0)
    include_archived = boolean("include_archived", options["include_archived"])
    where = parse_filter(options["filters"], zone=zone)
    profile = profiles.in_context(profile, options["context"], _layer(where))
    profile = with_constants(profile.weighted(options["weights"]), options)
    query = _query_text(query, settings.limits.query)
    asked_at = now.astimezone(zone)
    about = past_interval(query, asked_at)
    min_similarity = _finite("min_similarity", options["min_similarity"])
    return SearchRequest(
        query,
        tuple(dict.fromkeys(names)),
        _at_least_similar(profile, min_similarity),
        now,
        as_of,
        limit,
        _visible(where, profile, now, about is not None, include_archived),
        _min_score(profile, options),
        as_of is None and boolean("touch", options["touch"]),
        boolean("explain", options["explain"]),
        token_budget,
        about,
        asked_at,
        settings,
        cutoff(profile, options["min_probability"], options["cut"]),
        _words(profile, options, settings.limits.query),
    )


def present_time(
    now: Any, as_of: datetime | None, settings: SearchSettings, zone: tzinfo
) -> datetime:
    """The time to rank for: as told, that of the past gone back to, else the present."""
    if now is not None:
        return present("now", localized(now, zone))
    return as_of or present("clock", localized(settings.clock(), zone))


def past_time(as_of: Any, settings: SearchSettings, zone: tzinfo) -> datetime | None:
    """The time to go back to; None for the present.

    Raises:
        InvalidInput: it is no time, or in the future.
    """
    if as_of is None:
        return None
    at = present("as_of", localized(as_of, zone))
    if at > present("clock", localized(settings.clock(), zone)):
        raise InvalidInput("as_of", f"{at.isoformat()} is in the future", "leave it out")
    return at


def _visible(
    where: Filter | None,
    profile: Profile,
    now: datetime,
    asks_about_a_time: bool,
    include_archived: bool,
) -> Filter:
    """The filter with the conditions that hold by default: not expired, of a visible status."""
    conditions: list[Filter] = [Not(Compare("expires_at", "lte", now.timestamp()))]
    if "status" not in filter_fields(where):
        statuses = dict.fromkeys(profile.statuses)
        if asks_about_a_time and profile.heeds_validity:  # a superseded fact may have held then
            statuses["superseded"] = None
        if include_archived:
            statuses["archived"] = None
        conditions.insert(0, Compare("status", "in", tuple(statuses)))
    return all_of(*conditions, where)


_COMPARED: Mapping[str, tuple[tuple[type[Route], ...], str]] = {
    "lexical": ((Lexical,), "looks for no words"),
    "names": ((Trigram, ExactMatch), "compares no names"),
    "semantic": ((VectorRoute,), "compares no vectors"),
}
"""The routes that compare the text of each of `WordOptions`, and what a profile without lacks."""


def _words(profile: Profile, options: Mapping[str, Any], limit: int) -> dict[str, str]:
    """The texts of `WordOptions` that were given, checked.

    Raises:
        InvalidInput: one is not text, or the profile does not compare it.
    """
    words: dict[str, str] = {}
    for name, (kinds, lacks) in _COMPARED.items():
        if options[name] is None:
            continue

        def compares(which: Profile, kinds: tuple[type[Route], ...] = kinds) -> bool:
            return any(isinstance(route, kinds) for route in which.routes)

        if not compares(profile):
            raise lacking(name, profile, lacks, compares)
        words[name] = _query_text(options[name], limit, name)
    return words


def _query_text(query: Any, limit: int, name: str = "query") -> str:
    """The query without the characters that no stored text contains."""
    query = native(query)
    if not isinstance(query, str):
        raise InvalidInput(name, f"must be text, not {type(query).__name__}")
    if not query.strip():
        raise InvalidInput(name, "is empty", "ask for something")
    if len(query) > limit:
        problem = f"has {len(query):,} characters, more than {limit:,}"
        raise InvalidInput(name, problem, "ask in fewer words")
    return query.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


_FINITE = f"give a finite number, between {-LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}"


def _finite(name: str, value: Any) -> float | None:
    """A finite number, or None."""
    if value is None:
        return None
    plain = native(value)
    if isinstance(plain, bool) or not isinstance(plain, (int, float)) or not finite(plain):
        raise InvalidInput(name, f"is {shown(value)}", _FINITE)
    return float(plain)


_BOUNDED = frozenset({"six_factor"})
"""The built-in profiles whose scores lie in [0, 1], as their parts do and their weights add up."""


def _min_score(profile: Profile, options: Mapping[str, Any]) -> float | None:
    """The least score, which the profile must be able to give."""
    least = _finite("min_score", options["min_score"])
    is_bounded = profile.name in _BOUNDED and not options["weights"]
    if least is not None and is_bounded and not 0.0 <= least <= 1.0:
        problem = f"is {shown(least)}, and {profile.name} scores from 0 to 1"
        raise InvalidInput("min_score", problem, "give a number in this range")
    return least


def _layer(where: Filter | None) -> str | None:
    """The one layer that a filter leaves, None where it may leave several."""
    for part in where.parts if isinstance(where, And) else (where,):
        if isinstance(part, Compare) and (part.field, part.operator) == ("layer", "eq"):
            return part.value
    return None


def _at_least_similar(profile: Profile, min_similarity: float | None) -> Profile:
    """The profile without candidates whose cosine on its first vector route is too low."""
    if min_similarity is None:
        return profile
    vector_routes = [route for route in profile.routes if isinstance(route, VectorRoute)]
    if not vector_routes:
        raise InvalidInput("min_similarity", f"{profile.name} compares no vectors", "leave it out")
    first, *rest = profile.pipeline.stages
    bound = min_value(f"{vector_routes[0].name}.score", min_similarity)
    return replace(profile, pipeline=Pipeline((first, bound, *rest)))

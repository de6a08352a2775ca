"""The built-in profiles: each one names its routes, its formulas and its other stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from salience.api.parameters import Bounds
from salience.errors import InvalidInput, InvalidProfile, shown
from salience.extensions import Registry
from salience.ranking.expressions import Col, Signal, Sum
from salience.ranking.functions import lookup, maximum
from salience.ranking.profile import Profile
from salience.ranking.signals import (
    EntityOverlap,
    MaxScaled,
    access,
    confidence,
    days_since,
    decay,
    feedback,
    hourly_rate,
    hours_since,
    importance,
    likeness,
    memory_score,
    rrf,
    similarity,
    strength,
)
from salience.ranking.signals import vitality as vitality_signal
from salience.ranking.stages import (
    Depth,
    Pipeline,
    conflict,
    cut,
    keep,
    mmr,
    neighbors,
    pack,
    retrieve,
    score,
    session_first,
    spread,
)
from salience.records.json_values import json_value
from salience.retrieval.routes import (
    ExactMatch,
    Lexical,
    MatchAll,
    Route,
    TimeWindow,
    Trigram,
    Vector,
)

MAX_PROFILE_BYTES = 250_000
MAX_PROFILE_DEPTH = 200  # levels of lists and mappings in a profile given as a mapping
ProfileLike = Annotated[str | Path | Mapping[str, Any] | Profile, Bounds.of("Profile")]
"""The name of a profile, the path of a JSON file, the content of one, or a profile."""


class _BuiltIn(Mapping[str, Profile]):
    """The built-in profiles by their names, each made and checked when it is first asked for."""

    def __init__(self) -> None:
        self._makers: dict[str, Callable[[], Profile]] = {}
        self._made: dict[str, Profile] = {}

    def __getitem__(self, name: str) -> Profile:
        return self._made.get(name) or self._made.setdefault(name, self._makers[name]().check())

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def add(
        self, name: str, doc: str, statuses: tuple[str, ...] = ("active",)
    ) -> Callable[[Callable[[], Pipeline]], None]:
        """Name the profile of a pipeline, which a function makes."""

        def register(pipeline: Callable[[], Pipeline]) -> None:
            self._makers[name] = lambda: Profile(name, pipeline(), doc, statuses)

        return register


BUILT_IN = _BuiltIn()
_REGISTERED = Registry[Profile]("profiles")


def __getattr__(name: str) -> Profile:
    """A built-in profile, as an attribute of this module."""
    if name not in BUILT_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return BUILT_IN[name]


@BUILT_IN.add(
    "balanced",
    "The default: words and meaning, context, and the speaker, time and answer asked for.",
)
def _balanced() -> Pipeline:
    from salience.ranking.balanced import balanced_pipeline  # makes its parts

    return balanced_pipeline()


@BUILT_IN.add(
    "composite",
    "0.5 cosine + 0.3 importance + 0.2 exp(-0.05 days since last access), over everything.",
)
def _composite() -> Pipeline:
    recency = decay(0.05, days_since()).named("recency")
    formula = 0.5 * similarity() + 0.3 * importance() + 0.2 * recency
    return retrieve(Vector(), depth=None) >> score(formula) >> cut()


@BUILT_IN.add(
    "six_factor",
    "Six factors in [0, 1] over everything: similarity, recency by tier, importance, "
    "access, feedback, entities.",
)
def _six_factor() -> Pipeline:
    formula = (
        0.40 * likeness()
        + 0.20 * decay(hourly_rate(), hours_since()).named("recency")
        + 0.15 * importance()
        + 0.10 * access()
        + 0.10 * feedback()
        + 0.05 * EntityOverlap().named("entity")
    )
    return retrieve(Vector(), MatchAll(), depth=None) >> score(formula) >> cut()


@BUILT_IN.add(
    "activation",
    "Words, spread over links; of two memories that contradict each other one gives way.",
    statuses=("active", "superseded", "contradicted"),
)
def _activation() -> Pipeline:
    status_weight = lookup("status", {"active": 1.0, "superseded": 0.5, "contradicted": 0.3})
    recency = decay(0.05, days_since()).named("recency")
    parts = (
        0.5 * Col("activation").default(0.0).named("activation")
        + 0.2 * recency
        + 0.2 * strength()
        + 0.1 * confidence()
    )
    return (
        retrieve(Lexical((("content", 1.0), ("gist", 1.0), ("entities", 1.0))), depth=Depth(4))
        >> spread(MaxScaled(Col("lexical.score")))
        >> conflict(strength() * confidence() * recency)
        >> score(
            parts
            * status_weight.default(1.0).named("status_penalty")
            * Col("conflict").named("conflict_penalty")
        )
        >> cut()
    )


@BUILT_IN.add(
    "multi_route",
    "Eight routes fused by rank; sessions go before turns, near-duplicates are left out.",
)
def _multi_route() -> Pipeline:
    names = ("user", "asst", "next_user")
    facets = ("facet_personal_info", "facet_preferences", "facet_events")
    routes: tuple[Route, ...] = (
        Vector("content", min_similarity=0.0, name="vec_full"),
        *(Vector(name, min_similarity=0.0, name=f"vec_{name}") for name in names),
        *(Vector(name, min_similarity=0.0, name=name) for name in facets),
        Lexical((("tags", 1.0), ("content", 1.0))),
    )
    fused = Col("rrf_score").named("rrf_score")
    support = Col("turn_support").default(0.0).named("turn_support")
    return (
        retrieve(*routes, depth=Depth(8, min_rows=64), sessions=True)  # max(max(4k, 32) * 2, 40)
        >> score(rrf(*(route.name for route in routes)), into="rrf_score")
        >> session_first()
        >> score(fused + support, into="hybrid_rrf_score")
        >> keep(Depth(4, min_rows=32), by="hybrid_rrf_score")
        >> score(fused + support + 0.1 * memory_score())
        >> score(Col("score"), into="final_score")
        >> mmr()
        >> pack()
        >> neighbors()
    )


_FIELD_WEIGHTS = (("title", 1.0), ("gist", 0.4), ("entities", 0.4), ("tags", 0.2), ("content", 0.1))


def _word_route() -> Route:
    return Lexical(_FIELD_WEIGHTS, operators=True)


def _meaning_route() -> Route:
    return Vector(min_similarity=0.7)


def _title_route() -> Route:
    """The name of a memory without its speaker, who has written half of a conversation."""
    return Trigram(("title",), min_similarity=0.4, entities=True)


def _blend(**weights: float) -> Signal:
    parts = {
        "text_rank": MaxScaled(Col("lexical.score")).default(0.0),
        "semantic": maximum(0.0, Col("vector.score").default(0.0)),
        "name_similarity": Col("trigram.score").default(0.0),
        "identifier": Col("exact.score").default(0.0),
        "in_time": Col("during.score").default(0.0),
    }
    return Sum(tuple(weight * parts[name].named(name) for name, weight in weights.items()))


def _by_vitality(*routes: Route, **weights: float) -> Pipeline:
    return (
        retrieve(*routes, depth=None)
        >> score(vitality_signal(), into="vitality")
        >> score(_blend(**weights) * Col("vitality"))
        >> cut()
    )


@BUILT_IN.add(
    "vitality",
    "Words, meaning and names, times a memory's vitality, which comes from use and links.",
)
def _vitality() -> Pipeline:
    routes = (_word_route(), _meaning_route(), _title_route())
    return _by_vitality(*routes, text_rank=0.3, semantic=0.5, name_similarity=0.2)


@BUILT_IN.add(
    "vitality.identity",
    "People and things by name: misspelt names, too, and exact identifiers.",
)
def _identity() -> Pipeline:
    names = Trigram(min_similarity=0.4, entities=True)
    return _by_vitality(names, ExactMatch(), name_similarity=0.6, identifier=0.4)


@BUILT_IN.add("vitality.episodic", "Events: by meaning alone, whatever the cosine.")
def _episodic() -> Pipeline:
    return _by_vitality(Vector(), semantic=1.0)


@BUILT_IN.add("vitality.activity", "Activities: by words, within the time that the query names.")
def _activity() -> Pipeline:
    return _by_vitality(_word_route(), TimeWindow(), text_rank=0.7, in_time=0.3)


@BUILT_IN.add(
    "vitality.knowledge",
    "Knowledge: words, meaning and names, and the memories linked to those that match.",
)
def _knowledge() -> Pipeline:
    return (
        retrieve(_word_route(), _meaning_route(), _title_route(), depth=None)
        >> score(_blend(text_rank=0.2, semantic=0.6, name_similarity=0.2), into="match")
        >> spread(Col("match"), hops=2, decay=0.6)
        >> score(vitality_signal(), into="vitality")
        >> score(
            maximum(Col("match").default(0.0), Col("activation").default(0.0)) * Col("vitality")
        )
        >> cut()
    )


_CONTEXT_OF_LAYER = {"entity": "identity"}  # other layers are named as their context


def in_context(profile: Profile, context: str | None, layer: str | None) -> Profile:
    """The variant of a built-in profile for a context, by default that of the layer searched.

    Raises:
        InvalidInput: the profile has no context of that name.
    """
    variants = {}
    if context is None and layer is None:
        return profile
    if BUILT_IN.get(profile.name) == profile:
        prefix = f"{profile.name}."
        variants = {name.removeprefix(prefix): name for name in BUILT_IN if name.startswith(prefix)}
    if context is None:
        variant = variants.get(_CONTEXT_OF_LAYER.get(layer or "", layer or ""))
        return BUILT_IN[variant] if variant else profile
    if not isinstance(context, str) or context not in variants:
        raise InvalidInput(
            "context",
            f"{profile.name} has no {shown(context)}",
            f"use one of {', '.join(variants)}" if variants else "leave it out",
        )
    return BUILT_IN[variants[context]]


def load(path: str | Path) -> Profile:
    """The profile in a JSON file (see `Profile.to_json`).

    Raises:
        InvalidProfile: the file cannot be read, or names the path of the node that is wrong.
    """
    return Profile.load(path)


def get(profile: ProfileLike, path: str = "profile") -> Profile:
    """A profile by the name it is built in or registered with, from a .json file or a mapping.

    `path` names it in errors.

    Raises:
        InvalidInput: no profile has that name.
        InvalidProfile: the file or mapping describes none.
    """
    if isinstance(profile, Profile):
        return profile.check()
    if isinstance(profile, Mapping):
        plain = json_value(path, profile, MAX_PROFILE_BYTES, depth=MAX_PROFILE_DEPTH)
        try:
            return Profile.from_dict(plain)
        except InvalidProfile as wrong:
            raise InvalidProfile(f"{path}.{wrong.field}", wrong.problem, wrong.remedy) from None
    name = str(profile) if isinstance(profile, (str, Path)) else ""
    if name.endswith(".json"):
        return load(name)
    named = BUILT_IN.get(name) or (_REGISTERED.get(name) if name else None)
    if named is None:
        raise InvalidInput(
            path,
            f"there is no {shown(profile)}",
            f"use one of {', '.join(sorted(names()))}, or a path ending in .json",
        )
    return named.check()


def get_all(profiles: Sequence[ProfileLike]) -> list[Profile]:
    """Several profiles, each as `get` finds it.

    Raises:
        InvalidInput: they are not a list, or no profile has one of the names.
        InvalidProfile: a file or mapping describes none.
    """
    if isinstance(profiles, (str, Mapping)) or not isinstance(profiles, Sequence):
        raise InvalidInput("profiles", "must be a list of profiles")
    return [get(profile, f"profiles[{at}]") for at, profile in enumerate(profiles)]


def names() -> tuple[str, ...]:
    """The names of all profiles: the built-in ones, then those registered."""
    return (*BUILT_IN, *_REGISTERED)


def register_profile(profile: Profile) -> None:
    """Let a profile be used by its name, as the built-in ones are.

    Raises:
        InvalidInput: a built-in profile has that name.
        InvalidProfile: the profile cannot work as declared.
    """
    if profile.name in BUILT_IN:
        raise InvalidInput("profiles", f"{profile.name!r} is built in", "choose another name")
    _REGISTERED.register(profile.name, profile.check())

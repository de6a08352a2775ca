"""Constants of a profile that a search may replace, as `weights` replaces its weights.

`CONSTANTS` has each by its name, which is that of the option: where it stands in a profile, and
which values it takes. `ConstantOptions` says what each means; the documentation of a search, its
options on the command line and its errors read both.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, fields, replace
from salience.ranking import profiles
from salience.ranking.profile import Profile
from salience.ranking.signals.vitality import BaseLevel
from salience.ranking.stages import AccessLog, Mmr, Pipeline, Spread, Stage
from salience.ranking.weights import walk
from salience.records.validation import finite, integer, native
from salience.retrieval.routes import Route, Trigram, Vector

MAX_HOPS = 10
FORMULAS = ("petrov", "exact")


class ConstantOptions(TypedDict, total=False):
    """The constants of a profile that a search may replace, where its profile has them.

    distance_threshold: the largest cosine distance (1 - cosine) from the query at which a memory
        is found by meaning, 0 to 2.
    name_threshold: the least likeness of a name at which a memory is found by its name, 0 to 1.
    max_hops: how many links activation follows from what the query finds, 0 to 10.
    decay_per_hop: the share of activation that is left after each link, 0 to 1.
    mmr_lambda: the weight of relevance against repetition, 0 to 1; lambda of the MMR formula.
    duplicate_threshold: the likeness to an earlier hit from which a memory is a duplicate, which
        comes last, 0 to 1.
    activation_formula: whether the base level counts all accesses in the log ("exact") or the ten
        most recent and the number of the others ("petrov").
    """

    distance_threshold: float | None
    name_threshold: float | None
    max_hops: int | None
    decay_per_hop: float | None
    mmr_lambda: float | None
    duplicate_threshold: float | None
    activation_formula: Literal["petrov", "exact"] | None


@dataclass(frozen=True)
class Replaceable:
    """A field of the stages or routes of a kind, and the values that it takes.

    `lacks` ends the sentence "<profile> ..." of a profile without it.
    """

    kind: type[Stage | Route]
    field: str
    lacks: str
    maximum: float = 1.0
    whole: bool = False
    value: Callable[[Any], Any] = lambda given: given

    def check(self, name: str, value: Any) -> Any:
        """The value of the field for that of the option.

        Raises:
            InvalidInput: it is out of range.
        """
        if self.whole:
            return self.value(integer(name, value, 0, int(self.maximum)))
        number = native(value)
        if (
            isinstance(number, bool)
            or not isinstance(number, (int, float))
            or not (finite(number) and 0.0 <= number <= self.maximum)
        ):
            remedy = f"give a number between 0 and {self.maximum:g}"
            raise InvalidInput(name, f"is {shown(value)}", remedy)
        return self.value(float(number))

    def is_in(self, profile: Profile) -> bool:
        """True if the profile has the field."""
        parts = (*profile.pipeline.stages, *profile.routes)
        return any(isinstance(part, self.kind) for part in parts)

    def replaced(self, profile: Profile, value: Any) -> Profile:
        """The profile with the value wherever it has the field."""
        stages = tuple(self._in(stage, value) for stage in profile.pipeline.stages)
        return replace(profile, pipeline=Pipeline(stages))

    def _in(self, part: Any, value: Any) -> Any:
        """A stage or route with the value in it, and in the routes among its fields."""
        if isinstance(part, tuple):
            return tuple(self._in(item, value) for item in part)
        if not isinstance(part, Stage | Route):
            return part
        changes = {f.name: self._in(getattr(part, f.name), value) for f in fields(part)}
        return replace(
            part, **changes | ({self.field: value} if isinstance(part, self.kind) else {})
        )


@dataclass(frozen=True)
class AccessTimes:
    """The accesses that a base level counts: all in the log, or those kept with the memory."""

    lacks: str = "has no base level"

    def check(self, name: str, value: Any) -> str:
        """The formula of that name.

        Raises:
            InvalidInput: there is none.
        """
        if value not in FORMULAS:
            raise InvalidInput(name, f"is {shown(value)}", f"use {' or '.join(FORMULAS)}")
        return str(value)

    def is_in(self, profile: Profile) -> bool:
        """True if the profile has a base level."""
        return any(isinstance(node, BaseLevel) for f in profile.signals() for node in walk(f))

    def replaced(self, profile: Profile, value: str) -> Profile:
        """The profile with the log read before its first base level, or not."""
        stages = [stage for stage in profile.pipeline.stages if not isinstance(stage, AccessLog)]
        if value == "exact":
            first = next(at for at, stage in enumerate(stages) if _has_base_level(stage))
            stages.insert(first, AccessLog())
        return replace(profile, pipeline=Pipeline(tuple(stages)))


def _has_base_level(stage: Stage) -> bool:
    return any(isinstance(node, BaseLevel) for f in stage.signals() for node in walk(f))


CONSTANTS: Mapping[str, Replaceable | AccessTimes] = {
    "distance_threshold": Replaceable(
        Vector, "min_similarity", "compares no vectors", 2.0, value=lambda far: 1.0 - far
    ),
    "name_threshold": Replaceable(Trigram, "min_similarity", "compares no names"),
    "max_hops": Replaceable(Spread, "hops", "follows no links", MAX_HOPS, whole=True),
    "decay_per_hop": Replaceable(Spread, "decay", "follows no links"),
    "mmr_lambda": Replaceable(Mmr, "balance", "weighs no repetition"),
    "duplicate_threshold": Replaceable(Mmr, "duplicate", "weighs no repetition"),
    "activation_formula": AccessTimes(),
}
"""Each constant by the name of its option."""


def with_constants(profile: Profile, options: Mapping[str, Any]) -> Profile:
    """The profile with the constants among some options replaced; None leaves one as it is.

    Raises:
        InvalidInput: a value is out of range, or the profile has no such constant.
    """
    for name, constant in CONSTANTS.items():
        value = options.get(name)
        if value is None:
            continue
        if not constant.is_in(profile):
            raise lacking(name, profile, constant.lacks, constant.is_in)
        profile = constant.replaced(profile, constant.check(name, value))
    return profile


def lacking(
    option: str, profile: Profile, lacks: str, is_in: Callable[[Profile], bool]
) -> InvalidInput:
    """The refusal of an option for what a profile lacks; it names the profiles that have it."""
    having = ", ".join(name for name, each in profiles.BUILT_IN.items() if is_in(each))
    return InvalidInput(option, f"{profile.name} {lacks}", f"leave it out, or use {having}")

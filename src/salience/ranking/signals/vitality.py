"""Vitality: the use of a memory (ACT-R's base level) and its place among links.

Sources: Anderson and Lebiere, The Atomic Components of Thought, 1998 (base level); Petrov,
Computationally efficient approximation of the base-level learning equation in ACT-R, ICCM 2006;
the design of the "vitality" profile for the rest.
"""

from __future__ import annotations

import math
from typing import Any, Final, Literal

import numpy as np

from salience.arithmetic import expm1, log, power, row_sums
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass
from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.expressions import Col, NamedExpression, Signal, first_of
from salience.ranking.functions import Apply, at_most, exp, lookup, maximum, minimum
from salience.records.events import DAY_SECONDS
from salience.retrieval.candidates import Candidates, Floats

MIN_AGE_SECONDS = 0.05  # of an access: the time of one step of thought
METABOLIC_RATES = {"entity": 0.1, "knowledge": 1.0, "episodic": 2.0, "activity": 3.0}
BOOST_HALF_LIFE_DAYS = 7.0
REVIVAL_DAYS = 14.0
FLOOR = 0.5  # of a memory that holds the link graph together

DORMANT: Final = "dormant"
"""The zone of what pruning would move to the archive."""
Zone = Literal["active", "stale", "fading", "dormant"]
ZONES: tuple[tuple[float, Zone], ...] = ((0.6, "active"), (0.3, "stale"), (0.1, "fading"))


@dataclass(frozen=True)
class BaseLevel(Signal):
    """B = ln( sum_{i<=k} t_i^-d + (n-k) * (t_n^(1-d) - t_k^(1-d)) / ((1-d) * (t_n - t_k)) ).

    t in days: t_1..t_k the ages of the most recent accesses, t_n that of the first, the writing; n
    the number of all of them; d > 0. At d = 1 the quotient is ln(t_n / t_k) / (t_n - t_k),
    where t_n = t_k it is t_n^-d. Any finite number; falls as time goes by. An access is at least
    0.05 seconds old, and one in the future counts as now.

    Source: Petrov, 2006, equation 5 (hybrid approximation); exact for n <= k.
    """

    d: Signal

    def columns(self) -> frozenset[str]:
        counts = {"access_count", "write_count"}
        return frozenset({"accesses", "last_accessed", "created_at", *counts})

    def compute(self, ev: Evaluation, d: Values) -> Floats:
        table = ev.candidates
        d = ev.spread(d)
        first = _days(ev, table.floats("created_at"))
        oldest = _days(ev, self._last(ev))
        summed = power(oldest, -d)
        count = self._count(ev)
        counted = np.ones(len(table))
        times = _times(ev)[:, 1:]  # only few were accessed more than once
        more = np.flatnonzero(~np.isnan(times[:, 0])) if times.shape[1] else np.empty(0, np.intp)
        if len(more):
            ages = _days(ev, times[more])
            summed[more] += row_sums(np.nan_to_num(power(ages, -d[more, np.newaxis])))
            counted[more] += np.count_nonzero(~np.isnan(ages), axis=1)
            oldest[more] = np.fmax(oldest[more], np.nanmax(ages, axis=1))
        more = np.flatnonzero(count > counted)
        if len(more):
            between = _mean_power(oldest[more], first[more], d[more])
            summed[more] += (count[more] - counted[more]) * between
        return log(summed)

    @staticmethod
    def _count(ev: Evaluation) -> Floats:
        """The number of accesses, shape (candidates,): the writing, uses and edits."""
        uses, edits = (ev.candidates.floats(name) for name in ("access_count", "write_count"))
        return np.nan_to_num(uses) + np.nan_to_num(edits) + 1.0

    @staticmethod
    def _last(ev: Evaluation) -> Floats:
        """The time of the last access, or else of writing, in seconds, shape (candidates,)."""
        table = ev.candidates
        times = _times(ev)[:, 0]
        for name in ("last_accessed", "created_at"):
            times = np.where(np.isnan(times), table.floats(name), times)
        return times

    def how(self) -> str:
        return "base level"

    def note(self, ev: Evaluation, row: int) -> str:
        count = int(self._count(ev)[row])
        first, last = _days(ev, ev.candidates.floats("created_at")), _days(ev, self._last(ev))
        return f"{count} accesses, the first {first[row]:.3g} and the last {last[row]:.3g} days ago"


def _times(ev: Evaluation) -> Floats:
    """Times of the most recent accesses, newest first: (candidates, at least 1), NaN-filled."""
    times = ev.candidates.floats("accesses").reshape(len(ev.candidates), -1)
    return times if times.shape[1] else np.full((len(ev.candidates), 1), np.nan)


def _days(ev: Evaluation, times: Floats) -> Floats:
    return np.maximum(ev.query.now - times, MIN_AGE_SECONDS) / DAY


def _mean_power(low: Floats, high: Floats, d: Floats) -> Floats:
    """The mean of t^-d over t from `low` to `high`, without cancellation where they are close."""
    wide = log(high / low)
    is_log = np.abs(1.0 - d) < 1e-12
    top = np.where(is_log, wide, expm1((1.0 - d) * wide) / np.where(is_log, 1.0, 1.0 - d))
    is_point = wide == 0.0
    share = np.where(is_point, 1.0, top / np.where(is_point, 1.0, expm1(wide)))
    return power(low, -d) * share


def effective_decay(d: float = 0.5) -> NamedExpression:
    """d * rate / s: the decay of a memory, by its layer and by the number of links to it.

    rate is 0.1 for entities, 1 for knowledge (and where no layer was given), 2 for episodes and 3
    for activity; s = 1 + 0.1 * min(in_degree, 10), in [1, 2]. For d = 0.5 it is in [0.025, 1.5].
    """
    rate = lookup("layer", METABOLIC_RATES).default(METABOLIC_RATES["knowledge"])
    return (d * rate.named("metabolic rate") / structural_boost()).named("decay")


def structural_boost() -> NamedExpression:
    """s = 1 + 0.1 * min(in_degree, 10), in [1, 2]: linked memories fade more slowly."""
    return (1.0 + 0.1 * minimum(Col("in_degree").default(0.0), 10.0)).named("structural boost")


def spreading_boost() -> NamedExpression:
    """boost * 2^(-days since / 7), from the use of linked memories, in [0, 1]; 0 without one."""
    fading = decay(log(2.0) / BOOST_HALF_LIFE_DAYS, days_since("boosted_at"))
    return (Col("boost") * fading).default(0.0).named("boost")


def revival() -> NamedExpression:
    """exp(-0.2 * days since the newest incoming link) for 14 days, then 0; in [0, 1]."""
    age = days_since("newest_link")
    return (decay(0.2, age) * at_most(age, REVIVAL_DAYS)).default(0.0).named("revival")


def vitality(tau: float = 0.0, scale: float = 1.0, d: float = 0.5) -> NamedExpression:
    """max(alive, 0.5 if it is a cut vertex), in (0, 1); see `alive`."""
    floor = FLOOR * Col("is_cut_vertex").default(0.0)
    return maximum(alive(tau, scale, d), floor.named("bridge floor")).named("vitality")


def alive(tau: float = 0.0, scale: float = 1.0, d: float = 0.5) -> Signal:
    """sigmoid((B - tau) / scale + boost + revival), in (0, 1).

    With tau = 0 and scale = 1 a memory that was used once is below 0.5 after a day, whatever its
    layer.
    """
    level: Signal = BaseLevel(effective_decay(d)).named("base level")
    if (tau, scale) != (0.0, 1.0):
        level = (level - tau) / scale
    return Apply("sigmoid", (level + spreading_boost() + revival(),))


def zone(value: Any) -> Zone | None:
    """The zone of a vitality: active >= 0.6, stale >= 0.3, fading >= 0.1, dormant below."""
    if value is None or not math.isfinite(value):
        return None
    return next((name for least, name in ZONES if value >= least), DORMANT)


def zones_by(values: Floats) -> list[Zone]:
    """The zone of each vitality; all are finite."""
    least, names = zip(*reversed(ZONES), strict=True)
    zones = (DORMANT, *names)
    return [zones[at] for at in np.searchsorted(least, values, "right").tolist()]


def zone_counts(values: Floats) -> dict[Zone, int]:
    """The number of vitalities in each zone that has some; what is undefined is dormant."""
    counts = dict[Zone, int]()
    counted = 0
    for least, name in (*ZONES, (-np.inf, DORMANT)):
        reached = len(values) if name == DORMANT else int(np.count_nonzero(values >= least))
        counts[name] = reached - counted
        counted = reached
    return {name: count for name, count in counts.items() if count}


def since_arrival(table: Candidates) -> Candidates:
    """The memories as if each had been written when it came into the store, if not later.

    Reads `created_at`, `added_at` and `accesses`, and replaces the first and the last of them: the
    writing counts as the first access, and none was before. So the age of an old memory that was
    imported counts from the import. Rankings go by the memory's own time, upkeep by this.
    """
    start = np.fmax(table.floats("created_at"), table.floats("added_at"))
    accesses = table.floats("accesses").reshape(len(table), -1)
    return table.with_columns(created_at=start, accesses=np.maximum(accesses, start[:, np.newaxis]))


# Recency: ages, and exponential forgetting

DAY = DAY_SECONDS
HOUR = 3_600.0
HALF_LIFE_HOURS = {"short": 6.0, "medium": 7 * 24.0, "long": 90 * 24.0}
_OUTDATED = {"outdated": 2.0}


@dataclass(frozen=True)
class Age(Signal):
    """age = max(0, now - t) in `unit`s, t the first of `of` that is there; NaN where none is.

    A time in the future counts as now.
    """

    of: tuple[str, ...] = ("last_accessed", "created_at")
    unit: Literal["days", "hours"] = "days"

    def __post_init__(self) -> None:
        if not self.of or not all(isinstance(name, str) for name in self.of):
            raise InvalidInput("of", f"is {shown(self.of)}", "name one or more times of a memory")

    def columns(self) -> frozenset[str]:
        return frozenset(self.of)

    def compute(self, ev: Evaluation) -> Values:
        times, *others = (Col(name).compute(ev) for name in self.of)
        for other in others:
            times = np.where(np.isnan(times), other, times)
        return np.maximum(0.0, (ev.query.now - times) / (DAY if self.unit == "days" else HOUR))

    def __str__(self) -> str:
        return f"{self.unit}_since({', '.join(self.of)})"


def days_since(*of: str) -> Age:
    """Days since the first of the times that is there (default: last access, else creation)."""
    return Age(of) if of else Age()


def hours_since(*of: str) -> Age:
    """Hours since the first of the times that is there (default: last access, else creation)."""
    return Age(of, "hours") if of else Age(unit="hours")


def decay(rate: Signal | float, age: Signal) -> Apply:
    """exp(-rate * age): exponential forgetting, 1 at age 0."""
    return exp(-1.0 * rate * age if isinstance(rate, Signal) else -rate * age)


def hourly_rate() -> NamedExpression:
    """rate = decay_rate, else ln 2 / half-life of its tier; twice that once judged outdated.

    Half-lives are 6 hours (short), 7 days (medium) and 90 days (long, and for a memory without a
    tier), so rates are 0.115525, 0.00412588 and 0.000320901 per hour; at least 0.

    Source: the design of the "six_factor" profile, recency. It does not say which tier a memory
    without one has; of the three, the longest finds the most in conversations of months.
    """
    rates = {tier: log(2.0) / hours for tier, hours in HALF_LIFE_HOURS.items()}
    own = first_of(Col("decay_rate"), lookup("tier", rates).default(rates["long"]))
    outdated = maximum(1.0 + Col("outdated").default(0.0), lookup("review", _OUTDATED).default(1.0))
    return (own * outdated).named("rate")

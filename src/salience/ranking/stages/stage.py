"""Stages and pipelines: tables of candidates go in, tables of candidates come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from salience.errors import InvalidInput, InvalidProfile, shown
from salience.language.features import FEATURES
from salience.lazily import dataclass, fields
from salience.ranking.expressions import Signal, snake_case
from salience.ranking.rejection import DroppedRow, WhyNot
from salience.ranking.serialization import unknown_column
from salience.records.fields import FIELDS, GRAPH
from salience.retrieval.candidates import Candidates
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query
from salience.retrieval.routes import Route

STORED = frozenset(
    {
        *FIELDS,
        *FEATURES,
        *(f"previous.{name}" for name in FEATURES),
        "attribute_key",
        "position",
        "namespace",
        *GRAPH,
    }
    - {"metadata"}
)


def is_stored(column: str) -> bool:
    """True if a store has the column of that name."""
    return column in STORED or column.startswith("metadata.")


@dataclass(frozen=True)
class Depth:
    """max(per_k * k, min_rows, min(share * memories, share_rows)): a number of rows.

    It grows with the number of hits wanted, k, and with the `memories` of the namespaces searched,
    of which it takes a `share` in [0, 1], but at most `share_rows` for it.
    """

    per_k: int = 0
    min_rows: int = 0
    share: float = 0.0
    share_rows: int = 0

    def __post_init__(self) -> None:
        for name in ("per_k", "min_rows", "share_rows"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidInput(f"depth.{name}", f"is {shown(value)}", "give a whole number")
        share = self.share
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            problem = f"is {shown(share)}"
            raise InvalidInput("depth.share", problem, "give a number between 0 and 1")
        if self.per_k == self.min_rows == 0:
            raise InvalidInput("depth", "is never more than 0 rows")

    def rows(self, query: Query) -> int:
        """The number of rows for a query."""
        by_size = min(int(self.share * query.memories), self.share_rows)
        return max(self.per_k * query.k, self.min_rows, by_size)

    def __str__(self) -> str:
        terms = [f"{self.per_k}k"] if self.per_k else []
        terms += [str(self.min_rows)] if self.min_rows else []
        if self.share and self.share_rows:
            terms.append(f"min({self.share:g} memories, {self.share_rows})")
        return terms[0] if len(terms) == 1 else f"max({', '.join(terms)})"


def depth_in_rows(depth: int | Depth | None, query: Query) -> int | None:
    """A depth as a number of rows for a query; None for all rows."""
    return depth.rows(query) if isinstance(depth, Depth) else depth


@dataclass(frozen=True)
class Stage:
    """A step of a pipeline.

    A stage that needs nothing but the table overrides `apply`; one that asks the store overrides
    `plan`. A stage says which columns it `reads` and `writes`: pipelines are checked before they
    run.
    """

    def label(self) -> str:
        """The name of the stage in formulas and explanations: `session_first` for SessionFirst."""
        return snake_case(type(self).__name__)

    def reads(self) -> frozenset[str]:
        """The columns this stage needs."""
        return frozenset()

    def writes(self) -> frozenset[str]:
        """The columns this stage adds, besides stored ones.

        A stage that leaves at most the hits wanted writes "pack.tokens".
        """
        return frozenset()

    def formulas(self) -> Mapping[str, Signal]:
        """The formulas of the columns that hold only a formula's values, by column."""
        return {}

    def reasons(self) -> frozenset[str]:
        """The columns that tell a reader why: those with a dot in the name."""
        return frozenset(name for name in self.writes() if "." in name)

    def signals(self) -> Iterator[Signal]:
        """The signals among the fields of this stage."""
        values = (getattr(self, field.name) for field in fields(self))
        yield from (value for value in values if isinstance(value, Signal))

    def searched_routes(self) -> tuple[Route, ...]:
        """The routes that this stage takes candidates from."""
        return ()

    def without_depth(self) -> Stage:
        """The same stage, with every row that its routes have evidence for as a candidate."""
        return self

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        """The table after this stage, without asking the store."""
        raise TypeError(f"{type(self).__name__} has to override apply or plan")

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        """The table after this stage; `wanted` are columns that later stages will read."""
        return self.apply(query, candidates)
        yield []  # makes this a generator

    def decides_by(self) -> str | None:
        """The column by which this stage decides what goes on; None if it decides otherwise."""
        return None

    def reason(self, dropped: DroppedRow) -> WhyNot:
        """The reason why this stage dropped a row, without asking the store."""
        return WhyNot(self.label(), f"{self.label()} left it out")

    def why_not(self, dropped: DroppedRow) -> Plan[WhyNot]:
        """The reason why this stage dropped a row."""
        return self.reason(dropped)
        yield []  # makes this a generator

    def __rshift__(self, other: Stage | Pipeline) -> Pipeline:
        return Pipeline((self,)) >> other


@dataclass(frozen=True)
class Pipeline:
    """Stages in order; `a >> b` appends."""

    stages: tuple[Stage, ...]

    def __rshift__(self, other: Stage | Pipeline) -> Pipeline:
        return Pipeline(self.stages + (other.stages if isinstance(other, Pipeline) else (other,)))

    @cached_property
    def wanted(self) -> tuple[frozenset[str], ...]:
        """The columns, for each stage, that later stages read before any of them writes them."""
        wanted: list[frozenset[str]] = []
        needed: frozenset[str] = frozenset()
        for stage in reversed(self.stages):
            wanted.append(needed)
            needed = (needed - stage.writes()) | stage.reads()
        return tuple(reversed(wanted))

    def check(self) -> None:
        """Refuse a pipeline with a stage that reads what nothing before it provides."""
        self._checked  # noqa: B018

    @cached_property
    def _checked(self) -> None:
        if not self.stages or not self.stages[0].searched_routes():
            raise InvalidProfile("stages[0]", "retrieves nothing", "begin with retrieve(...)")
        if not any("pack.tokens" in stage.writes() for stage in self.stages):
            last = f"stages[{len(self.stages) - 1}]"
            raise InvalidProfile(last, "is not a cut", "end with cut() or pack()")
        if not any("score" in stage.formulas() for stage in self.stages):
            raise InvalidProfile("stages", "have no score", "add score(...)")
        written: set[str] = set()
        routes: set[str] = set()
        for place, stage in enumerate(self.stages):
            names = {route.name for route in stage.searched_routes()}
            if repeated := sorted(routes & names):
                raise InvalidProfile(
                    f"stages[{place}].routes",
                    f"{shown(repeated[0])} occurs twice",
                    "rename one of the two",
                )
            routes |= names
            for name in sorted(stage.reads() - written):
                if not is_stored(name):
                    raise unknown_column(f"stages[{place}]", stage, name, sorted(written | STORED))
            written |= stage.writes()

    def plan(self, query: Query, read: frozenset[str] = frozenset()) -> Plan[list[Candidates]]:
        """Run the stages; the table after each. The first also gets the columns to `read`."""
        tables: list[Candidates] = []
        table = Candidates.empty()
        for stage, wanted in zip(self.stages, self.wanted, strict=True):
            table = yield from stage.plan(query, table, wanted if tables else wanted | read)
            tables.append(table)
        return tables

"""Compare: one query under several profiles, rank beside rank, and which parts moved a memory.

    lift(part) = (contribution - mean contribution) / (highest score - lowest score)

The mean, and the highest and lowest score, are those of the memories compared. A memory's lifts add
up to the distance of its score from the mean, on a scale that all profiles share. So the part whose
lift differs most between two profiles moved the memory most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from salience.arithmetic import rank_key
from salience.display.html import HtmlResult, header, memory_cell, section, table, text
from salience.display.result import Result
from salience.errors import InvalidInput
from salience.language.spelling import taken_notes
from salience.language.tokens import shorten
from salience.lazily import dataclass, field, replace
from salience.ranking.profile import Profile
from salience.ranking.run import RankedRun
from salience.records.record import MemoryRecord
from salience.retrieval.operations import ReadRecords
from salience.retrieval.plan import Plan, ask
from salience.search.request import SearchRequest
from salience.search.search import rank

MAX_CAUSES = 3  # of a move


@dataclass(frozen=True, repr=False)
class Standing(Result):
    """The place of a memory under one profile.

    `rank` is its place among the hits; for another memory, among all that were scored. `left` is
    the stage that dropped it (None for a hit, "retrieve" for a memory that was no candidate).
    """

    rank: int | None
    score: float | None
    left: str | None
    lifts: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class Move(Result):
    """The move of a memory from the first profile to another.

    `by` is the number of places it rises (negative: falls), None if it has no place in one of the
    two; `causes` are the parts whose lift changed most in the direction of the move, with the
    change, the largest first.
    """

    _readers: ClassVar[Mapping[str, Any]] = {
        "causes": lambda pairs: tuple(map(itemgetter("part", "shift"), pairs))
    }

    by: int | None
    causes: tuple[tuple[str, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {"by": self.by, "causes": [{"part": p, "shift": s} for p, s in self.causes]}


@dataclass(frozen=True, repr=False)
class Compared(Result):
    """A memory that a profile returns: a standing for each, a move for each but the first."""

    _shown = ("id", "standings", "moves")

    record: MemoryRecord
    standings: tuple[Standing, ...]
    moves: tuple[Move, ...]

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.record.id

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "id": self.id,
            "content": self.record.content,
            "record": self.record.to_dict(),
            "standings": [standing.to_dict() for standing in self.standings],
            "moves": [move.to_dict() for move in self.moves],
        }


@dataclass(frozen=True, repr=False)
class Comparison(HtmlResult):
    """One query under several profiles; the memories in the order of the first profile."""

    _shown = ("query", "profiles", "limit", "memories", "degraded")

    query: str
    profiles: tuple[str, ...]
    limit: int
    memories: tuple[Compared, ...]
    degraded: tuple[str, ...] = ()
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def shared(self, profile: int = 1) -> int:
        """The number of hits that a profile, by its place, has in common with the first."""
        return sum(m.standings[0].left is m.standings[profile].left is None for m in self.memories)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "query": self.query,
            "profiles": list(self.profiles),
            "limit": self.limit,
            "shared": [self.shared(at) for at in range(1, len(self.profiles))],
            "memories": [memory.to_dict() for memory in self.memories],
            "degraded": list(self.degraded),
            "taken": {word: list(corrections) for word, corrections in self.taken.items()},
        }

    def lines(self) -> Iterator[str]:
        """The comparison as text: a line for each memory, with the parts that moved it."""
        yield f'"{self.query}", the first {self.limit} of each'
        yield "; ".join(f"{name} shares {self.shared(at)} hits" for at, name in self._others())
        head = ("memory", *self.profiles, "because", "")
        rows = [head, *(self._row(memory) for memory in self.memories)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  " + "  ".join(cells).rstrip()
        if any(standing.left for memory in self.memories for standing in memory.standings):
            yield "[n]: not returned, the place among all that were scored; –: no score"
        yield from (f"without {lack}" for lack in self.degraded)
        yield from taken_notes(self.taken)

    def _row(self, memory: Compared) -> tuple[str, ...]:
        places = [_place(memory.standings[0])]
        for standing, move in zip(memory.standings[1:], memory.moves, strict=True):
            places.append(_place(standing) + (f" ({move.by:+d})" if move.by else ""))
        causes = "; ".join(self._causes(memory))
        return (memory.id, *places, causes, shorten(memory.record.content, 50))

    def _others(self) -> Iterator[tuple[int, str]]:
        """The profiles that are held against the first, by their places."""
        return enumerate(self.profiles[1:], 1)

    def _causes(self, memory: Compared) -> Iterator[str]:
        """The parts that moved a memory under each profile that moved it."""
        for name, move in zip(self.profiles[1:], memory.moves, strict=True):
            parts = ", ".join(f"{part} {shift:+.2f}" for part, shift in move.causes)
            if parts:
                yield parts if len(self.profiles) == 2 else f"{name}: {parts}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _title(self) -> str:
        return self.query

    def _sections(self) -> Iterator[str]:
        shared = [f"{name} shares {self.shared(at)}" for at, name in self._others()]
        notes = [*(f"without {lack}" for lack in self.degraded), *taken_notes(self.taken)]
        yield header(self.query, (f"the first {self.limit} of each", *shared, *notes))
        head = ("memory", *self.profiles, "moved by")
        places = range(1, 1 + len(self.profiles))
        yield section("", table(head, map(self._cells, self.memories), places, stacked=True))

    def _cells(self, memory: Compared) -> tuple[str, ...]:
        """The cells of a memory's row in HTML."""
        ranks = (
            _place_html(standing, move)
            for standing, move in zip(memory.standings, (None, *memory.moves), strict=True)
        )
        return (
            memory_cell(memory.record),
            *ranks,
            text("; ".join(self._causes(memory))),
        )


def _place(standing: Standing) -> str:
    if standing.left is None:
        return str(standing.rank)
    return "–" if standing.rank is None else f"[{standing.rank}]"


def _place_html(standing: Standing, move: Move | None) -> str:
    """The place of a memory under a profile, and by how much it rose or fell."""
    place = _place(standing) if standing.left is None else f'<i class="soft">{_place(standing)}</i>'
    if move is None or not move.by:
        return place
    kind, arrow = ("up", "↑") if move.by > 0 else ("down", "↓")
    return f'{place} <span class="{kind}">{arrow}{abs(move.by)}</span>'


def compare(request: SearchRequest, profiles: Sequence[Profile]) -> Plan[Comparison]:
    """The plan of ranking for one request under several profiles; nothing is touched.

    Raises:
        InvalidInput: fewer than two profiles.
    """
    if len(profiles) < 2:
        raise InvalidInput("profiles", f"are {len(profiles)}", "give at least two to compare")
    runs: list[RankedRun] = []
    degraded: dict[str, None] = {}
    taken: dict[str, tuple[str, ...]] = {}
    for profile in profiles:
        run, lacks, _ = yield from rank(replace(request, profile=profile))
        runs.append(run)
        degraded.update(dict.fromkeys(lacks))
        taken.update(run.query.reading.taken)
    rows = list(dict.fromkeys(row for run in runs for row in run.final.rows.tolist()))
    records = yield from ask(ReadRecords(np.array(rows, dtype=np.int64), sound=True))
    columns = [_standings(run, rows) for run in runs]
    memories = [
        Compared(
            record.in_effect(),
            standings,
            tuple(_move(standings[0], other) for other in standings[1:]),
        )
        for record, standings in zip(records, zip(*columns, strict=True), strict=True)
        if record is not None
    ]
    names = _distinct([profile.name for profile in profiles])
    return Comparison(request.text, names, request.limit, tuple(memories), tuple(degraded), taken)


def _standings(run: RankedRun, rows: Sequence[int]) -> list[Standing]:
    """The standing of each row in a run."""
    stages = run.profile.pipeline.stages
    trees = [run.tree(row) for row in rows]
    scores = [tree.value for tree in trees if tree is not None]
    spread = (max(scores) - min(scores) if scores else 0.0) or 1.0
    contributions = [None if tree is None else tree.contributions() for tree in trees]
    parts = list(dict.fromkeys(part for values in contributions if values for part in values))
    means = {
        part: sum(values.get(part, 0.0) for values in contributions if values) / len(scores)
        for part in parts
    }
    standings = []
    for row, tree, values in zip(rows, trees, contributions, strict=True):
        place, last_seen = run.final.position(row), run.last_seen(row)
        exit_stage = None
        if place is None:
            exit_stage = stages[0 if last_seen is None else last_seen + 1].label()
        standings.append(
            Standing(
                run.rank(row) if place is None else place + 1,
                None if tree is None else tree.value,
                exit_stage,
                {n: (values.get(n, 0.0) - means[n]) / spread for n in parts} if values else {},
            )
        )
    return standings


def _move(first: Standing, other: Standing) -> Move:
    """The move of a memory between two profiles, and the parts that moved it that way."""
    by = None if first.rank is None or other.rank is None else first.rank - other.rank
    names = dict.fromkeys((*other.lifts, *first.lifts))
    shifts = {n: other.lifts.get(n, 0.0) - first.lifts.get(n, 0.0) for n in names}
    smallest = 0.01 * max((abs(shift) for shift in shifts.values()), default=0.0)
    causes = [(n, s) for n, s in shifts.items() if by and s * by > 0.0 and abs(s) >= smallest]
    return Move(by, tuple(sorted(causes, key=lambda c: (-rank_key(abs(c[1])), c[0]))[:MAX_CAUSES]))


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, numbered from the second time that one occurs."""
    counts = (names[:place].count(name) for place, name in enumerate(names))
    return tuple(
        f"{name} ({count + 1})" if count else name
        for name, count in zip(names, counts, strict=True)
    )

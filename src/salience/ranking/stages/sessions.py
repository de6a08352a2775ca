"""Sessions: whole sessions before their turns, and the turns right before and after a hit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from salience.lazily import dataclass, replace
from salience.ranking.rejection import DroppedRow, WhyNot
from salience.ranking.stages.stage import Stage, is_stored
from salience.records.fields import SESSION_CHUNK, TURN_CHUNK
from salience.records.filters import Compare, all_of
from salience.retrieval.candidates import Candidates, Column, Floats
from salience.retrieval.operations import Collect, ReadTexts, SessionNeighbors
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll

_REASONS = tuple(
    f"turn_support.{reason}"
    for reason in ("supporting_turn_count", "best_turn", "best_turn_routes")
)
_ALL = "all sessions"  # a name that no route of a profile has


@dataclass(frozen=True)
class SessionFirst(Stage):
    """turn_support = min(max_support, share * best `of` of the session's turns), from 0 on.

    If a route found memories of the kind `session`, or turns (kind `turn`) of such a session, only
    the sessions go on, each supported by its retrieved turns. Otherwise all go on, unsupported. A
    session found only through its turns has an `of` of 0.

    Writes `session_rrf_score`, a session's own `of`, and `turn_support`, both NaN where there is
    none. The reasons of `turn_support` are `.supporting_turn_count`, `.best_turn` (its id, the
    smallest of equally good ones) and `.best_turn_routes`, the best turn's ranks.

    Source: the design of the "multi_route" profile, session-first hybrid scoring.
    """

    of: str = "rrf_score"
    share: float = 0.6
    max_support: float = 0.12
    session: str = SESSION_CHUNK
    turn: str = TURN_CHUNK

    def reads(self) -> frozenset[str]:
        return frozenset({self.of, "id", "kind", "session_id"})

    def writes(self) -> frozenset[str]:
        return frozenset({"session_rrf_score", "turn_support", *_REASONS})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        kinds = candidates["kind"].tolist()
        if self.session not in kinds and self.turn not in kinds:
            return self._supported(candidates, [], {})
        candidates = yield from self._with_sessions_of_turns(query, candidates)
        turns: dict[Any, list[int]] = {}
        sessions: list[int] = []
        columns = zip(candidates["kind"].tolist(), candidates.sessions(), strict=True)
        for place, (kind, session) in enumerate(columns):
            if kind == self.session:
                sessions.append(place)
            elif kind == self.turn and session is not None:
                turns.setdefault(session, []).append(place)
        return self._supported(candidates, sessions, turns)

    def _with_sessions_of_turns(self, query: Query, candidates: Candidates) -> Plan[Candidates]:
        """The table with the sessions of its turns that no route found."""
        kinds, session_of = candidates["kind"], candidates.sessions()
        turns = np.flatnonzero(kinds == self.turn).tolist()
        whole = np.flatnonzero(kinds == self.session).tolist()
        missing = {session_of[place] for place in turns} - {session_of[place] for place in whole}
        missing.discard(None)
        if not missing:
            return candidates
        names = {candidates["session_id"][place] for place in turns if session_of[place] in missing}
        of_turns = Compare("session_id", "in", tuple(sorted(names)))
        where = all_of(query.where, of_turns, Compare("kind", "eq", self.session))
        stored = tuple(sorted(name for name in candidates.columns if is_stored(name)))
        of_all = Collect(replace(query, where=where), (MatchAll(name=_ALL),), None, stored)
        sessions: Candidates = yield from ask(of_all)
        of_turn = np.array([session in missing for session in sessions.sessions()], dtype=bool)
        joined = candidates.joined(sessions.take(of_turn))
        return joined.with_columns(**{self.of: np.nan_to_num(joined.floats(self.of))})

    def _supported(
        self, candidates: Candidates, whole: list[int], turns: Mapping[Any, list[int]]
    ) -> Candidates:
        """The rows at the places `whole`, supported by `turns` (places by session); else all."""
        passed = candidates.take(np.array(whole)) if whole else candidates
        columns: dict[str, Column] = {
            name: np.full(len(passed), None, dtype=object) for name in _REASONS
        }
        scores = passed.floats(self.of) if whole else np.full(len(passed), np.nan)
        support = np.full(len(passed), np.nan)
        session_of = passed.sessions() if whole else []
        for at, session in enumerate(session_of):
            if session in turns:
                best = _best(turns[session], candidates.floats(self.of), candidates["id"])
                support[at] = min(self.max_support, self.share * float(candidates[self.of][best]))
                columns["turn_support.supporting_turn_count"][at] = len(turns[session])
                columns["turn_support.best_turn"][at] = candidates["id"][best]
                columns["turn_support.best_turn_routes"][at] = _routes(candidates, best)
        return passed.with_columns(session_rrf_score=scores, turn_support=support, **columns)

    def reason(self, dropped: DroppedRow) -> WhyNot:
        place = dropped.before.position(dropped.row)
        kind, session = (dropped.before[name][place] for name in ("kind", "session_id"))
        reason = f"whole sessions were recalled, and it is a {kind}"
        return WhyNot(self.label(), f"{reason} of {session}" if session else reason)


def _best(places: list[int], values: Floats, ids: Column) -> int:
    return min(places, key=lambda place: (-values[place], ids[place]))


def _routes(candidates: Candidates, place: int) -> dict[str, int]:
    """The rank of a candidate on each route that found it."""
    ranks = {
        name.removesuffix(".rank"): column[place]
        for name, column in candidates.columns.items()
        if name.endswith(".rank")
    }
    return {name: int(rank) for name, rank in sorted(ranks.items()) if not np.isnan(rank)}


@dataclass(frozen=True)
class Neighbors(Stage):
    """The memory right before and right after each hit in its session, of its kind, unscored.

    Neighbors are not hits and do not count towards a limit. Their tokens are charged to what the
    hits left of the token budget, best hit first; one that does not fit is left out. None appears
    twice, nor if it is a hit itself. A hit of the kind `whole` is a whole session and gets none.

    Writes `neighbors.before`, `neighbors.after` (rows, NaN for none) and `neighbors.tokens`
    (NaN without a budget).

    Source: the design of the "multi_route" profile, neighbor expansion.
    """

    whole: str = SESSION_CHUNK

    def reads(self) -> frozenset[str]:
        return frozenset({"kind", "pack.tokens"})

    def writes(self) -> frozenset[str]:
        return frozenset({"neighbors.before", "neighbors.after", "neighbors.tokens"})

    def reasons(self) -> frozenset[str]:
        return frozenset()

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        turns = np.flatnonzero(candidates["kind"] != self.whole)
        sides = np.full((2, len(candidates)), -1, dtype=np.int64)
        costs: dict[int, int] = {}
        if len(turns):
            sides[:, turns] = yield from ask(SessionNeighbors(candidates.rows[turns], query))
            if query.token_budget is not None:
                rows = np.unique(sides[sides >= 0])
                texts = yield from ask(ReadTexts(rows))
                counts = (query.count_tokens(text or "") for text in texts)
                costs = dict(zip(rows.tolist(), counts, strict=True))
        return self._within_budget(query, candidates, sides, costs)

    def _within_budget(
        self, query: Query, candidates: Candidates, sides: Any, costs: dict[int, int]
    ) -> Candidates:
        """The table with the neighbors that are not hits and whose tokens fit the budget."""
        budget = np.inf
        if query.token_budget is not None:
            budget = query.token_budget - float(candidates.floats("pack.tokens").sum())
        returned = set(candidates.rows.tolist())
        neighbors = np.full((2, len(candidates)), np.nan)
        tokens = np.zeros(len(candidates))
        for at in range(len(candidates)):
            for side in (0, 1):
                row = int(sides[side, at])
                cost = costs.get(row, 0)
                if row >= 0 and row not in returned and cost <= budget:
                    returned.add(row)
                    neighbors[side, at] = row
                    tokens[at] += cost
                    budget -= cost
        return candidates.with_columns(
            **{
                "neighbors.before": neighbors[0],
                "neighbors.after": neighbors[1],
                "neighbors.tokens": tokens if np.isfinite(budget) else np.full(len(tokens), np.nan),
            }
        )


def session_first(of: str = "rrf_score") -> SessionFirst:
    """Let sessions go before their turns, which support them."""
    return SessionFirst(of)


def neighbors() -> Neighbors:
    """Add what was said right before and after each hit."""
    return Neighbors()

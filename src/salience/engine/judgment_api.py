"""Methods about the life of a memory: its links, uses, judgements, history, and the archive."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from salience.api.parameters import Bounds
from salience.engine.core import PlanRunner
from salience.engine.options import Session, Version
from salience.errors import InvalidInput, shown
from salience.lifecycle import pruning, undoing
from salience.lifecycle.spreading_boost import spread_boost
from salience.lifecycle.undoing import ActorUndone, Undone
from salience.lifecycle.verify import (
    EVENTS,
    MAX_EVENTS,
    EventPage,
    History,
    event_request,
    history,
    read_events,
)
from salience.records.events import EVENT_OF_USE, JUDGEMENTS, Event
from salience.records.field_filters import ID, IDS, TEXT
from salience.records.record import LINK_TYPES, Link, MemoryRecord
from salience.records.validation import boolean, number, text, texts
from salience.retrieval.operations import LinksOf, Order
from salience.retrieval.plan import ask
from salience.search.listing import order_of
from salience.search.recording import log_upkeep
from salience.search.request import SHARE, Id, Moment, Present
from salience.write import judgments, update
from salience.write.items import MAX_NAME_CHARACTERS, parse_link
from salience.write.judgments import MAX_REASON_CHARACTERS
from salience.write.link_targets import pending_links

MAX_WAIT_SECONDS = 30.0
"""The longest time that `events` waits, half of what a server has for an answer."""
POLL_SECONDS = 0.25
Ids = Annotated[str | Sequence[str], IDS]
LinkEnd = Annotated[str, Bounds(maxLength=MAX_NAME_CHARACTERS, pattern=TEXT)]
REASON = Bounds(maxLength=MAX_REASON_CHARACTERS, pattern=TEXT)
EventLimit = Annotated[int, EVENTS]
RUN = Bounds(maxLength=512, pattern=r"^[^\u0000]+-\d{1,18}$")


def whole_history(memory: JudgmentApi, id: str) -> Iterator[Event]:
    """All events of a memory, oldest first, read page by page.

    Raises:
        NotFound: there is no such memory.
    """
    cursor = None
    while True:
        page = memory.history(id, limit=MAX_EVENTS, cursor=cursor)
        yield from page
        if (cursor := page.cursor) is None:
            return


class JudgmentApi(PlanRunner):
    """Link, use and judge memories, supersede one by another, look at their history."""

    def link(
        self,
        source: LinkEnd,
        target: LinkEnd,
        type: Annotated[str, Bounds(enum=LINK_TYPES)] = "mentions",
        weight: Annotated[float, SHARE] = 1.0,
        *,
        created_at: Moment = None,
    ) -> None:
        """Link two memories.

        A memory that gains a link is livelier for a while.

        Where two that are linked by "contradicts" are both found, "balanced" puts the weaker one
        just after the stronger one, and "activation" multiplies its score by 0.3; other profiles
        rank both as before. The weaker one has less strength * confidence * recency. `supersede`
        says which one holds, for all of them.

        Args:
            source: the id of the memory that the link comes from.
            target: the id, title or alias of the memory that the link leads to.
            type: its meaning: mentions, supports, contradicts, depends_on, same_as, supersedes or
                may_replace.
            weight: its strength, from 0 to 1.
            created_at: the time from which they belong together; now by default.

        Raises:
            NotFound: one of them does not exist.
            InvalidInput: an unknown type, a weight outside [0, 1], a wrong time, or a memory that
                is to contradict itself.
        """
        scope = self._core.write_context()
        link = parse_link(scope, source, target, type, weight, created_at)
        if link.type == "contradicts" and link.source == link.target:
            problem = f"{shown(link.target)} cannot contradict itself"
            raise InvalidInput("target", problem, "name another memory")
        self._run(update.put_links([link], scope))

    def supersede(
        self, old: Annotated[str, ID], new: Annotated[str, ID], *, if_version: Version = None
    ) -> None:
        """Replace an older memory with a newer one; the older one held until then.

        The older one becomes `superseded`, and its `valid_to` becomes the time from which the newer
        one holds: its `valid_from`, else its creation. Nothing of it is lost: "activation" recalls
        it at half its score, "balanced" for questions about the time when it held.
        `update(old, status="active", valid_to=None)` takes it back.

        Args:
            old: the id of the memory that is superseded.
            new: the id of the memory that holds now.
            if_version: do it only if this is the version of the older one.

        Raises:
            NotFound: one of them does not exist.
            VersionConflict: the older one has another version than `if_version`.
            InvalidInput: the older one has taken the place of the newer one.
        """
        self._run(judgments.supersede(old, new, self._core.write_context(), if_version))

    def links(
        self, id: Id | None = None, *, pending: bool = False, as_of: Present = None
    ) -> list[Link]:
        """List the links from and to a memory, or all of the namespace.

        Args:
            id: the id of the memory.
            pending: only those to an id, title or alias that no memory has yet.
            as_of: list the links that there were at this time.
        """
        ids = None if id is None else (text("id", id),)
        links = list(self._run_at(ask(LinksOf(self._core.namespace, ids)), as_of))
        if boolean("pending", pending):
            return self._run_at(pending_links(self._core.namespace, links), as_of)
        return links

    def history(self, id: Id, *, limit: EventLimit = 1000, cursor: str | None = None) -> History:
        """List the events of a memory, oldest first, with its versions; not counted as a use.

        Pass the page's `cursor` to get the next one; it is None at the end. A page has the versions
        that the memory had meanwhile, the one at its beginning included. Of a history of several
        pages, uses by a search are told once they are written, within a second or two.

        Args:
            id: the id of the memory.
            limit: the most events of the page, 1 to 10,000.
            cursor: the cursor of the page before.

        Raises:
            NotFound: there is no such memory; erasing one erases its history, too.
        """
        return self._run(history(text("id", id), self._core.namespace, limit, cursor))

    def events(
        self,
        after: str | None = None,
        *,
        limit: EventLimit = 100,
        order: Order = "oldest",
        wait: Annotated[float, Bounds(minimum=0, maximum=MAX_WAIT_SECONDS)] = 0.0,
    ) -> EventPage:
        """List one page of the events in this namespace, oldest first.

        Pass the page's `cursor` as `after` to get the next page; at the end it is empty, and its
        cursor finds what happens later. Events of erased memories are erased, too; an event "erase"
        without an id says when, by whom and how many were erased. A use by a search is written
        within a second or two; `upkeep.flush` writes it at once.

        Args:
            after: the cursor of a page before.
            limit: the most events of a page.
            order: "newest" gives the latest of them, the newest first; their cursor is behind all.
            wait: the seconds, at most 30, to wait for an event while there is none.
        """
        request = event_request(self._core.namespace, after, limit, order_of(order))
        until = time.monotonic() + (number("wait", wait, MAX_WAIT_SECONDS) or 0.0)
        while True:
            page = self._run(read_events(request))
            if page.events or time.monotonic() >= until:
                return page
            time.sleep(POLL_SECONDS)

    def touch(
        self,
        ids: Ids,
        use: Annotated[str, Bounds(enum=tuple(EVENT_OF_USE))] = "reference",
        *,
        session_id: Session = None,
        now: Present = None,
        utility: Annotated[float | None, SHARE] = None,
    ) -> None:
        """Record a use of memories: "reference" (it went into an answer), "read" or "retrieval".

        It is counted within a second and never waited for, unless there is a `utility`. `search`
        counts a retrieval of its hits itself. A "write" says that what a memory is about was edited
        elsewhere; an `update` of the content counts as one itself. Writes make a memory livelier
        ("vitality"), and count for no other profile.

        A `utility` makes the memories linked with them more alive: each within 2 hops gets a boost
        of utility * 0.6^hops. Boosts combine as 1 - (1 - a)(1 - b) and halve every 7 days.

        Args:
            ids: the ids of the memories.
            use: the use: reference, read, retrieval or write.
            session_id: the session in which they are used.
            now: the time of the use; the present by default.
            utility: how much they helped, from 0 to 1; memories linked with them become more alive.

        Raises:
            NotFound: one of them does not exist; nothing was counted.
        """
        at = self._core.time("now", now)
        scope = replace(self._core.write_context(), now=at)
        if utility is None and self._core.once is None:
            self._run(judgments.touch(ids, use, session_id, scope))
        else:
            uses = judgments.use_events(ids, use, session_id, scope)
            self._run(spread_boost(uses, utility or 0.0, scope))

    def feedback(
        self,
        id: Id,
        kind: Annotated[str, Bounds(enum=JUDGEMENTS)],
        context: Annotated[str | None, REASON] = None,
        *,
        session_id: Session = None,
        if_version: Version = None,
    ) -> MemoryRecord:
        """Judge a memory: useful or confirmed (+1), not_useful or outdated (-1), incorrect (-3).

        The weights add up to `feedback_for` and `feedback_against`, which "six_factor" ranks by;
        `relevance_score` (0.5 at first) moves by 0.1 for each, within [0, 1]. A confirmed, outdated
        or incorrect memory is marked for `review` as the last of these that it was judged to be;
        `about` lists a confirmed one as certain, and not the others. One that was ever judged
        `outdated` fades twice as fast, whatever is said of it later; `update(id, outdated=False)`
        takes that back.

        To "promote" raises `memory_score` (0.5 at first) by 0.15, up to 1, and to "demote" lowers
        it, down to 0; "multi_route" ranks by it. To "reinforce" raises `strength` (1 at first) by
        0.1, up to 1; "activation" ranks by it.

        Args:
            id: the id of the memory.
            kind: the judgement: useful, not_useful, outdated, incorrect, confirmed, promote, demote
                or reinforce.
            context: a reason to store with the judgement.
            session_id: the session in which it is judged.
            if_version: judge it only if this is its version.

        Raises:
            NotFound: there is no such memory.
            VersionConflict: it has another version than `if_version`.
            InvalidInput: another kind of judgement.
        """
        scope = self._core.write_context()
        return self._run(judgments.feedback(id, kind, context, session_id, scope, if_version))

    def pin(self, id: Id, *, if_version: Version = None) -> MemoryRecord:
        """Keep a memory from ever being archived automatically.

        Args:
            id: the id of the memory.
            if_version: change it only if this is its version.

        Raises:
            NotFound: there is no such memory.
            VersionConflict: it has another version than `if_version`.
        """
        return self._run(judgments.pin(id, 1.0, self._core.write_context(), if_version))

    def unpin(self, id: Id, *, if_version: Version = None) -> MemoryRecord:
        """Undo `pin`.

        Args:
            id: the id of the memory.
            if_version: change it only if this is its version.

        Raises:
            NotFound: there is no such memory.
            VersionConflict: it has another version than `if_version`.
        """
        return self._run(judgments.pin(id, 0.0, self._core.write_context(), if_version))


class LifecycleApi(PlanRunner):
    """Archive, unarchive and undo."""

    def archive(self, ids: Ids) -> str | None:
        """Move memories to the archive, where only `include_archived` finds them.

        Returns the name of the run, for `undo`; None if all were archived already.

        Args:
            ids: the ids of the memories.

        Raises:
            NotFound: one of them does not exist; nothing was moved.
            InvalidInput: one of them is pinned; nothing was moved.
        """
        scope, names = self._core.write_context(), texts("ids", ids, required=True)
        run = self._run(pruning.archive(scope, names))
        log_upkeep(scope.namespace, "archive", 0 if run is None else len(names), run)
        return run

    def unarchive(self, ids: Ids) -> Mapping[str, str]:
        """Bring memories back from the archive; returns their restored statuses by id.

        Args:
            ids: the ids of the memories.

        Raises:
            NotFound: one of them does not exist; nothing was moved.
            InvalidInput: one of them is not archived; nothing was moved.
        """
        scope = self._core.write_context()
        restored = self._run(pruning.unarchive(scope, texts("ids", ids, required=True)))
        log_upkeep(scope.namespace, "unarchive", len(restored))
        return restored

    def undo(self, run: Annotated[str, RUN]) -> Undone:
        """Undo what a run of `prune`, `archive`, `consolidate` or `maintain` changed.

        Memories that were changed again since are left alone, and the result says why.

        Args:
            run: the name of the run.

        Raises:
            NotFound: no run of that name changed anything.
            InvalidInput: the name is not that of a run.
        """
        scope = self._core.write_context()
        undone = self._run(undoing.undo(scope, run))
        log_upkeep(scope.namespace, "undo", len(undone.restored) + len(undone.erased), undone.run)
        return undone

    def undo_actor(
        self, actor: Annotated[str, ID], *, since: Moment = None, apply: bool = False
    ) -> ActorUndone:
        """Undo everything one actor did since a time, or preview that.

        What it wrote is archived. What it changed has the state and the text of before, unless
        others have changed it since, which the result names; links are removed or made again.
        Uses stay, and what it erased is gone. All of it is in the log, and `undo` takes the `run`
        back, but not texts and links.

        Args:
            actor: who it was: the `written_by` of memories, the id of a key at a server.
            since: the time from which on; by default from the first.
            apply: make the changes; without it they are only shown.
        """
        scope = self._core.write_context()
        undone = self._run(undoing.undo_actor(scope, actor, since, apply=apply))
        if undone.applied:
            count = len(undone.archived) + len(undone.restored)
            log_upkeep(scope.namespace, "undo_actor", count, undone.run)
        return undone

"""Rankings: the questions of conversations and of recorded searches, each with its candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from salience.embedders import resolve
from salience.engine.memory import Memory
from salience.evaluation import datasets
from salience.evaluation.datasets import Conversation
from salience.evaluation.metrics import DEPTH
from salience.evaluation.replay.searches import questions, read_searches
from salience.evaluation.runner import Progress
from salience.importers.conversation import Query
from salience.ranking.profile import Profile
from salience.ranking.run import RankedRun
from salience.search.search import rank
from salience.stores.address import Address


@dataclass(frozen=True, eq=False, slots=True)
class Ranking:
    """A question of a set of conversations, and the search that ranked its candidates."""

    set: str
    conversation: str
    query: Query
    run: RankedRun


def rankings(
    folders: Sequence[str | Path],
    profile: Profile,
    embedder: str,
    progress: Progress | None = None,
    *,
    log: str | Path | None = None,
    url: Address | None = None,
) -> Iterator[Ranking]:
    """The questions with an answer of the sets and of a log, with all their candidates.

    Args:
        folders: each a set of conversations with questions.
        profile: the one that ranks.
        embedder: as `Memory.open` takes it.
        progress: called with the step, how much of it is done, and how much there is.
        log: a file of recorded searches, see `salience.evaluation.replay`.
        url: the store that they were made in.
    """
    resolved = resolve(embedder)
    report = progress or (lambda step, done, total: None)
    for folder in folders:
        title, members = Path(folder).resolve().name, datasets.load(folder)
        with Memory.open("ram://", embedder=resolved, profile=profile) as memory:
            for place, member in enumerate(members):
                report(title, place, len(members))
                memory.within(member.place).add_many(member.memories)
                yield from _of_conversation(title, member, memory)
    if log is not None:
        with Memory.open(url, embedder=resolved, profile=profile) as memory:
            members = questions(memory, read_searches(log))
            for place, member in enumerate(members):
                report(Path(log).stem, place, len(members))
                yield from _of_conversation(Path(log).stem, member, memory)


def _of_conversation(title: str, conversation: Conversation, memory: Memory) -> Iterator[Ranking]:
    within = memory.within(conversation.place)
    for query in conversation.queries:
        if query.relevant:
            now = query.at or conversation.now
            request = within._core.request(
                query.text, limit=DEPTH, now=now, filters=query.filters, touch=False
            )
            run, _, _ = within._run(rank(request), searches=True)
            yield Ranking(title, conversation.name, query, run)

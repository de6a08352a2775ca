"""Abstention: whether a search knows that nothing answers a question.

The confidence of a search is `SearchResult.probability`, or the best score where its profile gives
none. Where it is a probability, the same questions are asked with `cut="auto"`, which returns what
answers the question and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from salience.embedders import resolve
from salience.engine.memory import Memory
from salience.evaluation import datasets, notebook
from salience.evaluation.datasets import Conversation
from salience.evaluation.runner import Progress
from salience.importers.conversation import Query
from salience.lazily import asdict, dataclass
from salience.ranking.profile import Profile
from salience.retrieval.metrics import DEPTH, auroc, expected_calibration_error

MAIN_SPEAKERS = 2
_AUTO: dict[str, Any] = {"cut": "auto"}


@dataclass(frozen=True)
class Outcome:
    """Measures of how well questions with and without answers are distinguished.

    `auroc` is the chance that a question with an answer has more confidence than one without.
    `calibration_error` compares the probability with the share of questions that have an answer.
    Of the answerable questions, `exact` is the share for which `cut="auto"` returns exactly the
    right memories, `any_right` at least one of them. Of the unanswerable ones, `silent` is the
    share for which it returns none. All four are None for a profile without a probability.
    """

    set: str
    unanswerable: str  # where the questions without an answer come from
    profile: str
    embedder: str
    answerable_count: int
    unanswerable_count: int
    auroc: float
    calibration_error: float | None
    exact: float | None
    any_right: float | None
    silent: float | None

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)


def evaluate(
    folders: Sequence[str | Path] = (),
    *,
    unanswerable: str | Path | None = None,
    profiles: Sequence[Profile],
    embedder: str = "default",
    progress: Progress | None = None,
) -> list[Outcome]:
    """Measure each profile on the sets of the folders, or on the notebook if there are none.

    The questions without an answer are those of the next conversation of a set, with the names of
    its main speakers exchanged for this one's; those of the notebook; and those of the folder
    `unanswerable` (see `datasets.load_unanswerable`).

    Raises:
        ImportProblem: a folder is not what it should be.
        InvalidInput: the embedder does not exist.
    """
    further = {}
    if unanswerable is not None:
        further = {Path(unanswerable).resolve().name: datasets.load_unanswerable(unanswerable)}
    outcomes: list[Outcome] = []
    for name, members in _sets(folders):
        groups = _groups(members, further)
        memory = Memory.open("ram://", embedder=resolve(embedder), time_zone="UTC")
        for conversation in members:
            memory.for_namespace(conversation.name).add_many(conversation.memories)
        for profile in profiles:
            total = sum(len(c.queries) for c in members) + sum(map(_count, groups.values()))
            ask = _Asked(memory, profile, f"{name}, {profile.name}", total, progress)
            pairs = [(q, ask(c, q.text)) for c in members for q in c.queries if q.relevant]
            for source, questions in groups.items():
                others = [ask(c, text) for c, texts in questions for text in texts]
                outcomes.append(_outcome(name, source, profile.name, embedder, pairs, others))
    return outcomes


def _sets(folders: Sequence[str | Path]) -> Iterator[tuple[str, tuple[Conversation, ...]]]:
    for folder in folders:
        yield Path(folder).resolve().name, datasets.load(folder)
    if not folders:
        conversation = notebook.load()
        yield conversation.name, (conversation,)


Questions = Sequence[tuple[Conversation, Sequence[str]]]


def _count(questions: Questions) -> int:
    return sum(len(texts) for _, texts in questions)


def _groups(
    members: Sequence[Conversation], further: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[str, Questions]:
    """The questions without an answer that each conversation is asked, by where they come from."""
    groups: dict[str, Questions] = {
        "of its own": [
            (c, [*c.unanswered, *(q.text for q in c.queries if not q.relevant)]) for c in members
        ],
        "names exchanged": exchanged(members),
    }
    for source, questions_of in further.items():
        groups[source] = [(c, questions_of.get(c.name, ())) for c in members]
    return {source: questions for source, questions in groups.items() if _count(questions)}


def exchanged(members: Sequence[Conversation]) -> list[tuple[Conversation, list[str]]]:
    """Each conversation with the questions of the next, which ask about its main speakers instead.

    The speaker with the most memories takes the place of that of the other, and so on.
    """
    if len(members) < 2:
        return []
    following = (*members[1:], members[0])
    return [
        (target, _renamed(source, target))
        for target, source in zip(members, following, strict=True)
    ]


def put_to_the_other(conversation: Conversation) -> list[str]:
    """The questions about one of the two main speakers, asked about the other instead."""
    speakers = _main_speakers(conversation)
    if len(speakers) < MAIN_SPEAKERS:
        return []
    first, second = (name.split()[0] for name in speakers)
    either = re.compile(rf"\b({re.escape(first)}|{re.escape(second)})\b")
    other = {first: second, second: first}
    return [
        either.sub(lambda name: other[name[0]], query.text)
        for query in conversation.queries
        if len(set(either.findall(query.text))) == 1
    ]


def _renamed(source: Conversation, target: Conversation) -> list[str]:
    new_names: dict[str, str] = {}
    for old, new in zip(_main_speakers(source), _main_speakers(target), strict=False):
        new_names |= {old.split()[0]: new.split()[0], old: new}
    if not new_names:
        return [query.text for query in source.queries]
    longest_first = sorted(new_names, key=lambda name: -len(name))
    names = re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})\b")
    return [names.sub(lambda name: new_names[name[0]], query.text) for query in source.queries]


def _main_speakers(conversation: Conversation) -> list[str]:
    speakers = Counter(m["speaker"] for m in conversation.memories if m.get("speaker"))
    return [name for name, _ in sorted(speakers.items(), key=lambda of: (-of[1], of[0]))][
        :MAIN_SPEAKERS
    ]


@dataclass(frozen=True)
class _Answer:
    """The confidence of a search, and what it returns with `cut="auto"`."""

    confidence: float
    ids: tuple[str, ...] | None


class _Asked:
    """Asks a question of a conversation, and counts."""

    def __init__(
        self, memory: Memory, profile: Profile, step: str, total: int, progress: Progress | None
    ) -> None:
        self._memory, self._profile = memory, profile
        self._step, self._total, self._progress = step, total, progress
        self._done = 0

    def __call__(self, conversation: Conversation, text: str) -> _Answer:
        if self._progress is not None:
            self._progress(self._step, self._done, self._total)
        self._done += 1
        memory = self._memory.for_namespace(conversation.name)
        settings: dict[str, Any] = {"limit": DEPTH, "profile": self._profile, "touch": False}
        settings["now"] = conversation.now
        result = memory.search(text, **settings)
        probability = getattr(result, "probability", None)
        if probability is None:
            return _Answer(result[0].score if result else float("-inf"), None)
        return _Answer(probability, memory.search(text, **settings, **_AUTO).ids)


def _outcome(
    name: str,
    source: str,
    profile: str,
    embedder: str,
    pairs: Sequence[tuple[Query, _Answer]],
    others: Sequence[_Answer],
) -> Outcome:
    confidences = ([a.confidence for _, a in pairs], [other.confidence for other in others])
    error = exact = any_right = silent = None
    if all(answer.ids is not None for answer in (*others, *(answer for _, answer in pairs))):
        error = expected_calibration_error(*confidences)
        exact = fmean(set(answer.ids or ()) == set(query.relevant) for query, answer in pairs)
        any_right = fmean(not set(answer.ids or ()).isdisjoint(q.relevant) for q, answer in pairs)
        silent = fmean(not other.ids for other in others)
    return Outcome(
        set=name,
        unanswerable=source,
        profile=profile,
        embedder=embedder,
        answerable_count=len(pairs),
        unanswerable_count=len(others),
        auroc=auroc(*confidences),
        calibration_error=error,
        exact=exact,
        any_right=any_right,
        silent=silent,
    )

"""Labelled questions: what answers a query and what does not, kept as notes of a namespace."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from salience.display.result import Result
from salience.errors import InvalidInput
from salience.lazily import dataclass, replace
from salience.records.filters import parse_filter
from salience.records.validation import MAX_IDS, elements, optional_text, text, timestamp
from salience.retrieval.operations import Note, Notes
from salience.retrieval.plan import Plan, ask

MAX_QUESTIONS = 1_000
"""The most of a namespace; more is a set of conversations, see `salience.evaluation`."""
QUESTION_NOTE = "question:"
"""The beginning of the keys of their notes; the rest is the id."""


@dataclass(frozen=True, repr=False)
class LabelledQuestion(Result):
    """A query, the ids of memories that answer it, and of those that do not.

    Without an id that answers, none of what is there does. `at` is the time at which it is asked,
    None for the present; `filters` is the condition that each hit must meet.
    """

    _shown = ("id", "query", "relevant", "not_relevant")

    id: str
    query: str
    relevant: tuple[str, ...] = ()
    not_relevant: tuple[str, ...] = ()
    at: datetime | None = None
    filters: Mapping[str, Any] | None = None


@dataclass(frozen=True, repr=False)
class Questions(Result):
    """The labelled questions of a namespace, by id."""

    questions: tuple[LabelledQuestion, ...]

    def __iter__(self) -> Iterator[LabelledQuestion]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)


@dataclass(frozen=True, repr=False)
class Measure(Result):
    """The mean of a measure over questions, and its 95 % interval over questions resampled."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class ProfileScore(Result):
    """The measures of a profile over the questions that have an answer, and those of each one."""

    _shown = ("profile", "questions")

    profile: str
    questions: int
    measures: Mapping[str, Measure]
    by_question: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, repr=False)
class QuestionScores(Result):
    """The scores of profiles on the labelled questions, in the order asked for."""

    scores: tuple[ProfileScore, ...]

    def __iter__(self) -> Iterator[ProfileScore]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)


def read_questions(namespace: str) -> Plan[Questions]:
    """The plan of reading the questions of a namespace."""
    notes: Mapping[str, str] = yield from ask(Notes(namespace))
    keys = sorted(key for key in notes if key.startswith(QUESTION_NOTE))
    return Questions(tuple(_read(key.removeprefix(QUESTION_NOTE), notes[key]) for key in keys))


def _read(id: str, note: str) -> LabelledQuestion:
    try:
        return LabelledQuestion.from_dict(json.loads(note))
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError):
        remedy = f"drop it: labels.delete({id!r})"
        raise InvalidInput(f"questions.{id}", "cannot be read", remedy) from None


def put_question(
    namespace: str,
    query: Any,
    relevant: Any,
    not_relevant: Any,
    id: Any,
    at: Any,
    filters: Any,
) -> Plan[LabelledQuestion]:
    """The plan of keeping a question, in the place of the one with its id."""
    question = _checked(query, relevant, not_relevant, id, at, filters)
    key, value = QUESTION_NOTE + question.id, json.dumps(question.to_dict())
    while True:  # another may change the same one meanwhile; the last holds
        notes: Mapping[str, str] = yield from ask(Notes(namespace))
        if (
            key not in notes
            and sum(each.startswith(QUESTION_NOTE) for each in notes) >= MAX_QUESTIONS
        ):
            raise InvalidInput("id", f"is one more than {MAX_QUESTIONS:,}", "delete another first")
        if (yield from ask(Note(namespace, key, value, notes.get(key)))):
            return question


def drop_question(namespace: str, id: Any) -> Plan[bool]:
    """The plan of dropping a question; False if no question has that id."""
    key = QUESTION_NOTE + text("id", id)
    notes: Mapping[str, str] = yield from ask(Notes(namespace))
    return key in notes and (yield from ask(Note(namespace, key, None, notes[key])))


def check_question_note(key: str, value: str) -> None:
    """Check a note of a question that comes from elsewhere.

    Raises:
        InvalidInput: it is no such note, or a field of the question is wrong.
    """
    id = key.removeprefix(QUESTION_NOTE)
    if _checked(**_read(id, value).to_dict()).id != id:
        raise InvalidInput(f"questions.{id}", "has another id", "give it that of its key")


_OF_USERS = ("user_id", "person", "written_by")  # fields of filters


def without_erased(
    notes: Iterable[tuple[str, str]], ids: Collection[str] = (), user_id: str | None = None
) -> dict[str, str | None]:
    """The notes of questions that name memories or a user who are erased, by key, without these.

    None stands for a question that is erased itself: none that answered it is left, its filter is
    about what is erased, or it cannot be read.
    """
    changed: dict[str, str | None] = {}
    for key, value in notes:
        try:
            question = _read(key.removeprefix(QUESTION_NOTE), value)
        except InvalidInput:  # it may name anything
            changed[key] = None
            continue
        filters = question.filters or {}
        was = (question.relevant, question.not_relevant)
        relevant, not_relevant = (tuple(id for id in labels if id not in ids) for labels in was)
        if (
            (question.relevant and not relevant)
            or any(id in ids for id in _values(filters, ("id",)))
            or (user_id is not None and user_id in _values(filters, _OF_USERS))
        ):
            changed[key] = None
        elif (relevant, not_relevant) != was:
            question = replace(question, relevant=relevant, not_relevant=not_relevant)
            changed[key] = json.dumps(question.to_dict())
    return changed


def _values(condition: Any, fields: Sequence[str], is_of_field: bool = False) -> Iterator[str]:
    """The texts that some fields are compared with, anywhere in a filter."""
    if isinstance(condition, Mapping):
        for name, value in condition.items():
            yield from _values(value, fields, is_of_field or name in fields)
    elif isinstance(condition, (list, tuple)):
        for value in condition:
            yield from _values(value, fields, is_of_field)
    elif is_of_field and isinstance(condition, str):
        yield condition


def _checked(
    query: Any, relevant: Any, not_relevant: Any, id: Any, at: Any, filters: Any
) -> LabelledQuestion:
    if parse_filter(filters) is not None and not isinstance(filters, Mapping):
        raise InvalidInput("filters", "cannot be kept", "give a mapping, as JSON has it")
    question = LabelledQuestion(
        optional_text("id", id) or uuid4().hex,
        text("query", query),
        _ids("relevant", relevant),
        _ids("not_relevant", not_relevant),
        None if at is None else timestamp("at", at),
        filters or None,
    )
    if repeated := sorted({*question.relevant} & {*question.not_relevant}):
        raise InvalidInput("not_relevant", f"has {repeated[0]!r}, as relevant has", "take one out")
    return question


def _ids(name: str, ids: Any) -> tuple[str, ...]:
    listed: Sequence[Any] = [ids] if isinstance(ids, str) else elements(name, ids, MAX_IDS)
    return tuple(dict.fromkeys(text(name, id) for id in listed))


def score(
    profile: str, questions: Sequence[LabelledQuestion], ranked: Mapping[str, Sequence[str]]
) -> ProfileScore:
    """The score of a profile that has found these ids for each question, by its id.

    Raises:
        SalienceError: `ir_measures` is not installed.
    """
    from salience.retrieval import metrics  # which few programs need

    values = metrics.per_query({each.id: each.relevant for each in questions}, ranked)
    measured = [*values.values()]
    means, bounds = metrics.mean(measured), metrics.intervals(measured, [""] * len(measured))
    measures = {name: Measure(mean, *bounds[name]) for name, mean in means.items()}
    return ProfileScore(profile, len(measured), measures, values)

"""Conditions on fields as keywords: `user_id="ana"` for `filters={"user_id": "ana"}`."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, TypedDict, TypeVar, cast

from salience.api.parameters import NOT_GIVEN, Bounds
from salience.errors import InvalidInput
from salience.records.fields import FIELDS
from salience.records.filters import parse_filter
from salience.records.json_values import MAX_KEY_CHARACTERS
from salience.records.limits import DEFAULT_LIMITS
from salience.records.validation import (
    LARGEST_NUMBER,
    MAX_IDS,
    MAX_TAG_CHARACTERS,
    texts,
    timestamp,
)

T = TypeVar("T", bound=Mapping[str, Any])
K = TypeVar("K")
TEXT = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
"""Text that is not blank, and has no NUL."""
NO_NUL = r"^[^\u0000]*$"
COMPARISONS = ("gt", "gte", "lt", "lte")
"""Operators of what has an order."""
TAG = Bounds(maxLength=MAX_TAG_CHARACTERS, pattern=TEXT)
IDS = Bounds(maxItems=MAX_IDS, items=TAG.keywords, **TAG.keywords)
METADATA = Bounds(
    values={"$ref": "#/components/schemas/JsonValue"},
    propertyNames={"minLength": 1, "maxLength": MAX_KEY_CHARACTERS, "pattern": NO_NUL},
)


def _bounds(name: str) -> Bounds:
    field = FIELDS[name]
    if field.type == "time":
        return Bounds.of("Moment")
    if field.type == "number":
        compared = {"names": ("eq", "ne", *COMPARISONS), "minProperties": 1}  # in its place
        return Bounds(minimum=0, maximum=field.maximum or LARGEST_NUMBER, **compared)
    if field.type == "list":
        return Bounds(maxItems=DEFAULT_LIMITS.tags, items=TAG.keywords)
    if field.choices:
        return Bounds(enum=field.choices)
    if field.type == "text":
        return Bounds(maxLength=field.limit or DEFAULT_LIMITS.text, pattern=TEXT)
    return METADATA if field.type == "json" else Bounds()


OF_FIELD: Mapping[str, Bounds] = {name: _bounds(name) for name in FIELDS}
"""The bounds of the fields of a memory."""
ID = OF_FIELD["id"]


def like_fields(options: type[K]) -> type[K]:
    """A decorator of options: those of the names of fields have their bounds."""
    for name, kind in options.__annotations__.items():
        if name in OF_FIELD and not hasattr(kind, "__metadata__"):
            options.__annotations__[name] = Annotated[kind, OF_FIELD[name]]
    return options


@like_fields
class FieldFilters(TypedDict, total=False):
    """Conditions on the fields of memories, which hold besides those of `filters`.

    tags: find only memories that have all of these tags.
    kind: find only memories of this kind.
    speaker: find only what this speaker said.
    user_id: find only memories of this user.
    agent_id: find only memories of this agent.
    session_id: find only turns of this session.
    since: find only what was said or happened at this time or later.
    until: find only what was said or happened before this time.
    """

    tags: Sequence[str]
    kind: str
    speaker: str
    user_id: str
    agent_id: str
    session_id: str
    since: Annotated[date | str | float, Bounds.of("Moment")]
    until: Annotated[date | str | float, Bounds.of("Moment")]


FIELD_DEFAULTS: Mapping[str, Any] = dict.fromkeys(FieldFilters.__annotations__, NOT_GIVEN)
"""None would be a value that a program has forgotten to set."""


def with_fields(options: T, names: Iterable[str] = FIELD_DEFAULTS) -> T:
    """The options with the conditions on fields of some names moved into `filters`.

    Raises:
        InvalidInput: names the keyword that is wrong.
    """
    fields = {n: v for n in names if (v := options.get(n, NOT_GIVEN)) is not NOT_GIVEN}
    conditions = [_condition(name, value) for name, value in fields.items()]
    if fields.keys() >= {"since", "until"}:
        since, until = (timestamp(name, fields[name]) for name in ("since", "until"))
        if until < since:
            raise InvalidInput("until", "is before since", "give a later time, or swap them")
    remaining = {n: v for n, v in options.items() if n not in (*names, *fields)}
    if conditions:
        filters = remaining.get("filters")
        parse_filter(filters)  # an error names its place there, not in what is made of it
        remaining["filters"] = {"and": conditions if filters is None else [filters, *conditions]}
    return cast("T", remaining)


def _condition(name: str, value: Any) -> dict[str, Any]:
    if value is None:
        remedy = f"leave {name} out to find all, or use filters for those without"
        raise InvalidInput(name, "is None", remedy)
    condition: dict[str, Any] = {name: value}
    if name in ("since", "until"):
        condition = {"created_at": {"gte" if name == "since" else "lt": value}}
    elif name == "tags" and not isinstance(value, str):
        condition = {"tags": _texts(value)}
    try:
        parse_filter(condition)
    except InvalidInput as problem:
        raise InvalidInput(name, problem.problem, problem.remedy) from None
    return condition


def _texts(value: Any) -> list[str]:
    if not isinstance(value, Sequence | set | frozenset) or not value:
        raise InvalidInput("tags", "must be a list of one tag or more", "leave it out to find all")
    return list(texts("tags", value, count=DEFAULT_LIMITS.tags))

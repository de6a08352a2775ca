"""The keyword arguments of `Memory`: shown by `help()`, and checked by their names."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Annotated, Any, TextIO, TypedDict

from salience.api.parameters import NOT_GIVEN, Bounds
from salience.embedders import EmbedderLike
from salience.engine.extraction import ExtractLike
from salience.engine.forgetting import Forget
from salience.language.entities import RULES, EntityExtractor
from salience.language.tokens import count_tokens
from salience.ranking.profiles import ProfileLike
from salience.records.field_filters import (
    ID,
    METADATA,
    OF_FIELD,
    FieldFilters,
    like_fields,
    with_fields,
)
from salience.records.limits import Limits
from salience.search.context import TextOptions
from salience.search.request import Filters, Moment, RankingOptions, TimeZone
from salience.write.dedup import DedupLike
from salience.write.items import MAX_LINKS, SecretPolicy
from salience.write.reading import VERSION
from salience.write.upsert import OnConflict

DEFAULT_TIMEOUT_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 30.0  # after which an embedder that does not answer is asked again
LINKS = Bounds(maxItems=MAX_LINKS)
Version = Annotated[int | None, VERSION]
Session = Annotated[str | None, OF_FIELD["session_id"]]
Clock = Callable[[], datetime]
Trace = bool | TextIO | Callable[[str], object]


class Settings(TypedDict, total=False):
    """The settings with which a memory is opened.

    namespace: the tenant whose memories this sees; others are invisible.
    embedder: a name (see `salience.embedders.resolve`), an embedder, or None for words only; "auto"
        is that of the store, or for a new one the best that is installed.
    profile: how to rank when a search does not say: a name, the path of a JSON file, or the content
        of such a file as a mapping.
    clock: a function that gives the present; the system's clock by default.
    time_zone: the zone of the user, as Europe/Berlin, for "yesterday", for the dates of contexts
        and for times that are given without a zone; by default that of the environment's
        SALIENCE_TIME_ZONE, else of `now` or the clock, else the system's.
    count_tokens: a function that counts the tokens of a text, for token budgets;
        ceil(characters / 4) by default.
    entities: an extractor that finds the entities in a text when `add` is given none; None to find
        none.
    aliases: other names of entities, by the name that they stand for: {"JS": "JavaScript"}.
    actor: who writes and uses memories through this, for their history.
    dedup: how facts and notes are compared with what is stored when they are added: True, False,
        the cosine from which two say the same (0.92), or a `DedupPolicy`. By default those
        without an id of their own are compared.
    secrets: what becomes of texts that seem to hold a key or a password: "keep", "flag" (the
        outcome and `audit` tell) or "refuse"; by default as the environment's SALIENCE_SECRETS
        says, else "flag".
    extract: what finds facts in the messages that `add` is given; see `extract` there.
    embedder_pause: the most seconds after which an embedder that did not answer is asked again, in
        the background (after 1, 2, 4, ... at first); until then nobody waits for it. With 0 every
        call asks it again.
    limits: the largest values to take, as {"text": 5000000}; see `salience.records.limits.Limits`.
    slow_search_ms: the milliseconds from which a search is logged as slow; None for never.
    search_log: a file to which each search is appended, its query and the ids of its hits, for
        `salience eval --log`; that in the environment's SALIENCE_SEARCH_LOG by default.
    trace: print a line for each batch of operations with its time: True for stderr, or a stream, or
        a function that takes a line.
    api_key: the key of a server; that in the environment's SALIENCE_API_KEY by default.
    timeout: the seconds without a sign of a server after which a request fails; None for ever.
    """

    namespace: str
    embedder: EmbedderLike | None
    profile: ProfileLike
    clock: Clock | None
    time_zone: TimeZone
    count_tokens: Callable[[str], int]
    entities: EntityExtractor | None
    aliases: Mapping[str, str] | None
    actor: str | None
    dedup: DedupLike
    secrets: SecretPolicy | None
    extract: ExtractLike
    embedder_pause: float
    limits: Limits | Mapping[str, int] | None
    slow_search_ms: float | None
    search_log: str | PathLike[str] | None
    trace: Trace
    api_key: str | None
    timeout: float | None


SETTINGS: Mapping[str, Any] = {
    **dict.fromkeys(Settings.__annotations__),
    "namespace": "default",
    "embedder": "default",
    "profile": "balanced",
    "embedder_pause": LONGEST_PAUSE_SECONDS,
    "count_tokens": count_tokens,
    "entities": RULES,
    "slow_search_ms": 1_000.0,
    "trace": False,
    "timeout": DEFAULT_TIMEOUT_SECONDS,
}


@like_fields
class RecordFields(TypedDict, total=False):
    """The fields of a memory, beside its content and id.

    speaker: who said it.
    session_id: the conversation that it is a turn of.
    agent_id: the agent whose memory it is.
    user_id: the user whom it is about or from.
    tags: words to filter by.
    metadata: further values, as JSON has them.
    importance: how much it matters, from 0 to 1.
    kind: such as "note", "fact", "task" or "turn", or "profile" for what is always to be known; by
        default "turn" in a session, else "note".
    title: a name for it, which links may have as their target.
    entities: the people, places and things that it names; by default those found in the text.
    created_at: when it was said or happened; now by default.
    gist: its content in a few words, which some profiles search, too.
    tier: one of short, medium, long.
    memory_nature: one of episodic, semantic.
    content_type: one of text, conversation, document, event, fact.
    layer: one of episodic, knowledge, activity, entity.
    relevance_score: its relevance from 0 to 1, which decay and feedback move.
    memory_score: its value from 0 to 1, which `feedback` moves.
    confidence: how sure it is, from 0 to 1.
    strength: how alive it is, from 0 to 1; decay and `feedback` move it.
    decay_rate: how fast it fades per hour, instead of the rate of its tier.
    expires_at: the time from which no search finds it.
    valid_from: the time from which its content holds.
    valid_to: the time until which its content holds.
    pinned: never archive it automatically.
    """

    speaker: str | None
    session_id: str | None
    agent_id: str | None
    user_id: str | None
    tags: Sequence[str]
    metadata: Mapping[str, Any] | None
    importance: float | None
    kind: str | None
    title: str | None
    entities: Sequence[str] | None
    created_at: Moment
    gist: str | None
    tier: str | None
    memory_nature: str | None
    content_type: str | None
    layer: str | None
    relevance_score: float | None
    memory_score: float | None
    confidence: float | None
    strength: float | None
    decay_rate: float | None
    expires_at: Moment
    valid_from: Moment
    valid_to: Moment
    pinned: bool | float | None


@like_fields
class MemoryFields(RecordFields, total=False):
    """The fields of a memory that is added.

    id: its id; a new one by default.
    added_at: when it came into the store that it is from, from which its zone counts; now by
        default.
    vectors: vectors by name, instead of the embedder's.
    links: links to other memories, {"target", "type", "weight", "created_at"}; a link is as old as
        the memory unless it says otherwise.
    supersedes: the id of a memory whose place it takes.
    idempotency_key: a key of this write; a second write with the key adds nothing and gives the
        outcome of the first.
    dedup: how a fact or note is compared with what is stored: True, False, the cosine from which
        two say the same, or a `DedupPolicy`; the policy of the memory by default.
    extract: what finds facts in it, which are kept beside it as memories of the kind "fact" with
        links to it: "model@https://host/v1" (a chat model there), an `Extractor`, a function from
        messages to facts, True for that of the memory or the environment's
        SALIENCE_EXTRACTION_MODEL, False for none. That of the memory by default, for messages. If
        it fails, the memories are there, and `degraded` says so.
    on_conflict: if a memory has the id already: "error", "replace" to give that memory these
        contents, "update" to change the fields that are given (both see `salience.write.upsert`),
        or "skip" to leave it as it is.
    time_zone: the zone of times that are given without one; that of the memory by default.
    forget: what becomes of the memories that the text asks to forget: "suggest" names them in the
        outcome, "retire" archives them and the request as well (`undo` takes the result's `run`
        back). By default a message retires, and any other text suggests. Nothing is erased.
    """

    id: str | None
    added_at: Moment
    vectors: Annotated[Mapping[str, Sequence[float]] | None, Bounds(values={"minItems": 1})]
    links: Annotated[Sequence[Annotated[Mapping[str, Any], Bounds.of("LinkInput")]], LINKS]
    supersedes: Annotated[str | None, ID]
    idempotency_key: Annotated[str | None, ID]
    dedup: DedupLike
    extract: ExtractLike
    on_conflict: OnConflict
    time_zone: TimeZone
    forget: Forget | None


@like_fields
class MemoryChanges(RecordFields, total=False):
    """The fields of a memory that `update` changes.

    content: its text, which is embedded again.
    status: its status, such as "active" or "archived".
    replace_metadata: the whole metadata, in the place of all that there are. `metadata` is merged
        instead: its keys are set, those with the value None removed, and all others stay.
    if_version: change it only if this is its version.
    """

    content: str
    status: str
    replace_metadata: Annotated[Mapping[str, Any] | None, METADATA]
    if_version: Version


UNCHANGED: Mapping[str, Any] = {
    **dict.fromkeys(MemoryChanges.__annotations__, NOT_GIVEN),
    "if_version": None,
}


_USUAL_NAMES = {
    **dict.fromkeys(("k", "n", "n_results", "size", "top_k"), "limit"),
    **dict.fromkeys(("filter", "where"), "filters"),
    **dict.fromkeys(("threshold", "score_threshold"), "min_score"),
    "tag": "tags",
    "timestamp": "created_at",
    **dict.fromkeys(("type", "memory_type"), "kind"),
    "user": "user_id",
    "agent": "agent_id",
    "session": "session_id",
    "run_id": "session_id",
}
"""Options as other memories and vector stores call them -> as they are called here."""


def narrowed(method: str, filters: Filters, fields: Mapping[str, Any], *others: str) -> Filters:
    """The filter with the conditions on fields that a method was given as keywords.

    Raises:
        TypeError: one is not a field.
        InvalidInput: names the keyword that is wrong.
    """
    check_names(method, fields, FieldFilters, "filters", *others)
    return with_fields({"filters": filters, **fields})["filters"] if fields else filters


def check_names(method: str, options: Mapping[str, Any], declared: type, *others: str) -> None:
    """Refuse keyword arguments that a method does not take.

    `others` are arguments that it takes besides those declared, which a hint may name.

    Raises:
        TypeError: names the first unknown one, and the nearest that there is.
    """
    if options.keys() <= declared.__annotations__.keys():
        return
    from difflib import get_close_matches

    unknown = next(name for name in options if name not in declared.__annotations__)
    names = [*declared.__annotations__, *others]
    usual = _USUAL_NAMES.get(unknown, unknown)
    for further in (RankingOptions, TextOptions):
        if "options" in names and usual in further.__annotations__:
            hint = f"give it as options={{{usual!r}: ...}}"
            raise TypeError(f"{method}() got an unexpected keyword argument {unknown!r}; {hint}")
    usual = _USUAL_NAMES.get(unknown, "")
    nearest = [usual] if usual in names else get_close_matches(unknown, names, 1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise TypeError(f"{method}() got an unexpected keyword argument {unknown!r}{hint}")

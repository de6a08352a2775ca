"""Validity: signals of facts that held, or did not, at the time that a query is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import exp
from salience.language.change import LEADING, POSSIBLE
from salience.language.english import LIGHT_VERBS
from salience.language.languages import LANGUAGES, language_of_code
from salience.language.languages.table import CHANGE, change_number
from salience.language.tokens import fold, stem, words
from salience.lazily import dataclass
from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Signal
from salience.ranking.signals.vitality import DAY
from salience.retrieval.candidates import CategoricalColumn, Floats

COLUMNS = frozenset({"kind", "session_id", "created_at", "valid_from", "valid_to"})
_TOLD_BY = frozenset({"kind", "valid_from", "valid_to"})  # without which nothing is a fact
FADING_DAYS = 730.0
_OWNER = ("speaker", "user_id", "agent_id", "namespace")
_MAX_CHANGE_WORDS = 12  # content words
_MAX_BARE_WORDS = 3  # content words of a question without a question mark
_STATED = frozenset(
    {"attribute_key", "value", "replaces", "stated", "content_words", "is_question"}
) | {"lexical.matched"}
_KINDS_OF_VALUE = ("has_time", "has_number", "proper_nouns")
_VERSIONS = COLUMNS - {"kind", "session_id"} | {"review", *_STATED, *_KINDS_OF_VALUE, *_OWNER[:3]}
_AHEAD = 0.001  # by which the version that holds is better than the best of the others


def _facts(ev: Evaluation) -> NDArray[np.bool_] | None:
    """True for facts, None where there are none.

    A fact is a memory of the kind "fact" outside any session, or one that says itself when it
    holds. A turn of a conversation is no fact by its kind: it was said when it was said.
    """
    table = ev.candidates
    kind = table.columns["kind"]
    no_kind = isinstance(kind, CategoricalColumn) and "fact" not in kind.distinct
    if no_kind and table.is_unset("valid_from") and table.is_unset("valid_to"):
        return None
    facts = ~(np.isnan(table.floats("valid_from")) & np.isnan(table.floats("valid_to")))
    places, kinds = ev.distinct("kind")
    if "fact" in kinds:
        by_itself = np.array([kind == "fact" for kind in kinds], dtype=bool)[places]
        sessions = table["session_id"][by_itself].tolist()
        by_itself[by_itself] = [session is None for session in sessions]
        facts |= by_itself
    return facts if facts.any() else None


def _begins(ev: Evaluation) -> Floats:
    """The time from which each memory holds: its `valid_from`, else its creation; in seconds."""
    start = ev.candidates.floats("valid_from")
    return np.where(np.isnan(start), ev.candidates.floats("created_at"), start)


def _time(ev: Evaluation) -> tuple[float, float]:
    """The time that the query is about: what it names, else now."""
    return ev.query.reading.past_interval or (ev.query.now, ev.query.now)


def _expired(ev: Evaluation) -> NDArray[np.bool_]:
    """True for memories that say themselves that they did not hold at the time asked about."""
    table = ev.candidates
    first, last = _time(ev)
    expired: NDArray[np.bool_] = table.floats("valid_from") > last
    return expired | (table.floats("valid_to") <= first)


@dataclass(frozen=True)
class Expired(Signal):
    """1 for a memory that says itself that it did not hold at the time asked about, else 0.

    The time is the one that the query names ("in March 2024"), else now; all of it is before
    `valid_from`, or not before `valid_to`. The time of telling does not matter: much is told only
    afterwards.
    """

    def columns(self) -> frozenset[str]:
        return frozenset({"valid_from", "valid_to"})

    def where_unset(self, unset: Set[str]) -> float | None:
        return 0.0 if self.columns() <= unset else None

    def compute(self, ev: Evaluation) -> Values:
        expired = _expired(ev)
        return expired.astype(np.float64) if expired.any() else 0.0


@dataclass(frozen=True)
class IsFact(Signal):
    """1 for a fact, else 0.

    A fact is a memory of the kind "fact" outside any session, or one that says itself when it
    holds.
    """

    def columns(self) -> frozenset[str]:
        return COLUMNS

    def where_unset(self, unset: Set[str]) -> float | None:
        return 0.0 if unset >= _TOLD_BY else None

    def compute(self, ev: Evaluation) -> Values:
        facts = ev.shared(_facts)
        return 0.0 if facts is None else facts.astype(np.float64)


@dataclass(frozen=True)
class LatestFact(Signal):
    """exp(-d / 730) for a fact, d the days from its beginning to the end of the time asked about.

    In [0, 1], 0 for other memories (see `IsFact`) and for facts that begin later. Of two facts
    about the same, the later one is likelier to have held; by how much depends only on the time
    between them. All are 0 where the query is about no time but the past ("originally").
    """

    def columns(self) -> frozenset[str]:
        return COLUMNS

    def where_unset(self, unset: Set[str]) -> float | None:
        return 0.0 if unset >= _TOLD_BY else None

    def compute(self, ev: Evaluation) -> Values:
        facts = ev.shared(_facts)
        if facts is None:
            return 0.0
        first, last = _time(ev)
        if first == -np.inf:
            return 0.0
        days = (last - ev.shared(_begins)) / DAY
        recency = exp(-np.maximum(days, 0.0) / FADING_DAYS)
        return np.where(facts & (days >= 0.0), recency, 0.0)


@dataclass(frozen=True)
class CurrentVersion(Signal):
    """max(0, b + 0.001 - x) for the version that holds, b the best x of the other versions; else 0.

    Versions are memories that state the same attribute of the same subject ("Ana lives in Berlin",
    "Ana moved to Lisbon"), of one speaker, user and agent; no two that say the same. The one that
    holds is the one that began last before the end of the time asked about and has not expired;
    where the query is about no time but the past ("originally", "before"), the last one
    before it that says something else. So it stands just above the others, and nothing else moves.
    What tells a change ("the lease was extended", "correction:") is a version of the older answers
    to the query that share most of their words of it, as is what a user said later in the same
    words of a question.
    """

    of: Signal

    def columns(self) -> frozenset[str]:
        return _VERSIONS

    def compute(self, ev: Evaluation, values: Values) -> Values:
        lift, scores = np.zeros(len(ev.candidates)), ev.spread(values)
        for holds, others in ev.shared(_versions):
            best = max([scores[place] + lift[place] for place in others])
            lift[holds] += max(0.0, best + _AHEAD - (scores[holds] + lift[holds]))
        return lift if lift.any() else 0.0

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return Explanation(self.label(), ev.at(self, row), note=self.note(ev, row))

    def note(self, ev: Evaluation, row: int) -> str:
        for holds, others in ev.shared(_versions):
            if holds == row and "id" in ev.candidates.columns:
                ids = sorted(map(str, ev.candidates["id"][others]))
                return f"holds; other versions: {', '.join(ids)}"
        return ""


@dataclass(frozen=True)
class Contradicted(Signal):
    """min(0, w - 0.001 - x) for a memory that contradicts a stronger one that is found; else 0.

    w is the least x of the stronger ones, after what this takes from them. So the weaker one stands
    just after the stronger one, and nothing else moves. The stage `conflict` says which is which.
    """

    of: Signal

    def columns(self) -> frozenset[str]:
        return frozenset({"conflict.by", "id"})

    def where_unset(self, unset: Set[str]) -> float | None:
        return 0.0 if "conflict.by" in unset else None

    def compute(self, ev: Evaluation, values: Values) -> Values:
        over = ev.shared(_places_over)
        if not over:
            return 0.0
        scores = ev.spread(values)
        lowered = scores.copy()
        for _ in over:  # each may be the stronger one of another
            before = lowered.copy()
            for place, places in over.items():
                lowered[place] = min(scores[place], lowered[places].min() - _AHEAD)
            if np.array_equal(lowered, before):
                break
        return lowered - scores

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return Explanation(self.label(), ev.at(self, row), note=self.note(ev, row))

    def note(self, ev: Evaluation, row: int) -> str:
        ids = ev.candidates["conflict.by"][row] if "conflict.by" in ev.candidates.columns else ()
        return f"contradicts what is stronger: {', '.join(map(str, ids))}" if ids else ""


def _places_over(ev: Evaluation) -> dict[int, list[int]]:
    """The places of the stronger ones by that of the weaker one, in its own namespace."""
    table = ev.candidates
    stronger = table["conflict.by"].tolist()
    weaker = [place for place, ids in enumerate(stronger) if ids]
    if not weaker:
        return {}
    ids = table["id"].tolist()
    several = "namespace" in table.columns
    spaces = table["namespace"].tolist() if several else [None] * len(ids)
    place_of = {key: place for place, key in enumerate(zip(ids, spaces, strict=True))}
    return {at: [place_of[id, spaces[at]] for id in stronger[at]] for at in weaker}


def _versions(ev: Evaluation) -> list[tuple[int, list[int]]]:
    """Of each attribute with several versions, the place of the one that holds, and the others."""
    of_one = [*_of_one_attribute(ev)]
    changed, learned = [*_with_changes(ev, answering=True), *_said_later(ev)], [*_learned(ev)]
    if not (of_one or changed or learned):
        return []
    first, last = _time(ev)
    begins, table = ev.shared(_begins), ev.candidates
    stated = table.floats("stated")
    is_interval = -np.inf < first < last  # which does not have its end
    can_hold = (begins < last if is_interval else begins <= last) & ~_expired(ev)
    versions: list[tuple[int, list[int]]] = []
    concerned = [place for places in of_one for place in places]
    reviews = table.columns["review"][concerned].tolist()
    held = zip(concerned, can_hold[concerned].tolist(), reviews, strict=True)
    may_hold = {place for place, can, review in held if can and review != "incorrect"}
    for places in of_one:
        holding = [place for place in places if place in may_hold]
        if not holding:
            continue
        # Rows are in order of writing.
        holding.sort(key=lambda place: (begins[place], place))
        if first == -np.inf:
            latest = stated[holding[-1]]
            holding = [place for place in holding if stated[place] != latest] or holding
        holds = holding[-1]
        others = [place for place in places if stated[place] != stated[holds]]
        versions.append((holds, others))
    # A certain change is not turned round by what a question only seems to ask for.
    directed = [*zip(changed, repeat(first == -np.inf)), *zip(learned, repeat(_asks_former(ev)))]
    for (*older, place), asks_former in directed:
        if begins[place] > last and first > -np.inf:  # the time asked about was before the change
            versions.append((max(older, key=begins.__getitem__), [place]))
        if not can_hold[place] or table.columns["review"][place] == "incorrect":
            continue
        if asks_former:
            versions.append((max(older, key=begins.__getitem__), [place]))
        else:
            versions.append((place, older))
    return versions


def _with_changes(ev: Evaluation, *, answering: bool = False) -> Iterator[list[int]]:
    """The places of what tells a change, each after the older memories that it may be about.

    These are short memories of its owner that share at least half of their words of the query with
    it. Where they have to be answers themselves, they have most of the words of the query that any
    memory has, and share more than half; and what tells the change is of what the query names, has
    a time, a number or a name if they have one and it tells no end, and no third person says it.
    """
    table = ev.candidates
    short, replaces = ev.shared(_short), table.floats("replaces")
    changes = (short & (replaces != 0.0)).nonzero()[0]
    matched = table["lexical.matched"] > 0.0
    if answering:
        terms = ev.query.reading.terms
        content_terms = [at for at, term in enumerate(terms) if LIGHT_VERBS.isdisjoint(term)]
        matched = matched[:, content_terms] if content_terms else matched
        matched_terms = matched.any(axis=0).sum()
        changes = changes[2 * matched[changes].sum(axis=1) > matched_terms]
    if not len(changes):
        return
    overlap, begins = matched.sum(axis=1), ev.shared(_begins)
    if answering:
        changed, ended = _changes_asked_for(ev)
        is_asked = np.isin(replaces, (*changed, *ended)) | (replaces >= CHANGE)
        changes = changes[is_asked[changes]]
        short = short & (2 * overlap > matched_terms) & _of_user(ev)
        kinds = _kinds_asked_for(ev)
    owners = [ev.distinct(name)[0] for name in _OWNER if name in table.columns]
    for place in changes[short[changes]].tolist():
        shared = (matched & matched[place]).sum(axis=1)
        about = short & (shared > 0) & (2 * shared >= overlap + answering)
        about &= begins < begins[place]
        for owner in owners:
            about &= owner == owner[place]
        if answering and replaces[place] not in ended:
            for has_kind in kinds:
                about &= has_kind[place] | ~has_kind
        if about.any():
            yield [*np.flatnonzero(about).tolist(), place]


def _said_later(ev: Evaluation) -> Iterator[list[int]]:
    """The places of what a user said at several times in the same words of a question, by age.

    These are short memories of one owner with as many of its words as any has, at least two. The
    last one has a time, a number or a name if an older one has, or is no version of it. What was
    said or done in the past has no versions, nor has what advice is asked for.
    """
    reading = ev.query.reading
    asks = "?" in ev.query.text or reading.content_words <= _MAX_BARE_WORDS
    asks &= "query_asks_advice" not in reading.features
    language = language_of_code(reading.language) if reading.language in LANGUAGES else None
    is_spaced = language is None or language.is_spaced  # else terms are pairs of characters
    if not (asks and is_spaced and "query_is_not_recall" in reading.features):
        return
    table = ev.candidates
    matched = table["lexical.matched"] > 0.0
    counts = matched.sum(axis=1)
    similar = ev.shared(_short) & (counts == max(2, counts.max(initial=0)))
    if similar.sum() < 2:
        return
    begins, kinds = ev.shared(_begins), _kinds_asked_for(ev)
    stated, keys = table.floats("stated"), table.floats("attribute_key")
    owners = [ev.distinct(name)[0] for name in _OWNER if name in table.columns]
    by_words: dict[Any, list[int]] = {}
    for place in np.flatnonzero(similar & _of_user(ev)).tolist():
        key = (matched[place].tobytes(), *(owner[place] for owner in owners))
        by_words.setdefault(key, []).append(place)
    for places in by_words.values():
        *older, last = sorted(places, key=lambda place: (begins[place], place))
        differing = (at for at in older if stated[at] != stated[last] and keys[at] != keys[last])
        versions = [at for at in differing if all(kind[last] or not kind[at] for kind in kinds)]
        if versions:
            yield [*versions, last]


def _learned(ev: Evaluation) -> Iterator[list[int]]:
    """The places of what may have taken the place of an older memory, after that.

    For a question that says that it is about the present, or is about what held before, a lower
    probability is enough; for a request for advice both may bear on it.
    """
    table, features = ev.candidates, ev.query.reading.features
    if "change.by" not in table.columns or table.is_unset("change.by"):
        return
    asks_present = "query_asks_present" in features
    if "query_asks_advice" in features and not asks_present:
        return
    least = POSSIBLE if asks_present or _asks_former(ev) else LEADING
    place_of = {id: at for at, id in enumerate(table["id"].tolist())}
    for older, newer in enumerate(table["change.by"].tolist()):
        for chance, id in newer or ():
            if chance >= least:
                yield [older, place_of[id]]


def _asks_former(ev: Evaluation) -> bool:
    """Test whether the query asks for what held before, at no time that it names."""
    reading = ev.query.reading
    if "query_asks_present" in reading.features or reading.past_interval is not None:
        return _time(ev)[0] == -np.inf
    return reading.asks_former


def _short(ev: Evaluation) -> NDArray[np.bool_]:
    """True for short memories that are no questions."""
    words, asks = ev.candidates.floats("content_words"), ev.candidates.floats("is_question")
    short: NDArray[np.bool_] = (words <= _MAX_CHANGE_WORDS) & (asks == 0.0)
    return short


def _of_user(ev: Evaluation) -> NDArray[np.bool_]:
    """True for what a user said, or nobody: between people much changes in passing."""
    places, speakers = ev.distinct("speaker")
    users = ev.query.reading.users
    return np.array([who is None or who in users for who in speakers], dtype=bool)[places]


def _kinds_asked_for(ev: Evaluation) -> list[NDArray[np.bool_]]:
    """True for memories with each kind of value; no kinds where only yes or no is asked for."""
    if "query_asks_whether" in ev.query.reading.features:
        return []
    return [ev.candidates.floats(name) > 0.0 for name in _KINDS_OF_VALUE]


def _changes_asked_for(ev: Evaluation) -> tuple[set[float], set[float]]:
    """The numbers of changes, and of the end, of what the query names."""
    reading = ev.query.reading
    forms = {form for term in reading.terms for form in term}
    forms.update(stem(word) for speaker in reading.speakers for word in words(fold(speaker)))
    changed = {change_number(word) for word in forms}
    return changed, {change_number(word, is_end=True) for word in forms}


def newer_versions(ev: Evaluation, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True for what is newer than a memory that is kept, and states or changes its attribute."""
    newer = np.zeros(len(kept), dtype=bool)
    if not _VERSIONS.issubset(ev.candidates.columns):
        return newer
    begins = ev.shared(_begins)
    for places in (*_of_one_attribute(ev), *_with_changes(ev)):
        group = np.array(places)
        if kept[group].any():
            oldest = begins[group[kept[group]]].min()
            newer[group[begins[group] > oldest]] = True
    return newer


def _of_one_attribute(ev: Evaluation) -> Iterator[list[int]]:
    """The places of the memories of each owner that differ in what they say of one attribute.

    A memory that replaces a value is one of those that stated it before.
    """
    if ev.candidates.is_unset("attribute_key"):
        return
    names = ("attribute_key", "value", "replaces", "stated")
    keys, values, replaced, what = map(ev.candidates.floats, names)
    keyed = (~np.isnan(keys)).nonzero()[0]
    replacing, own_keys = (replaced > 0.0).nonzero()[0], keys[keyed]
    ordered = np.sort(own_keys)
    is_stated = _among(own_keys, ordered[1:][ordered[1:] == ordered[:-1]])
    is_stated |= _among(values[keyed], np.sort(replaced[replacing]))
    stated = keyed[is_stated]
    if not len(stated):
        return
    replacing = replacing[_among(replaced[replacing], np.sort(values[stated]))]
    by_value, groups = _owned(ev, replaced, replacing), _owned(ev, keys, stated)
    replacing_of, places_of = dict[Any, list[int]](), dict[Any, list[int]]()
    for place, pair in zip(replacing.tolist(), by_value, strict=True):
        replacing_of.setdefault(pair, []).append(place)
    times = Counter(groups)
    pairs = _owned(ev, values, stated)
    for place, group, pair in zip(stated.tolist(), groups, pairs, strict=True):
        if times[group] > 1 or pair in replacing_of:
            places_of.setdefault(group, []).append(place)
    begins = ev.shared(_begins)
    for (_, *owner), places in places_of.items():
        earliest, own_places = min([begins[place] for place in places]), set(places)
        replacements = [
            place
            for value in {values[place] for place in places}
            for place in replacing_of.get((value, *owner), ())
            if begins[place] >= earliest and place not in own_places
        ]
        places += sorted(replacements)
        if len({what[place] for place in places}) > 1:
            yield places


def _among(values: Floats, ascending: Floats) -> NDArray[np.bool_]:
    """True for each number that is among others."""
    if not len(ascending):
        return np.zeros(len(values), dtype=bool)
    at = ascending.searchsorted(values)
    among: NDArray[np.bool_] = ascending.take(at, mode="clip") == values
    return among


def _owned(ev: Evaluation, values: Floats, places: NDArray[np.intp]) -> list[tuple[Any, ...]]:
    """The numbers of a column at some places, each with what identifies its owner."""
    table = ev.candidates.columns
    owners = [table[owner] for owner in _OWNER if owner in table]
    codes = [o.codes if isinstance(o, CategoricalColumn) else o for o in owners]
    return [*zip(*[column[places].tolist() for column in (values, *codes)], strict=True)]

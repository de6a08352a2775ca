"""The audit of a namespace: findings with counts, examples and the requests that help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from salience.api.operations import DELETE, PREFIX, UPKEEP, WRITE
from salience.display.html import HtmlResult, header, nothing, section, table
from salience.display.html import text as html_text
from salience.display.result import Result, to_json
from salience.errors import InvalidInput, shown
from salience.language.secrets import secret_in
from salience.language.tokens import text_key
from salience.lazily import dataclass, regex, replace
from salience.lifecycle.clustering import similar_pairs
from salience.lifecycle.consolidation import EPISODIC_KINDS
from salience.lifecycle.pruning import ARCHIVED, prune
from salience.lifecycle.undoing import ChangeRun
from salience.records.filters import Compare
from salience.records.record import Link, MemoryRecord
from salience.records.validation import callable_or_none, texts
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import (
    OWNER_FIELDS,
    FetchVectors,
    LinksOf,
    ReadRecords,
    ReadTexts,
)
from salience.retrieval.plan import Plan, ask
from salience.write.dedup import DUPLICATE_COSINE
from salience.write.dedup.contradictions import MEMORY_REFERENCE
from salience.write.dedup.match_index import Owner, covers
from salience.write.dedup.sameness import says_same
from salience.write.items import WriteContext
from salience.write.reading import read_table

SHOWN_EXAMPLES = 3  # examples of each finding
MENDABLE = ("duplicates", "junk", "orphaned")
"""The findings that an audit can fix itself; the others need a judgement or another command."""
_READ_CHUNK_TEXTS = 4096

Progress = Callable[[str, int, int], None]
_Problems = Sequence[tuple[str, str]]  # ids of memories, and what is wrong with each


@dataclass(frozen=True, repr=False)
class Action(Result):
    """A request to the server that settles a finding, as data: verb, path, body, needed scope.

    `undo` is the path that takes the `run` of its answer back, None where nothing does.
    """

    _shown = ("title",)

    title: str
    method: str
    path: str
    body: Mapping[str, Any]
    scope: str
    undo: str | None


@dataclass(frozen=True, repr=False)
class Finding(Result):
    """One kind of problem: how many of the memories looked at have it, examples, what helps.

    An example is an id and the problem of that memory.
    """

    _computed = ("rate",)
    _readers: ClassVar[Mapping[str, Any]] = {
        "examples": lambda pairs: tuple(map(itemgetter("id", "why"), pairs))
    }
    _shown = ("name", "count", "of", "actions")

    name: str
    count: int
    of: int
    examples: tuple[tuple[str, str], ...]
    actions: tuple[Action, ...]

    @property
    def rate(self) -> float:
        """The share of the memories looked at; 0 where there are none."""
        return self.count / self.of if self.of else 0.0

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "name": self.name,
            "count": self.count,
            "of": self.of,
            "rate": self.rate,
            "examples": [{"id": id, "why": why} for id, why in self.examples],
            "actions": to_json(self.actions),
        }


@dataclass(frozen=True, repr=False)
class Audit(HtmlResult):
    """All findings about a namespace, in a fixed order.

    `run` is the name of the run that mended some of them, None if nothing was mended.
    """

    _shown = ("namespace", "memories", "findings")

    namespace: str
    memories: int
    findings: tuple[Finding, ...]
    run: str | None = None

    def _title(self) -> str:
        return f"Audit of {self.namespace}"

    def _sections(self) -> Iterator[str]:
        mended = () if self.run is None else (f"mended by the run {self.run}",)
        yield header(self._title(), (f"{self.memories:,} memories", *mended))
        rows = [
            (
                html_text(each.name),
                f"{each.count:,} of {each.of:,}",
                html_text(", ".join(id for id, _ in each.examples)),
                html_text("; ".join(action.title for action in each.actions)),
            )
            for each in self.findings
            if each.count
        ]
        if rows:
            yield section("", table(("problem", "memories", "such as", "what helps"), rows))
        else:
            yield nothing("There is no problem.")

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, name: str) -> Finding:
        return next(finding for finding in self.findings if finding.name == name)


def audit(
    scope: WriteContext, *, mend: Sequence[str] = (), progress: Progress | None = None
) -> Plan[Audit]:
    """The plan of finding duplicate, junk, dormant, contradicted, orphaned, unembedded memories,
    and those with secrets.

    Looks at active memories only (for dormant ones, at those that pruning looks at; for orphans, at
    all). Duplicates and junk are facts and notes: two turns of a conversation that are alike were
    both said. It changes only the findings that `mend` names: it archives duplicates and junk; for
    orphans, it removes links that lead nowhere and makes memories that lost their successor active
    again. The report shows the state before.

    Raises:
        InvalidInput: a finding to mend is not in `MENDABLE`.
    """
    callable_or_none("progress", progress)
    mend = texts("mend", mend)
    for name in mend:
        if name not in MENDABLE:
            raise InvalidInput("mend", f"there is no {shown(name)}", f"use {', '.join(MENDABLE)}")
    names = ("id", "kind", *OWNER_FIELDS, "created_at", "pinned")
    table = yield from read_table(scope, Compare("status", "eq", "active"), names)
    kinds = table["kind"].tolist() if len(table) else []
    is_fact = np.array([kind not in EPISODIC_KINDS for kind in kinds], dtype=bool)
    facts = table.take(is_fact)
    texts_of = yield from _contents(table, progress)
    contents = [text for text, is_own in zip(texts_of, is_fact, strict=True) if is_own]
    vectors = yield from ask(FetchVectors(table.rows, "content"))
    links: Sequence[Link] = yield from ask(LinksOf(scope.namespace))
    is_missing = np.isnan(vectors[:, 0]) if vectors.shape[1] else np.ones(len(table), dtype=bool)
    everything = yield from read_table(scope, None, ("id", "status"))
    dangling = _dangling(everything, links)
    successorless = _successorless(everything, links)
    orphaned = {
        **{link.source: f"links to {link.target!r}, which is no memory" for link in dangling},
        **{id: f"is {s}, but by no memory that is there" for id, s in successorless.items()},
    }
    problems: dict[str, _Problems] = {
        "duplicates": (
            yield from _duplicates(facts, contents, vectors[is_fact], scope.now, progress)
        ),
        "junk": _junk(facts, contents),
        "orphaned": [*orphaned.items()],
        "unembedded": [(id, "has no vector") for id in _ids(table.take(is_missing))],
        "secrets": [] if scope.secrets == "keep" else _secrets(table, texts_of),
    }
    findings = (
        _finding("duplicates", problems["duplicates"], len(facts)),
        _finding("junk", problems["junk"], len(facts)),
        (yield from _dormant(scope)),
        _contradicted(facts, links),
        _finding("orphaned", problems["orphaned"], len(everything)),
        _finding("unembedded", problems["unembedded"], len(table)),
        _finding("secrets", problems["secrets"], len(table), _erasing(problems["secrets"])),
    )
    report = Audit(scope.namespace, len(everything), findings)
    if not any(problems[name] for name in mend):
        return report
    archived = [id for name in mend if name != "orphaned" for id, _ in problems[name]]
    if "orphaned" not in mend:
        dangling, successorless = (), {}
    return (yield from _mended(report, scope, archived, dangling, successorless))


def _mended(
    report: Audit,
    scope: WriteContext,
    archived: Sequence[str],
    dangling: tuple[Link, ...],
    successorless: Mapping[str, str],
) -> Plan[Audit]:
    """Archive memories, remove links to nowhere, and activate memories without a successor."""
    run = yield from ChangeRun.begin("audit", scope)
    active = {
        id: {"status": "active"} | ({"valid_to": None} if status == "superseded" else {})
        for id, status in successorless.items()
    }
    events = run.events("archive", {id: {"status": ARCHIVED} for id in archived})
    yield from run.log([*events, *run.events("restore", active)], dangling)
    return replace(report, run=run.name)


def _ids(table: Candidates) -> list[str]:
    return table["id"].tolist() if len(table) else []


def _finding(
    name: str, problems: _Problems, of: int, actions: tuple[Action, ...] | None = None
) -> Finding:
    """A finding; by default its actions are to archive the few shown, or to mend all.

    No request makes a vector: the embedder of the caller does.
    """
    ordered = sorted(problems)
    ids = [id for id, _ in ordered]
    if name in ("duplicates", "junk") and len(ids) <= SHOWN_EXAMPLES:
        actions = (_upkeep("Archive them", "/archive", {"ids": ids}),)
    elif name in MENDABLE:
        title = "Remove their links and activate them" if name == "orphaned" else "Archive all"
        actions = (_upkeep(title, "/audit", {"mend": [name]}),)
    examples = tuple(ordered[:SHOWN_EXAMPLES])
    return Finding(name, len(ids), of, examples, (actions or ()) if ids else ())


def _upkeep(title: str, path: str, body: Mapping[str, Any]) -> Action:
    return Action(title, "POST", PREFIX + path, body, UPKEEP, f"{PREFIX}/undo")


def _contents(table: Candidates, progress: Progress | None) -> Plan[list[str]]:
    contents: list[str] = []
    for start in range(0, len(table), _READ_CHUNK_TEXTS):
        part = yield from ask(ReadTexts(table.rows[start : start + _READ_CHUNK_TEXTS]))
        contents += [text or "" for text in part]
        if progress is not None:
            progress("reading", len(contents), len(table))
    return contents


def _duplicates(
    facts: Candidates,
    texts: Sequence[str],
    vectors: NDArray[np.float32],
    now: datetime,
    progress: Progress | None,
) -> Plan[_Problems]:
    """Memories that say what an older one of the same owner says, by the judge of writes.

    The older one has the same text or a cosine >= 0.92, says the same (`says_same`) and covers the
    newer one. A pinned one is not a problem: somebody wants it as it is.
    """
    by_owner: dict[Owner, list[int]] = {}
    if len(facts):
        order = np.lexsort((facts["id"].astype(str), facts.floats("created_at"))).tolist()
        owners = list(zip(*(facts[name].tolist() for name in OWNER_FIELDS), strict=True))
        for place in order:
            by_owner.setdefault(owners[place], []).append(place)
    ids = _ids(facts)
    reasons: dict[int, str] = {}
    for places in by_owner.values():
        for one, other in (yield from _same_texts(facts, texts, places, now)):
            reasons[other] = f"says the same as {ids[one]}"
        left = np.array([place for place in places if place not in reasons], dtype=np.intp)
        if not vectors.shape[1]:
            continue
        step = None if progress is None else _named("comparing", progress)
        alike = [
            (int(left[older]), int(left[newer]), cosine)
            for older, newer, cosine in similar_pairs(
                vectors[left], DUPLICATE_COSINE, progress=step
            )
            if says_same(texts[left[older]], texts[left[newer]])
        ]
        records = yield from _records(facts, [place for *pair, _ in alike for place in pair])
        reasons |= {
            other: f"is {cosine:.2f} like {ids[one]}"
            for one, other, cosine in alike
            if _covers(records, one, other, now)
        }
    pinned = facts.floats("pinned") if len(facts) else ()
    return [(ids[place], why) for place, why in reasons.items() if pinned[place] != 1.0]


def _same_texts(
    facts: Candidates, texts: Sequence[str], places: Sequence[int], now: datetime
) -> Plan[list[tuple[int, int]]]:
    """The pairs (first place, place) of memories with one text, of which the first covers it."""
    by_key: dict[int, list[int]] = {}
    for place in places:
        by_key.setdefault(text_key(texts[place]), []).append(place)
    groups = [group for group in by_key.values() if len(group) > 1]
    records = yield from _records(facts, [place for group in groups for place in group])
    pairs: list[tuple[int, int]] = []
    for group in groups:
        distinct: list[int] = []
        for place in group:
            for earlier in distinct:
                is_covered = _covers(records, earlier, place, now)
                if is_covered and says_same(texts[earlier], texts[place]):
                    pairs.append((earlier, place))
                    break
            else:
                distinct.append(place)
    return pairs


def _records(facts: Candidates, places: Sequence[int]) -> Plan[dict[int, MemoryRecord]]:
    """The memories at some places of a table, except those erased meanwhile."""
    if not places:
        return {}
    records = yield from ask(ReadRecords(facts.rows[list(places)]))
    return {p: r for p, r in zip(places, records, strict=True) if r is not None}


def _covers(records: Mapping[int, MemoryRecord], one: int, other: int, now: datetime) -> bool:
    return records.keys() >= {one, other} and covers(records[one], records[other], now)


def _named(name: str, progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, done, total)


def _secrets(table: Candidates, texts: Sequence[str]) -> _Problems:
    """Memories that seem to hold a key or a password, without revealing it."""
    kinds = zip(_ids(table), map(secret_in, texts), strict=True)
    return [(id, f"seems to hold a {kind}") for id, kind in kinds if kind is not None]


def _erasing(problems: _Problems) -> tuple[Action, ...]:
    """The request that erases a few memories; nothing else removes their texts."""
    ids = sorted(id for id, _ in problems)
    path = f"{PREFIX}/memories/delete"
    few = 0 < len(ids) <= SHOWN_EXAMPLES
    return (Action("Erase them", "POST", path, {"ids": ids}, DELETE, None),) if few else ()


def _junk(facts: Candidates, texts: Sequence[str]) -> _Problems:
    pinned = facts.floats("pinned").tolist() if len(facts) else []
    reasons = [
        (id, junk_reason(text))
        for id, text, is_pinned in zip(_ids(facts), texts, pinned, strict=True)
        if is_pinned != 1.0
    ]
    return [(id, reason) for id, reason in reasons if reason is not None]


def _dormant(scope: WriteContext) -> Plan[Finding]:
    """The memories that pruning would move, all of them with the command shown."""
    report = yield from prune(scope, cap=SHOWN_EXAMPLES)
    count = len(report.candidates) + report.left
    examples = tuple((one.id, f"has a vitality of {one.vitality:.2f}") for one in report.candidates)
    archive = _upkeep("Archive all", "/prune", {"apply": True, "cap": count})
    return Finding("dormant", count, report.looked_at, examples, (archive,) if count else ())


def _contradicted(table: Candidates, links: Sequence[Link]) -> Finding:
    """Active facts that contradict each other, where nobody has said which one is right.

    Turns of a conversation may disagree: both were said. An action lets the newer one of each pair
    shown take the place of the older one.
    """
    times = table.floats("created_at").tolist() if len(table) else []
    created = dict(zip(_ids(table), times, strict=True))
    pairs = sorted(
        {
            tuple(sorted((link.source, link.target), key=lambda id: (created[id], id)))
            for link in links
            if link.type == "contradicts" and {link.source, link.target} <= created.keys()
        }
    )
    against: dict[str, str] = {}
    for old, new in pairs:
        against.setdefault(new, old)
        against.setdefault(old, new)
    examples = [(id, f"and {other} contradict each other") for id, other in against.items()]
    actions = tuple(
        Action(
            f"Let {new} supersede {old}",
            "POST",
            f"{PREFIX}/supersede",
            {"old": old, "new": new},
            WRITE,
            None,
        )
        for old, new in pairs[:SHOWN_EXAMPLES]
    )
    return _finding("contradicted", examples, len(table), actions)


def _dangling(table: Candidates, links: Sequence[Link]) -> tuple[Link, ...]:
    """The links that lead from a memory to nowhere."""
    ids = set(_ids(table))
    return tuple(link for link in links if link.source in ids and link.target not in ids)


def _successorless(table: Candidates, links: Sequence[Link]) -> dict[str, str]:
    """The memories whose successor is gone, with the status of each."""
    status = dict(zip(_ids(table), table["status"].tolist() if len(table) else [], strict=True))
    followed = {link.target for link in links if link.type in ("supersedes", "consolidates")}
    return {
        id: what
        for id, what in status.items()
        if what in ("superseded", "consolidated") and id not in followed
    }


# Junk: texts that can answer no question, recognised by a few plain rules

_WORD = regex(r"[^\W_]+")
_PLACEHOLDERS = frozenset(
    "null none nil undefined nan n/a na tbd todo test testing untitled lorem ipsum".split()
)
_SMALL_TALK = frozenset(
    (
        "ok okay yes no yeah yep nope sure thanks thank you hi hello hey bye goodbye great cool "
        "nice done please welcome"
    ).split()
)
_BLOB_CHARACTERS = 200  # without a space: no language has such words
_REPEATED_MIN_WORDS = 12
_REPEATED_SHARE = 0.8  # of the words of a text that are one and the same


def junk_reason(text: str) -> str | None:
    """The reason why a text is junk; None if it may say something.

    In this order: it has no letter or digit; it is only a placeholder ("null", "TODO"); it is only
    small talk ("ok", "thanks!"), of at most three words; one word makes up 80 % of 12 or more;
    a run of 200 characters without a space is most of it; it contains two or more memories copied
    from a context that salience wrote.
    """
    words = [word.casefold() for word in _WORD.findall(text)]
    if not words:
        return "has no letter or digit"
    bare = text.strip().strip("\"'.!?()[]{}<> ").casefold()
    if bare in _PLACEHOLDERS:
        return f"is only a placeholder: {bare}"
    if len(words) <= 3 and _SMALL_TALK.issuperset(words):
        return f"is only small talk: {' '.join(words)}"
    # The middle of the sorted words is the only one that can make up more than half of them.
    if len(words) >= _REPEATED_MIN_WORDS:
        most = sorted(words)[len(words) // 2]
        count = words.count(most)
        if count >= _REPEATED_SHARE * len(words):
            return f"says {most!r} {count} times in {len(words)} words"
    if len(text) >= _BLOB_CHARACTERS and text.isascii() and "://" not in text:
        longest = max(map(len, text.split()))
        if longest >= _BLOB_CHARACTERS and longest > len(text) / 2:
            return f"is a run of {longest:,} characters without a space"
    copied = len(MEMORY_REFERENCE.findall(text))
    if copied > 1:
        return f"repeats {copied} memories out of a context"
    return None

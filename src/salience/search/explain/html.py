"""The parts of an explanation as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from salience.display.html import bar, bars, mark, section, table, text
from salience.ranking.explanation import Explanation, figure
from salience.ranking.rejection import WhyNot
from salience.records.record import MemoryRecord
from salience.search.explain.weights import WeightChange
from salience.search.explain.why_not import Change, beyond
from salience.search.passages import Passage

NOT_RETURNED = "not returned"


def header(query: str, record: MemoryRecord, badge: str, verdict: str, notes: Sequence[str]) -> str:
    """The head of a page: the query, the verdict with its badge, the memory, and notes on it."""
    kind = "verdict not" if badge == NOT_RETURNED else "verdict"
    return (
        f"<header>\n<h1>{text(query)}</h1>\n"
        f'<p><span class="{kind}">{badge}</span> {text(verdict)}</p>\n'
        f"<blockquote>{text(record.content)}</blockquote>\n"
        f'<p class="soft"><code>{text(record.id)}</code> · {text(" · ".join(notes))}</p>\n'
        "</header>"
    )


def absence(why_not: WhyNot) -> Iterator[str]:
    """The conditions that a memory does not meet, and how it does on each route."""
    if why_not.unmet:
        conditions = [
            (text(unmet.condition), text(", ".join(f"{n} is {v}" for n, v in unmet.values.items())))
            for unmet in why_not.unmet
        ]
        yield section(
            "What it does not meet", table(("asked for", "the memory"), conditions, stacked=True)
        )
    if why_not.routes:
        rows = [
            (
                text(route.route),
                "no evidence" if route.rank is None else f"number {route.rank}",
                _figure_or_dash(route.score),
                "all" if route.depth is None else f"first {route.depth}",
                _figure_or_dash(route.cut),
            )
            for route in why_not.routes
        ]
        head = ("route", "it is", "with", "taken are", "the last has")
        yield section("On the routes", table(head, rows, numbers=(2, 4), stacked=True))


def score_parts(tree: Explanation, why_not: WhyNot | None) -> str:
    """A bar for the contribution of each part to the score.

    Where the memory was outranked, a mark shows the contribution that would make it even.
    """
    contributions, factors = tree.contributions(), tree.factored()[1]
    costs = () if why_not is None else why_not.parts
    even = {
        part.name: contributions.get(part.name, 0.0) + part.behind
        for part in costs
        if part.name not in factors
    }
    docs = {node.label: node for node in tree if node.doc}
    body = bars(_part_rows(contributions, even, docs))
    if even and why_not is not None and why_not.rival is not None:
        rival = text(why_not.rival)
        body += (
            f'<p class="soft key"><span><b class="aim"></b>even with {rival}, the last that went on'
            "</span></p>"
        )
    for part in costs:
        if part.name in factors:
            comparison = f"{figure(part.own)} against {figure(part.rival)}"
            body += f"<p>{text(part.name)} costs it {figure(part.behind)}: {comparison}</p>"
    return section(f"What makes up its score of {figure(tree.value)}", body)


def _part_rows(
    contributions: Mapping[str, float], even: Mapping[str, float], docs: Mapping[str, Explanation]
) -> Iterator[str]:
    """A row for each part, the largest contribution first."""
    values = [*contributions.values(), *even.values(), 0.0]
    low, width = min(values), (max(values) - min(values)) or 1.0
    names = [name for name in {**contributions, **even} if contributions.get(name) or name in even]
    for name in sorted(names, key=lambda name: (-abs(contributions.get(name, 0.0)), name)):
        value = contributions.get(name, 0.0)
        start, end = (100.0 * (x - low) / width for x in (min(value, 0.0), max(value, 0.0)))
        drawn = bar(start, end, "less" if value < 0.0 else "")
        if name in even:
            drawn += mark((even[name] - low) / width, "aim")
        yield (
            f"<tr{_title(docs.get(name))}><td>{text(name)}</td>"
            f'<td class="number">{figure(value)}</td>'
            f'<td class="wide"><div class="track">{drawn}</div></td></tr>'
        )


def passages(matching: Sequence[Passage]) -> str:
    """The passages of a long text that match, each with its place, its headings and its score."""
    rows = [
        (f"{p.number} of {p.of}", text(p.heading), text(p.text), figure(p.score)) for p in matching
    ]
    head = ("passage", "under", "its text", "score")
    return section("Where it matches", table(head, rows, numbers=(3,), stacked=True))


def changes(nearest: Sequence[Change], outlook: str) -> str:
    """The range of each part among the candidates, with its value and the value needed."""
    rows = []
    for change in nearest:
        low = min(change.low, change.value, change.needed)
        width = (max(change.high, change.value, change.needed) - low) or 1.0
        start, end = ((x - low) / width * 100.0 for x in (change.low, change.high))
        marks = mark((change.value - low) / width, "") + mark((change.needed - low) / width, "aim")
        rows.append(
            f'<tr><td>{text(change.part)}</td><td class="number">{figure(change.value)} → '
            f'{beyond(change.value, change.needed)}</td><td class="wide"><div class="track">'
            f"{bar(start, end, '')}{marks}</div></td></tr>"
        )
    body = f"<p>{text(outlook)}</p>"
    if rows:
        key = (
            '<span><b></b>as it is</span><span><b class="aim"></b>needed</span>'
            "<span><i></i>what the candidates have</span>"
        )
        body += f'{bars(rows)}<p class="soft key">{key}</p>'
    return section("What would change it", body)


def weights_say(turning: Sequence[WeightChange], aim: str) -> str:
    """A sentence on the weights that turn an outcome."""
    return f"Any one of these weights would {aim}:" if turning else f"No weight alone would {aim}."


def weights(turning: Sequence[WeightChange], aim: str) -> str:
    """The weights that could turn the outcome."""
    rows = [
        (text(turn.name), turn.change, "" if turn.rank is None else f"hit {turn.rank}")
        for turn in turning
    ]
    body = f"<p>{text(weights_say(turning, aim))}</p>"
    if rows:
        body += table(("weight", "it is, and would have to be", "then"), rows)
    return section("Which weight would change it", body)


def _title(node: Explanation | None) -> str:
    """The attribute that shows a named part's group and line of explanation under the pointer."""
    if node is None:
        return ""
    return f' title="{text(f"{node.group}: {node.doc}" if node.group else node.doc)}"'


def _figure_or_dash(value: float | None) -> str:
    return "—" if value is None or math.isnan(value) else figure(value)

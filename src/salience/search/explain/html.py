"""The parts of an explanation as HTML: no script, nothing loaded, every text escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files

from salience.ranking.explanation import Explanation, figure, number
from salience.ranking.rejection import WhyNot
from salience.records.record import MemoryRecord
from salience.search.explain.counterfactuals import Change, beyond

NOT_RETURNED = "not returned"

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, sections: Iterable[str]) -> str:
    """A page of sections."""
    style = files("salience.search.explain").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(sections)
        + "\n</body>\n</html>\n"
    )


def header(query: str, record: MemoryRecord, badge: str, verdict: str, notes: Sequence[str]) -> str:
    """The head of a page: the query, the verdict with its badge, the memory, and notes on it."""
    kind = "verdict not" if badge == NOT_RETURNED else "verdict"
    return (
        f"<header>\n<h1>{escape(query)}</h1>\n"
        f'<p><span class="{kind}">{badge}</span> {escape(verdict)}</p>\n'
        f"<blockquote>{escape(record.content)}</blockquote>\n"
        f'<p class="soft"><code>{escape(record.id)}</code> · {escape(" · ".join(notes))}</p>\n'
        "</header>"
    )


def absence(why_not: WhyNot) -> Iterator[str]:
    """The conditions that a memory does not meet, and how it does on each route."""
    if why_not.unmet:
        conditions = [
            (one.condition, ", ".join(f"{name} is {value}" for name, value in one.values.items()))
            for one in why_not.unmet
        ]
        yield _section("What it does not meet", _table(("asked for", "the memory"), conditions))
    if why_not.routes:
        rows = [
            (
                one.route,
                "no evidence" if one.rank is None else f"number {one.rank}",
                _figure_or_dash(one.score),
                "all" if one.depth is None else f"first {one.depth}",
                _figure_or_dash(one.cut),
            )
            for one in why_not.routes
        ]
        head = ("route", "it is", "with", "taken are", "the last has")
        yield _section("On the routes", _table(head, rows))


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
    body = f"<table>{''.join(_part_rows(contributions, even, docs))}</table>"
    if even and why_not is not None and why_not.rival is not None:
        rival = escape(why_not.rival)
        body += (
            f'<p class="soft key"><b class="aim"></b>even with {rival}, the last that went on</p>'
        )
    for part in costs:
        if part.name in factors:
            both = f"{figure(part.own)} against {figure(part.rival)}"
            body += f"<p>{escape(part.name)} costs it {figure(part.behind)}: {both}</p>"
    return _section(f"What makes up its score of {figure(tree.value)}", body)


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
        bar = _bar(start, end, "less" if value < 0.0 else "")
        mark = _mark((even[name] - low) / width, "aim") if name in even else ""
        yield (
            f"<tr{_title(docs.get(name))}><td>{escape(name)}</td>"
            f'<td class="number">{figure(value)}</td>'
            f'<td class="wide"><div class="track">{bar}{mark}</div></td></tr>'
        )


def changes(nearest: Sequence[Change], outlook: str) -> str:
    """The range of each part among the candidates, with its value and the value needed."""
    rows = []
    for change in nearest:
        low = min(change.low, change.value, change.needed)
        width = (max(change.high, change.value, change.needed) - low) or 1.0
        start, end = ((x - low) / width * 100.0 for x in (change.low, change.high))
        marks = _mark((change.value - low) / width, "") + _mark(
            (change.needed - low) / width, "aim"
        )
        rows.append(
            f'<tr><td>{escape(change.part)}</td><td class="number">{figure(change.value)} → '
            f'{beyond(change)}</td><td class="wide"><div class="track">'
            f"{_bar(start, end, '')}{marks}</div></td></tr>"
        )
    body = f"<p>{escape(outlook)}</p>"
    if rows:
        key = '<b></b>as it is <b class="aim"></b>needed; the bar is what the candidates have'
        body += f'<table>{"".join(rows)}</table><p class="soft key">{key}</p>'
    return _section("What would change it", body)


def computation(tree: Explanation) -> str:
    """The whole tree of a score, folded."""
    return _section("The whole computation", _node(tree, opened=True))


def _node(node: Explanation, *, opened: bool = False) -> str:
    """A node that opens to show its children; a weight and its part are one node."""
    inner = node.part_node
    weight = "" if inner is node else f" = {node.weight:g} * {number(inner.value).strip()}"
    notes = "; ".join(dict.fromkeys(note for note in (node.note, inner.note) if note))
    line = f"<code>{number(node.value)}</code> {escape(inner.label + weight)}"
    if notes:
        line += f' <span class="soft">({escape(notes)})</span>'
    if inner.doc:
        group = f"{inner.group}: " if inner.group else ""
        line += f' <span class="soft">{escape(group + inner.doc)}</span>'
    if not inner.children:
        return f'<div class="leaf">{line}</div>'
    how = f' <span class="soft">= {escape(inner.how)}</span>' if inner.how else ""
    zero = [c for c in inner.children if c.value == 0.0] if inner.how == "sum" else []
    folded = zero if len(zero) > 1 else []
    below = "".join(_node(c) for c in inner.children if not any(c is other for other in folded))
    if folded:
        title = f'<span class="soft">{len(folded)} parts are 0</span>'
        zeros = "".join(_node(child) for child in folded)
        below += f"<details><summary>{title}</summary>{zeros}</details>"
    return f"<details{' open' if opened else ''}><summary>{line}{how}</summary>{below}</details>"


def _title(node: Explanation | None) -> str:
    """The attribute that shows a named part's group and line of explanation under the pointer."""
    if node is None:
        return ""
    return f' title="{escape(f"{node.group}: {node.doc}" if node.group else node.doc)}"'


def _bar(start: float, end: float, kind: str) -> str:
    return f'<i class="{kind}" style="left:{start:.2f}%;width:{end - start:.2f}%"></i>'


def _mark(place: float, kind: str) -> str:
    return f'<b class="{kind}" style="left:{100.0 * place:.2f}%"></b>'


def _figure_or_dash(value: float | None) -> str:
    return "—" if value is None or math.isnan(value) else figure(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>"

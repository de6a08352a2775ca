"""A reason as one HTML page: no script, nothing loaded, every text escaped, light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from salience.ranking.explanation import Explanation, figure, number
from salience.search.explain.counterfactuals import beyond

if TYPE_CHECKING:
    from salience.search.explain.report import ExplainReport

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(reason: ExplainReport) -> str:
    """The page of a reason."""
    style = files("salience.search.explain").joinpath("page.css").read_text(encoding="utf-8")
    sections = [
        _head(reason),
        *_absence(reason),
        *_parts(reason),
        *_changes(reason),
        *_tree(reason),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Why {escape(reason.id)}?</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(sections)
        + "\n</body>\n</html>\n"
    )


def _head(reason: ExplainReport) -> str:
    kind, short, said = "verdict", f"hit {reason.rank}", f"of {reason.of} that were scored."
    if reason.why_not is not None:
        kind, short = "verdict not", "not returned"
        said = f"{reason.why_not.stage}: {reason.why_not.reason}."
    routes = ", ".join(f"{name} (number {rank})" for name, rank in reason.routes.items())
    facts = [
        f"profile {reason.profile}, first {reason.limit}",
        *([] if reason.score is None else [f"score {figure(reason.score)}"]),
        *([f"found by {routes}"] if routes else []),
        *(f"{name} {value}" for name, value in reason.left.items()),
        *(f"without {each}" for each in reason.degraded),
    ]
    return (
        f"<header>\n<h1>{escape(reason.query)}</h1>\n"
        f'<p><span class="{kind}">{short}</span> {escape(said)}</p>\n'
        f"<blockquote>{escape(reason.record.content)}</blockquote>\n"
        f'<p class="soft"><code>{escape(reason.id)}</code> · {escape(" · ".join(facts))}</p>\n'
        "</header>"
    )


def _absence(reason: ExplainReport) -> Iterator[str]:
    if reason.why_not is None:
        return
    if reason.why_not.unmet:
        met = [
            (each.condition, ", ".join(f"{name} is {value}" for name, value in each.values.items()))
            for each in reason.why_not.unmet
        ]
        yield _section("What it does not meet", _table(("asked for", "the memory"), met))
    if reason.why_not.routes:
        rows = [
            (
                each.route,
                "no evidence" if each.rank is None else f"number {each.rank}",
                _known(each.score),
                "all" if each.depth is None else f"first {each.depth}",
                _known(each.cut),
            )
            for each in reason.why_not.routes
        ]
        head = ("route", "it is", "with", "taken are", "the last has")
        yield _section("On the routes", _table(head, rows))


def _parts(reason: ExplainReport) -> Iterator[str]:
    """A bar for what each part puts into the score, and a mark where it would be even."""
    if reason.why is None:
        return
    own, factors = reason.why.contributions(), reason.why.factored()[1]
    costs = () if reason.why_not is None else reason.why_not.parts
    even = {p.name: own.get(p.name, 0.0) + p.behind for p in costs if p.name not in factors}
    names = [name for name in {**own, **even} if own.get(name) or name in even]
    docs = {node.label: node for node in reason.why if node.doc}
    known = [*own.values(), *even.values(), 0.0]
    low, width = min(known), (max(known) - min(known)) or 1.0
    rows = []
    for name in sorted(names, key=lambda n: (-abs(own.get(n, 0.0)), n)):
        value = own.get(name, 0.0)
        start, end = (100.0 * (x - low) / width for x in (min(value, 0.0), max(value, 0.0)))
        bar = _bar(start, end, "less" if value < 0.0 else "")
        mark = _mark((even[name] - low) / width, "aim") if name in even else ""
        rows.append(
            f"<tr{_title(docs.get(name))}><td>{escape(name)}</td>"
            f'<td class="number">{figure(value)}</td>'
            f'<td class="wide"><div class="track">{bar}{mark}</div></td></tr>'
        )
    body = f"<table>{''.join(rows)}</table>"
    if even and reason.why_not is not None and reason.why_not.rival is not None:
        rival = escape(reason.why_not.rival)
        body += (
            f'<p class="soft key"><b class="aim"></b>even with {rival}, the last that went on</p>'
        )
    for part in costs:
        if part.name in factors:
            both = f"{figure(part.own)} against {figure(part.rival)}"
            body += f"<p>{escape(part.name)} costs it {figure(part.behind)}: {both}</p>"
    yield _section(f"What makes up its score of {figure(reason.why.value)}", body)


def _changes(reason: ExplainReport) -> Iterator[str]:
    """For each part its range among the candidates, with its value and the value needed."""
    rows = []
    for change in reason.nearest:
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
    body = f"<p>{escape(reason.outlook)}</p>"
    if rows:
        key = '<b></b>as it is <b class="aim"></b>needed; the bar is what the candidates have'
        body += f'<table>{"".join(rows)}</table><p class="soft key">{key}</p>'
    yield _section("What would change it", body)


def _tree(reason: ExplainReport) -> Iterator[str]:
    if reason.why is not None:
        yield _section("The whole computation", _node(reason.why, opened=True))


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
    nothing = [c for c in inner.children if c.value == 0.0] if inner.how == "sum" else []
    folded = nothing if len(nothing) > 1 else []
    below = "".join(_node(c) for c in inner.children if not any(c is each for each in folded))
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


def _known(value: float | None) -> str:
    return "—" if value is None or math.isnan(value) else figure(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>"

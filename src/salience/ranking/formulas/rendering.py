"""Formulas as text that can be read: weights aligned, every named part spelled out below.

score = 0.5 * similarity
      + 0.3 * importance
      + 0.2 * recency

recency = exp(-0.05 * days_since(last_accessed, created_at))
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from typing import Any

from salience.ranking.expressions import Constant, NamedExpression, Product, Signal, Sum
from salience.ranking.stages import Stage
from salience.ranking.weights import walk

_MIN_WIDTH = 40  # columns


def render_formula(stages: Sequence[Stage], width: int = 100) -> str:
    """The stages in order, then the formula of every scored column, then those of named parts."""
    width = max(width, _MIN_WIDTH)
    blocks = [_wrapped("", " >> ".join(stage_text(stage) for stage in stages), width)]
    columns = {column for stage in stages for column in stage.formulas()}
    terms: dict[str, Signal] = {}
    for stage in stages:
        for column, formula in stage.formulas().items():
            if isinstance(formula, NamedExpression) and formula.name == column:
                formula = formula.of
            blocks.append("\n".join(_score_lines(column, formula, width)))
        for signal in stage.signals():
            for node in walk(signal):
                if isinstance(node, NamedExpression) and node.name not in columns:
                    terms.setdefault(node.name, node.of)
    longest = max((len(name) for name in terms), default=0)
    parts = [
        _wrapped(f"{name:<{longest}} = ", _unparenthesized(of), width) for name, of in terms.items()
    ]
    return "\n\n".join([*blocks, *(["\n".join(parts)] if parts else [])])


def stage_text(stage: Stage) -> str:
    """`retrieve(lexical, vector)`: a stage with what differs from its defaults."""
    if stage.formulas():  # they follow below
        arguments = [column for column in stage.formulas() if column != "score"]
    else:
        arguments = [
            _argument(value) if field.default is MISSING else f"{field.name}={_argument(value)}"
            for field in fields(stage)
            if (value := getattr(stage, field.name)) != field.default
        ]
    return f"{stage.label()}({', '.join(arguments)})" if arguments else stage.label()


def _argument(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(_argument(item) for item in value)
    return str(value if isinstance(value, Signal) else getattr(value, "name", value))


def _score_lines(into: str, signal: Signal, width: int) -> Iterator[str]:
    """The lines of a formula; the parts of a sum one below the other."""
    if not isinstance(signal, Sum):
        yield _wrapped(f"{into} = ", str(signal), width)
        return
    parts = [_split_weight(part) for part in signal.parts]
    labels = [_as_named(part) for part in signal.parts]
    # Signs go between the parts, except before the first.
    signs = ["-" if weight.startswith("-") else "+" for weight, _ in parts[1:]]
    weights = [parts[0][0], *(weight.removeprefix("-") for weight, _ in parts[1:])]
    longest = max(len(weight) for weight in weights)
    indent, group = " " * len(into), ""
    lines = []
    for i, (weight, (_, part)) in enumerate(zip(weights, parts, strict=True)):
        head = f"{into} = " if i == 0 else f"{indent} {signs[i - 1]} "
        if labels[i].group != group:
            group = labels[i].group
            lines.append((f"{into} =\n{indent} # {group}" if i == 0 else f"{indent} # {group}", ""))
            head = f"{indent}   " if i == 0 else head
        weight = f"{weight:<{longest}} * " if weight else " " * (longest + 3) * bool(longest)
        lines.append((_wrapped(head + weight, part, width), labels[i].doc))
    yield from _commented(lines, width)


def _commented(lines: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Each line with its comment after it, in one column; without comments if one is too long."""
    column = max((len(line) for line, comment in lines if comment), default=0) + 2
    fits = all(column + 2 + len(comment) <= width for _, comment in lines)
    for line, comment in lines:
        yield f"{line:<{column}}# {comment}" if comment and fits else line


def _as_named(part: Signal) -> NamedExpression:
    """The named expression of a part with or without a weight; one without a name for any other."""
    inner = part.parts[-1] if isinstance(part, Product) and len(part.parts) == 2 else part
    return inner if isinstance(inner, NamedExpression) else NamedExpression("", inner)


def _split_weight(part: Signal) -> tuple[str, str]:
    """A part's weight ("" for none) and the rest of it."""
    if isinstance(part, Product) and isinstance(part.parts[0], Constant):
        factors = part.parts[1:]
        inner = factors[0] if len(factors) == 1 else Product(factors)
        return str(part.parts[0]), str(inner)
    return "", str(part)


def _unparenthesized(signal: Signal) -> str:
    """A formula without the parentheses that it needs only inside another."""
    return str(signal)[1:-1] if isinstance(signal, Sum) else str(signal)


def _wrapped(head: str, text: str, width: int) -> str:
    lines = textwrap.wrap(
        text,
        max(width - len(head), _MIN_WIDTH // 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return head + f"\n{' ' * len(head)}".join(lines)

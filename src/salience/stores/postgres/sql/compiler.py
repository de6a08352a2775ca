"""Signals as SQL: the second interpreter of the tree that `salience.ranking.expressions` evaluates.

    compile_signal(signal, query, columns) -> SqlExpression

NULL stands for NaN: no value. Beside its SQL an expression has bounds of its values, and of how far
the server's can be from those of `Signal.evaluate`. Additions, multiplications, divisions and roots
are the same to the last bit; exponentials and logarithms may differ in their last digits, and the
server sums cosines in another order. So a function with jumps (a floor, a limit, a logarithm at 0)
compiles only over what is the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import singledispatchmethod
from itertools import product

from salience.ranking.expressions import (
    Col,
    Constant,
    Default,
    FirstOf,
    NamedExpression,
    Product,
    Quotient,
    Signal,
    Sum,
)
from salience.ranking.functions import Apply, Lookup, QueryFlag, WhenQuery
from salience.ranking.signals import Age, EntityOverlap, SaidBy
from salience.ranking.signals.recency import DAY, HOUR
from salience.records.fields import FIELDS
from salience.retrieval.query import Formula, Query
from salience.stores.postgres.sql.expressions import (
    NotCompilable,
    SqlExpression,
    constant,
    fill_template,
    least_or_greatest,
)
from salience.stores.postgres.sql.identifiers import SPELLED_FIELDS, spelling_key

_RELATIVE_ROUNDING = 2.0**-50  # a few last digits, relative
_MAX_EXPONENT, _MIN_EXPONENT = (
    709.0,
    -708.0,
)  # beyond, exp is no normal number, which PostgreSQL refuses
_MAX_EPOCH_SECONDS = 3e11  # seconds; no date is farther from 1970
_MAX_NUMBER = 1e9  # more than counts, sums of judgements and rates will be
_INFINITY = "'Infinity'::float8"


def compile_signal(
    signal: Formula, query: Query, columns: Mapping[str, SqlExpression], table: str = "m"
) -> SqlExpression:
    """A signal over rows of `memories`, under the alias `table`, as a number in SQL.

    `columns` are forms of columns that the table does not have, such as `vector.score`. Raises
    `NotCompilable` where a node has none, as those do that look at all candidates.
    """
    return _Compiler(query, columns, table).form(signal)


class _Compiler:
    """The compilation of one signal, node by node."""

    def __init__(self, query: Query, columns: Mapping[str, SqlExpression], table: str) -> None:
        self._query = query
        self._columns = columns
        self._table = table

    @singledispatchmethod
    def form(self, signal: Formula) -> SqlExpression:
        """The SQL form of a node; each class of nodes has one below."""
        raise NotCompilable(f"{signal} ({type(signal).__name__}) has no SQL form")

    @form.register
    def _(self, signal: Constant) -> SqlExpression:
        return constant(signal.value)

    @form.register
    def _(self, signal: QueryFlag) -> SqlExpression:
        return constant(self._query.reading.features.get(signal.feature, 0.0))

    @form.register
    def _(self, signal: WhenQuery) -> SqlExpression:
        applies = self._query.reading.features.get(signal.feature)
        return self.form(signal.of) if applies else constant(0.0)

    @form.register
    def _(self, signal: NamedExpression) -> SqlExpression:
        return self.form(signal.of)

    @form.register
    def _(self, signal: Col) -> SqlExpression:
        return self._column(signal.name)

    def _column(self, name: str) -> SqlExpression:
        column = self._columns.get(name)
        if column is not None:
            return column
        field = FIELDS.get(name)
        if field is None or field.type not in ("number", "time"):
            raise NotCompilable(f"{name} is no column of numbers that the server keeps")
        sql = f"{self._table}.{name}"
        if field.type == "time":
            return SqlExpression(
                sql,
                (),
                -_MAX_EPOCH_SECONDS,
                _MAX_EPOCH_SECONDS,
                missing=name not in ("created_at", "updated_at"),
            )
        largest = _MAX_NUMBER if field.maximum is None else field.maximum
        return SqlExpression(sql, (), 0.0, largest, missing=not field.whole)

    def _text(self, name: str) -> str:
        if name not in FIELDS or FIELDS[name].type != "text":
            raise NotCompilable(f"{name} is no column of texts that the server keeps")
        return f"{self._table}.{name}"

    @form.register
    def _(self, signal: Lookup) -> SqlExpression:
        table = dict(signal.table)
        if not table:
            return constant(math.nan)
        column = self._text(signal.column)
        cases = [constant(value) for value in table.values()]
        sql = "".join(f" WHEN %s::text THEN {case.sql}" for case in cases)
        finite = [value for value in table.values() if not math.isnan(value)] or [0.0]
        return SqlExpression(
            f"(CASE {column}{sql} END)",
            tuple(
                p for key, case in zip(table, cases, strict=True) for p in (key, *case.parameters)
            ),
            min(finite),
            max(finite),
            endless=any(case.endless for case in cases),
        )

    @form.register
    def _(self, signal: Sum) -> SqlExpression:
        total, *rest = (self.form(part) for part in signal.parts)
        for part in rest:
            low, high = total.low + part.low, total.high + part.high
            error = total.error + part.error
            total = fill_template("({0} + {1})", total, part).within(
                *_min_max([low, high]), _with_rounding(error, low, high)
            )
        return total

    @form.register
    def _(self, signal: Product) -> SqlExpression:
        total, *rest = (self.form(part) for part in signal.parts)
        for part in rest:
            ends = [_bound_product(a, b) for a, b in product(_bounds(total), _bounds(part))]
            error = _bound_product(total.most, part.error) + _bound_product(part.most, total.error)
            error += _bound_product(total.error, part.error)
            total = fill_template("({0} * {1})", total, part).within(
                *_min_max(ends), _with_rounding(error, *ends)
            )
        return total

    @form.register
    def _(self, signal: Quotient) -> SqlExpression:
        top, bottom = self.form(signal.top), self.form(signal.bottom)
        if bottom.low > 0.0 or bottom.high < 0.0:
            least = min(abs(bottom.low), abs(bottom.high)) - bottom.error
            if least <= 0.0:
                raise NotCompilable(
                    f"{signal.bottom} may be 0 on the server, so {signal} has no SQL form"
                )
            ends = [a / b for a, b in product(_bounds(top), _bounds(bottom)) if math.isfinite(b)]
            ends += [0.0] * any(math.isinf(b) for b in _bounds(bottom))
            error = top.error / least + _bound_product(top.most, bottom.error) / least**2
            return fill_template("({0} / {1})", top, bottom).within(
                *_min_max(ends), _with_rounding(error, *ends)
            )
        _require_exact(bottom, signal.bottom, signal)
        error = math.inf if top.error else 0.0
        return fill_template(
            "(CASE WHEN {1} = 0 THEN CASE WHEN {0} IS NOT NULL THEN 0 END ELSE {0} / {1} END)",
            top,
            bottom,
        ).within(-math.inf, math.inf, error)

    @form.register
    def _(self, signal: Default) -> SqlExpression:
        of, other = self.form(signal.of), constant(signal.value)
        return self._either(of, other)

    @form.register
    def _(self, signal: FirstOf) -> SqlExpression:
        first, *rest = (self.form(option) for option in signal.options)
        for option in rest:
            first = self._either(first, option)
        return first

    @staticmethod
    def _either(first: SqlExpression, second: SqlExpression) -> SqlExpression:
        if not first.missing:
            return first
        either = fill_template("coalesce({0}, {1})", first, second)
        low, high = min(first.low, second.low), max(first.high, second.high)
        error = max(first.error, second.error)
        return replace(either, low=low, high=high, error=error, missing=second.missing)

    @form.register
    def _(self, signal: Apply) -> SqlExpression:
        compile_call = getattr(self, f"_{signal.function}", None)
        if compile_call is None:
            raise NotCompilable(f"{signal.function} has no SQL form")
        expression: SqlExpression = compile_call(
            signal, *(self.form(each) for each in signal.arguments)
        )
        return expression

    def _exp(self, signal: Apply, x: SqlExpression) -> SqlExpression:
        low, high = _bound_exp(x.low), _bound_exp(x.high)
        # |exp(x + e) - exp(x)| <= exp(x + e) * e
        error = _with_rounding(_bound_product(_bound_exp(x.high + x.error), x.error), high)
        beyond = (
            f" WHEN {{0}} > {_MAX_EXPONENT} THEN {_INFINITY}" if x.high >= _MAX_EXPONENT else ""
        )
        below = f" WHEN {{0}} < {_MIN_EXPONENT} THEN 0" if x.low <= _MIN_EXPONENT else ""
        sql = f"(CASE{beyond}{below} ELSE exp({{0}}) END)" if beyond or below else "exp({0})"
        endless = x.endless or bool(beyond)
        error = max(error, high * _RELATIVE_ROUNDING)
        return replace(fill_template(sql, x), low=low, high=high, error=error, endless=endless)

    def _sigmoid(self, signal: Apply, x: SqlExpression) -> SqlExpression:
        result = fill_template(
            f"(CASE WHEN {{0}} > {_MAX_EXPONENT} THEN 1 WHEN {{0}} < {_MIN_EXPONENT} THEN 0 "
            "ELSE 1 / (1 + exp(-{0})) END)",
            x,
        )
        error = x.error / 4.0 + _RELATIVE_ROUNDING  # its slope is at most 1/4
        return replace(result, low=0.0, high=1.0, error=error, endless=False)

    def _log(self, signal: Apply, x: SqlExpression) -> SqlExpression:
        _require_exact(x, signal.arguments[0], signal)
        result = fill_template(
            f"(CASE WHEN {{0}} > 0 THEN ln({{0}}) WHEN {{0}} = 0 THEN -{_INFINITY} END)", x
        )
        low = math.log(x.low) if x.low > 0.0 else -math.inf
        high = min(_bound_log(x.high), _MAX_EXPONENT + 1.0)
        ends = [end for end in (low, high) if math.isfinite(end)] + [745.0] * (x.low <= 0.0)
        error = max(map(abs, ends)) * _RELATIVE_ROUNDING
        missing = x.missing or x.low < 0.0
        endless = x.endless or x.low <= 0.0
        return replace(result, low=low, high=high, error=error, missing=missing, endless=endless)

    def _sqrt(self, signal: Apply, x: SqlExpression) -> SqlExpression:
        _require_exact(x, signal.arguments[0], signal)
        ends = [math.sqrt(max(0.0, end)) for end in _bounds(x)]
        if x.low >= 0.0:
            return replace(fill_template("sqrt({0})", x), low=ends[0], high=ends[1])
        result = fill_template("(CASE WHEN {0} >= 0 THEN sqrt({0}) END)", x)
        return replace(result, low=ends[0], high=ends[1], missing=True)

    def _floor(self, signal: Apply, x: SqlExpression) -> SqlExpression:
        _require_exact(x, signal.arguments[0], signal)
        return replace(
            fill_template("floor({0})", x), low=_bound_floor(x.low), high=_bound_floor(x.high)
        )

    def _minimum(self, signal: Apply, x: SqlExpression, y: SqlExpression) -> SqlExpression:
        return least_or_greatest("least", x, y, min(x.low, y.low), min(x.high, y.high))

    def _maximum(self, signal: Apply, x: SqlExpression, y: SqlExpression) -> SqlExpression:
        return least_or_greatest("greatest", x, y, max(x.low, y.low), max(x.high, y.high))

    def _at_most(self, signal: Apply, x: SqlExpression, limit: SqlExpression) -> SqlExpression:
        _require_exact(x, signal.arguments[0], signal)
        _require_exact(limit, signal.arguments[1], signal)
        result = fill_template("(CASE WHEN {0} <= {1} THEN 1::float8 ELSE 0 END)", x, limit)
        return _indicator(result)

    @form.register
    def _(self, signal: Age) -> SqlExpression:
        times = self._column(signal.of[0])
        for name in signal.of[1:]:
            times = self._either(times, self._column(name))
        unit = DAY if signal.unit == "days" else HOUR
        now = self._query.now
        since = fill_template("(({0} - {1}) / {2})", constant(now), times, constant(unit))
        since = replace(since, low=-math.inf, high=(abs(now) + _MAX_EPOCH_SECONDS) / unit)
        return least_or_greatest("greatest", constant(0.0), since, 0.0, since.high)

    @form.register
    def _(self, signal: SaidBy) -> SqlExpression:
        reading, speaker = self._query.reading, self._text("speaker")
        if signal.who == "nobody":
            return _indicator(
                SqlExpression(f"(CASE WHEN {speaker} IS NULL THEN 1::float8 ELSE 0 END)")
            )
        wanted = {
            "named": reading.speakers,
            "user": reading.users,
            "assistant": reading.assistants,
        }[signal.who]
        sql = f"(CASE WHEN {speaker} = ANY(%s::text[]) THEN 1::float8 ELSE 0 END)"
        return _indicator(SqlExpression(sql, (sorted(wanted),)))

    @form.register
    def _(self, signal: EntityOverlap) -> SqlExpression:
        entities = self._query.entities
        if not entities:
            return constant(0.0)
        if not set(signal.of) <= set(SPELLED_FIELDS):
            raise NotCompilable(f"the server keeps no folded names of {', '.join(signal.of)}")
        matches_one = f"({self._table}.spellings && %s::text[])::integer"
        keys = [
            [
                spelling_key(name, spelled)
                for name in signal.of
                for spelled in sorted(self._query.aliases.spellings({key}))
            ]
            for key in sorted(entities)
        ]
        matches = " + ".join([matches_one] * len(keys))
        return _indicator(
            SqlExpression(f"(({matches})::float8 / %s::float8)", (*keys, float(len(keys))))
        )


def _indicator(form: SqlExpression) -> SqlExpression:
    return replace(form, low=0.0, high=1.0, error=0.0, missing=False, endless=False)


def _require_exact(form: SqlExpression, argument: Signal, where: Signal) -> None:
    """Refuse an argument that may differ in its last digits, where a jump would magnify that."""
    if form.error > 0.0:
        raise NotCompilable(
            f"{argument} is only nearly the same on the server, and {where} jumps over it"
        )


def _bounds(form: SqlExpression) -> tuple[float, float]:
    return form.low, form.high


def _min_max(values: Iterable[float]) -> tuple[float, float]:
    """The smallest and the largest; where infinities cancel, all numbers."""
    ends = list(values)
    if any(map(math.isnan, ends)):
        return -math.inf, math.inf
    return min(ends), max(ends)


def _with_rounding(error: float, *ends: float) -> float:
    """An error after one more rounding of a value between some ends; none is added to none."""
    return error + max(map(abs, ends)) * _RELATIVE_ROUNDING if error > 0.0 else 0.0


def _bound_product(a: float, b: float) -> float:
    """a * b for bounds: 0 times whatever is 0."""
    return 0.0 if a == 0.0 or b == 0.0 else a * b


def _bound_exp(x: float) -> float:
    return math.inf if x > _MAX_EXPONENT else math.exp(x)


def _bound_log(x: float) -> float:
    return math.inf if math.isinf(x) else math.log(x) if x > 0.0 else -math.inf


def _bound_floor(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) else x

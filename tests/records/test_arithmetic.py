"""Arithmetic that no processor, BLAS or C library changes, against exact and longer arithmetic."""

import math
import sys
from collections.abc import Callable
from decimal import Decimal, getcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience import arithmetic
from salience.arithmetic import cosines, exp, expm1, lengths, log, log1p, power, row_sums

getcontext().prec = 40


@pytest.mark.parametrize("dimensions", [1, 3, 256, 1024])
def test_cosines_are_exact_in_any_order(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    rows = rng.standard_normal((40, dimensions)) * 10.0 ** rng.uniform(-7, 0, (40, dimensions))
    rows /= lengths(rows)[:, np.newaxis]
    vectors = rows.astype(np.float16).astype(np.float32)  # some numbers below its normal range
    query = rows[0].astype(np.float32)
    grid = [round(x * Fraction(2**24)) for x in map(Fraction, query.tolist())]
    exact = [
        float(sum(Fraction(x) * n for x, n in zip(row, grid, strict=True)) / 2**24)
        for row in vectors.tolist()
    ]
    assert cosines(vectors, query).tolist() == np.clip(exact, -1.0, 1.0).tolist()
    order = rng.permutation(dimensions)
    assert cosines(vectors[:, order], query[order]).tolist() == cosines(vectors, query).tolist()


def ulps(value: float, exact: Decimal) -> float:
    return abs(float((Decimal(value) - exact) / Decimal(math.ulp(float(exact)))))


@pytest.mark.parametrize(
    ("function", "exact", "low", "high", "least_ulps"),
    [
        (exp, Decimal.exp, -700.0, 700.0, 1.0),
        (expm1, lambda x: x.exp() - 1, 1e-8, 2.0, 3.0),
        (log, Decimal.ln, 1e-300, 4.0, 1.0),
    ],
)
def test_functions_are_right_to_the_last_digit(
    function: Callable[..., np.ndarray],
    exact: Callable[[Decimal], Decimal],
    low: float,
    high: float,
    least_ulps: float,
) -> None:
    xs = np.random.default_rng(0).uniform(low, high, 200)
    pairs = zip(function(xs).tolist(), xs.tolist(), strict=True)
    assert max(ulps(value, exact(Decimal(x))) for value, x in pairs) < least_ulps


@given(st.floats())
def test_numbers_and_arrays_give_the_same_bits(x: float) -> None:
    with np.errstate(all="ignore"):
        for function in (exp, log, arithmetic.sigmoid):
            assert repr(float(function(x))) == repr(float(function(np.array([x]))[0]))


def test_the_ends_of_functions() -> None:
    with np.errstate(all="ignore"):
        assert [exp(-math.inf), exp(0.0), exp(710.0), exp(math.inf)] == [
            0.0,
            1.0,
            math.inf,
            math.inf,
        ]
        assert [log(0.0), log(1.0), log(math.inf)] == [-math.inf, 0.0, math.inf]
        assert math.isnan(log(-1.0))
        assert log1p(1e-12) == pytest.approx(1e-12, rel=1e-12)


@given(st.floats(0.01, 100.0), st.floats(-20.0, 20.0))
def test_powers(base: float, exponent: float) -> None:
    assert power(base, exponent) == pytest.approx(base**exponent, rel=1e-13)
    whole = float(round(exponent))
    assert power(-base, whole) == pytest.approx((-base) ** whole, rel=1e-13)
    assert [power(2.0, 10.0), power(3.0, -1.0), power(0.0, 0.0)] == [1024.0, 1.0 / 3.0, 1.0]


def test_a_sum_is_added_by_halves() -> None:
    rows = np.array([[1e16, 1.0, -1e16, 1.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
    assert row_sums(rows).tolist() == [((1e16 + 1.0) - 1e16) + (1.0 + 5.0), 15.0]
    assert row_sums(np.asfortranarray(rows)).tolist() == row_sums(rows).tolist()
    assert row_sums(rows[:, :0]).tolist() == [0.0, 0.0]


def test_the_kernels_can_be_turned_off_and_have_to_be_of_this_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = SimpleNamespace(INTERFACE=-1)
    monkeypatch.setitem(sys.modules, "salience_native", other)
    assert arithmetic._kernels() == (None, "NumPy (salience_native is of another version)")
    monkeypatch.setenv("SALIENCE_NATIVE", "0")
    assert arithmetic._kernels() == (None, "NumPy (SALIENCE_NATIVE=0)")
    monkeypatch.delenv("SALIENCE_NATIVE")
    monkeypatch.setitem(sys.modules, "salience_native", None)
    assert arithmetic._kernels() == (None, "NumPy")

"""Arithmetic that gives the same bits on every processor, with any BLAS and any C library.

Dot products are exact, so that no order of summation changes them; other sums are added in an order
of their own; exp and log take nothing but +, -, *, / and powers of two, which IEEE 754 rounds in
one way only.

Sources: the argument reductions and polynomials of exp and log are those of FDLIBM, e_exp.c and
e_log.c, by Sun Microsystems, 1993; errors stay below one unit in the last place.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = TypeVar("Number", float, Floats)

NOISE = 1e-5
"""More than a cosine in single precision can differ from the exact one, or from another."""
_GRID = 2.0**24  # steps of a coordinate from 0 to 1: those of half precision, and finer than single
_RANKED_DIGITS = 12
_BLOCK_ROWS = 256  # few enough to stay in the cache while they are widened
_LOG2_E = 1.44269504088896338700
_LN_2_HIGH = 6.93147180369123816490e-01  # with enough zeros at its end to make k times it exact
_LN_2_LOW = 1.90821492927058770002e-10
_EXP = (
    1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05,
    -1.65339022054652515390e-06, 4.13813679705723846039e-08,
)  # fmt: skip
_LOG = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
    1.479819860511658591e-01,
)  # fmt: skip
_SQRT_HALF = math.sqrt(0.5)
_EXP_RANGE = -746.0, 709.782712893384  # below, e^x is 0; above, infinite
_MULTIPLIED_POWERS = 64  # whole exponents up to which a power is a product


_INTERFACE = 6  # of the kernels that this version calls


def _kernels() -> tuple[Any, str]:
    """The module `salience_native` and the name of the way that runs; None where NumPy does."""
    if os.environ.get("SALIENCE_NATIVE") == "0":
        return None, "NumPy (SALIENCE_NATIVE=0)"
    try:
        module: Any = importlib.import_module("salience_native")
    except ImportError:
        return None, "NumPy"
    if module.INTERFACE != _INTERFACE:
        return None, "NumPy (salience_native is of another version)"
    return module, f"native ({module.variant()})"


native, KERNELS = _kernels()
"""The kernels in C, which give the same bits, or None; and a text that says which run."""


def by_kernel(name: str, *arguments: Any) -> Any:
    """The answer of a kernel; NotImplemented where NumPy has to do its work.

    That is where there are no kernels, and where one does not take these arguments.
    """
    if native is None:
        return NotImplemented
    try:
        return getattr(native, name)(*arguments)
    except (ValueError, TypeError, OverflowError):
        return NotImplemented


def on_grid(query: NDArray[Any]) -> Floats:
    """A query's vector, rounded to multiples of 2^-24."""
    return np.rint(query.astype(np.float64) * _GRID) / _GRID


def cosines(
    vectors: NDArray[Any], query: NDArray[Any], places: NDArray[Any] | None = None
) -> Floats:
    """q . v for each row of unit vectors, in [-1, 1]; exact, with q rounded to multiples of 2^-24.

    With `places` for the rows at these. Numbers of half precision are such multiples, too. So each
    product is a multiple of 2^-48, and so is each sum of some of them, which |q| |v| bounds: below
    32 it fits into double precision.
    """
    grid = on_grid(query)
    dots = np.empty(len(vectors if places is None else places))
    if places is not None and places.dtype != np.int64:
        places = places.astype(np.int64)
    if by_kernel("cosines", vectors, grid, places, dots) is not NotImplemented:
        return dots
    vectors = vectors if places is None else vectors.take(places, axis=0)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        np.vecdot(vectors[block], grid, out=dots[block])
    return np.minimum(np.maximum(dots, -1.0, out=dots), 1.0, out=dots)


def row_sums(values: NDArray[Any]) -> Floats:
    """The sum of each row in double precision: the second half of it is added to the first."""
    sums = np.array(values, dtype=np.float64)
    width = sums.shape[-1]
    while width > 1:
        half = (width + 1) // 2
        sums[..., : width - half] += sums[..., half:width]
        width = half
    return sums[..., 0] if width else np.zeros(sums.shape[:-1])


def lengths(vectors: NDArray[Any]) -> Floats:
    """|v| of a vector, or of each row of vectors."""
    wide = np.asarray(vectors, dtype=np.float64)
    return np.sqrt(row_sums(wide * wide))


def rank_key(difference: float) -> float:
    """A difference to order by: equal for those that only rounding errors tell apart."""
    return round(difference, _RANKED_DIGITS)


def exp(x: Any) -> Any:
    """e^x, of a number or of an array."""
    low, high = _EXP_RANGE
    if isinstance(x, np.ndarray) and x.ndim:
        powers = np.empty(x.shape)
        numbers = np.ascontiguousarray(x).reshape(-1)
        if by_kernel("exp", numbers, powers.reshape(-1)) is not NotImplemented:
            return powers
        return _exp(np.clip(x, low, high + 1.0), np.rint, _times_power)
    if x != x or x > high:
        return x * math.inf
    return _exp(max(float(x), low), round, math.ldexp)


def expm1(x: Floats) -> Floats:
    """e^x - 1, exact to the last digits near 0, too."""
    power, rest = _reduced(np.clip(x, *_EXP_RANGE), np.rint)
    return np.where(power == 0.0, rest, exp(x) - 1.0)


def log(x: Any) -> Any:
    """The natural logarithm of a number or of an array: -inf at 0, NaN below."""
    if not isinstance(x, np.ndarray):
        return _log_of_number(float(x))
    mantissa, k = np.frexp(x)
    low = mantissa < _SQRT_HALF
    logarithm = _log(np.where(low, 2.0 * mantissa, mantissa), (k - low).astype(np.float64))
    regular = (x > 0.0) & (x < np.inf)
    if not regular.all():
        logarithm[~regular] = [_log_of_number(value) for value in x[~regular].tolist()]
    return logarithm


def log1p(x: float) -> float:
    """ln(1 + x) of a number x >= 0, exact to the last digits near 0, too."""
    total = 1.0 + x
    return float(log(total)) + (x - (total - 1.0)) / total


def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    return 1.0 / (1.0 + exp(-x))


def power(base: Any, exponent: Any) -> Any:
    """base^exponent = e^(exponent ln base); a product of the base for whole exponents up to 64."""
    scalar = not np.ndim(base) and not np.ndim(exponent)
    x, y = np.broadcast_arrays(*np.atleast_1d(base, exponent))
    x, y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        whole = y == np.rint(y)
        odd = np.where((np.abs(np.fmod(y, 2.0)) == 1.0) & np.signbit(x), -1.0, 1.0)
        result = np.where(whole | (x >= 0.0) | np.isinf(x), odd * exp(y * log(np.abs(x))), np.nan)
        near = whole & (np.abs(y) <= _MULTIPLIED_POWERS)
        result[near] = _product_power(x[near], y[near])
        result[x == 1.0] = 1.0
    return float(result[0]) if scalar else result


def _product_power(base: Floats, exponent: Floats) -> Floats:
    """base^exponent of whole exponents, by squaring the base."""
    remaining, result = np.abs(exponent).astype(np.int64), np.ones_like(base)
    square = base
    while remaining.any():
        result = np.where(remaining & 1, result * square, result)
        square, remaining = square * square, remaining >> 1
    return np.where(exponent < 0.0, 1.0 / result, result)


def _times_power(x: Floats, k: Floats) -> Floats:
    return np.ldexp(x, k.astype(np.int32))


def _exp(x: Number, rounded: Callable[..., Any], times_power: Callable[..., Any]) -> Number:
    k, rest = _reduced(x, rounded)
    scaled: Number = times_power(1.0 + rest, k)
    return scaled


def _reduced(x: Number, rounded: Callable[..., Any]) -> tuple[Any, Number]:
    """k and e^r - 1, with x = k ln 2 + r, |r| <= ln 2 / 2."""
    k = rounded(x * _LOG2_E)
    high, low = x - k * _LN_2_HIGH, k * _LN_2_LOW
    r = high - low
    square = r * r
    a, b, c, d, e = _EXP
    remainder = r - square * (a + square * (b + square * (c + square * (d + square * e))))
    return k, high - (low - r * remainder / (2.0 - remainder))


def _log_of_number(x: float) -> float:
    if not 0.0 < x < math.inf:
        return x if x > 0.0 else -math.inf if x == 0.0 else math.nan
    mantissa, k = math.frexp(x)
    low = mantissa < _SQRT_HALF
    return _log(2.0 * mantissa if low else mantissa, float(k - low))


def _log(x: Number, k: Number) -> Number:
    """ln(2^k x), x from sqrt(1/2) to sqrt(2)."""
    f = x - 1.0
    s = f / (2.0 + f)
    square, half = s * s, 0.5 * f * f
    series = 0.0 * square
    for coefficient in reversed(_LOG):
        series = (series + coefficient) * square
    rest = half - (s * (half + series) + k * _LN_2_LOW)
    logarithm: Number = k * _LN_2_HIGH - (rest - f)
    return logarithm

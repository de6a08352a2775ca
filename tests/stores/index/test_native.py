"""The kernels in C give the bits of the NumPy way, on every variant; bad input is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import Memory, arithmetic
from salience.arithmetic import cosines, exp, on_grid
from salience.evaluation.synthetic_chats import queries, realistic
from salience.language.tokens import term_ids
from salience.ranking import profiles
from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import (
    Col,
    Constant,
    Default,
    FirstOf,
    Product,
    Quotient,
    Signal,
    Sum,
)
from salience.ranking.functions import Apply, QueryFlag
from salience.ranking.functions import exp as exp_of
from salience.ranking.signals import (
    GroupMax,
    MaxScaled,
    MinMax,
    NeighborMass,
    SaidBy,
    SessionCover,
    Trusted,
)
from salience.retrieval.candidates import Candidates
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical
from salience.stores.index import vector_index
from salience.stores.index.quantization import VectorBytes, VectorSigns
from salience.stores.index.routes import DenseSearch
from salience.stores.index.vector_index import VectorIndex
from salience.stores.index.words import postings
from salience.stores.index.words.bm25 import Lengths, bm25
from salience.stores.index.words.postings import Postings
from support.examples import examples

native: Any = pytest.importorskip("salience_native", reason="it is not built")
pytestmark = pytest.mark.skipif(arithmetic.native is None, reason=f"{arithmetic.KERNELS} runs")

KERNELS = (
    *("cosines", "reduce", "nearest", "sign_distances"),
    *("best", "bm25", "occurrences", "matched", "exp", "formula"),
)


@pytest.fixture(params=native.variants())
def variant(request: pytest.FixtureRequest) -> Iterator[str]:
    before = native.variant()
    native.choose(request.param)
    yield request.param
    native.choose(before)


def both_ways(compute: Callable[[], Any]) -> tuple[Any, Any]:
    """What NumPy computes, and what the kernels do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arithmetic, "native", None)
        by_numpy = compute()
    return by_numpy, compute()


def unit(rng: np.random.Generator, count: int, dimensions: int, kinds: int) -> Any:
    """Unit rows at half precision, of which several are equal."""
    rows = rng.standard_normal((kinds, dimensions))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return rows[rng.integers(0, kinds, count)].astype(np.float16).astype(np.float32)


def filled(rows: Any, gaps: bool) -> VectorIndex:
    blobs: list[bytes | None] = [row.astype(np.float16).tobytes() for row in rows]
    if gaps:
        blobs[::7] = [None] * len(blobs[::7])
    found = VectorIndex(rows.shape[1])
    found.extend(3, blobs)
    return found


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 400),
    st.sampled_from([1, 5, 16, 63, 64, 65, 100, 256]),
    st.integers(1, 60),
    st.integers(1, 30),
    st.sampled_from([None, 0.0, 0.1, 0.9]),
    st.booleans(),
    st.sampled_from([10, 20_000]),
    st.sampled_from(native.variants()),
)
def test_the_same_are_nearest_both_ways(
    seed: int,
    count: int,
    dimensions: int,
    kinds: int,
    depth: int,
    share: float | None,
    gaps: bool,
    exact_below: int,
    name: str,
) -> None:
    rng = np.random.default_rng(seed)
    rows = unit(rng, count, dimensions, kinds)
    query = unit(rng, 1, dimensions, 1)[0]
    mask = None if share is None else rng.random(count + 3) < share

    def first() -> dict[int, float]:
        found = filled(rows, gaps)
        ordinals = found.nearest(query, depth, mask)
        scores = found.cosines(query, ordinals)
        if len(scores) > depth:
            best = scores >= np.sort(scores)[-depth]
            ordinals, scores = ordinals[best], scores[best]
        return dict(zip(ordinals.tolist(), scores.tolist(), strict=True))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_index, "EXACT_BELOW", exact_below)
        for constant in ("_SIGN_ROWS_PER_HIT", "_ALL_PER_HIT"):
            patch.setattr(vector_index, constant, 2)
        before = native.variant()
        native.choose(name)
        try:
            by_numpy, by_kernels = both_ways(first)
        finally:
            native.choose(before)
    assert list(by_numpy.items()) == list(by_kernels.items())


@pytest.mark.parametrize("dimensions", [1, 15, 16, 17, 64, 250, 256, 1024, 1536])
def test_cosines_and_signs_are_the_same(variant: str, dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    rows, query = unit(rng, 1100, dimensions, 900), unit(rng, 1, dimensions, 1)[0]
    places = rng.integers(0, len(rows), 50)
    for at in (None, places, places.astype(np.int32), places[:0]):
        by_numpy, by_kernels = both_ways(partial(cosines, rows, query, at))
        assert by_numpy.tobytes() == by_kernels.tobytes()
    signs = VectorSigns(dimensions)
    signs.extend(rows)
    by_numpy, by_kernels = both_ways(lambda: signs.distances(query))
    assert by_numpy.tobytes() == by_kernels.tobytes()


@pytest.mark.parametrize("dimensions", [1, 17, 256, 300, 8192])
@pytest.mark.parametrize("kind", ["even", "long", "large", "zero", "odd"])
def test_no_cosine_is_beyond_its_bound(variant: str, dimensions: int, kind: str) -> None:
    rng = np.random.default_rng(dimensions)
    rows, query = unit(rng, 60, dimensions, 60), unit(rng, 1, dimensions, 1)[0]
    rows[::2] *= {"long": 40.0, "zero": 0.0}.get(kind, 1.0)
    rows[:, 0] += {"large": 3.0, "odd": rng.choice([0.0, np.inf, np.nan], 60)}.get(kind, 0.0)
    reduced = VectorBytes(dimensions)
    reduced.extend(rows)
    bytes, bounds, of_query, (step, length, width) = reduced.compared(query)
    with np.errstate(all="ignore"):
        estimates = bounds[:, 0] * step * (bytes.astype(np.int64) @ of_query.astype(np.int64))
        exact = rows.astype(np.float64) @ on_grid(query)
        within = np.abs(exact - estimates) <= length * bounds[:, 1] + width * bounds[:, 0] + 1e-5
    sound = np.isfinite(rows).all(axis=1)
    assert within[sound].all()
    assert np.isinf(bounds[~sound, 1]).all()
    assert (bounds[sound, 1] <= 0.51 * math.sqrt(dimensions) * bounds[sound, 0] + 1e-4).all()


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 300), st.integers(1, 40))
def test_words_are_weighed_and_the_best_found_in_the_same_way(
    seed: int, size: int, depth: int
) -> None:
    rng = np.random.default_rng(seed)
    texts = [
        term_ids(rng.choice(list("abcdefgh"), rng.integers(0, 60)).tolist()) for _ in range(size)
    ]
    fields = {"content": Postings(), "title": Postings()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "_MAX_RECENT_WORDS", int(rng.choice([0, 100, 4096])))
        for part in (texts[: size // 2], texts[size // 2 : -1], texts[-1:]):
            fields["content"].extend([text.tobytes() for text in part])
            fields["title"].extend([text[:2].tobytes() for text in part])
    alive = rng.random(size) < 0.9
    neighbors = tuple(rng.integers(-1, max(size, 1), (2, size)).astype(np.int32))
    route = Lexical(
        (("content", 1.0), ("title", float(rng.choice([0.5, 2.0])))),
        before=float(rng.choice([0.0, 0.5])),
        after=float(rng.choice([0.0, 0.3])),
        passages=bool(rng.random() < 0.5),
    )
    terms = (("a",), ("b", "c"), ("d",), ("z",))
    lengths = Lengths.over([*fields.values()], alive)
    mask = None if seed % 2 else rng.random(size) < 0.8

    def found() -> tuple[Any, ...]:
        scored = bm25(fields, route, terms, lengths, alive, (neighbors[0], neighbors[1]))

        class Scored(DenseSearch[Lexical]):
            def kept_scores(self, *_: Any) -> Any:
                return scored.scores

            def scores(self, *_: Any) -> Any:
                return scored.scores

        searched = Scored().search(None, route, None, depth if seed % 3 else None, mask)  # type: ignore[arg-type]
        return scored.scores.tobytes(), *(array.tolist() for array in searched)

    by_numpy, by_kernels = both_ways(found)
    assert by_numpy == by_kernels


def test_the_weights_of_the_terms_of_memories_are_written_where_they_occur(variant: str) -> None:
    term, ordinal, idf = np.array([0, 2, 2, 1]), np.array([5, 3, 5, 4]), np.array([0.5, 1.5, 2.5])
    matched = np.zeros((2, 3))
    native.matched(term, ordinal, idf, np.array([3, 5]), 6, matched)
    assert matched.tolist() == [[0.0, 0.0, 2.5], [0.5, 0.0, 2.5]]


def test_exponentials_are_the_same() -> None:
    rng = np.random.default_rng(7)
    edges = [
        0.0,
        -0.0,
        np.nan,
        np.inf,
        -np.inf,
        709.78,
        709.79,
        710.5,
        720.0,
        -745.0,
        -746.0,
        1e300,
    ]
    numbers = np.concatenate([edges, rng.normal(0.0, 300.0, 3000), rng.normal(0.0, 1.0, 3001)])
    for shaped in (numbers, numbers[:6000].reshape(3, -1).T, numbers[:0], -numbers[::2]):
        with np.errstate(all="ignore"):
            by_numpy, by_kernels = both_ways(partial(exp, shaped))
        np.testing.assert_array_equal(by_numpy, by_kernels)


def formulas(depth: int) -> st.SearchStrategy[Signal]:
    """Formulas of all that a kernel computes, and of a signal that none does."""
    leaf: st.SearchStrategy[Signal] = st.one_of(
        st.sampled_from([Col("a"), Col("b"), Col("c"), QueryFlag("query_asks_when"), Odd()]),
        st.sampled_from([-2.0, 0.0, 0.5, 1.0, math.nan]).map(Constant),
        st.just(SessionCover()),
    )
    if not depth:
        return leaf
    part = formulas(depth - 1)
    parts = st.lists(part, min_size=1, max_size=4).map(tuple)
    unary = ("exp", "sqrt", "floor", "sigmoid")
    return st.one_of(
        leaf,
        st.one_of(parts.map(Sum), parts.map(Product), parts.map(FirstOf)),
        st.builds(Quotient, part, part),
        st.builds(Default, part, st.sampled_from([0.0, 1.0, -3.0])),
        st.builds(Apply, st.sampled_from(unary), st.tuples(part)),
        st.builds(Apply, st.sampled_from(["minimum", "maximum", "at_most"]), st.tuples(part, part)),
        st.builds(MinMax, part, st.none() | part),
        st.builds(MaxScaled, part, st.none() | part),
        st.builds(GroupMax, part),
        st.builds(Trusted, part, part),
        st.builds(NeighborMass, part, st.sampled_from([0.5, 4.0, 500.0]), st.integers(1, 9)),
    )


@dataclass(frozen=True)
class Odd(Signal):
    """A signal from outside that may give numbers of single precision, or whole ones."""

    def columns(self) -> frozenset[str]:
        return frozenset({"a"})

    def compute(self, ev: Evaluation) -> Any:
        a = ev.candidates.floats("a")
        odd = [a.astype(np.float32), np.arange(len(a)), a[::-1], 2, a[0]]
        return odd[len(a) % len(odd)]


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(formulas(3), min_size=1, max_size=4),
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.sampled_from(native.variants()),
)
def test_formulas_are_the_same(several: list[Signal], seed: int, rows: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    known = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 1e-308, 1e308]
    columns: dict[str, Any] = {
        column: np.where(
            rng.random(rows) < 0.6, rng.normal(0.0, 3.0, rows), rng.choice(known, rows)
        )
        for column in "abc"
    }
    columns["position"] = rng.choice([math.nan, 0.0, 1.0, 2.0, 3.5, 9.0], rows)
    columns["session_id"] = rng.choice(np.array([None, "x", "y", "z"], dtype=object), rows)
    columns["lexical.matched"] = rng.choice([0.0, 0.5, 1.1], (rows, int(rng.integers(0, 6))))
    columns["script"], columns["script_share"] = np.zeros(rows), rng.choice([0.0, 0.3], rows)
    table = Candidates(np.arange(rows), columns)
    knows = [None, lambda script: 1.0, lambda script: 0.4][seed % 3]
    query = Query("", ("default",), 0.0, knows=knows, known=0.7)

    def found() -> list[Any]:
        ev = Evaluation(query, table)
        first = [ev.column(signal) for signal in several]
        return [*first, *(ev.column(part) for signal in several for part in signal.children())]

    before = native.variant()
    native.choose(name)
    try:
        by_numpy, by_kernels = both_ways(found)
    finally:
        native.choose(before)
    np.testing.assert_array_equal(by_numpy, by_kernels)


def test_a_formula_of_one_number_is_one_number_in_both_ways() -> None:
    formula = Sum((GroupMax(QueryFlag("query_asks_when")), Constant(1.0), SaidBy("named")))
    several = Sum((formula, exp_of(SaidBy("user")), SaidBy("user") * 2.0))
    names = {name: np.array(["x", None], dtype=object) for name in ("session_id", "speaker")}
    table = Candidates(np.arange(2), names)
    by_numpy, by_kernels = both_ways(lambda: several.evaluate(Query("", (), 0.0), table).tolist())
    assert by_numpy == by_kernels == [2.0, 2.0]


@pytest.fixture(scope="module")
def chats() -> Iterator[tuple[Memory, list[str]]]:
    items = list(realistic(400))
    with Memory("ram://") as memory:
        memory.add_many(items)
        yield memory, queries(5, items)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("exact_below", [100, 20_000])
@pytest.mark.parametrize("profile", profiles.BUILT_IN)
def test_searches_are_the_same(
    chats: tuple[Memory, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    profile: str,
    exact_below: int,
) -> None:
    memory, asked = chats
    monkeypatch.setattr(vector_index, "EXACT_BELOW", exact_below)

    def found() -> list[Any]:
        return [
            hit.to_dict()
            for text in asked
            for hit in memory.search(
                text, profile=profile, touch=False, explain=True, now="2026-06-01"
            )
        ]

    by_numpy, by_kernels = both_ways(found)
    assert by_numpy == by_kernels


def valid(name: str, rng: np.random.Generator) -> list[Any]:
    """Arguments of a kernel that it takes."""
    size, dimensions = int(rng.integers(1, 40)), int(rng.choice([3, 64, 130]))
    rows, query = unit(rng, size, dimensions, 9), unit(rng, 1, dimensions, 1)[0]
    places, found = np.empty(size, dtype=np.int64), np.empty(size)
    allowed = None if rng.random() < 0.5 else rng.random(size) < 0.5
    signs, reduced = VectorSigns(dimensions), VectorBytes(dimensions)
    signs.extend(rows)
    reduced.extend(rows)
    compared = signs.compared(query)
    nearest = [rows, on_grid(query), allowed, int(rng.integers(1, 9)), *reduced.compared(query)]
    held = rng.integers(0, 5, 20), rng.integers(0, size, 20)
    ordinals = np.flatnonzero(rng.random(size) < 0.5)
    return {
        "cosines": [rows, on_grid(query), rng.integers(-1, size, 7), np.empty(7)],
        "reduce": [rows, *map(np.copy, reduced.compared(query)[:2])],
        "nearest": [*nearest, *(compared if rng.random() < 0.5 else [None] * 2), 5, places, found],
        "sign_distances": [*compared, np.empty(size, dtype=np.uint16)],
        "best": [rng.random(size), allowed, 0.2, int(rng.integers(1, 9)), places, found],
        "bm25": occurrences(rng, size),
        "matched": [*held, rng.random(5), ordinals, size, np.zeros((len(ordinals), 5))],
        "exp": [rng.normal(0.0, 300.0, size), found],
        "formula": formula_steps(rng, size),
        "occurrences": fields_of_words(rng, size),
    }[name]


def fields_of_words(rng: np.random.Generator, size: int) -> list[Any]:
    """Arguments of the kernel for occurrences: two fields of `size` memories."""
    texts = [
        term_ids(rng.choice(list("abcdefgh"), rng.integers(1, 30)).tolist()) for _ in range(size)
    ]
    ids = term_ids(list("abcx"))
    fields = []
    for weight, content in ((1.0, True), (2.0, False)):
        words = Postings()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(postings, "_MAX_RECENT_WORDS", int(rng.choice([20, 4096])))
            words.extend([text.tobytes() for text in texts[: size // 2]])
            words.extend([text.tobytes() for text in texts[size // 2 :]])
        fields.append((weight, content, *words.read_by_kernel(ids)))
    alive = None if rng.random() < 0.5 else rng.random(size) < 0.9
    place_of = np.array([0, 1, 1, 2])
    return [tuple(fields), ids, place_of, alive, np.empty(2, dtype=np.int64)]


def formula_steps(rng: np.random.Generator, size: int) -> list[Any]:
    """Arguments of the kernel for formulas: a step of each operation, and one of their values."""
    group, order = rng.integers(0, size, size), rng.permutation(size)
    numbers = [rng.normal(0.0, 3.0, size), 0.5, rng.normal(0.0, 1.0, size)]
    turns = [np.sort(rng.random(size) * 9.0), np.exp(-np.arange(20.0)), 4.0]
    values = [None, *numbers, group, rng.random((size, 3)), order, *turns]
    reads = {
        "group_max": (4, 1),
        "session_cover": (4, 5),
        "neighbor_mass": (6, 7, 8, 9, 1),
        **dict.fromkeys(("exp", "sigmoid", "sqrt", "floor"), (1,)),
        "trusted": (2, 1, 3),
        "sum": (1, 2, 3, -1),
    }
    code: list[int] = []
    for number, operation in enumerate(native.OPERATIONS):
        places = reads.get(operation, (1, 2))
        if not number:
            places = (1, 2, 3)
        code += [number, len(places), *places]
    code += [0, 3, -1, 2, -4]
    block = np.empty((len(native.OPERATIONS) + 1, size))
    return [np.array(code, dtype=np.int32), values, size, block]


def occurrences(rng: np.random.Generator, size: int) -> list[Any]:
    """Arguments of the kernel for BM25, of `size` memories."""
    count, terms = int(rng.integers(0, 30)), 3
    counts = [rng.integers(0, 4, count).astype(np.float64) for _ in range(3)]
    found = [rng.integers(0, terms, count), rng.integers(0, size, count), *counts]
    turns = [rng.integers(-1, size, size).astype(np.int32) for _ in range(2)]
    turns.insert(0, rng.integers(0, 90, size).astype(np.int32))
    numbers = np.array([1.2, 0.75, 7.5, 0.5, 0.3, 40.0])
    known = [rng.random(terms), rng.integers(0, 90, size), numbers]
    return [*found, *known, *(turns if rng.random() < 0.7 else [None] * 3), np.zeros(size)]


def spoiled(argument: Any, rng: np.random.Generator) -> Any:
    """Something else in the place of an argument."""
    if isinstance(argument, (tuple, list)) and not argument:
        return None
    if isinstance(argument, tuple):
        kept = list(argument)
        kept[int(rng.integers(len(kept)))] = spoiled(kept[0], rng)
        return [(), tuple(kept), tuple(kept[1:]), (*kept, *kept), (*kept * 30,), None][
            int(rng.integers(6))
        ]
    if isinstance(argument, list):
        at = int(rng.integers(len(argument)))
        other = spoiled(argument[at], rng)
        return [[*argument[:at], other, *argument[at + 1 :]], argument[:at], [], tuple(argument)][
            int(rng.integers(4))
        ]
    if not isinstance(argument, np.ndarray) or argument.dtype == object:
        return [None, -1, 0, 2**62, 2**70, "1", 1.5, np.zeros(3)][int(rng.integers(8))]
    wild = argument.copy()
    if wild.dtype.kind == "f":
        wild[...] = rng.choice([np.nan, np.inf, -np.inf, 1e300, -0.0], wild.shape)
    elif wild.dtype.kind in "iu":
        wild[...] = rng.integers(0, 2**63, wild.shape).astype(wild.dtype)
    fixed = argument.copy()
    fixed.flags.writeable = False
    several = [
        *(wild, wild, wild, fixed, argument[:-1], argument[:0], argument[::-1], argument[::2]),
        *(np.concatenate([argument, argument]), argument[np.newaxis], np.float64(1.0)),
        *(argument.astype(np.float16), argument.astype(">f8"), argument.astype(object)),
        *(argument.astype(np.int64), argument.tolist(), argument.tobytes(), None, 3),
        np.frombuffer(b"\0" + argument.tobytes(), np.uint8)[1:].view(argument.dtype),
    ]
    return several[int(rng.integers(len(several)))]


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_no_input_is_refused(variant: str, name: str) -> None:
    refused, rounds, kernel = 0, max(examples(900), 60), getattr(native, name)
    for seed in range(rounds):
        rng = np.random.default_rng(seed)
        arguments = valid(name, np.random.default_rng(seed))
        kernel(*arguments)
        for _ in range(int(rng.integers(1, 3))):
            at = int(rng.integers(len(arguments)))
            arguments[at] = spoiled(arguments[at], rng)
        try:
            kernel(*arguments)
        except (ValueError, TypeError, OverflowError, MemoryError):
            refused += 1
    with pytest.raises(TypeError, match="arguments"):
        kernel()
    assert rounds // 4 < refused < rounds


def test_places_that_are_not_there_are_refused(variant: str) -> None:
    rows = unit(np.random.default_rng(1), 4, 64, 4)
    for place in (4, -2, 2**40):
        with pytest.raises(ValueError, match="places are not all there"):
            native.cosines(rows, on_grid(rows[0]), np.array([0, place]), np.empty(2))


OUTPUTS = {
    "cosines": [3], "reduce": [1, 2], "nearest": [11, 12], "sign_distances": [2],
    "best": [4, 5], "bm25": [11], "matched": [5], "exp": [1], "occurrences": [4], "formula": [3],
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_an_output_in_the_memory_of_another_argument_is_not_taken(variant: str, name: str) -> None:
    for output in OUTPUTS[name]:
        count = len(valid(name, np.random.default_rng(5)))
        for other in range(count):
            arguments = valid(name, np.random.default_rng(5))
            written, read = arguments[output], arguments[other]
            if other == output or not isinstance(read, np.ndarray):
                continue
            room = np.zeros(written.nbytes + read.nbytes + 64, dtype=np.uint8)
            start = 8 if read.nbytes > 8 else 0
            arguments[other] = room[: read.nbytes].view(read.dtype).reshape(read.shape)
            arguments[other][...] = read
            own = room[start : start + written.nbytes].view(written.dtype)
            arguments[output] = own.reshape(written.shape)
            with pytest.raises(ValueError, match="in the memory of another argument"):
                getattr(native, name)(*arguments)
            assert arithmetic.by_kernel(name, *arguments) is NotImplemented


def test_a_formula_that_would_write_over_its_values_is_left_to_numpy(variant: str) -> None:
    code, values, size, block = formula_steps(np.random.default_rng(1), 9)
    for spoilt in (block[1], block[3]):
        assert native.formula(code, [None, spoilt, *values[2:]], size, block) is None


def test_one_number_that_is_shown_many_times_is_read_once(variant: str) -> None:
    """A table of no memory of its own, which is as long as a number says, is not read beyond it."""
    rows, order = 40, np.arange(40)
    places, fading = np.arange(rows) * 200_000.0, np.broadcast_to(np.array(0.5), (10_000_000,))
    code = np.array([native.OPERATIONS.index("neighbor_mass"), 5, 0, 1, 2, 3, 4], dtype=np.int32)
    block = np.zeros((1, rows))
    for table in (fading, 0.5):
        assert native.formula(code, [order, places, table, 3.0, np.ones(rows)], rows, block)
    native.formula(code, [order, places, fading, 3.0, np.ones(rows)], rows, block)
    assert block[0, :4].tolist() == [1.5, 2.0, 2.5, 3.0]


@pytest.mark.parametrize("parts", [2, 64, 65, 300])
@pytest.mark.parametrize("kind", [Sum, Product, FirstOf])
def test_a_formula_may_have_any_number_of_parts(variant: str, kind: Any, parts: int) -> None:
    rng = np.random.default_rng(parts)
    columns = {f"c{n}": rng.choice([math.nan, 0.5, 1.25], 30) for n in range(parts)}
    several = Sum((kind(tuple(map(Col, columns))), exp_of(Col("c0")), exp_of(Col("c1"))))
    table = Candidates(np.arange(30), columns)
    by_numpy, by_kernels = both_ways(lambda: several.evaluate(Query("", (), 0.0), table))
    np.testing.assert_array_equal(by_numpy, by_kernels)


def test_what_a_kernel_does_not_take_numpy_computes() -> None:
    """Rows in another order, places with gaps, numbers of other types: the same answer."""
    rng = np.random.default_rng(3)
    rows, query = unit(rng, 90, 70, 90), unit(rng, 1, 70, 1)[0]
    for vectors in (rows[::2], np.asfortranarray(rows), rows.astype(np.float64), rows[:, ::-1]):
        for at in (None, np.arange(40)[::3], np.arange(9, dtype=np.uint8)):
            by_numpy, by_kernels = both_ways(partial(cosines, vectors, query, at))
            assert by_numpy.tobytes() == by_kernels.tobytes()
    for numbers in (
        np.arange(6),
        np.array([1.5, 2.5], np.float32),
        np.array(2.0),
        np.arange(6.0)[::2],
    ):
        by_numpy, by_kernels = both_ways(partial(exp, numbers))
        np.testing.assert_array_equal(by_numpy, by_kernels)


def test_a_variant_that_no_processor_has_is_refused() -> None:
    with pytest.raises(ValueError, match="no variant"):
        native.choose("sse9")


def test_stats_say_which_way_runs() -> None:
    with Memory("ram://") as memory:
        assert memory.stats()["kernels"] == f"native ({native.variant()})"

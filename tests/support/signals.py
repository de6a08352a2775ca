"""Random trees of signals."""

import math

from hypothesis import strategies as st

from salience.ranking.expressions import Col, Constant, Default, Product, Quotient, Signal, Sum
from salience.ranking.functions import Apply, QueryFlag, WhenQuery
from salience.ranking.signals import Age, GroupMax, MaxScaled, MinMax

NAMES = ["a", "b", "c"]
numbers = st.floats(-1e3, 1e3).map(lambda x: x + 0.0)
cells = st.one_of(numbers, st.just(math.nan), st.sampled_from([0.0, 1.0, -1.0]))
leaves = st.one_of(
    st.sampled_from(NAMES).map(Col),
    numbers.map(Constant),
    st.sampled_from(["query_asks_when", "query_asks_name", "query_asks_number"]).map(QueryFlag),
    st.just(Age(("a", "b"))),
)


def grown(inner: st.SearchStrategy[Signal]) -> st.SearchStrategy[Signal]:
    several = st.lists(inner, min_size=1, max_size=4).map(tuple)
    one = st.sampled_from(["exp", "log", "sqrt", "floor", "sigmoid"])
    two = st.sampled_from(["minimum", "maximum", "power", "at_most"])
    return st.one_of(
        several.map(Sum),
        several.map(Product),
        st.builds(Quotient, inner, inner),
        st.builds(lambda f, x: Apply(f, (x,)), one, inner),
        st.builds(lambda f, x, y: Apply(f, (x, y)), two, inner, inner),
        st.builds(Default, inner, numbers),
        st.builds(lambda name, of: of.named(name), st.sampled_from(["p", "q"]), inner),
        st.builds(WhenQuery, st.sampled_from(["query_asks_when", "query_asks_name"]), inner),
        st.builds(MinMax, inner),
        st.builds(MaxScaled, inner),
        st.builds(GroupMax, inner, st.just("group")),
    )


trees: st.SearchStrategy[Signal] = st.recursive(leaves, grown, max_leaves=12)

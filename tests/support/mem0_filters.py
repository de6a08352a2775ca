"""Strategies for filters of mem0: fields, operators, wildcards and logic, nested."""

from __future__ import annotations

import string

from hypothesis import strategies as st

IDS = st.text(string.ascii_letters + "*%_'\"\\-", min_size=1, max_size=3).filter(lambda s: s != "*")
VALUES = st.one_of(IDS, st.just("*"), st.lists(IDS, max_size=2))
LEAVES = st.dictionaries(
    st.sampled_from(["user_id", "agent_id", "run_id", "app_id", "topic", "memory_ids", "actor_id"]),
    st.one_of(
        VALUES,
        st.builds(
            lambda operator, value: {operator: value},
            st.sampled_from(["eq", "ne", "contains", "icontains", "gt", "lte"]),
            IDS,
        ),
        st.builds(
            lambda operator, values: {operator: values},
            st.sampled_from(["in", "nin"]),
            st.lists(IDS, max_size=3),
        ),
    ),
    max_size=2,
)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda logic, parts: {logic: parts},
        st.sampled_from(["AND", "OR", "NOT", "$or", "$not"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=5,
)

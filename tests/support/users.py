"""Two users whose names are made to be taken for each other."""

from __future__ import annotations

from hypothesis import strategies as st

_NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
_LOOK_ALIKES = (
    lambda name: f"{name}/",
    lambda name: f"{name}/{name}",
    lambda name: f"{name}%2F",
    lambda name: f"{name}*",
    lambda name: f"{name} ",
    lambda name: f"/{name}",
    lambda name: name[:-1],
    lambda name: name.swapcase(),
    lambda name: name * 60,
)

two_users = (
    st.tuples(
        _NAMES, st.one_of(_NAMES.map(lambda name: lambda _: name), st.sampled_from(_LOOK_ALIKES))
    )
    .map(lambda drawn: (drawn[0], drawn[1](drawn[0])))
    .filter(lambda users: users[0] != users[1])
)
"""Two different names, the second often made of the first."""

"""Which statements reverse which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.coding_agents.reversals import choice_of


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("use tabs", "use spaces, not tabs"),
        ("We use tabs for indentation.", "No, use spaces instead of tabs."),
        ("we indent with tabs", "don't use tabs"),
        ("tabs, not spaces", "use spaces, not tabs"),
        ("use spaces, not tabs", "use tabs"),
        ("in this repo we use tabs", "in this repo we use spaces, not tabs"),
        ("let's use redis for caching", "we decided to use memcached rather than redis"),
        ("from now on we use yarn", "let's switch from yarn to pnpm"),
        ("From now on use yarn. Otherwise the lockfile breaks.", "we no longer use yarn"),
        ("Use black because it is fast", "use ruff, not black"),
        ("prefer dataclasses", "prefer attrs over dataclasses"),
        ("always commit the lockfile", "never commit the lockfile"),
        ("no default exports", "use default exports"),
        ("tests live in tests/unit", "tests live in test/, not in tests/unit"),
        ("in go files we use tabs, not spaces", "in go files we use spaces, not tabs"),
        ("use redis, not memcached, for sessions", "use memcached, not redis, for sessions"),
        ("we always squash before merging", "we never squash before merging"),
    ],
)
def test_what_takes_the_rejected_or_rejects_the_taken_reverses_it(older: str, newer: str) -> None:
    assert choice_of(newer).reverses(choice_of(older))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("use spaces, not tabs", "we use spaces"),
        ("never use tabs", "use spaces, not tabs"),
        ("use tabs in makefiles", "use spaces, not tabs"),
        ("use spaces, not tabs", "use tabs in makefiles"),
        ("use npm for the docs site", "use pnpm, not npm"),
        ("we use json", "use yaml, not json, for the config of the linter"),
        ("commit after every step", "never commit to main"),
        ("all requests must be logged", "use httpx, not requests"),
        ("don't mock the database in unit tests", "mock the database in end-to-end tests"),
        ("add tests to every module", "don't add tests to generated modules"),
        ("use typescript", "don't use any in typescript"),
        ("use lists", "iterate over lists with enumerate"),
        ("we use ruff for linting", "we use ruff for formatting"),
        ("we use spaces, not tabs", "in go files we use tabs, not spaces"),
        ("we use spaces, not tabs", "use tabs, not spaces, in makefiles"),
        ("in go files we use tabs, not spaces", "in python files we use spaces, not tabs"),
        ("we use postgres, not mysql, for billing", "we use mysql, not postgres, for analytics"),
        ("use pnpm instead of npm in the web folder", "use npm instead of pnpm in the docs folder"),
        ("on ci we run pytest, not tox", "on release branches we run tox, not pytest"),
        ("we always squash", "we never squash on release branches"),
    ],
)
def test_what_holds_elsewhere_or_says_the_same_reverses_nothing(older: str, newer: str) -> None:
    assert not choice_of(newer).reverses(choice_of(older))


@given(
    st.text(
        st.sampled_from("use not tabs spaces, . instead of ' don't for in from to -\n"), max_size=80
    )
)
def test_no_statement_reverses_itself(text: str) -> None:
    choice = choice_of(text)
    assert not choice.reverses(choice)

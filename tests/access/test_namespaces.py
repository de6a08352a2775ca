"""No pattern covers more than it says, whatever names look like."""

from __future__ import annotations

import unicodedata
from functools import partial

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from salience.access import SCOPES, Principal
from salience.access.principal import includes, matches, parse_patterns, parse_scopes
from salience.errors import InvalidInput

# Names that are apt to be taken for each other, and any others.
_SEGMENT = st.sampled_from(["ana", "Ana", "anabel", "ánà", "a\u0301na", "ＡＮＡ", "*", "**", "..",
                            ".", "%2F", "ana\\", "\u2215", "ß", "ss", "ı", "i"])  # fmt: skip
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
_NAME = (
    st.one_of(_TEXT, st.lists(st.one_of(_SEGMENT, _TEXT), min_size=1, max_size=4).map("/".join))
    .map(partial(unicodedata.normalize, "NFC"))  # as every door takes names
    .filter(lambda name: bool(name.strip()))
)


_PATTERN = st.one_of(
    st.just("*"), _NAME, _NAME.map(lambda name: f"{name}/*"), st.sampled_from(["ana/*", "ana/b/*"])
).filter(lambda pattern: "*" not in pattern.removesuffix("*"))


def principal(*namespaces: str) -> Principal:
    return Principal("k", namespaces, frozenset(SCOPES))


@given(_NAME, _NAME)
@example("ana", "Ana")
@example("ß", "ss")
def test_a_name_covers_itself_and_nothing_else(name: str, other: str) -> None:
    assume("*" not in name)
    [pattern] = parse_patterns(name)
    assert principal(pattern).sees(name)
    assert principal(pattern).sees(other) == (name == other)
    for like in (name.casefold(), name.upper(), unicodedata.normalize("NFKC", name), f"{name}/",
                 f"{name}/x", f"{name}x", f" {name}", name.strip()):  # fmt: skip
        assert principal(pattern).sees(like) == (like == name)


@given(_NAME, _NAME)
@example("ana", "anabel")
@example("ana", "ana")
@example("ana", "ana/")
@example("ana", "ana//x")
@example("ana", "Ana/x")
def test_a_prefix_covers_what_has_more_segments(prefix: str, other: str) -> None:
    assume("*" not in prefix)
    [pattern] = parse_patterns(f"{prefix}/*")
    owner = principal(pattern)
    own, segments = prefix.split("/"), other.split("/")
    has_more = len(segments) > len(own) and segments[: len(own)] == own
    assert owner.sees(other) == (has_more and other != f"{prefix}/")
    assert owner.sees(f"{prefix}/{other}")
    assert not owner.sees(prefix)
    assert not owner.sees(f"{prefix}/")


@given(_NAME)
def test_a_star_covers_everything(name: str) -> None:
    assert principal("*").sees(name)
    assert principal("*").sees_everything


@given(st.lists(_NAME, max_size=4), _NAME)
def test_a_principal_sees_what_one_of_its_patterns_covers(names: list[str], other: str) -> None:
    assert principal(*names).sees(other) == any(matches(name, other) for name in names)


def test_both_normal_forms_of_a_name_are_one() -> None:
    assert parse_patterns(["a\u0301na", "a\u0301na/*"]) == ("\u00e1na", "\u00e1na/*")


@pytest.mark.parametrize(
    "wrong",
    [
        *("", " ", "a*", "*a", "a/*/b", "**", "/*", " /*", "a*/*", "*/*"),
        *("x\0", "\ud800", "n" * 257, 5, None, [], ["ana", "a*"]),
    ],
)
def test_a_pattern_that_means_something_else_than_it_seems_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInput, match="namespaces"):
        parse_patterns(wrong)


def test_patterns_keep_their_order_once_each() -> None:
    assert parse_patterns(["b", "a/*", "b"]) == ("b", "a/*")
    assert parse_patterns("ana") == ("ana",)


def test_the_namespace_of_a_request_that_names_none() -> None:
    assert principal("bo/*", "ana", "cy").default_namespace == "ana"
    assert principal("*").default_namespace == "default"
    assert principal("*", "ana").default_namespace == "ana"
    assert principal("bo/*").default_namespace is None


def test_no_scope_includes_another() -> None:
    reader = Principal("k", ("*",), frozenset(parse_scopes("keys")))
    assert [scope for scope in SCOPES if reader.may(scope)] == ["keys"]


def test_scopes_come_in_one_order_and_unknown_ones_are_refused() -> None:
    assert parse_scopes(["upkeep", "memories:read", "upkeep"]) == ("memories:read", "upkeep")
    for wrong in ([], None, "memories", ["memories:read", "admin"], [5], "MEMORIES:READ"):
        with pytest.raises(InvalidInput, match="scopes"):
            parse_scopes(wrong)


@given(_PATTERN, _PATTERN, st.lists(_NAME, max_size=3), _NAME)
@example("ana/*", "ana/b/*", [], "ana/b/c")
@example("ana/b/*", "ana/*", [], "ana/c")
@example("ana", "ana/*", [], "ana/b")
@example("*", "*", [], "ana")
def test_what_a_pattern_includes_covers_nothing_beyond(
    pattern: str, other: str, beneath: list[str], name: str
) -> None:
    names = [name, other.removesuffix("*") + "".join(beneath), other.removesuffix("/*")]
    for each in names:
        if includes(pattern, other) and matches(other, each):
            assert matches(pattern, each)
    assert includes(pattern, pattern)
    assert includes("*", other)


def test_a_key_includes_others_by_namespaces_and_scopes() -> None:
    own = Principal("k", ("ana", "team/*"), frozenset({"memories:read", "keys"}))
    assert own.includes(["ana", "team/x/*"], ["memories:read"])
    assert not own.includes(["ana", "ben"], ["memories:read"])
    assert not own.includes(["team"], ["memories:read"])
    assert not own.includes(["*"], ["memories:read"])
    assert not own.includes(["ana"], ["memories:write"])

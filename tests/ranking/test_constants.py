"""Options of a search that replace constants of its profile: `salience.ranking.constants`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.ranking import profiles
from salience.ranking.constants import CONSTANTS, ConstantOptions, with_constants
from salience.ranking.profile import Profile
from salience.ranking.stages import Mmr, Spread
from salience.retrieval.routes import Trigram, Vector
from support.asked import in_options

NEW: dict[str, Any] = {
    "distance_threshold": 0.5,
    "name_threshold": 0.25,
    "max_hops": 1,
    "decay_per_hop": 0.75,
    "mmr_lambda": 0.25,
    "duplicate_threshold": 0.5,
    "activation_formula": "exact",
}
PRESENT: dict[str, dict[str, Any]] = {
    "activation": {"max_hops": 2, "decay_per_hop": 0.5},
    "multi_route": {"mmr_lambda": 0.78, "duplicate_threshold": 0.94, "distance_threshold": 1.0},
    "vitality": {"name_threshold": 0.4, "activation_formula": "petrov"},
    "vitality.knowledge": {"max_hops": 2, "decay_per_hop": 0.6, "name_threshold": 0.4},
}


def test_each_constant_has_a_meaning_and_values() -> None:
    assert list(CONSTANTS) == list(ConstantOptions.__annotations__) == list(NEW)


@pytest.mark.parametrize("name", PRESENT)
def test_the_value_that_it_has_changes_nothing(name: str) -> None:
    assert with_constants(profiles.get(name), PRESENT[name]) == profiles.get(name)


@pytest.mark.parametrize("option", CONSTANTS)
@pytest.mark.parametrize("name", profiles.BUILT_IN)
def test_it_is_replaced_where_the_profile_has_it_and_refused_elsewhere(
    name: str, option: str
) -> None:
    profile, value = profiles.get(name), NEW[option]
    if CONSTANTS[option].is_in(profile):
        changed = with_constants(profile, {option: value})
        assert changed != profile
        assert Profile.from_dict(changed.to_dict()) == changed
        assert changed.weights == profile.weights
    else:
        with pytest.raises(InvalidInput, match=rf"^{option}: {name} .*; leave it out, or use "):
            with_constants(profile, {option: value})


def test_it_is_replaced_on_every_route_and_stage() -> None:
    changed = with_constants(profiles.get("multi_route"), NEW | {"max_hops": None, **NONE})
    assert {r.min_similarity for r in changed.routes if isinstance(r, Vector)} == {0.5}
    [mmr] = [stage for stage in changed.pipeline.stages if isinstance(stage, Mmr)]
    assert (mmr.balance, mmr.duplicate) == (0.25, 0.5)
    changed = with_constants(
        profiles.get("vitality.knowledge"), {"max_hops": 1, "name_threshold": 0}
    )
    assert [s.hops for s in changed.pipeline.stages if isinstance(s, Spread)] == [1]
    assert [r.min_similarity for r in changed.routes if isinstance(r, Trigram)] == [0.0]


NONE = dict.fromkeys(("name_threshold", "decay_per_hop", "activation_formula"))


@pytest.mark.parametrize(
    ("profile", "option", "value"),
    [
        ("vitality", "distance_threshold", 2.5),
        ("vitality", "distance_threshold", float("nan")),
        ("vitality", "name_threshold", "much"),
        ("vitality", "name_threshold", True),
        ("vitality", "activation_formula", "rough"),
        ("activation", "max_hops", 1.5),
        ("activation", "max_hops", 11),
        ("multi_route", "mmr_lambda", -0.1),
    ],
)
def test_a_value_out_of_range_is_refused(profile: str, option: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^{option}: is "):
        with_constants(profiles.get(profile), {option: value})


def test_links_carry_as_far_as_the_search_says() -> None:
    with Memory("ram://", profile="activation") as memory:
        for id, text in (("a", "The boiler."), ("b", "A note."), ("c", "Another note.")):
            memory.add(text, id=id)
        memory.link("a", "b", type="supports")
        memory.link("b", "c", type="supports")

        def found(**options: Any) -> list[str]:
            return sorted(memory.search("boiler", **in_options(options)).ids)

        assert found() == ["a", "b", "c"]
        assert found(max_hops=1) == ["a", "b"]
        assert found(max_hops=0) == found(decay_per_hop=0.0) == ["a"]
        report = memory.explain("boiler", "c", options={"max_hops": 1})
        assert report.rank is None


def test_a_distance_decides_what_is_found_by_meaning() -> None:
    with Memory("ram://", profile="vitality") as memory:
        memory.add("The cat sleeps on the sofa.", id="cat")
        near = memory.search("A kitten dozes on the couch.", options={"distance_threshold": 0.9})
        assert [hit.routes for hit in near] == [{"vector": 1}]
        assert (near[0].similarity or 1.0) < 0.7
        assert not memory.search("A kitten dozes on the couch.").hits


def test_an_imported_count_without_a_log_is_spread_as_ever() -> None:
    accesses = [f"2026-05-{day:02d}T00:00:00Z" for day in range(1, 11)]
    with Memory("ram://", profile="vitality") as memory:
        assert not memory.search("boiler", options={"activation_formula": "exact"}).hits
        memory.add("The boiler.", id="a", created_at="2026-01-01")
        for at in accesses:
            memory.touch("a", now=at)
        scores = [
            memory.search(
                "boiler", now="2026-06-01", touch=False, options={"activation_formula": formula}
            )[0]
            for formula in ("exact", "petrov")
        ]
    assert not np.isnan([hit.score for hit in scores]).any()

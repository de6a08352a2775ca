"""The code of docs/extending.md, one of each kind from outside the package, on every store."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from salience import Memory, Profile
from salience.errors import InvalidInput, InvalidProfile
from salience.ranking import profiles
from salience.ranking.expressions import Col
from salience.ranking.stages import cut, retrieve, score
from salience.records import filter_fields, filters
from salience.retrieval.routes import Route

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
NOW = datetime(2026, 3, 10, tzinfo=timezone.utc)
MONDAY, TUESDAY = (
    datetime(2026, 3, 2, tzinfo=timezone.utc),
    datetime(2026, 3, 3, tzinfo=timezone.utc),
)
QUERY = "Does Ana like green tea?"


@pytest.fixture(scope="module")
def page() -> SimpleNamespace:
    """The names that the code of the page defines; its last block only shows how they are used."""
    *definitions, _ = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    names: dict[str, Any] = {"__name__": "documentation"}
    for source in definitions:
        exec(compile(source, str(PAGE), "exec", dont_inherit=True), names)
    return SimpleNamespace(**names)


@dataclass(frozen=True)
class InMemoryOnly(Route):
    """A route that only the index in memory can search by."""

    name: str = "in_memory"


@dataclass(frozen=True)
class Unsearchable(Route):
    """A route without a search."""

    name: str = "unsearchable"


@pytest.fixture(params=["file", "postgres", "reduced"])
def memory(
    request: pytest.FixtureRequest,
    page: SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Memory]:
    if request.param == "reduced":
        monkeypatch.setenv("SALIENCE_POSTGRES_MEMORY_MB", "0")
    is_file = request.param == "file"
    url = f"sqlite:///{tmp_path / 'memory.db'}" if is_file else request.getfixturevalue("database")
    with Memory.open(
        f"counting://{url}", embedder="letters", profile="diary", clock=lambda: NOW
    ) as memory:
        add(memory, "Ana likes green tea", "tea", session_id="s", importance=0.9)
        add(memory, "Tea with Ana was green", "green", session_id="s", importance=0.2)
        add(memory, "Rent is due", "rent", metadata={"project_name": "flat"}, importance=0.5)
        add(memory, "Rent is due", "monday", created_at=MONDAY, importance=0.5)
        yield memory


def add(memory: Memory, content: str, id: str, **fields: Any) -> None:
    memory.add(content, id=id, **{"created_at": TUESDAY, **fields})


def test_signal_stage_reranker_route_profile_embedder_and_store(memory: Memory) -> None:
    result = memory.search(QUERY, explain=True, touch=False)
    assert result.ids == ("tea", "monday", "rent")
    for hit in result:
        assert hit.explanation is not None
        assert hit.explanation.value == hit.score
    first, monday, rent = result
    one_pair_of_four = 0.5 * 1 / 4
    assert first.score == pytest.approx(
        cosine(QUERY, first.content) + 0.9 + one_pair_of_four, abs=1e-3
    )
    assert monday.score - rent.score == pytest.approx(0.1)
    assert rent.routes["important"] == 3


def test_a_stage_says_why_it_dropped_a_memory(memory: Memory) -> None:
    report = memory.explain(QUERY, "green")
    assert report.verdict == (
        "Not returned (one_per_session): another memory of its session is better."
    )


def test_a_filter_field(memory: Memory) -> None:
    for condition in ("flat", {"in": ["flat", "car"]}, {"contains": "fla"}, {"gte": "flat"}):
        assert memory.search(QUERY, filters={"project": condition}).ids == ("rent",)
    assert "rent" not in memory.search(QUERY, filters={"project": {"exists": False}}).ids
    assert memory.search(QUERY, filters={"$not": {"project": None}}).ids == ("rent",)
    with pytest.raises(InvalidInput, match=r"filters\.project: is compared with 3; give text"):
        memory.search(QUERY, filters={"project": 3})


def test_the_profile_as_json(memory: Memory) -> None:
    profile = Profile.from_json(profiles.get("diary").to_json())
    assert profile == profiles.get("diary")
    assert memory.search(QUERY, profile=profile).ids == ("tea", "monday", "rent")
    assert "0.1 * monday" in profile.formula()
    assert "monday = on_weekday(0)" in profile.formula()


def test_a_route_is_searched_where_a_search_is_registered(
    memory: Memory, page: SimpleNamespace
) -> None:
    page.in_memory.register(InMemoryOnly, page.ImportanceInMemory())
    profile = Profile(
        "in_memory", retrieve(InMemoryOnly()) >> score(Col("in_memory.score")) >> cut()
    )
    assert memory.search(QUERY, profile=profile, limit=1).ids == ("tea",)
    profile = Profile("none", retrieve(Unsearchable()) >> score(Col("unsearchable.score")) >> cut())
    with pytest.raises(InvalidInput, match="Unsearchable"):
        memory.search(QUERY, profile=profile)


OUTSIDE = """
from dataclasses import dataclass

from salience import Profile
from salience.ranking.expressions import Signal
from salience.ranking.stages import cut, retrieve, score
from salience.records.filter_fields import FilterField
from salience.retrieval.routes import MatchAll


@dataclass(frozen=True)
class Steady(Signal):
    value: float

    def compute(self, ev):
        return self.value


profile = Profile("steady", retrieve(MatchAll()) >> score(Steady(0.5)) >> cut())
field = FilterField("stars", "number")
"""
INSTALLED = EntryPoints(
    [
        EntryPoint("Steady", "outside_package:Steady", "salience.signals"),
        EntryPoint("steady", "outside_package:profile", "salience.profiles"),
        EntryPoint("stars", "outside_package:field", "salience.filter_fields"),
        EntryPoint("gone", "no_such_package:profile", "salience.profiles"),
    ]
)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside_package.py").write_text(OUTSIDE, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda **group: INSTALLED.select(**group)
    )


@pytest.mark.usefixtures("installed")
def test_entry_points_are_read_when_a_name_is_unknown() -> None:
    data = {
        "name": "from_json",
        "stages": [
            {"type": "Retrieve", "routes": [{"type": "MatchAll"}]},
            {"type": "Score", "signal": {"type": "Steady", "value": 0.25}},
            {"type": "Cut"},
        ],
    }
    assert "outside_package" not in sys.modules
    profile = Profile.from_dict(data)
    assert profile.formula().endswith("score = steady(0.25)")
    assert profiles.get("steady").signal == type(profile.signal)(0.5)  # type: ignore[call-arg]
    with Memory.open("ram://", embedder="none") as memory:
        memory.add("A good book", id="good", metadata={"stars": 4})
        memory.add("A bad book", id="bad", metadata={"stars": 1})
        well_rated = {"stars": {"gte": 3}}
        assert memory.search("books", profile="steady", filters=well_rated).ids == ("good",)


@pytest.mark.usefixtures("installed")
def test_names_that_no_package_has_and_packages_that_fail() -> None:
    with pytest.raises(InvalidInput, match="profile: there is no 'nobody'"):
        profiles.get("nobody")
    with pytest.raises(InvalidInput, match="'gone' of no_such_package:profile cannot be loaded"):
        profiles.get("gone")
    with pytest.raises(InvalidInput, match="no such field"):
        filters.parse_filter({"nothing": 1})
    with pytest.raises(InvalidProfile, match="has the type 'Unknown'"):
        Profile.from_dict({"name": "x", "stages": [{"type": "Unknown"}]})


@pytest.mark.parametrize("name", ["status", "metadata", "metadata.x", "$or", "and"])
def test_a_filter_field_takes_no_name_that_means_something(name: str) -> None:
    with pytest.raises(InvalidInput, match="already has a meaning"):
        filter_fields.register_filter_field(name, filter_fields.FilterField("x"))


def test_a_registered_profile_takes_no_name_of_a_built_in_one() -> None:
    with pytest.raises(InvalidInput, match="'balanced' is built in"):
        profiles.register_profile(profiles.get("balanced"))


def cosine(left: str, right: str) -> float:
    counts = [[text.lower().count(chr(97 + i)) for i in range(26)] for text in (left, right)]
    dot = sum(a * b for a, b in zip(*counts, strict=True))
    return float(dot / (sum(a * a for a in counts[0]) * sum(b * b for b in counts[1])) ** 0.5)

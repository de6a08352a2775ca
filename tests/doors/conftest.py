"""Each promise runs through each door that has the verbs which it needs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from doors.places import PLACES, Place, TypeScript
from support.typescript import built_package


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*verbs): what a door has to have for a promise")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "place" not in metafunc.fixturenames:
        return
    needed = {verb for mark in metafunc.definition.iter_markers("needs") for verb in mark.args}
    doors = [name for name, place in PLACES.items() if has(place, needed)]
    deep = {"typescript": pytest.mark.deep}
    rows = [pytest.param(name, marks=deep.get(name, ())) for name in doors]
    metafunc.parametrize("place", rows, indirect=True, scope="module")


def has(place: type[Place], needed: set[str]) -> bool:
    """Whether a door has some verbs; "keys" if it asks for a key."""
    own = place.VERBS | ({"keys"} if place.keyed else set())
    return needed <= own


@pytest.fixture(scope="module")
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    kind = PLACES[request.param]
    path = tmp_path_factory.mktemp("door") / "memory.db"
    package = [built_package(tmp_path_factory)] if kind is TypeScript else []
    place = kind(path, *package)
    yield place
    place.close()


@pytest.fixture
def namespace(place: Place) -> Iterator[str]:
    yield place.namespace()
    place.leave()

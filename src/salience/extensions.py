"""Extensions: what other packages add by name, with a call or as an entry point.

    [project.entry-points."salience.profiles"]
    support = "my_package:support_profile"

An entry point is looked for only when a name is unknown otherwise, so it costs nothing at start-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from salience.errors import InvalidInput

T = TypeVar("T")


class Registry(Generic[T]):
    """Values by name: registered by a call, or entry points of the group salience.<kind>.

    A name that is registered again gets the new value.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._values: dict[str, T] = {}

    def __iter__(self) -> Iterator[str]:
        """The names that were registered or loaded."""
        return iter(self._values)

    def register(self, name: str, value: T) -> None:
        """Give a value a name."""
        self._values[name] = value

    def get(self, name: str) -> T | None:
        """The value of a name, from an entry point if nobody registered it; None for none.

        Raises:
            InvalidInput: the entry point of that name cannot be loaded.
        """
        if name not in self._values:
            value = load_entry_point(self._kind, name)
            if value is None:
                return None
            self._values[name] = value
        return self._values[name]


def load_entry_point(kind: str, name: str) -> Any:
    """The object of the entry point of a name in the group salience.<kind>; None for none.

    Raises:
        InvalidInput: it cannot be loaded.
    """
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    for entry in entry_points(group=f"salience.{kind}", name=name):
        try:
            return entry.load()
        except Exception as problem:
            raise InvalidInput(
                kind,
                f"the entry point {name!r} of {entry.value} cannot be loaded: {problem}",
                "fix or uninstall its package",
            ) from problem
    return None

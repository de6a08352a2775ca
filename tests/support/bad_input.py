"""Values to refuse, shared by the tests of bad input and of bad queries."""

from datetime import datetime, timezone, tzinfo
from typing import Any

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
NAN = float("nan")
HUGE = 10**5000  # too long for Python to write in decimals
LONE = "half \ud800 a pair"


class _NoTime(datetime):
    """As pandas.NaT: a datetime that is no time, and unlike itself."""

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]

    def astimezone(self, tz: tzinfo | None = None) -> "_NoTime":
        return self

    def timestamp(self) -> float:
        raise ValueError("NaTType does not support timestamp")


NO_TIME = _NoTime(2026, 1, 1, tzinfo=timezone.utc)


def label(value: Any) -> str:
    """A short id of a test's case."""
    short = isinstance(value, (str, float, bool)) or value is None
    return ascii(value[:30] if isinstance(value, str) else value) if short else type(value).__name__

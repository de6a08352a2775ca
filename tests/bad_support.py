"""What the tests of bad input and of bad queries share: values to refuse."""

from datetime import datetime, timezone
from typing import Any

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
NAN = float("nan")
HUGE = 10**5000  # too long for Python to write in decimals
LONE = "half \ud800 a pair"


def label(value: Any) -> str:
    """A short id of a test's case."""
    short = isinstance(value, (str, float, bool)) or value is None
    return ascii(value[:30] if isinstance(value, str) else value) if short else type(value).__name__

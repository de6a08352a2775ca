"""Settings out of their range are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from salience.errors import InvalidInput
from salience.server.guard import GuardSettings, Rate


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("body_bytes", value) for value in (0, -1, 1.5, "4", True, None)],
        *[("body_seconds", value) for value in (-1, float("nan"), float("inf"), "x")],
        *[(name, 0) for name in ("heavy_slots", "long_slots", "json_depth", "import_bytes")],
        *[("queue_length", value) for value in (-1, 0.5)],
        *[("hosts", value) for value in ("mine.example", ("http://mine.example",), ("a b",))],
        *[("hosts", value) for value in (("a/b",), (1,), ("a*",), ("",))],
        *[("origins", value) for value in (("*",), ("null",), ("app.example",), ("https://a/",))],
        *[("heavy_operations", value) for value in ("POST /x", ("/x",), ("post /x",))],
        *[("public_paths", value) for value in ("/health", ("health",))],
        *[("key_rate", value) for value in (5, "5/s")],
        *[("refusal_rate", value) for value in (5,)],
        ("metrics_access", "everybody"),
    ],
)
def test_a_setting_out_of_its_range_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        GuardSettings(**{field: value})
    assert refusal.value.field == field
    assert refusal.value.remedy


@pytest.mark.parametrize(("quota", "window"), [(0, 1), (1, 0), (1.5, 1), (True, 1), (-1, 1)])
def test_a_rate_has_at_least_one_request_and_one_second(quota: Any, window: Any) -> None:
    with pytest.raises(InvalidInput, match="rate"):
        Rate(quota, window)


def test_hosts_and_origins_of_all_forms_are_taken() -> None:
    GuardSettings(
        hosts=("*", "a.example", "a.example:80", "*.example", "[2001:db8::1]:80", "pod_1"),
        origins=("https://a.example", "http://localhost:3000", "chrome-extension://abc"),
        key_rate=None,
    )

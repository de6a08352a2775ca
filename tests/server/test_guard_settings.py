"""Settings out of their range are refused by name."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from salience.errors import InvalidInput
from salience.server import compat
from salience.server.guard import GuardSettings, Rate
from salience.server.guard.body import UPLOADS
from salience.server.routes import OPERATIONS
from salience.server.settings import ServerSettings


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


def test_the_environment_gives_numbers_and_rates() -> None:
    environment = {
        "SALIENCE_BODY_BYTES": "1000",
        "SALIENCE_QUEUE_SECONDS": "0.5",
        "SALIENCE_KEY_RATE": "600/60",
        "SALIENCE_WRITE_RATE": "60/60",
        "SALIENCE_REFUSAL_RATE": "off",
        "SALIENCE_METRICS_ACCESS": "key",
        "SALIENCE_HEAVY_SLOTS": "7",
        "SALIENCE_ORIGINS": "*",  # not by this way
        "SALIENCE_IMPORT_BYTES": "",
    }
    settings = GuardSettings.from_environment(environment, heavy_slots=3, long_slots=4)
    assert settings == GuardSettings(
        body_bytes=1_000,
        queue_seconds=0.5,
        key_rate=Rate(600, 60),
        write_rate=Rate(60, 60),
        refusal_rate=None,
        metrics_access="key",
        heavy_slots=7,
        long_slots=4,
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [("BODY_BYTES", "many"), ("BODY_BYTES", "0"), ("KEY_RATE", "5"), ("METRICS_ACCESS", "all")],
)
def test_a_bad_value_of_the_environment_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidInput):
        GuardSettings.from_environment({f"SALIENCE_{name}": text})


def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert ServerSettings(workers=1).guard.heavy_slots == 8
    assert ServerSettings(workers=3).guard.heavy_slots == 2
    assert ServerSettings(workers=20).guard.heavy_slots == 1


def test_every_operation_that_waits_for_a_slot_exists() -> None:
    every = (*OPERATIONS, *compat.OPERATIONS)
    operations = {f"{each.method} {each.path_format}" for each in every} | {"POST /mcp"}
    settings = GuardSettings()
    assert {*settings.heavy_operations, *settings.long_operations, *UPLOADS} <= operations
    open_to_all = {each.path_format for each in OPERATIONS if each.scope is None}
    assert open_to_all - {"/v1/metrics"} <= set(settings.public_paths)


def test_every_limit_that_the_environment_gives_is_documented() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "security.md"
    text = page.read_text("utf-8")
    lists = {each.name for each in fields(GuardSettings) if str(each.type).startswith("tuple")}
    for each in fields(GuardSettings):
        assert (f"SALIENCE_{each.name.upper()}" in text) == (each.name not in lists), each.name

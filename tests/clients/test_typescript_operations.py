"""Each operation of the table has a method in the client for TypeScript."""

from __future__ import annotations

import re
from pathlib import Path

from salience.api.operations import OPERATIONS

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "typescript" / "src" / "client.ts"


def test_each_operation_has_a_method() -> None:
    text = CLIENT.read_text("utf-8")
    methods = {*re.findall(r"^  (?:async )?(\w+)\(", text, re.M)}
    groups = {*re.findall(r"^  readonly (\w+) = \{", text, re.M)}  # as `feedback.create`
    assert len(methods) > 50
    missing = [
        operation.name for operation in OPERATIONS if camel(operation.name) not in methods | groups
    ]
    assert missing == []


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name.rstrip("_"))

"""Each operation of the table has a method in the client for TypeScript."""

from __future__ import annotations

import re
from pathlib import Path

from salience.api.operations import OPERATIONS

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "typescript" / "src" / "client.ts"


def test_each_operation_has_a_method() -> None:
    text = CLIENT.read_text("utf-8")
    methods = {*re.findall(r"^  (?:async )?(\w+)\(", text, re.M)}
    for group, body in re.findall(r"^  readonly (\w+) = \{\n(.*?)^  \};", text, re.M | re.S):
        methods |= {group, *(f"{group}.{name}" for name in re.findall(r"^    (\w+): ", body, re.M))}
    assert len(methods) > 50
    missing = [operation.name for operation in OPERATIONS if camel(operation.name) not in methods]
    assert missing == []


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name.rstrip("_"))

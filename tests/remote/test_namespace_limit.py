"""The longest name of a namespace: one limit, at every door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from salience import Memory
from salience.access.principal import parse_patterns
from salience.errors import InvalidInput
from salience.records import validation
from support.served import Served

SHORT, LONG = "ana", "annabel"
DOORS: dict[str, Callable[[Any, str], object]] = {
    "open": lambda memory, name: Memory.open("ram://", embedder=None, namespace=name),
    "for_namespace": lambda memory, name: memory.for_namespace(name),
    "search": lambda memory, name: memory.search("tea", namespaces=[name]),
    "delete_all": lambda memory, name: memory.delete_all(namespace=name),
    "open_remote": lambda memory, name: Memory.open(memory.url, namespace=name),
    "key": lambda memory, name: parse_patterns([name]),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_has_the_same_limit(
    served: Served, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "MAX_NAMESPACE_CHARACTERS", 5)
    memories: list[Memory] = [served.for_namespace(SHORT)]
    if door in ("for_namespace", "search", "delete_all"):
        memories.append(Memory.open("ram://", embedder=None, namespace=SHORT))
    for memory in memories:
        opened = DOORS[door](memory, SHORT)
        with pytest.raises(InvalidInput, match="characters, more than 5") as refused:
            DOORS[door](memory, LONG)
        assert refused.value.field.startswith("namespace")
        if isinstance(opened, Memory) and opened is not memory:
            opened.close()


def test_a_header_and_the_document_have_it_too(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = httpx.get(f"{served.url}/openapi.json").json()
    header = content["components"]["parameters"]["Salience-Namespace"]
    assert header["schema"]["maxLength"] == validation.MAX_NAMESPACE_CHARACTERS
    monkeypatch.setattr(validation, "MAX_NAMESPACE_CHARACTERS", 5)
    refused = httpx.get(f"{served.url}/v1/stats", headers={"Salience-Namespace": LONG})
    assert refused.status_code == 422
    assert "more than 5" in refused.json()["detail"]

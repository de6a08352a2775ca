"""The suites of the protocol: installed by npm beside this environment, with the Node they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.real_server import RealServer, real_server

PACKAGES = (
    "node@22.23.3",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@0.15.0",
)
FOLDER = Path(sys.prefix) / "npm"
NODE = FOLDER / "node_modules" / "node" / "bin" / "node"
_MODULES = FOLDER / "node_modules"
_CONFORMANCE = _MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_INSPECTOR = _MODULES / ".bin" / "mcp-inspector"
Check = Callable[[str, str], list[dict[str, Any]]]
Inspect = Callable[..., Any]


@pytest.fixture(scope="session")
def suites() -> None:
    """Install the suites, unless these versions are there."""
    stamp = FOLDER / ".ready"
    if stamp.exists() and stamp.read_text().split() == [*PACKAGES]:
        return
    FOLDER.mkdir(exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(FOLDER), *PACKAGES]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    stamp.write_text(" ".join(PACKAGES))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder = tmp_path_factory.mktemp("mcp")
    with real_server(folder / "memory.db", log=folder / "server.log") as running:
        yield running


@pytest.fixture
def check(suites: None, server: RealServer, tmp_path: Path) -> Check:
    """Run a scenario of the conformance suite in a version; returns its checks."""

    def run(scenario: str, version: str) -> list[dict[str, Any]]:
        options = ["--url", f"{server.url}/mcp?tools=full", "--scenario", scenario]
        options += ["--spec-version", version, "--output-dir", str(tmp_path)]
        _node(_CONFORMANCE, "server", *options)
        [checks] = tmp_path.glob("*/checks.json")
        listed: list[dict[str, Any]] = json.loads(checks.read_text())
        return listed

    return run


@pytest.fixture
def inspect(suites: None) -> Inspect:
    """Ask a server by the inspector's command line; returns its answer."""

    def run(*arguments: str) -> Any:
        return json.loads(_node(_INSPECTOR, "--cli", *arguments))

    return run


def _node(script: Path, *arguments: str) -> str:
    """Run a script by the Node that was installed; returns what it prints."""
    programs = os.pathsep.join((str(NODE.parent), os.environ["PATH"]))
    ran = subprocess.run(
        [str(NODE), str(script), *arguments],
        env={**os.environ, "PATH": programs},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.stdout, ran.stderr
    return ran.stdout

"""The client for TypeScript, built; without Node or its packages, tests are skipped and say why."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.once import once, shared_folder
from support.pages import ROOT

SOURCE = ROOT / "clients" / "typescript"
NODE = 20  # the oldest version that is promised
_NOT_SOURCE = shutil.ignore_patterns("node_modules", "dist", "build")
_OFFLINE = re.compile(r"EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH")


def npm(*arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run npm, with the commands of this environment on the path."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        ["npm", *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def built_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the package, built in a copy of its source, once for all processes of a run."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "master")
    run = shared_folder(tmp_path_factory.getbasetemp(), worker)
    return once(run, "typescript-client", build)


def build(folder: Path) -> str | None:
    """Build the package in a folder; the reason why that cannot be."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "the client for TypeScript is built by Node and npm, which are not installed"
    version = subprocess.check_output(["node", "--version"], text=True).strip()
    if int(version.lstrip("v").split(".")[0]) < NODE:
        return f"the client for TypeScript needs Node {NODE}, and this is {version}"
    shutil.copytree(SOURCE, folder, ignore=_NOT_SOURCE, dirs_exist_ok=True)
    installed = npm(
        "ci", "--prefer-offline", "--ignore-scripts", "--fetch-retries=1", folder=folder
    )
    if installed.returncode and (trouble := _OFFLINE.search(installed.stderr)):
        return f"the packages that build the client cannot be had: npm says {trouble[0]}"
    succeeded(installed)
    succeeded(npm("run", "build", folder=folder))
    return None


def succeeded(ran: subprocess.CompletedProcess[str]) -> None:
    assert ran.returncode == 0, f"{ran.args} ends with {ran.returncode}\n{ran.stdout}{ran.stderr}"

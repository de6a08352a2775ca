"""Every check of schemathesis over the document, against a real server.

`conformity/schemathesis.toml` lists what is refused although the document allows it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from salience.access import SCOPES, Keyring
from support.real_server import real_server

CONFIGURATION = Path(__file__).with_name("conformity")


@pytest.mark.deep
@pytest.mark.parametrize("phases", ["examples", "examples,coverage,fuzzing"])
def test_the_server_does_what_its_document_says(phases: str, tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with Keyring.open(db) as keyring:  # or the first key that is made would close the server
        key = keyring.create("*", SCOPES).text
    with real_server(db) as server:
        check(server.url, key, phases, tmp_path)


def check(url: str, key: str, phases: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"  # it writes there what it has found
    shutil.copytree(CONFIGURATION, folder)
    command = [str(Path(sys.executable).with_name("schemathesis"))]
    command += ["run", f"{url}/openapi.json", "--max-examples", "1", "--seed", "1"]
    command += ["--header", f"Authorization: Bearer {key}"]
    command += ["--phases", phases]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-8_000:] + run.stderr[-2_000:]

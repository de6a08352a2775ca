"""Every check of schemathesis over the document, against a real server.

`conformity/schemathesis.toml` lists what is refused although the document allows it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from support.real_server import RealServer

CONFIGURATION = Path(__file__).with_name("conformity")


def test_the_server_does_what_its_document_says(server: RealServer, tmp_path: Path) -> None:
    folder = tmp_path / "run"  # it writes there what it has found
    shutil.copytree(CONFIGURATION, folder)
    command = [str(Path(sys.executable).with_name("schemathesis"))]
    command += ["run", f"{server.url}/openapi.json", "--max-examples", "4", "--seed", "1"]
    command += ["--phases", "examples,coverage,fuzzing"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-8_000:] + run.stderr[-2_000:]

"""The wheel as it is built from a checkout, with a compiler and without one."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from salience import __version__
from salience.embedders import StaticEmbedder
from support.pages import ROOT

OWNER = "github.com/salience/salience"
PLACEHOLDERS = {
    ".github/ISSUE_TEMPLATE/config.yml",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "pyproject.toml",
}


def test_placeholders_are_where_the_owner_is_told_to_change_them() -> None:
    found = subprocess.run(
        ["git", "grep", "--files-with-matches", OWNER, "--", ":!tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(found.stdout.split()) == PLACEHOLDERS


@pytest.mark.deep
@pytest.mark.parametrize("compiler", ["cc", "/no/compiler"])
def test_a_wheel_has_the_model_and_where_there_is_a_compiler_the_kernels(
    tmp_path: Path, compiler: str
) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "."]
    environment = {**os.environ, "CC": compiler, "CXX": compiler}
    subprocess.run([*build, str(ROOT)], cwd=tmp_path, env=environment, check=True)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl") == (compiler != "cc")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        assert any("salience_native" in name for name in archive.namelist()) == (compiler == "cc")
        archive.extractall(installed)
    metadata = message_from_string(
        (installed / f"salience-{__version__}.dist-info" / "METADATA").read_text("utf-8")
    )
    needed = [each for each in metadata.get_all("Requires-Dist", []) if ";" not in each]
    assert {each.partition(">=")[0] for each in needed} == {"pystemmer", "numpy", "rich", "typer"}
    code = "from salience.embedders import StaticEmbedder; print(StaticEmbedder().identity)"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == str(StaticEmbedder().identity)

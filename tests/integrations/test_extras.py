"""An adapter whose framework lacks tells which extra brings it."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import salience.integrations

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = {
    path.stem: path
    for path in Path(salience.integrations.__file__).parent.glob("[a-z]*.py")
    if "with extra(" in path.read_text("utf-8")
}


def framework(path: Path) -> set[str]:
    """The packages that a module imports with its extra."""
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.With):
            imports = [part for part in statement.body if isinstance(part, ast.ImportFrom)]
            return {str(part.module).partition(".")[0] for part in imports}
    return set()


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_the_error_names_an_extra_that_there_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = framework(ADAPTERS[name])
    assert packages
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"salience.integrations.{name}", raising=False)
    extra = name.replace("_", "-")
    with pytest.raises(ImportError, match=re.escape(f"pip install 'salience[{extra}]'")):
        importlib.import_module(f"salience.integrations.{name}")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert extra in declared["project"]["optional-dependencies"]


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_each_framework_can_be_installed_beside_mcp(name: str, tmp_path: Path) -> None:
    wanted = tmp_path / "requirements.in"
    wanted.write_text(f"salience[mcp,{name.replace('_', '-')}] @ {ROOT.as_uri()}\n", "utf-8")
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "compile", "--quiet", "--python-version", "3.11", str(wanted)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if re.search(r"error sending request|dns error|Failed to fetch", ran.stderr):
        pytest.skip("no package index can be asked")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^mcp==2", ran.stdout, re.MULTILINE)

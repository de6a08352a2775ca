"""The client for TypeScript is built, its own tests pass, and the examples of its page run.

Node does all of this, against a server in another process. Without Node, or where the packages that
the build needs cannot be had, the tests are skipped and say why.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.pages import ROOT, Block, blocks
from support.real_server import real_server

SOURCE = ROOT / "clients" / "typescript"
PAGE = "docs/typescript.md"
NODE = 20  # the oldest version that is promised
_NOT_SOURCE = shutil.ignore_patterns("node_modules", "dist", "build")
_OFFLINE = re.compile(r"EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH")
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


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


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the package, built in a copy of its source."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("the client for TypeScript is built by Node and npm, which are not installed")
    version = subprocess.check_output(["node", "--version"], text=True).strip()
    if int(version.lstrip("v").split(".")[0]) < NODE:
        pytest.skip(f"the client for TypeScript needs Node {NODE}, and this is {version}")
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(SOURCE, folder, ignore=_NOT_SOURCE)
    installed = npm("ci", "--prefer-offline", "--ignore-scripts", "--no-audit", folder=folder)
    if installed.returncode and _OFFLINE.search(installed.stderr):
        pytest.skip(f"the packages that build the client cannot be had: {installed.stderr}")
    succeeded(installed)
    succeeded(npm("run", "build", folder=folder))
    return folder


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server in another process, over an empty store."""
    folder = tmp_path_factory.mktemp("server")
    with real_server(folder / "memory.db", log=folder / "server.log") as server:
        yield server.url


def succeeded(ran: subprocess.CompletedProcess[str]) -> None:
    assert ran.returncode == 0, f"{ran.args} ends with {ran.returncode}\n{ran.stdout}{ran.stderr}"


def test_the_client_passes_its_tests(package: Path, address: str) -> None:
    tested = npm("test", folder=package, SALIENCE_TEST_URL=address)
    succeeded(tested)
    counts = dict(re.findall(r"^(?:#|ℹ) (pass|fail|skipped|todo) (\d+)$", tested.stdout, re.M))
    assert int(counts.pop("pass")) >= 40
    assert counts == {"fail": "0", "skipped": "0", "todo": "0"}


def test_the_examples_of_its_page_have_the_right_types_and_print_what_they_say(
    package: Path, address: str
) -> None:
    examples = {f"example{b.line}": b for b in blocks(PAGE) if b.language == "typescript"}
    assert examples
    compiled = compile_examples(package, examples, address)
    for name, block in examples.items():
        ran = subprocess.run(
            ["node", str(compiled / f"{name}.js")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        where = f"{PAGE}, line {block.line}"
        assert ran.returncode == 0, f"{where}: {ran.stderr}"
        assert block.expected is not None, f"{where} says nothing of what it prints"
        same = doctest.OutputChecker().check_output(block.expected, ran.stdout, _SAME)
        assert same, f"{where} prints\n{ran.stdout}"


def compile_examples(package: Path, examples: Mapping[str, Block], address: str) -> Path:
    """Compile examples that ask the server at an address; gives the folder of the programs."""
    sources = package / "test" / "examples"
    sources.mkdir()
    for name, block in examples.items():
        text = block.source.replace("http://127.0.0.1:8420", address)
        (sources / f"{name}.ts").write_text(text, encoding="utf-8")
    succeeded(npm("exec", "--", "tsc", "--project", "test/tsconfig.json", folder=package))
    return package / "build" / "examples"


def test_the_package_needs_no_other_and_holds_what_it_exports(package: Path) -> None:
    packed = npm("pack", "--dry-run", "--json", "--ignore-scripts", folder=package)
    succeeded(packed)
    for path in ("dist/index.js", "dist/index.d.ts", "dist/ai/index.js", "dist/ai/index.d.ts"):
        assert f'"{path}"' in packed.stdout
    assert "test/" not in packed.stdout
    listed = npm("ls", "--omit=dev", "--omit=peer", "--omit=optional", "--json", folder=package)
    succeeded(listed)
    assert '"dependencies"' not in listed.stdout

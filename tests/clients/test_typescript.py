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
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from salience.access import SCOPES, Keyring
from salience.stores import open_store
from support.once import once, shared_folder
from support.pages import ROOT, blocks
from support.real_server import real_server

pytestmark = pytest.mark.deep
SOURCE = ROOT / "clients" / "typescript"
PAGE = "docs/typescript.md"
EXAMPLES = {f"line{b.line}": b for b in blocks(PAGE) if b.language == "typescript"}
ADDRESS = 'baseUrl: "http://127.0.0.1:8420"'  # of the server, in the examples
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


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A server in another process and two keys of its store, as the client's tests ask for them."""
    folder = tmp_path_factory.mktemp("server")
    database = folder / "memory.db"
    with closing(open_store(database)) as store, Keyring(store) as keyring:
        key = keyring.create("*", SCOPES).text
        reader = keyring.create("library", "memories:read").text
    with real_server(database, log=folder / "server.log") as server:
        yield {
            "SALIENCE_TEST_URL": server.url,
            "SALIENCE_TEST_KEY": key,
            "SALIENCE_TEST_READER_KEY": reader,
        }


@pytest.fixture(scope="module")
def programs(package: Path, door: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the package with its tests and examples, which know the server and its key."""
    own = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(package, own, ignore=shutil.ignore_patterns("node_modules"))
    (own / "node_modules").symlink_to(package / "node_modules")
    sources = own / "test" / "examples"
    sources.mkdir()
    settings = 'baseUrl: "{SALIENCE_TEST_URL}", apiKey: "{SALIENCE_TEST_KEY}"'.format_map(door)
    for name, block in EXAMPLES.items():
        text = block.source.replace(ADDRESS, settings)
        (sources / f"{name}.ts").write_text(text, encoding="utf-8")
    succeeded(npm("run", "pretest", folder=own))
    return own


def succeeded(ran: subprocess.CompletedProcess[str]) -> None:
    assert ran.returncode == 0, f"{ran.args} ends with {ran.returncode}\n{ran.stdout}{ran.stderr}"


def test_the_client_passes_its_tests(programs: Path, door: dict[str, str]) -> None:
    tested = npm("test", "--ignore-scripts", folder=programs, **door)  # they are compiled already
    succeeded(tested)
    counts = dict(re.findall(r"^(?:#|ℹ) (pass|fail|skipped|todo) (\d+)$", tested.stdout, re.M))
    assert int(counts.pop("pass")) >= 45
    assert counts == {"fail": "0", "skipped": "0", "todo": "0"}


def test_the_examples_of_its_page_print_what_they_say(programs: Path) -> None:
    assert EXAMPLES
    for name, block in EXAMPLES.items():
        ran = subprocess.run(
            ["node", str(programs / "build" / "examples" / f"{name}.js")],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        where = f"{PAGE}, line {block.line}"
        assert ran.returncode == 0, f"{where}: {ran.stderr}"
        assert block.expected is not None, f"{where} says nothing of what it prints"
        same = doctest.OutputChecker().check_output(block.expected, ran.stdout, _SAME)
        assert same, f"{where} prints\n{ran.stdout}"


def test_the_package_needs_no_other_and_holds_what_it_exports(package: Path) -> None:
    packed = npm("pack", "--dry-run", "--json", "--ignore-scripts", folder=package)
    succeeded(packed)
    for path in ("dist/index.js", "dist/index.d.ts", "dist/ai/index.js", "dist/ai/index.d.ts"):
        assert f'"{path}"' in packed.stdout
    assert "test/" not in packed.stdout
    listed = npm("ls", "--omit=dev", "--omit=peer", "--omit=optional", "--json", folder=package)
    succeeded(listed)
    assert '"dependencies"' not in listed.stdout

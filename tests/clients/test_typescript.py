"""The client for TypeScript is built, its own tests pass, and the examples of its page run.

Node does all of this, against a server in another process. Without Node, or where the packages that
the build needs cannot be had, the tests are skipped and say why.
"""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from salience.access import SCOPES, Keyring
from salience.stores import open_store
from support.pages import blocks
from support.real_server import real_server
from support.typescript import built_package, npm, succeeded

pytestmark = pytest.mark.deep
PAGE = "docs/typescript.md"
EXAMPLES = {f"line{b.line}": b for b in blocks(PAGE) if b.language == "typescript"}
ADDRESS = 'baseUrl: "http://127.0.0.1:8420"'  # of the server, in the examples
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_package(tmp_path_factory)


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

"""Test the adapters of frameworks, each beside its framework in an environment of its own.

    python tools/integrations.py                    all of them
    python tools/integrations.py langgraph adk      some

An adapter is a folder tests/frameworks/NAME with a requirements.txt. Its environment,
.venv-integrations/NAME, is rebuilt when its requirements change. There the tests of the folder
run, the blocks of docs/integrations/NAME.md, and a strict type checker over module and page.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "frameworks"
ENVIRONMENTS = ROOT / ".venv-integrations"
PROJECT = ".[client,server]"  # a real server is started beside each framework
TEST_TOOLS = ("hypothesis", "pytest")
_WIDTHS = (17, 13, 21, 10, 10, 7)  # of the columns of the table
_COUNTS = re.compile(r"^(?:=+ )?(\d+ (?:passed|failed|error|skipped).*?) in [\d.]+s", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one step: `brief` for the table, and whether it is as it should be."""

    brief: str
    is_good: bool


@dataclass(frozen=True)
class Adapter:
    """An adapter by the name of its folder: where its parts are, and how each is tried."""

    name: str

    @property
    def environment(self) -> Path:
        return ENVIRONMENTS / self.name

    @property
    def python(self) -> str:
        return str(self.environment / "bin" / "python")

    @property
    def page(self) -> Path:
        path = ROOT / "docs" / "integrations" / f"{self.name}.md"
        return path if path.exists() else ROOT / "docs" / path.name

    @property
    def module(self) -> Path:
        package, name = ROOT / "src" / "salience", self.name.replace("-", "_")
        path = package / "integrations" / name
        folders = (path, package / name)
        return next((folder for folder in folders if folder.is_dir()), path.with_suffix(".py"))

    def install(self) -> Outcome:
        """Make the environment, unless it is there with the same requirements."""
        requirements = TESTS / self.name / "requirements.txt"
        wanted = requirements.read_bytes() + (ROOT / "pyproject.toml").read_bytes()
        stamp, digest = self.environment / ".ready", hashlib.sha256(wanted).hexdigest()
        if stamp.exists() and stamp.read_text() == digest:
            return Outcome("as before", is_good=True)
        if not Path(self.python).exists():
            venv.create(self.environment, with_pip=True)
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        installed = self._run([*pip, "--editable", PROJECT, "-r", str(requirements), *TEST_TOOLS])
        if installed.returncode:
            return Outcome("fails", is_good=False)
        stamp.write_text(digest)
        return Outcome("new", is_good=True)

    def test(self) -> Outcome:
        """Run the tests; warnings of a framework are no errors of its adapter."""
        options = ("-q", "-p", "no:cacheprovider", "-o", "filterwarnings=", "-W", "ignore")
        ran = self._run([self.python, "-m", "pytest", *options, str(TESTS / self.name)])
        counts = _COUNTS.findall(ran.stdout)
        return Outcome(counts[-1] if counts else "no tests", is_good=ran.returncode == 0)

    def try_page(self) -> Outcome:
        """Run the blocks of its page."""
        if not self.page.exists():
            return Outcome("lacks", is_good=False)
        runner, name = ROOT / "tests" / "support" / "pages.py", self.page.relative_to(ROOT)
        ran = self._run([self.python, str(runner), str(name)])
        blocks = re.search(r"(\d+) blocks", ran.stdout)
        return Outcome(blocks[0] if blocks else "fails", is_good=ran.returncode == 0)

    def check_types(self) -> Outcome:
        """Check the module as strictly as the rest, beside the types of its framework."""
        if not self.module.exists():
            return Outcome("lacks", is_good=False)
        options = ("--python-executable", self.python, "--follow-imports", "silent")
        cache = ("--cache-dir", str(self.environment / ".mypy_cache"))
        ran = self._run([sys.executable, "-m", "mypy", *options, *cache, str(self.module)])
        errors = re.search(r"\d+ errors?", ran.stdout)
        return Outcome(errors[0] if errors else "clean", is_good=ran.returncode == 0)

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command at the root of the project; what it says is shown if it fails."""
        programs = os.pathsep.join((str(self.environment / "bin"), os.environ["PATH"]))
        unset = ("SALIENCE_DB", "SALIENCE_NAMESPACE", "SALIENCE_API_KEY")
        surroundings = {name: value for name, value in os.environ.items() if name not in unset}
        ran = subprocess.run(
            command,
            cwd=ROOT,
            env={**surroundings, "PATH": programs, "PYTHONPATH": str(ROOT / "tests")},
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            print(f"{self.name}: {' '.join(command)}\n{ran.stdout}{ran.stderr}", flush=True)
        return ran


def tried(adapter: Adapter) -> tuple[list[str], bool]:
    """The row of the table for an adapter, and whether all of it is as it should be."""
    started = time.monotonic()
    outcomes = [adapter.install()]
    if outcomes[0].is_good:
        outcomes += [adapter.test(), adapter.try_page(), adapter.check_types()]
    cells = [outcome.brief for outcome in outcomes] + ["-"] * (4 - len(outcomes))
    is_good = all(outcome.is_good for outcome in outcomes)
    return [adapter.name, *cells, f"{time.monotonic() - started:.0f}"], is_good


def main() -> int:
    """Try the adapters that the arguments name; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known = sorted(path.parent.name for path in TESTS.glob("*/requirements.txt"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    names = parser.parse_args().names or known
    if unknown := sorted(set(names) - set(known)):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    _show(["adapter", "environment", "tests", "page", "types", "seconds"])
    is_good = True
    for name in names:
        row, is_fine = tried(Adapter(name))
        _show(row)
        is_good = is_good and is_fine
    return 0 if is_good else 1


def _show(row: list[str]) -> None:
    """Print a row of the table at once, as all of them take an hour."""
    line = "".join(cell.ljust(width) for cell, width in zip(row, _WIDTHS, strict=True))
    print(line.rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""Write what commands print into the documentation, as on a screen of 80 columns.

    python tools/screens.py            write the screens again
    python tools/screens.py --check    fail if one of them differs

A screen is a comment with the command, and the block of text after it:

    <!-- screen: salience list --limit 3 -->
    ```text
    ...
    ```

The commands of a page run in their order, in one empty folder.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 80
_SCREEN = re.compile(
    r"^<!-- screen: (?P<command>[^\n]+) -->\n```text\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


def with_screens(page: str, folder: Path) -> str:
    """The text of a page with every screen as it is now; the commands run in `folder`."""

    def screen(match: re.Match[str]) -> str:
        command = match["command"]
        return f"<!-- screen: {command} -->\n```text\n{_printed(command, folder)}```"

    return _SCREEN.sub(screen, page)


def _printed(command: str, folder: Path) -> str:
    """The lines that a command prints to both streams, without spaces at their ends."""
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    unset = ("SALIENCE_DB", "SALIENCE_NAMESPACE")
    surroundings = {name: value for name, value in os.environ.items() if name not in unset}
    ran = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={**surroundings, "PATH": programs, "COLUMNS": str(COLUMNS)},
    )
    if ran.returncode:
        raise SystemExit(f"{command} ends with {ran.returncode}\n{ran.stdout}")
    return "".join(f"{line.rstrip()}\n" for line in ran.stdout.splitlines())


def main() -> int:
    """Write or check the screens of all pages; 1 if one differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if a screen differs")
    check = parser.parse_args().check
    differing = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        page = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            fresh = with_screens(page, Path(folder))
        if fresh != page:
            differing.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.write_text(fresh, encoding="utf-8")
    if check and differing:
        print(f"{', '.join(differing)} differ; run python tools/screens.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

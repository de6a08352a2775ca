"""Fetch the libraries of the inspector's page from the npm registry, at the versions named here.

    python tools/vendor_ui.py            fetch them and write vendor/ and its list
    python tools/vendor_ui.py --check    fail if a file differs from the list

Bare imports are rewritten to the files beside, because an import map would be an inline script.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).resolve().parents[1] / "src/salience/server/ui/vendor"
LIST = VENDOR / "VENDORED.json"
LIBRARIES = (
    ("preact.js", "preact", "11.2.0", "dist/preact.mjs"),
    ("hooks.js", "preact", "11.2.0", "hooks/dist/hooks.mjs"),
    ("htm.js", "htm", "3.1.1", "dist/htm.module.js"),
)
BESIDE = {"preact": "./preact.js", "preact/hooks": "./hooks.js", "htm": "./htm.js"}


def fetched(package: str, version: str, path: str) -> tuple[str, str, str]:
    """The text of a file of a package, its licence in full, and the name of that."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        [archive] = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as files:
            text, licence, about = (
                member.read().decode()
                for name in (path, "LICENSE", "package.json")
                if (member := files.extractfile(f"package/{name}")) is not None
            )
    return text, licence, json.loads(about)["license"]


def rewritten(text: str) -> str:
    """A module whose imports name the files beside it, without the comment on its source map."""
    text = re.sub(r"\n//# sourceMappingURL=\S+\s*$", "\n", text)
    return re.sub(r'from\s*"([^".]+)"', lambda match: f'from"{BESIDE[match[1]]}"', text)


def vendor() -> None:
    """Write the files and the list."""
    entries: list[dict[str, Any]] = []
    for name, package, version, path in LIBRARIES:
        text, terms, licence = fetched(package, version, path)
        (VENDOR / f"{package}.LICENSE").write_text(terms, encoding="utf-8")
        content = rewritten(text).encode()
        (VENDOR / name).write_bytes(content)
        entries.append(
            {
                "file": name,
                "package": package,
                "version": version,
                "path": path,
                "licence": licence,
                "sha256": hashlib.sha256(content).hexdigest(),
            }
        )
    LIST.write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


def differing() -> list[str]:
    """The files that are not those of the list."""
    return [
        entry["file"]
        for entry in json.loads(LIST.read_text(encoding="utf-8"))
        if hashlib.sha256((VENDOR / entry["file"]).read_bytes()).hexdigest() != entry["sha256"]
    ]


def main(arguments: list[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    if not parser.parse_args(arguments).check:
        vendor()
    if names := differing():
        print(f"not as in {LIST.name}: {', '.join(names)}", file=sys.stderr)
    return bool(names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

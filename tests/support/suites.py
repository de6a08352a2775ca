"""The source distributions of installed packages, which carry their tests; none is kept here."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path


def source_of(package: str) -> Path:
    """The unpacked source distribution of a package, in its installed version; fetched once."""
    suites = Path(sys.prefix) / "suites"
    release = f"{package.replace('-', '_')}-{version(package)}"
    if not (suites / release).exists():
        fetch = ["download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        source = ["--no-binary", ":all:", "--dest", str(suites), f"{package}=={version(package)}"]
        subprocess.run([sys.executable, "-m", "pip", *fetch, *source], check=True)
        with tarfile.open(suites / f"{release}.tar.gz") as archive:
            archive.extractall(suites, filter="data")
    return suites / release
